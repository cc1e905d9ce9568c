"""Find what `moorage attach` cannot lower, and what surprises once it is lowered (`lint --attached`).

What is written with comparing operators, or lowered already, is checked as its user means it: the comparisons count,
whatever the gates are. Kubernetes: knows neither; the webhook of attach refuses in the words that are reported here.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from re import compile as pattern
from typing import Any, Final, NamedTuple

from moorage.admit.pod.tolerations import EMPTY_KEY_NEEDS_EXISTS
from moorage.attach.alternatives import required_products
from moorage.attach.formats import CEL, EXEMPT, MAX_TERMS, ORDERED_VERSION, TRUE, Raw
from moorage.attach.node_affinity import count_of_terms, required_terms
from moorage.attach.objects import POD_PATHS, is_daemon_pod, lowered, pod_of, raised
from moorage.attach.originals.reading_back import original_object
from moorage.attach.pods import concerns_pod, has_traces, node_affinity_of, tolerations_of
from moorage.attach.questions import asked_labels
from moorage.attach.refusals import USE_CEL, Refused, Unreadable
from moorage.attach.tolerations import compared_pairs, is_comparing
from moorage.lint.catalogue import ERROR, WARNING, Rule, Theme, declare
from moorage.lint.finding import Severity
from moorage.lint.rules.decoding import exists_already
from moorage.lint.subject import Complaint
from moorage.model.field_error import FieldError
from moorage.model.kinds import KINDS, kind_of
from moorage.model.well_known.taints import NO_SCHEDULE, PREFER_NO_SCHEDULE
from moorage.pools.mirror import PoolTemplate, lacking_labels, template_in
from moorage.pools.node_template import WrittenAt
from moorage.pools.reading import is_pool_kind

declare(
    Theme.ATTACH,
    Rule("attach-refused", ERROR, "The cluster with attach refuses the object: it cannot be lowered."),
    Rule("attach-keyless-expression", ERROR, "An expression without a key cannot be lowered."),
    Rule("attach-exempt", ERROR, "Comparisons where attach lowers nothing are refused by the API server."),
    Rule("attach-inconsistent", WARNING, "A lowered object does not mean what its annotation says."),
    Rule("attach-needs-match-label", Severity.INFO, "Pods wait until the controller of attach has labelled nodes."),
    Rule("attach-daemon-pods-deleted", WARNING, "A new value of a NoSchedule taint deletes running daemon pods."),
    Rule("attach-kind-not-lowered", WARNING, "Comparisons in an object of a kind that attach does not lower."),
    Rule("attach-schema-refuses", WARNING, "The schema of a custom kind refuses operators before they are lowered."),
    Rule("attach-pool-lacks-labels", WARNING, "A pool's template lacks the labels of its taints."),
)

_COMPARING: Final = ("Lt", "Gt", "SemverLt", "SemverGt", "SemverEq", CEL)
_OF_POLICIES: Final = ("Lt", "Gt")
_MOST_PAIRS: Final = 4
_ROLLOUT: Final = ("argoproj.io", "Rollout")
_EXPRESSION: Final = pattern(r"(\.?tolerations\[\d+\])\.expression")


class AttachedBy(StrEnum):
    """What lowers in the cluster: the webhook of attach, or its policy alone."""

    WEBHOOK = "webhook"
    POLICIES = "policies"


class AttachedForm(NamedTuple):
    """An object as it is checked. `is_refused`: it is not stored, so that nothing more is said about it."""

    raw: Raw
    complaints: list[Complaint]
    is_refused: bool = False
    was_lowered: bool = False

    def as_written(self, path: str) -> str:
        """Return the path of a field in the input: an expression is the value, lowered lists have another order."""
        if not self.was_lowered:
            return _EXPRESSION.sub(r"\1.value", path)
        for part in ("tolerations", "nodeAffinity"):
            before, found, _ = path.partition(f"{part}[" if part == "tolerations" else f"{part}.")
            if found:
                return f"{before}{part}"
        return path


def attached_form(document: Raw, by: AttachedBy) -> AttachedForm:
    """Return an object as its user means it, and what attach makes of it."""
    kind = kind_of(document)
    pod = pod_of(document)
    if kind not in POD_PATHS or pod is None or not concerns_pod(pod):
        return AttachedForm(document, [])
    path = ".".join(POD_PATHS[kind])
    spec = f"{path}.spec" if path else "spec"
    if _is_exempt(document) and any(map(is_comparing, _mappings(pod["spec"].get("tolerations")))):
        return AttachedForm(document, [_of_exempt(document, f"{spec}.tolerations")], is_refused=True)
    if exists_already(document) and has_traces(pod):
        return _existing(document, spec)
    try:
        made = lowered(document)
        original = raised(made)
    except Refused as refused:
        return AttachedForm(document, [_refused(error) for error in refused.errors], is_refused=True)
    except Unreadable:
        return AttachedForm(document, [])  # wrong types are reported as such
    given = original_object(document, POD_PATHS[kind], is_daemon=is_daemon_pod(document))
    complaints = [_inconsistent(given.problem, f"{spec}.tolerations")] if given.problem else []
    back = original_object(made, POD_PATHS[kind], is_daemon=is_daemon_pod(document))
    lowered_pod, original_pod = pod_of(made), pod_of(original)
    assert lowered_pod is not None
    assert original_pod is not None
    complaints += _of_pod(lowered_pod, original_pod, spec, by)
    if by is AttachedBy.POLICIES and (why := _not_by_policy(original_pod, lowered_pod)):
        return AttachedForm(document, [_refused_by_policy(why, f"{spec}.tolerations")], is_refused=True)
    if kind is KINDS.DAEMON_SET:
        complaints += _of_daemon_set(original_pod, spec)
    return AttachedForm(back.pod, complaints, was_lowered=made is document)


def original_form(document: Raw) -> AttachedForm:
    """Return an object as its user wrote it, if it is lowered. What is not is the cluster's own."""
    path = POD_PATHS.get(kind) if (kind := kind_of(document)) is not None else None
    if path is None:
        return AttachedForm(document, [])
    found = original_object(document, path, is_daemon=is_daemon_pod(document))
    return AttachedForm(found.pod if found.was_lowered else document, [], was_lowered=found.was_lowered)


def _existing(document: Raw, spec: str) -> AttachedForm:
    """Return an object of a cluster as its user wrote it; that of a pod of a DaemonSet has other node affinity."""
    kind = kind_of(document)
    assert kind is not None
    back = original_object(document, POD_PATHS[kind], is_daemon=is_daemon_pod(document))
    complaints = [_inconsistent(back.problem, f"{spec}.tolerations")] if back.problem else []
    return AttachedForm(back.pod, complaints, was_lowered=True)


def _is_exempt(document: Raw) -> bool:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return False
    labels = metadata.get("labels")
    has_label = isinstance(labels, dict) and labels.get(EXEMPT) == TRUE
    return metadata.get("namespace") == "kube-system" or has_label


def _of_exempt(document: Raw, path: str) -> Complaint:
    metadata = document.get("metadata") or {}
    where = "in namespace kube-system" if metadata.get("namespace") == "kube-system" else f"with the label {EXEMPT}"
    return Complaint(
        "attach-exempt",
        path,
        f"nothing {where} is lowered: the API server refuses the operators that it does not know",
        "tolerate values with Equal, or all with Exists, or apply what `moorage attach convert` makes of it",
    )


def _refused(error: FieldError) -> Complaint:
    if EMPTY_KEY_NEEDS_EXISTS in error.detail:
        hint = "write one toleration with operator CEL for each key that it is about"
        return Complaint("attach-keyless-expression", error.path, f"{error}: labels of nodes are about one key", hint)
    hint = "write `operator: CEL`, a key, and the expression as `value`" if USE_CEL in error.detail else ""
    return Complaint("attach-refused", error.path, str(error), hint, api_server=True)


def _inconsistent(problem: str, path: str) -> Complaint:
    hint = "apply the manifest with its original tolerations, or what `moorage attach convert` makes of that"
    return Complaint("attach-inconsistent", path, problem, hint)


def _of_pod(lowered_pod: Raw, original: Raw, spec: str, by: AttachedBy) -> Iterator[Complaint]:
    """Yield what surprises of a pod or template that is lowered."""
    if by is AttachedBy.WEBHOOK and (labels := asked_labels(lowered_pod["spec"])):
        tolerations = tolerations_of(original)
        index = next((at for at, each in enumerate(tolerations) if each.get("operator") == CEL), None)
        path = f"{spec}.tolerations" + (f"[{index}].value" if index is not None else "")
        yield Complaint(
            "attach-needs-match-label",
            path,
            f"no requirement on labels can say this: pods wait for nodes with {', '.join(sorted(labels))}, which the "
            "controller of attach writes; no autoscaler starts a node for them unless its template has the label",
            "compare with Lt, Gt or a released version, in at most 64 combinations",
        )


def _of_daemon_set(original: Raw, spec: str) -> Iterator[Complaint]:
    for index, toleration in enumerate(tolerations_of(original)):
        if is_comparing(toleration) and (toleration.get("effect") or NO_SCHEDULE) == NO_SCHEDULE:
            yield Complaint(
                "attach-daemon-pods-deleted",
                f"{spec}.tolerations[{index}]",
                "when a node's value no longer meets this, its running daemon pod is deleted: lowered it is required "
                "node affinity, which the DaemonSet controller asks again; a toleration would let the pod run on",
                "tolerate every value with Exists if daemon pods have to run on",
            )
            return


def _not_by_policy(original: Raw, lowered_pod: Raw) -> str:
    """Return why the policy does not lower a pod; empty if it does, as far as can be told."""
    tolerations: Sequence[Raw] = tolerations_of(original)
    others = sorted({each["operator"] for each in tolerations if is_comparing(each)} - set(_OF_POLICIES))
    if others:
        return f"the policy lowers {' and '.join(_OF_POLICIES)} only, not {', '.join(others)}"
    if tolerations_of(original) == tolerations_of(lowered_pod):
        return "the policy lowers no versions in node affinity"
    pairs = [pair for pair in compared_pairs(tolerations) if pair.effect != PREFER_NO_SCHEDULE]
    if len(pairs) > _MOST_PAIRS:
        return f"the policy lowers {_MOST_PAIRS} pairs of a key and an effect, these are {len(pairs)}"
    terms = count_of_terms(required_terms(node_affinity_of(original)))
    if asked_labels(lowered_pod["spec"]) or len(required_products(tolerations, terms)) * max(1, terms) > MAX_TERMS:
        return f"the policy lowers to at most {MAX_TERMS} terms"
    return ""


def _refused_by_policy(why: str, path: str) -> Complaint:
    return Complaint("attach-refused", path, f"{why}: the API server refuses it", "install the webhook of attach")


# -- other objects -----------------------------------------------------------------------------------------------------


def other_traps(document: Raw, source: str, line: int) -> Iterator[Complaint]:
    """Yield what is wrong with objects without pods that attach lowers: custom kinds, definitions, pools."""
    if is_pool_kind(document):
        template = template_in(document, WrittenAt(source, line))
        yield from () if template is None else pool_traps(template)
    elif document.get("kind") == "CustomResourceDefinition":
        yield from _of_definition(document)
    elif kind_of(document) is None:
        yield from _of_custom_object(document)


def pool_traps(template: PoolTemplate) -> Iterator[Complaint]:
    """Yield what the template of a pool lacks."""
    lacking = {
        key: value
        for key, value in lacking_labels(template).items()
        if f".{ORDERED_VERSION}." not in f".{key.partition('/')[0]}"
    }
    if not lacking:
        return
    listed = ", ".join(f"{key}={value}" for key, value in lacking.items())
    yield Complaint(
        "attach-pool-lacks-labels",
        "spec.template.spec.taints",
        "an autoscaler that starts this pool from zero takes its nodes for untainted where pods compare values: it "
        "buys nodes that they do not fit, or none",
        f"give the template the labels {listed}",
    )


def _of_definition(document: Raw) -> Iterator[Complaint]:
    spec = document.get("spec")
    versions = spec.get("versions") if isinstance(spec, dict) else None
    for index, version in enumerate(versions if isinstance(versions, list) else ()):
        schema = version.get("schema") if isinstance(version, dict) else None
        for path, value in _walk(schema, f"spec.versions[{index}].schema"):
            operators = _enum_of_operators(value) if path.endswith(".tolerations") else None
            if operators is not None and (missing := [each for each in _COMPARING if each not in operators]):
                yield Complaint(
                    "attach-schema-refuses",
                    f"{path}.items.properties.operator.enum",
                    f"objects with {', '.join(missing)} in tolerations are refused by this schema, before their "
                    "controller makes pods that could be lowered",
                    "leave the enum out: the API server checks the operators of pods",
                )
                break


def _enum_of_operators(value: Any) -> list[Any] | None:
    for name in ("items", "properties", "operator", "enum"):
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, list) else None


def _of_custom_object(document: Raw) -> Iterator[Complaint]:
    for path, value in _walk(document.get("spec"), "spec"):
        if not path.endswith(".tolerations"):
            continue
        for index, toleration in enumerate(_mappings(value)):
            if toleration.get("operator") not in _COMPARING:
                continue
            group = str(document.get("apiVersion")).partition("/")[0]
            is_rollout = (group, document.get("kind")) == _ROLLOUT
            how = (
                "its ReplicaSets are refused" if is_rollout else "if its controller owns ReplicaSets, they are refused"
            )
            hint = (
                "name a Deployment in spec.workloadRef, which is lowered, in the place of the template"
                if is_rollout
                else "write here what `moorage attach convert` makes of a pod with these tolerations"
            )
            yield Complaint(
                "attach-kind-not-lowered",
                f"{path}[{index}].operator",
                f"{document.get('kind')} is not lowered, and neither is a ReplicaSet that a controller owns: {how}",
                hint,
                severity=ERROR if is_rollout else None,
            )
            return


def _walk(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield every value of a document with its path, without recursion: documents may be deep."""
    waiting = [(path, value)]
    while waiting:
        at, found = waiting.pop()
        yield at, found
        if isinstance(found, dict):
            waiting += [(f"{at}.{name}", each) for name, each in reversed(found.items())]
        elif isinstance(found, list):
            waiting += [(f"{at}[{index}]", each) for index, each in reversed(list(enumerate(found)))]


def _mappings(value: Any) -> list[Raw]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
