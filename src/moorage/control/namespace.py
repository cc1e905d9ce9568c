"""Empty deleted namespaces, pods first, and finalize them. Kubernetes: pkg/controller/namespace.

The content is listed at the API server, since the caches may miss objects. Differs: a namespace is also reconciled when
the last object of a kind is gone; NamespaceContentRemaining counts pods too.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Answers, Create, Delete, Plan, Question, Raw, Update
from moorage.control.framework.controller import Controller
from moorage.control.framework.steps import Steps, finish, in_parts
from moorage.control.framework.workloads import is_finished, set_condition, status_update
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, Kind

#: Expected duration of finalizers.
_FINALIZER_SECONDS = 15
_FAILURE, _CONTENT, _FINALIZERS = (
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
)
#: Reason and message of each condition while it is False.
_FINE = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": ("ParsedGroupVersions", "All legacy kube types successfully parsed"),
    _FAILURE: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    _CONTENT: ("ContentRemoved", "All content successfully removed"),
    _FINALIZERS: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}


class Remaining(NamedTuple):
    """Remaining objects by kind, and their finalizers; `estimate` in seconds; `failures` as messages."""

    kinds: Mapping[Kind, int]
    finalizers: Mapping[str, int]
    estimate: int
    failures: Sequence[str]


def what_remains(namespace: str, found: Mapping[Kind, Sequence[Object]], deleted_at: str, now: float) -> Remaining:
    """Count the objects, all of which are being deleted."""
    finalizers: Counter[str] = Counter()
    estimate, failures = 0, list[str]()
    for kind, objects in found.items():
        held = Counter(name for item in objects for name in item.view.metadata.finalizers)
        finalizers += held
        grace = _longest_grace(objects) if kind is KINDS.POD else 0
        if now - (seconds_of(deleted_at) or now) >= grace:
            grace = 0
        if not grace and held:
            grace = _FINALIZER_SECONDS
        if objects and not grace:
            which = f"{kind.group}/{kind.api_version.rpartition('/')[2]}, Resource={kind.plural}"
            failures.append(f"unexpected items still remain in namespace: {namespace} for gvr: {which}")
        estimate = max(estimate, grace)
    kinds = {kind: len(objects) for kind, objects in found.items() if objects}
    return Remaining(kinds, finalizers, estimate, failures)


def _longest_grace(pods: Iterable[Object]) -> int:
    graces = (pod.view.spec.terminationGracePeriodSeconds or 0 for pod in pods if not is_finished(pod.view))
    return max(graces, default=0)


def status_of(namespace: Object, remaining: Remaining, now: float) -> Raw:
    status, wrong = namespace.raw.get("status") or {}, _wrong(remaining)
    conditions: list[Raw] = status.get("conditions") or []
    for kind, fine in _FINE.items():
        reason, message = wrong.get(kind, fine)
        holds = "True" if kind in wrong else "False"
        conditions = set_condition(
            conditions, {"type": kind, "status": holds, "reason": reason, "message": message}, now
        )
    return {**status, "phase": "Terminating", "conditions": conditions}


def _wrong(remaining: Remaining) -> dict[str, tuple[str, str]]:
    wrong: dict[str, tuple[str, str]] = {}
    if remaining.failures:
        said = ", ".join(sorted(remaining.failures))
        message = f"Failed to delete all resource types, {len(remaining.failures)} remaining: {said}"
        wrong[_FAILURE] = ("ContentDeletionFailed", message)
    if remaining.kinds:
        counted = (
            f"{kind.plural}.{kind.group} has {count} resource instances" for kind, count in remaining.kinds.items()
        )
        wrong[_CONTENT] = ("SomeResourcesRemain", f"Some resources are remaining: {', '.join(sorted(counted))}")
    if remaining.finalizers:
        counted = (f"{name} in {count} resource instances" for name, count in remaining.finalizers.items())
        message = f"Some content in the namespace has finalizers remaining: {', '.join(sorted(counted))}"
        wrong[_FINALIZERS] = ("SomeFinalizersRemain", message)
    return wrong


FINALIZER = "kubernetes"
#: Events of both API groups are the same objects.
_CONTENT_KINDS = tuple(kind for kind in KINDS.values() if kind.namespaced and kind.group != "events.k8s.io")


class NamespaceController(Controller):
    """Reconciles namespaces in deletion."""

    name = "namespace-controller"
    watches_custom = True
    watches = (KINDS.NAMESPACE, *(kind for kind in _CONTENT_KINDS if not kind.is_chatty))

    _now = 0.0  # of the last reconciliation

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.NAMESPACE:
            return (new.key,) if new is not None and _is_going(new) else ()
        if new is not None or old is None:
            return ()
        namespace = world.get(KINDS.NAMESPACE, old.namespace)
        if namespace is None or not _is_going(namespace) or world.has_any(kind, old.namespace):
            return ()
        return (namespace.key,)

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        namespace = world.get(KINDS.NAMESPACE, key)
        if namespace is None or not _is_going(namespace):
            return ()
        custom = (kind for kind in world.custom_kinds.values() if kind.namespaced)
        return [Question(kind, key) for kind in (*_CONTENT_KINDS, *custom)]

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return NOTHING

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        return finish(self.decide_in_steps(key, world, answers, now))

    def decide_in_steps(self, key: str, world: World, answers: Answers, now: float) -> Steps[Plan]:
        self._now = now
        namespace = world.get(KINDS.NAMESPACE, key)
        if namespace is None or not _is_going(namespace):
            return NOTHING
        found = {question.kind: objects for question, objects in answers.items()}
        if found[KINDS.POD]:
            found = {KINDS.POD: found[KINDS.POD]}
        deletes: list[Action] = []
        for kind, objects in found.items():
            for part in in_parts(objects):
                deletes += (
                    Delete(kind, key, item.name, item.uid, propagation="Background")
                    for item in part
                    if item.view.metadata.deletionTimestamp is None
                )
                yield
        if deletes:
            return Plan(tuple(deletes), again_after=0.0)
        remaining = what_remains(key, found, namespace.view.metadata.deletionTimestamp, now)
        update = status_update(namespace, status_of(namespace, remaining, now))
        if remaining.failures:
            return Plan(update, retries=True)
        if remaining.kinds:
            return Plan(update, again_after=remaining.estimate // 2 + 1)
        if update:
            return Plan(update, again_after=0.0)
        return Plan((_finalize(namespace),))

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        namespace = world.get(KINDS.NAMESPACE, key)
        if namespace is None or not isinstance(action, Delete) or error.reason == "Conflict":
            return ()
        remaining = Remaining({action.kind: 1}, {}, 0, [error.message])
        return status_update(namespace, status_of(namespace, remaining, self._now))


def _is_going(namespace: Object) -> bool:
    view = namespace.view
    return view.metadata.deletionTimestamp is not None and FINALIZER in view.spec.finalizers


def _finalize(namespace: Object) -> Update:
    left = [name for name in namespace.view.spec.finalizers if name != FINALIZER]
    return Update(KINDS.NAMESPACE, {**namespace.raw, "spec": {**namespace.raw["spec"], "finalizers": left}}, "finalize")


class ServiceAccountController(Controller):
    """Creates the ServiceAccount `default` in every active namespace. Kubernetes: ServiceAccountsController."""

    name = "serviceaccount-controller"
    watches = (KINDS.NAMESPACE, KINDS.SERVICE_ACCOUNT)

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.NAMESPACE:
            return (new.name,) if new is not None else ()
        return (old.namespace,) if new is None and old is not None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        namespace = world.view(KINDS.NAMESPACE, key)
        if namespace is None or namespace.status.phase != "Active":
            return NOTHING
        if world.get(KINDS.SERVICE_ACCOUNT, f"{key}/default") is not None:
            return NOTHING
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": key}}
        return Plan((Create(KINDS.SERVICE_ACCOUNT, account, key),))
