"""Keep the timers of pods on nodes with NoExecute taints: the base of controllers that evict because of taints.

Keys: a pod, and a node, whose taints get a `timeAdded` if a pod's deadline depends on it. A pod's time begins with the
taint or with the pod's binding, whichever is later; the earliest deadline of all taints counts. A taint with a new
value is new, but a pod's timer for its key goes on, else a value that changes often would keep the pod forever. A time
in the future is ignored. Kubernetes: pkg/controller/tainteviction. Differs: deadlines follow from objects alone and
survive a restart, for which the controller writes `timeAdded`, rounded up to a second; each taint has its own deadline
by the current tolerations; a pod that is being deleted is left alone, and so is one whose expensive expressions are
being evaluated.
"""

from abc import abstractmethod
from collections.abc import Collection, Iterable
from typing import NamedTuple

from moorage.client.protocol import Object, PatchType
from moorage.control.framework.actions import NORMAL, NOTHING, Action, Patch, Plan, Raw, Report, patch_status
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.workloads import disruption_target
from moorage.control.framework.world import World
from moorage.match.evaluation.accounts import Undecided
from moorage.match.eviction_clock import Deadline, added_at, countdown, deadline, noticed_text, placed_at
from moorage.match.taint_eviction import Eviction, When, no_execute
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import Pod
from moorage.model.well_known.taints import NO_EXECUTE

Taints = tuple[Taint, ...]
_REASON = "TaintManagerEviction"
#: The condition of a pod that is deleted because of a taint.
DELETION = ("DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
#: From 5 ms to 4 min, for the latency of evictions.
LATENCY_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 120.0, 180.0, 240.0)


class _Waiting(NamedTuple):
    """A pod with a running timer, and when it began for each taint key."""

    pod: Object
    begun: dict[str, float]


class TaintEvictions(Controller):
    """Reconciles pods on tainted nodes. A subclass decides when a pod has to leave, and makes it leave."""

    workers = 64
    watches = (KINDS.NODE, KINDS.POD)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._tainted: dict[str, Taints] = {}
        self._noticed: dict[str, float] = {}  # when a node's current taints were seen
        self._changed: dict[str, dict[str, str]] = {}  # by node and taint key: a timeAdded of an earlier value
        self._waiting: dict[str, _Waiting] = {}
        self._evicted: dict[str, float] = {}  # pods being deleted, and when they were due

    @abstractmethod
    def judge(self, taints: Taints, pod: Object, node: str) -> Eviction:
        """Return when a pod must leave. `taints` are the node's NoExecute taints. Raises Undecided."""

    @abstractmethod
    def evict(self, found: Object, now: float, eviction: Eviction, world: World) -> list[Action]:
        """Return how a pod is made to leave."""

    def is_judged(self, found: Object) -> bool:
        """Whether this controller decides about a pod at all."""
        return True

    def is_judged_alike(self, old: Pod, new: Pod) -> bool:
        """Whether the decision about a pod stays, on the same node."""
        return old.spec.tolerations == new.spec.tolerations

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.NODE:
            return self._node_changed(old, new, world)
        return self._pod_changed(old, new)

    def _node_changed(self, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if new is None:
            name = old.name if old is not None else ""
            for known in (self._tainted, self._noticed, self._changed):
                known.pop(name, None)
            return ()
        taints = no_execute(new.view)
        before = self._tainted.get(new.name, ())
        if taints == before:
            return ()
        self._note_changes(new.name, before, taints)
        if taints:
            self._tainted[new.name] = taints
        else:
            self._tainted.pop(new.name, None)
        # The node first, so that timeAdded is written before its pods are reconciled.
        return (new.name, *self._judged_on(new.name, world))

    def _judged_on(self, node: str, world: World) -> list[str]:
        return [pod.key for pod in world.pods_on(node) if self.is_judged(pod)]

    def _note_changes(self, name: str, before: Taints, taints: Taints) -> None:
        """Remember timeAdded values that belong to an earlier value of an edited taint."""
        known = {taint.key: taint for taint in before}
        changed = self._changed.pop(name, {})
        for taint in taints:
            old = known.get(taint.key)
            if old is None or not taint.timeAdded or taint.timeAdded != old.timeAdded:
                continue
            if taint.value != old.value or taint.key in changed:
                self._changed.setdefault(name, {})[taint.key] = taint.timeAdded

    def _pod_changed(self, old: Object | None, new: Object | None) -> Iterable[str]:
        found = new if new is not None else old
        if found is None:
            return ()
        key = found.key
        if key in self._waiting or key in self._evicted:
            return (key,)
        if new is None:
            return ()
        pod: Pod = new.view
        node = pod.spec.nodeName
        if node not in self._tainted or not self.is_judged(new):
            return ()
        if old is not None:
            before: Pod = old.view
            if before.spec.nodeName == node and self.is_judged_alike(before, pod):
                return ()
        return node, key

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        if "/" in key:
            return self._reconcile_pod(key, world, now)
        return self._reconcile_node(key, world, now)

    def _reconcile_node(self, name: str, world: World, now: float) -> Plan:
        """Write timeAdded where the deadline of a pod on the node depends on it."""
        node = world.get(KINDS.NODE, name)
        taints = self._tainted.get(name)
        if node is None or taints is None:
            self._noticed.pop(name, None)
            return NOTHING
        self._noticed[name] = now
        changed = self._changed.get(name, {})
        if noticed_text(now) in changed.values():
            # The taint changed in the second that its timeAdded has.
            self._changed[name] = {key: time for key, time in changed.items() if time != noticed_text(now)}
            return Plan(wakes=(name, *self._judged_on(name, world)))
        if all(added_at(taint, now) is not None and taint.key not in changed for taint in taints):
            return NOTHING
        undecided: Undecided | None = None
        for pod in filter(self.is_judged, world.pods_on(name)):
            try:
                if self.judge(taints, pod, name).when is When.AFTER:
                    return Plan((_write_down(node, changed, now),))
            except Undecided as waiting:
                undecided = waiting
        if undecided is not None:
            raise undecided
        return NOTHING

    def _reconcile_pod(self, key: str, world: World, now: float) -> Plan:
        found = world.get(KINDS.POD, key)
        if found is None or found.view.metadata.deletionTimestamp is not None:
            self._evicted.pop(key, None)
            return Plan(tuple(self.cancel(key)))
        pod: Pod = found.view
        node = pod.spec.nodeName
        taints = self._tainted.get(node, ())
        eviction = self.judge(taints, found, node)
        if eviction.when is When.NEVER:
            return Plan(tuple(self.cancel(key)))
        if eviction.when is When.NOW:
            cancelled = self.cancel(key)
            since = min(now, max(self._noticed.get(node, now), placed_at(pod, now)))
            return Plan((*cancelled, *self._evict(found, since, now, eviction, world)))
        waited = self._waiting.get(key)
        known = waited.begun if waited is not None and waited.pod.uid == found.uid else {}
        changed = self._changed.get(node, {})
        due, begun, _ = countdown(taints, eviction, pod, now, begun=known, changed=changed)
        self._waiting[key] = _Waiting(found, begun)
        if due is None:
            # The node's key writes timeAdded, and that change brings this pod here again.
            return Plan(wakes=(node,))
        if due > now:
            return Plan(again_after=due - now)
        self._waiting.pop(key, None)
        return Plan(tuple(self._evict(found, due, now, eviction, world)))

    @property
    def timed(self) -> Iterable[Object]:
        """The pods whose timers run, as they were when last looked at."""
        return [waiting.pod for waiting in self._waiting.values()]

    def foresee(self, found: Object, taints: Taints, eviction: Eviction, now: float) -> Deadline:
        """Return when a pod would have to leave if its node got these NoExecute taints now."""
        waited = self._waiting.get(found.key)
        begun = waited.begun if waited is not None and waited.pod.uid == found.uid else {}
        changed = self._changed.get(found.view.spec.nodeName, {})
        return deadline(taints, eviction, found.view, now, begun=begun, changed=changed)

    def _evict(self, found: Object, since: float, now: float, eviction: Eviction, world: World) -> list[Action]:
        actions = self.evict(found, now, eviction, world)
        self._evicted.setdefault(found.key, since)
        return actions

    def late(self, key: str, now: float) -> float:
        """Return for how long a pod that has been evicted was due."""
        return max(0.0, now - self._evicted.get(key, now))

    def cancel(self, key: str) -> list[Action]:
        """Stop a pod's timer, if it runs; return what reports it."""
        waited = self._waiting.pop(key, None)
        return [] if waited is None else [report(waited.pod, f"Cancelling deletion of Pod {key}")]


def report(found: Object, message: str) -> Report:
    """Return the event of a pod that taints concern."""
    about = {"kind": "Pod", "apiVersion": "v1", "namespace": found.namespace, "name": found.name, "uid": found.uid}
    return Report(about, NORMAL, _REASON, message)


def marked(found: Object, now: float) -> list[Action]:
    """Return what gives a pod the condition that says why it is deleted; nothing if it has it already."""
    condition = disruption_target(found.view, *DELETION, now)
    return [] if _is_marked(found.view, condition) else [patch_status(found, {"conditions": [condition]})]


def _is_marked(pod: Pod, wanted: Raw) -> bool:
    for condition in pod.status.conditions:
        if condition.type == wanted["type"]:
            is_same = all(getattr(condition, field) == wanted[field] for field in ("status", "reason", "message"))
            return is_same and condition.observedGeneration == pod.metadata.generation
    return False


def _write_down(node: Object, changed: Collection[str], now: float) -> Patch:
    """Set timeAdded of NoExecute taints, refused if the taints have changed.

    `changed`: keys of taints whose timeAdded belongs to an earlier value.
    """
    operations: list[Raw] = []
    view: Node = node.view
    for index, (taint, raw) in enumerate(zip(view.spec.taints, node.raw["spec"]["taints"], strict=True)):
        if taint.effect == NO_EXECUTE and (taint.key in changed or added_at(taint, now) is None):
            path = f"/spec/taints/{index}"
            operations.append({"op": "test", "path": path, "value": raw})
            operations.append({"op": "add", "path": f"{path}/timeAdded", "value": noticed_text(now)})
    return Patch(KINDS.NODE, "", node.name, operations, patch_type=PatchType.JSON)
