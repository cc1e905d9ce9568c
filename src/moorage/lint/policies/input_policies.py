"""Find what admission policies of the input refuse or warn of, and webhooks that would be asked.

Policies and their bindings apply to all other objects of the input, wherever they stand: it is meant to be applied as a
whole. Webhooks are named, and not called unless that is wanted. Kubernetes: kubectl apply of all of it, policies first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.admit.extension.attributes import CREATE
from moorage.admit.extension.registered import REGISTERED_KINDS
from moorage.admit.request import ANY_REQUEST
from moorage.lint.catalogue import ERROR, WARNING, Rule, Theme, declare
from moorage.lint.finding import Severity, SourcePlace
from moorage.lint.subject import Complaint, PlacedComplaint, Subject
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, Kind

if TYPE_CHECKING:
    from moorage.admit.chain import Admission
    from moorage.admit.raw import Raw
    from moorage.lint.policies.admission import PolicyAnswer
    from moorage.lint.policies.judge import PolicyJudge
    from moorage.lint.policies.offline_extensions import CallWebhooks

declare(
    Theme.POLICIES,
    Rule("policy-refuses", ERROR, "A policy of the input refuses the object, or the pods of a workload."),
    Rule("policy-warns", WARNING, "A policy of the input, or a webhook, warns of the object or of a workload's pods."),
    Rule("policy-param-missing", WARNING, "Parameters of a policy are not in the input, so that it is not applied."),
    Rule("webhook-not-called", Severity.INFO, "A webhook of the input would be asked about its objects."),
)
#: The kind of a binding → the name of that of its policy.
_POLICIES = {
    KINDS.VALIDATING_ADMISSION_POLICY_BINDING: KINDS.VALIDATING_ADMISSION_POLICY.name,
    KINDS.MUTATING_ADMISSION_POLICY_BINDING: KINDS.MUTATING_ADMISSION_POLICY.name,
}
_MAX_KEPT = 10_000
_MAX_BEFORE = 2_000
_MAX_BEFORE_BYTES = 16 * 1024 * 1024


class InputPolicies:
    """The policies and webhooks of the input. There is a `judge` once the first of them was read."""

    def __init__(self, gates: GateSet, call: CallWebhooks | None, *, keeps_changes: bool) -> None:
        self.judge: PolicyJudge | None = None
        self._gates, self._call, self._keeps_changes = gates, call, keeps_changes
        #: What was read before the first policy: kind, namespace, view, document.
        self._before: list[tuple[Kind, str, Any, Raw]] = []
        self._before_bytes = 0
        self._bindings: list[tuple[str, SourcePlace]] = []
        self._webhooks: dict[tuple[bool, str, str], SourcePlace] = {}

    def add(self, kind: Kind, namespace: str, subject: Subject) -> None:
        """Take in an object of the input that is valid."""
        if kind in REGISTERED_KINDS:
            self._begin()
            self._note_places(kind, subject)
        self._learn(kind, namespace, subject.view, subject.document.raw)

    def add_custom(self, kind: Kind, view: Any, raw: Raw) -> None:
        self._learn(kind, (view.metadata.namespace or "default") if kind.namespaced else "", view, raw)

    def _begin(self) -> None:
        if self.judge is not None:
            return
        from moorage.lint.policies.judge import PolicyJudge  # only an input with policies needs it

        self.judge = PolicyJudge(self._gates, self._call, keeps_changes=self._keeps_changes)
        before, self._before = self._before, []
        for kind, namespace, view, raw in before:
            self.judge.learn(kind, namespace, view, raw)

    def _learn(self, kind: Kind, namespace: str, view: Any, raw: Raw) -> None:
        if self.judge is not None:
            self.judge.learn(kind, namespace, view, raw)
        elif kind is not KINDS.POD and not kind.is_chatty and len(self._before) < _MAX_BEFORE:
            self._before_bytes += len(msgspec.json.encode(raw))
            if self._before_bytes <= _MAX_BEFORE_BYTES:
                self._before.append((kind, namespace, view, raw))

    def _note_places(self, kind: Kind, subject: Subject) -> None:
        if kind in _POLICIES and len(self._bindings) < _MAX_KEPT:
            policy = f"{_POLICIES[kind]} {subject.view.spec.policyName}"
            self._bindings.append((policy, subject.place("spec.paramRef")))
        is_mutating = kind is KINDS.MUTATING_WEBHOOK_CONFIGURATION
        if (is_mutating or kind is KINDS.VALIDATING_WEBHOOK_CONFIGURATION) and len(self._webhooks) < _MAX_KEPT:
            name = subject.view.metadata.name
            for number, webhook in enumerate(subject.view.webhooks):
                self._webhooks[is_mutating, name, webhook.name] = subject.place(f"webhooks[{number}].name")

    def concern(self, chain: Admission, kind: Kind) -> bool:
        """Return whether policies or webhooks may be about the creation of such objects."""
        return self.judge is not None and chain.is_extended(CREATE, kind)

    def complaints(self) -> Iterator[PlacedComplaint]:
        """Yield what is known once all objects were admitted."""
        if self.judge is None:
            return
        for missing in self.judge.world.left_out:
            place = next((place for policy, place in self._bindings if policy in missing.policies), None)
            if place is not None:
                yield Complaint("policy-param-missing", place.path, missing.text), place
        from moorage.lint.policies.judge import not_called_text

        for webhook, count in self.judge.not_called.items():
            place = self._webhooks.get((webhook.is_mutating, webhook.configuration, webhook.webhook))
            if place is not None:
                text = not_called_text(webhook, count, self.judge.world)
                yield Complaint("webhook-not-called", place.path, text), place


def policy_complaints(
    judge: PolicyJudge,
    answer: PolicyAnswer,
    document: Raw,
    place_of: Callable[[str], SourcePlace],
    *,
    of: str = "",
    below: str = "",
) -> Iterator[PlacedComplaint]:
    """Yield what policies say of an object, or of the pods of a workload `of` a kind, whose template is `below`."""
    judge.keep_changes(answer, place_of(below.rstrip(".")), are_pods=bool(of))
    if answer.is_refusal:
        message, hint, field = judge.refusal(answer, document)
        text = f"the {of} is accepted, but its pods will be refused: {message}" if of else message
        place = place_of(f"{below}{field}".rstrip("."))
        yield Complaint("policy-refuses", place.path, text, hint, api_server=True), place
        return
    for message, hint, field in judge.warnings(answer, document):
        place = place_of(f"{below}{field}".rstrip("."))
        text = f"of the pods of the {of}: {message}" if of else message
        yield Complaint("policy-warns", place.path, text, hint, api_server=True), place


def made_by_controller(pod: Raw, kind: Kind, workload: Raw) -> Raw:
    """Return a pod of a template with the metadata that a controller gives it: a generated name and an owner."""
    name = str(workload["metadata"].get("name") or "")
    metadata = {field: value for field, value in pod["metadata"].items() if field != "name"}
    api_version, owner = _OWNERS.get(kind.name, (kind.api_version, kind.name))
    reference = {"apiVersion": api_version, "kind": owner, "name": name, "controller": True}
    reference |= {"blockOwnerDeletion": True, "uid": ANY_REQUEST.uid}
    return {**pod, "metadata": {**metadata, "generateName": f"{name}-", "ownerReferences": [reference]}}


#: What owns the pods of a kind, where that is not the object itself.
_OWNERS = {"Deployment": ("apps/v1", "ReplicaSet"), "CronJob": ("batch/v1", "Job")}
