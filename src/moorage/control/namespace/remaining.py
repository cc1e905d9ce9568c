"""What is left in a namespace that is being deleted, and how a namespace tells of it.

In: the objects that are in it, by kind. Out: what remains of each kind and behind which finalizers, how long that may
take, and the conditions of the namespace. Kubernetes: gvrDeletionMetadata and the condition updater of
pkg/controller/namespace/deletion. Differs: the condition that content remains also counts pods that remain, for which
upstream waits without a word.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.pods_of import POD, seconds_of, time_text
from moorage.model.kinds import Kind

Raw = dict[str, Any]

#: How long finalizers are expected to take.
_FINALIZER_SECONDS = 15
_FAILURE, _CONTENT, _FINALIZERS = (
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
)
#: What each condition says while nothing is wrong: its reason and its message.
_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    _FAILURE: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    _CONTENT: ("ContentRemoved", "All content successfully removed"),
    _FINALIZERS: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class Remaining(NamedTuple):
    """How many there are of each kind, and of each finalizer; `estimate` in seconds; `failures` in words."""

    kinds: Mapping[Kind, int]
    finalizers: Mapping[str, int]
    estimate: int
    failures: Sequence[str]


def what_remains(namespace: str, found: Mapping[Kind, Sequence[Object]], deleted_at: str, now: float) -> Remaining:
    """`found` is being deleted already, all of it."""
    finalizers: Counter[str] = Counter()
    estimate, failures = 0, list[str]()
    for facts, objects in found.items():
        held = Counter(name for item in objects for name in item.view.metadata.finalizers)
        finalizers += held
        grace = _longest_grace(objects) if facts is POD else 0
        if now - (seconds_of(deleted_at) or now) >= grace:
            grace = 0
        if not grace and held:
            grace = _FINALIZER_SECONDS
        if objects and not grace:
            which = f"{facts.group}/{facts.api_version.rpartition('/')[2]}, Resource={facts.plural}"
            failures.append(f"unexpected items still remain in namespace: {namespace} for gvr: {which}")
        estimate = max(estimate, grace)
    kinds = {facts: len(objects) for facts, objects in found.items() if objects}
    return Remaining(kinds, finalizers, estimate, failures)


def _longest_grace(pods: Iterable[Object]) -> int:
    return max(
        (
            pod.view.spec.terminationGracePeriodSeconds or 0
            for pod in pods
            if pod.view.status.phase not in ("Succeeded", "Failed")
        ),
        default=0,
    )


def status_of(namespace: Object, remaining: Remaining, now: float) -> Raw | None:
    """The namespace's status as it should be; None if it is so already."""
    status = namespace.raw.get("status") or {}
    conditions = _conditions(status.get("conditions") or [], remaining, now)
    if conditions is None and status.get("phase") == "Terminating":
        return None
    return {**status, "phase": "Terminating", "conditions": conditions or status.get("conditions") or []}


def _conditions(current: Sequence[Raw], remaining: Remaining, now: float) -> list[Raw] | None:
    wrong = _wrong(remaining)
    conditions, changed = list(current), False
    for kind, fine in _FINE.items():
        is_wrong = kind in wrong
        reason, message = wrong.get(kind, fine)
        wanted = {"type": kind, "status": "True" if is_wrong else "False", "reason": reason, "message": message}
        index = next((index for index, one in enumerate(conditions) if one.get("type") == kind), None)
        if index is None:
            conditions.append({**wanted, "lastTransitionTime": time_text(now)})
            changed = True
            continue
        before = conditions[index]
        if any(before.get(name) != value for name, value in wanted.items()):
            since = before.get("lastTransitionTime")
            if before.get("status") != wanted["status"]:
                since = time_text(now)
            conditions[index] = {**wanted, "lastTransitionTime": since}
            changed = True
    return conditions if changed else None


def _wrong(remaining: Remaining) -> dict[str, tuple[str, str]]:
    wrong: dict[str, tuple[str, str]] = {}
    if remaining.failures:
        said = ", ".join(sorted(remaining.failures))
        message = f"Failed to delete all resource types, {len(remaining.failures)} remaining: {said}"
        wrong[_FAILURE] = ("ContentDeletionFailed", message)
    if remaining.kinds:
        counted = (
            f"{facts.plural}.{facts.group} has {count} resource instances" for facts, count in remaining.kinds.items()
        )
        wrong[_CONTENT] = ("SomeResourcesRemain", f"Some resources are remaining: {', '.join(sorted(counted))}")
    if remaining.finalizers:
        counted = (f"{name} in {count} resource instances" for name, count in remaining.finalizers.items())
        message = f"Some content in the namespace has finalizers remaining: {', '.join(sorted(counted))}"
        wrong[_FINALIZERS] = ("SomeFinalizersRemain", message)
    return wrong
