"""Namespaces that are deleted are emptied, pods first, and then let go.

In: a namespace with a deletionTimestamp; what is in it, as the API server has it now. Out: deletions, conditions that
tell what is still there, and at last the namespace without the finalizer that kept it. Nothing new can get in, because
admission refuses it; but something may have got in that nobody has heard of yet, so what is in a namespace is asked for
and not remembered. Kubernetes: pkg/controller/namespace. Differs: it looks again when the last object of a kind has
gone, and not only after the time that the rest was expected to take.
"""

from collections.abc import Iterable, Sequence

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Answers, Delete, Plan, Question, Update
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.pods_of import POD
from moorage.control.framework.world import World
from moorage.control.namespace.remaining import Remaining, status_of, what_remains
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS, Kind

NAMESPACE = KINDS["v1", "Namespace"]
FINALIZER = "kubernetes"
#: Both APIs of events show the same objects.
_CONTENT = tuple(kind for kind in KINDS.values() if kind.namespaced and kind.group != "events.k8s.io")


class NamespaceController(Controller):
    """See the module."""

    name = "namespace-controller"
    watches = (NAMESPACE, *(kind for kind in _CONTENT if not kind.is_chatty))

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._now = 0.0

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is NAMESPACE:
            return (new.key,) if new is not None and _is_going(new) else ()
        if new is not None or old is None:
            return ()
        namespace = world.get(NAMESPACE, old.namespace)
        if namespace is None or not _is_going(namespace) or world.has_any(kind, old.namespace):
            return ()
        return (namespace.key,)

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        namespace = world.get(NAMESPACE, key)
        if namespace is None or not _is_going(namespace):
            return ()
        return [Question(kind, key) for kind in _CONTENT]

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        """Without questions there is nothing to be done."""
        return NOTHING

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        self._now = now
        namespace = world.get(NAMESPACE, key)
        if namespace is None or not _is_going(namespace):
            return NOTHING
        found = {question.kind: objects for question, objects in answers.items()}
        if found[POD]:
            found = {POD: found[POD]}
        deletes = [
            Delete(kind, key, item.name, item.uid, propagation="Background")
            for kind, objects in found.items()
            for item in objects
            if item.view.metadata.deletionTimestamp is None
        ]
        if deletes:
            return Plan(tuple(deletes), again_after=0.0)
        remaining = what_remains(key, found, namespace.view.metadata.deletionTimestamp, now)
        update = _status(namespace, remaining, now)
        if remaining.failures:
            return Plan((update,) if update is not None else (), retries=True)
        if remaining.kinds:
            return Plan((update,) if update is not None else (), again_after=remaining.estimate // 2 + 1)
        if update is not None:
            return Plan((update,), again_after=0.0)
        return Plan((_finalize(namespace),))

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        namespace = world.get(NAMESPACE, key)
        if namespace is None or not isinstance(action, Delete) or error.reason == "Conflict":
            return ()
        update = _status(namespace, Remaining({action.kind: 1}, {}, 0, [error.message]), self._now)
        return (update,) if update is not None else ()


def _is_going(namespace: Object) -> bool:
    view = namespace.view
    return view.metadata.deletionTimestamp is not None and FINALIZER in view.spec.finalizers


def _status(namespace: Object, remaining: Remaining, now: float) -> Update | None:
    status = status_of(namespace, remaining, now)
    return None if status is None else Update(NAMESPACE, {**namespace.raw, "status": status}, "status")


def _finalize(namespace: Object) -> Update:
    left = [name for name in namespace.view.spec.finalizers if name != FINALIZER]
    return Update(NAMESPACE, {**namespace.raw, "spec": {**namespace.raw["spec"], "finalizers": left}}, "finalize")
