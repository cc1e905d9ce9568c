"""Find objects of the input that the admission chain refuses, given all other objects of the input.

A namespace, a LimitRange or a class may stand below the pods that it concerns, so objects are held, within bounds,
until the whole input is known, and then admitted in the order of creation. Templates are judged by the pods that
controllers make of them. What exists already (it has a uid) is not admitted again, and is used of quotas, which are
charged with what the input creates: as many pods as a workload wants. Kubernetes: kubectl apply of everything.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.chain import Admission
from moorage.admit.extension.registered import REGISTERED_KINDS
from moorage.admit.kinds.api_server.custom_objects import validate_custom_object
from moorage.admit.objects_world import LOOKED_UP, SYSTEM_NAMESPACES, ObjectsWorld
from moorage.admit.plugins import Forbidden
from moorage.admit.raw import Raw, copy_document
from moorage.admit.world import missing_text
from moorage.lint.catalogue import ERROR, WARNING, Rule, Theme, declare
from moorage.lint.facts.creation_order import creation_rank
from moorage.lint.facts.custom_kinds import DefinedKind
from moorage.lint.facts.held_objects import HeldObject, placed_errors, places_of, refusals_of
from moorage.lint.facts.quota_charges import OverQuota, QuotaCharges
from moorage.lint.finding import Lines, Severity, SourcePlace
from moorage.lint.meant_words import did_you_mean
from moorage.lint.policies.input_policies import InputPolicies, made_by_controller, policy_complaints
from moorage.lint.rules.decoding import exists_already, warnings_given, written_path
from moorage.lint.rules.label_keys import pod_from_template
from moorage.lint.rules.placement import ClassReferences
from moorage.lint.subject import Complaint, PlacedComplaint, PodPart, Subject, place_in, pod_part_of
from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, CustomKind, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.text.documents import Document
from moorage.model.well_known.annotations import MIRROR_POD

if TYPE_CHECKING:
    from moorage.lint.policies.admission import PolicyAnswer
    from moorage.lint.policies.offline_extensions import CallWebhooks
    from moorage.lint.report.form import Mutation

declare(
    Theme.BUDGETS,
    Rule("limit-range-refuses", ERROR, "A LimitRange of the input refuses the pods."),
    Rule("quota-refuses", WARNING, "A ResourceQuota of the input does not have room for all pods, or refuses them."),
    Rule("namespace-missing", Severity.INFO, "The namespace is not in the input."),
    Rule("runtime-class-missing", WARNING, "The pods name a RuntimeClass that is not in the input."),
)
#: What no policy changes, and what others are checked by: definitions.
NEVER_CHANGED = frozenset({*REGISTERED_KINDS, KINDS.CUSTOM_RESOURCE_DEFINITION})
_MAX_HELD = 2_000
_MAX_HELD_BYTES = 16 * 1024 * 1024
#: The most objects that admission looks up, and the most namespaces that are noted.
_MAX_KNOWN = 20_000
_POD_SECURITY = "pod-security.kubernetes.io/"


class AdmissionFacts:
    """The admission chain over the objects of the input, and the objects that wait for it."""

    def __init__(
        self, gates: GateSet, *, call_webhooks: "CallWebhooks | None" = None, keeps_changes: bool = False
    ) -> None:
        self._gates = gates
        self._world = ObjectsWorld()
        self._policies = InputPolicies(gates, call_webhooks, keeps_changes=keeps_changes)
        self._chain = Admission(self._world, gates)
        self._classes = ClassReferences(KINDS.RUNTIME_CLASS, "runtime-class-missing")
        self._namespaces: dict[str, tuple[Kind, SourcePlace]] = {}
        self._held: list[HeldObject] = []
        self._held_bytes = self._known = 0
        #: Workloads as policies have changed them.
        self._changed: dict[tuple[Kind, str, str], Admitted] = {}
        self._quotas = QuotaCharges(self._world, self._chain, gates)
        #: Refusals for want of a gate.
        self.wants_gates: set[Complaint] = set()

    def add(self, subject: Subject, refusals: Sequence[Complaint] = ()) -> Iterator[Complaint]:
        """Take an object in, with the reasons why it is refused without any plugin; one that exists is not admitted.

        A pod is held also if it is refused: plugins change it before it is validated, so the API server may find more,
        or one of the plugins may refuse it. Where there is no room to hold an object, what is known so far decides.
        """
        kind, pods = subject.served, subject.pods
        is_refused = bool(refusals)
        is_new = not is_refused and not exists_already(subject.document.raw)
        if not is_refused:
            namespace = (subject.view.metadata.namespace or "default") if kind.namespaced else ""
            self._policies.add(kind, namespace, subject)
            if self._policies.judge is not None:
                self._chain.extensions = self._policies.judge.world
        if kind is KINDS.RUNTIME_CLASS:
            self._classes.has(subject.view.metadata.name)
        if pods is not None and pods.spec.runtimeClassName and not pods.spec.nodeName:
            self._classes.refer(pods.spec.runtimeClassName, subject, "runtimeClassName")
        if not is_refused:
            view = subject.view if is_new else convert_view(subject.document.raw, kind.view)  # with its status
            self._look_at(kind, view, is_new=is_new)
            if not is_new:
                self._quotas.add_existing(kind, view)
        if is_new:
            self._note_namespace(subject.document, kind, subject.lines)
            held = HeldObject(subject.document.raw, kind, subject.view, pods, places_of(subject), subject.document)
            yield from self._hold(held)
        elif is_refused and is_held_back(subject):
            placed = tuple((complaint, subject.place(complaint.path)) for complaint in refusals)
            raw, document = subject.document.raw, subject.document
            yield from self._hold(HeldObject(raw, kind, subject.view, pods, places_of(subject), document, placed))

    def release_refused(self) -> Iterator[PlacedComplaint]:
        """Yield why held pods are refused without any plugin, and forget these pods."""
        refused = [held for held in self._held if held.refusals]
        self._held = [held for held in self._held if not held.refusals]
        for held in refused:
            yield from held.refusals

    def add_custom(
        self, document: Document, decoded: Raw, refusals: Sequence[Complaint], defined: DefinedKind, lines: Lines
    ) -> Iterator[Complaint]:
        """Take an object of a custom kind in, with the reasons why it is refused unless policies change it."""
        kind = defined.kind
        if refusals and exists_already(document.raw):
            yield from refusals
            return
        view = convert_view(document.raw, kind.view)
        if not refusals:
            self._policies.add_custom(kind, view, document.raw)
            if exists_already(document.raw):
                return
            self._note_namespace(document, kind, lines)
        places = {"": place_in(document, kind, lines, "metadata")}
        placed = tuple((complaint, place_in(document, kind, lines, complaint.path)) for complaint in refusals)
        yield from self._hold(HeldObject(decoded, kind, view, None, places, document, placed, defined.rules))

    def _hold(self, held: HeldObject) -> Iterator[Complaint]:
        if len(self._held) < _MAX_HELD:
            self._held_bytes += len(msgspec.json.encode(held.raw))
            if self._held_bytes <= _MAX_HELD_BYTES:
                self._held.append(held)
                return
        refusals = [complaint for complaint, _ in self._judge(held)]
        yield from refusals
        if held.kind.template is not None and not refusals:
            yield from (complaint for complaint, _ in self._judge_pods(held))
            yield from (complaint for complaint, _ in map(_over_quota, self._quotas.charge_pods()))

    def _look_at(self, kind: Kind, view: Any, *, is_new: bool) -> None:
        """Remember an object that others depend on. New classes and Services are admitted before they count."""
        if is_new and kind in (KINDS.PRIORITY_CLASS, KINDS.SERVICE):
            return
        if (kind not in LOOKED_UP and kind not in (KINDS.NODE, KINDS.RESOURCE_QUOTA)) or self._known >= _MAX_KNOWN:
            return
        self._known += 1
        if kind is KINDS.NODE:
            self._quotas.add_node(view)
        name: str = view.metadata.name
        key = f"{view.metadata.namespace or 'default'}/{name}" if kind.namespaced else name
        if kind is KINDS.RESOURCE_QUOTA:
            self._quotas.add_quota(key, view)
        else:
            self._world.put(kind, key, view)

    def _note_namespace(self, document: Document, kind: Kind, lines: Lines) -> None:
        name = document.raw["metadata"].get("namespace") if kind.namespaced else None
        if name and name not in self._namespaces and len(self._namespaces) < _MAX_KNOWN:
            self._namespaces[name] = kind, place_in(document, kind, lines, "metadata.namespace")

    @property
    def mutations(self) -> "Sequence[Mutation]":
        """What policies and webhooks would change."""
        judge = self._policies.judge
        return () if judge is None else judge.mutations

    def complaints(self) -> Iterator[PlacedComplaint]:
        """Yield what the API server would say of the held objects, and forget them."""
        yield from self._classes.complaints()
        yield from self._missing_namespaces()
        self._quotas.count_existing()
        in_order = sorted(self._held, key=lambda held: creation_rank(held.kind))
        self._held, self._held_bytes = [], 0
        seen: set[tuple[Kind, str, str]] = set()
        workloads: list[HeldObject] = []
        for held in in_order:
            if held.key in seen:
                yield from held.refusals
                continue  # it updates the first
            if held.view.metadata.name and not held.refusals:
                seen.add(held.key)
            refusals = list(self._judge(held))
            yield from refusals
            if held.kind.template is not None and not refusals:
                workloads.append(held)
        for workload in workloads:
            yield from self._judge_pods(workload)
        yield from map(_over_quota, self._quotas.charge_pods())
        yield from self._policies.complaints()

    def _missing_namespaces(self) -> Iterator[PlacedComplaint]:
        known = {name for name in self._namespaces if self._world.namespace(name) is not None}
        for name, (kind, place) in self._namespaces.items():
            if name not in known and name not in SYSTEM_NAMESPACES:
                message = missing_text(KINDS.NAMESPACE, name, kind)
                yield Complaint("namespace-missing", place.path, message, did_you_mean(name, known)), place

    def _is_concerned(self, held: HeldObject) -> bool:
        """Return whether anything that is known of the cluster can make the chain refuse an object."""
        if held.kind in (KINDS.PRIORITY_CLASS, KINDS.SERVICE):
            return True
        kinds = (held.kind,) if held.pods is None else (held.kind, KINDS.POD)
        if any(self._policies.concern(self._chain, kind) for kind in kinds):
            return True
        namespace = self._world.namespace(held.namespace)
        if namespace is not None and (
            namespace.status.phase == "Terminating"
            or any(label.startswith(_POD_SECURITY) for label in namespace.metadata.labels)
        ):
            return True
        if self._world.limit_ranges(held.namespace) or self._world.quota_balances(held.namespace):
            return True
        if held.pods is None:
            return False
        spec, annotations = held.pods.spec, held.pods.metadata.annotations
        named = (spec.priorityClassName, spec.priority, spec.preemptionPolicy, spec.runtimeClassName, spec.overhead)
        return any(value not in (None, "", {}) for value in named) or MIRROR_POD in annotations

    def _judge(self, held: HeldObject) -> Iterator[PlacedComplaint]:
        """Admit an object itself."""
        if not self._is_concerned(held):
            yield from held.refusals
            return
        if isinstance(held.kind, CustomKind):
            yield from self._judge_custom(held)
            return
        if held.refusals:
            yield from self._judge_refused(held)
            return
        result, sources = yield from self._admit(held)
        if result is None:
            return
        if isinstance(result, Rejected):
            yield from refusals_of(held, result, sources)
            return
        yield from self._charge(held, result.view)
        if held.kind is KINDS.SERVICE or held.kind is KINDS.PRIORITY_CLASS:
            self._world.put_view(held.kind, result.view)

    def _admit(
        self, held: HeldObject
    ) -> Generator[PlacedComplaint, None, tuple[Admitted | Rejected | None, tuple[str, ...]]]:
        """Admit an object. Yield what policies say of it; return None if they refuse it, and what has changed it."""
        judge = self._policies.judge
        if judge is None:
            return self._chain.admit(held.raw), ()
        answer = judge.admit(self._chain, held.raw)
        yield from policy_complaints(judge, answer, held.raw, held.place_of)
        if answer.is_refusal:
            return None, ()
        sources = _sources(answer)
        if sources and isinstance(answer.result, Admitted):
            self._changed[held.key] = answer.result
        return answer.result, sources

    def _judge_refused(self, held: HeldObject) -> Iterator[PlacedComplaint]:
        """Admit an object that is refused without plugins and policies. What they make of it is the server's answer."""
        result, sources = yield from self._admit(held)
        if isinstance(result, Rejected) and result.errors:
            known = {complaint.message: (complaint, place) for complaint, place in held.refusals}
            for complaint, place in refusals_of(held, result, sources):
                yield known.get(complaint.message) or (complaint, place)
            yield from ((complaint, place) for complaint, place in held.refusals if not complaint.api_server)
            return
        if isinstance(result, Admitted):
            if sources:  # policies have mended it
                yield from self._charge(held, result.view)
            else:
                yield from held.refusals
            return
        if result is not None:
            yield from refusals_of(held, result, sources)
        for complaint, place in held.refusals:
            unsaid = msgspec.structs.replace(complaint, api_server=False)
            if complaint in self.wants_gates:
                self.wants_gates.add(unsaid)
            yield unsaid, place

    def _judge_custom(self, held: HeldObject) -> Iterator[PlacedComplaint]:
        raw = copy_document(held.raw)
        raw["metadata"]["namespace"] = held.namespace
        try:
            self._chain.mutate_custom(held.kind, raw, None)
            self._chain.validate_custom(held.kind, raw, None)
        except (Forbidden, ApiError) as refusal:
            text = refusal.message if isinstance(refusal, ApiError) else str(refusal)
            place = held.place()
            yield Complaint("rejected", place.path, text, api_server=True), place
            return
        judge = self._policies.judge
        answer = None if judge is None else judge.admit_custom(self._chain, held.kind, raw)
        refusals = list(held.refusals)
        if judge is not None and answer is not None:
            yield from policy_complaints(judge, answer, held.raw, held.place_of)
            if answer.is_refusal:
                return
            if (sources := _sources(answer)) and held.rules is not None and answer.result.object is not None:
                errors = validate_custom_object(answer.result.object, held.rules).errors
                refusals = list(placed_errors(held, errors, sources))
        yield from refusals
        if not refusals:
            yield from self._charge(held, held.view)

    def _judge_pods(self, held: HeldObject) -> Iterator[PlacedComplaint]:
        """Admit a workload's pod; quotas are charged later. The server's warning counts if pods are let in."""
        raw, pods = held.raw, held.pods
        if (changed := self._changed.get(held.key)) is not None:  # policies have changed the workload
            raw, pods = changed.object, pod_part_of(held.kind.name, changed.view)
        if pods is None or not self._is_concerned(held):
            return
        pod = pod_from_template(raw, held.kind.name, held.namespace, pods)
        result = yield from self._admit_pod(held, pods, pod)
        if result is None:
            return
        if isinstance(result, Admitted):
            result_of_workload = self._chain.admit(held.raw)
            for warning in warnings_given(result_of_workload.warnings):
                if "would violate PodSecurity" in warning.message:
                    yield warning, held.place("PodSecurity")
            self._quotas.add_pods(held, KINDS.POD, result.view)
            return
        if result.errors:
            yield from self._errors_of_plugins(held, pods, pod, result)
            return
        place = held.place(result.refused_by)
        rule = "limit-range-refuses" if result.refused_by == "LimitRanger" else "template-pods-rejected"
        why = result.forbidden or str(result.status["message"])
        text = f"the {held.kind.name} is accepted, but its pods will be refused: {why}"
        yield Complaint(rule, place.path, text, api_server=True), place

    def _admit_pod(
        self, held: HeldObject, pods: PodPart, pod: Raw
    ) -> Generator[PlacedComplaint, None, Admitted | Rejected | None]:
        """Admit a pod of a workload, as its controller makes it. Return None if policies refuse it."""
        judge = self._policies.judge
        if judge is None or not self._policies.concern(self._chain, KINDS.POD):
            return self._chain.admit(pod)
        from moorage.serve.access.component_users import maker_of_pods

        made = made_by_controller(pod, held.kind, held.raw)
        answer = judge.admit(self._chain, made, maker_of_pods(held.kind.name))
        yield from policy_complaints(judge, answer, made, held.place_of, of=held.kind.name, below=pods.path)
        return None if answer.is_refusal else answer.result

    def _errors_of_plugins(
        self, held: HeldObject, pods: PodPart, pod: Raw, result: Rejected
    ) -> Iterator[PlacedComplaint]:
        """Report what is invalid because of what plugins set, such as a LimitRange's limit below the request.

        What is invalid without them is told of the template.
        """
        plain = admit(pod, None, self._gates)
        known = {str(error) for error in plain.errors} if isinstance(plain, Rejected) else set()
        for error in result.errors:
            if str(error) not in known:
                text = f"the {held.kind.name} is accepted, but its pods will be refused: {error}"
                path = f"{pods.path}{written_path(error.path)}"
                yield Complaint("template-pods-rejected", path, text, api_server=True), held.place("LimitRanger")

    def _charge(self, held: HeldObject, view: Any) -> Iterator[PlacedComplaint]:
        over = self._quotas.charge_object(held, held.kind, view)
        if over is not None:
            place = held.place("LimitRanger")
            message = str(over.refusal.message)
            yield Complaint("quota-refuses", place.path, message, severity=Severity.ERROR, api_server=True), place


def is_held_back(subject: Subject) -> bool:
    """Return whether the refusal of an object is held back until all input is known.

    Plugins change new pods, and policies, which may stand below, everything but themselves.
    """
    return subject.served not in NEVER_CHANGED and not exists_already(subject.document.raw)


def _over_quota(over: OverQuota) -> PlacedComplaint:
    """Report a quota without room for the pods of a workload; for an object of the input itself it is an error."""
    place = over.held.place("LimitRanger")
    why = str(over.refusal.message).partition(" is forbidden: ")[2]
    daemons = " (one for each node of the input that it runs on)" if over.held.kind is KINDS.DAEMON_SET else ""
    fit = f"{over.fit} of {over.number} pods fit{daemons}: "
    return Complaint(
        "quota-refuses", place.path, f"{fit if over.fit else 'a ResourceQuota refuses the pods: '}{why}"
    ), place


def _sources(answer: "PolicyAnswer") -> tuple[str, ...]:
    """Return which policies and webhooks have changed an object."""
    return tuple(dict.fromkeys(change.source for change in answer.remarks.changes))
