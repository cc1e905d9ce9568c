"""Hold the cluster as an autoscaler sees it, in columns on which it tries what would happen.

A trial puts pods and nodes into the columns, or takes them out, and undoes it in the reverse order. Pods go where the
scheduler's own plugins would put them. Kubernetes: Cluster Autoscaler's ClusterSnapshot, Karpenter's cluster state.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np

from moorage.client.protocol import Object
from moorage.columns.cluster import Cluster, PodRecord
from moorage.control.framework.world import World
from moorage.match.evaluation.accounts import Evaluations
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.schedule.candidates import NO_SLOT, Candidates, Engine
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.cycle import Scheduler
from moorage.schedule.live.feed import SurroundingsFeed, watched_kinds
from moorage.schedule.live.pod_feed import Assumptions, PodFeed
from moorage.schedule.plugins.spread_domains import DefaultSelectors

_UNSCHEDULABLE = "Unschedulable"
_ALL = {"cpu": "1000000000", "memory": "1Ei", "ephemeral-storage": "1Ei"}
#: A pod that takes all of a node, in a namespace that there cannot be.
_BLOCKER = convert_view(
    {
        "metadata": {"name": "blocker", "namespace": ".blockers"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": _ALL}}]},
    },
    Pod,
)


class Columns:
    """A scheduler over columns, fed with what surrounds pods: storage, devices, namespaces, budgets."""

    def __init__(self, gates: GateSet, configuration: Configuration, evaluations: Evaluations | None) -> None:
        self.cluster = Cluster(0, gates)
        selectors = DefaultSelectors()
        self.scheduler: Scheduler = configuration.make_scheduler(self.cluster, gates, selectors, evaluations)
        self.surroundings = SurroundingsFeed(self.scheduler, selectors)

    def engine_of(self, pod: Pod) -> Engine:
        """Return the engine of a pod's scheduler; that of the first profile if it has another one."""
        engines = self.scheduler.engines
        return engines.get(pod.spec.schedulerName) or next(iter(engines.values()))

    def candidates(self, record: PodRecord) -> Candidates:
        return self.engine_of(record.pod).candidates(self.cluster.refresh(record))

    def tell(self, kind: Kind, old: Object | None, new: Object | None, now: float) -> None:
        """Take in a change of a kind that is neither nodes nor pods."""
        if new is not None:
            self.surroundings.changed(kind.name, old.view if old is not None else None, new.view, now, new.revision)
        elif old is not None:
            self.surroundings.gone(kind.name, old.view, now)


class Snapshot(Columns):
    """The nodes, the pods on them, and the pods that wait because the scheduler found no node."""

    def __init__(self, gates: GateSet, configuration: Configuration, evaluations: Evaluations | None = None) -> None:
        super().__init__(gates, configuration, evaluations)
        self.kinds = watched_kinds(gates)
        self._pods = PodFeed(self.scheduler, Assumptions())
        self._changed: dict[Kind, dict[str, None]] = {kind: {} for kind in self.kinds}
        self._known: dict[Kind, dict[str, Object]] = {kind: {} for kind in self.kinds}
        self._versions: Counter[str] = Counter()  # of the pods on each node
        self._epoch = 0  # grows when all records are others
        #: Pods without a node of which the scheduler has said that they fit nowhere, by key.
        self.waiting: dict[str, PodRecord] = {}
        #: Pods that are only imagined, for which room is kept.
        self.held: dict[str, PodRecord] = {}

    def hold(self, pods: Mapping[str, Pod]) -> None:
        """Keep room for these pods, and for no others."""
        self.held = {key: self.cluster.record(key, pod) for key, pod in pods.items()}

    def note(self, kind: Kind, key: str) -> None:
        """Remember that an object changed; it is looked at by the next `take_in`."""
        keys = self._changed.get(kind)
        if keys is not None:
            keys[key] = None

    def take_in(self, world: World, now: float, beside: Columns | None = None) -> None:
        """Follow what changed. `beside` are columns that have the same surroundings."""
        for kind, keys in self._changed.items():
            known = self._known[kind]
            for key in keys:
                old, new = known.get(key), world.get(kind, key)
                if new is not None:
                    known[key] = new
                elif old is not None:
                    del known[key]
                if kind is KINDS.POD:
                    self._pod_changed(key, old, new, now)
                elif kind is KINDS.NODE:
                    self._node_changed(key, new, now)
                else:
                    self.tell(kind, old, new, now)
                    if beside is not None:
                        beside.tell(kind, old, new, now)
            keys.clear()
        shapes = len(self.cluster.shapes)
        self._pods.tidy()
        if len(self.cluster.shapes) < shapes:  # of those that are left out, waiting pods may have had one
            self._epoch += 1
            for records in (self.waiting, self.held):
                for key, record in records.items():
                    records[key] = self.cluster.record(key, record.pod)

    def _node_changed(self, name: str, new: Object | None, now: float) -> None:
        if new is not None:
            self._pods.node_changed(new.view, now)
        else:
            self._pods.node_gone(name, now)

    def _pod_changed(self, key: str, old: Object | None, new: Object | None, now: float) -> None:
        pod: Pod | None = new.view if new is not None else None
        for view in (old.view if old is not None else None, pod):
            if view is not None and view.spec.nodeName:
                self._versions[view.spec.nodeName] += 1
        if old is not None and old.view.spec.nodeName and (pod is None or not pod.spec.nodeName):
            self._pods.pod_gone(key, old.view, now)
        if pod is not None and pod.spec.nodeName:
            self._pods.pod_changed(key, pod, now)
        if pod is not None and waits(pod):
            known = self.waiting.get(key)
            if known is None or known.pod.spec is not pod.spec or known.pod.metadata is not pod.metadata:
                self.waiting[key] = self.cluster.record(key, pod)
        else:
            self.waiting.pop(key, None)

    def version_of(self, node: str) -> tuple[int, int]:
        """Return what changes whenever a pod on a node does."""
        return self._epoch, self._versions[node]

    def records_on(self, node: str) -> list[PodRecord]:
        slot = self.cluster.nodes.slot_of.get(node)
        return [] if slot is None else list(self.cluster.pods_on[slot].values())

    @contextmanager
    def trial(self) -> Iterator["Trial"]:
        """Yield changes that are undone at the end of the block."""
        trial = Trial(self)
        try:
            yield trial
        finally:
            trial.undo()


class Trial:
    """Changes of a snapshot that can be undone, all or back to a mark."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot, self._cluster = snapshot, snapshot.cluster
        self._undo: list[Callable[[], object]] = []

    def mark(self) -> int:
        return len(self._undo)

    def undo(self, mark: int = 0) -> None:
        while len(self._undo) > mark:
            self._undo.pop()()

    # -- pods ---------------------------------------------------------------------------------------------------------

    def place(self, record: PodRecord, without: Collection[int] = ()) -> bool:
        """Put a pod where the scheduler would, on none of some slots; return whether there is a node for it."""
        slot = self.best(record, without)
        if slot == NO_SLOT:
            return False
        self.put(record, slot)
        return True

    def best(self, record: PodRecord, without: Collection[int] = ()) -> int:
        """Return the slot that the scheduler would choose, or `NO_SLOT`.

        If it would choose one of those to leave out, it is the first of the others that takes the pod.
        """
        candidates = self._snapshot.candidates(record)
        slot = candidates.best()
        if slot not in without:
            return slot
        feasible = candidates.feasible()
        feasible[list(without)] = False
        others = np.flatnonzero(feasible)
        return int(others[0]) if len(others) else NO_SLOT

    def passes(self, record: PodRecord, slot: int) -> bool:
        return self._snapshot.candidates(record).passes(slot)

    def put(self, record: PodRecord, slot: int) -> None:
        engine = self._snapshot.engine_of(record.pod)
        if record.claims or record.shape.devices:
            engine.reserve(record, slot)
        self._cluster.add_pod(record, slot)
        self._undo.append(partial(self._take_back, record))

    def _take_back(self, record: PodRecord) -> None:
        self._cluster.remove_pod(record)
        if record.claims or record.shape.devices:
            self._snapshot.engine_of(record.pod).unreserve(record)

    def lift(self, record: PodRecord) -> None:
        """Take a pod off its node."""
        slot = record.slot
        self._cluster.remove_pod(record)
        self._undo.append(partial(self._cluster.add_pod, record, slot))

    def block(self, name: str) -> int:
        """Let a node look full, so that others are chosen; return its slot. Pods without requests may still fit.

        To change the node or to take it out would make all that is known of spreads and affinities void.
        """
        slot = self._cluster.nodes.slot_of[name]
        record = self._cluster.record(f"{_BLOCKER.metadata.namespace}/{name}", _BLOCKER)
        self._cluster.add_pod(record, slot)
        self._undo.append(partial(self._cluster.remove_pod, record))
        return slot

    # -- nodes --------------------------------------------------------------------------------------------------------

    def add_node(self, node: Node) -> int:
        slot = self._cluster.add_node(node)
        self._undo.append(partial(self._cluster.remove_node, node.metadata.name))
        return slot

    def change_node(self, node: Node) -> None:
        """Put another version of a node in its place."""
        nodes = self._cluster.nodes
        before = nodes.node(nodes.slot_of[node.metadata.name])
        self._cluster.update_node(node)
        self._undo.append(partial(self._cluster.update_node, before))

    def remove_node(self, name: str) -> list[PodRecord]:
        """Take a node out; return the pods that were on it."""
        node = self._cluster.nodes.node(self._cluster.nodes.slot_of[name])
        stranded = self._cluster.remove_node(name)
        self._undo.append(partial(self._bring_back, node, stranded))
        return stranded

    def _bring_back(self, node: Node, records: Sequence[PodRecord]) -> None:
        slot = self._cluster.add_node(node)
        for record in records:
            self._cluster.add_pod(record, slot)


def waits(pod: Pod) -> bool:
    """Return whether the scheduler found no node for a pod, and it does not wait for victims to leave."""
    return (
        not pod.spec.nodeName
        and pod.metadata.deletionTimestamp is None
        and pod.status.phase not in FINISHED_PHASES
        and not pod.status.nominatedNodeName
        and any(one.type == "PodScheduled" and one.reason == _UNSCHEDULABLE for one in pod.status.conditions)
        and not is_of_daemon_set(pod)
    )


def is_of_daemon_set(pod: Pod) -> bool:
    return any(owner.kind == "DaemonSet" and owner.controller for owner in pod.metadata.ownerReferences)


def is_alike(old: Pod, new: Pod) -> bool:
    """Return whether an autoscaler sees no difference between two versions of a pod."""
    return (
        old.spec.nodeName == new.spec.nodeName
        and old.metadata.deletionTimestamp == new.metadata.deletionTimestamp
        and old.metadata.labels == new.metadata.labels
        and old.metadata.annotations == new.metadata.annotations
        and (old.status.phase in FINISHED_PHASES) is (new.status.phase in FINISHED_PHASES)
        and (bool(new.spec.nodeName) or (old.status is new.status or _scheduled(old) == _scheduled(new)))
    )


def _scheduled(pod: Pod) -> tuple[str, bool]:
    reason = next((one.reason for one in pod.status.conditions if one.type == "PodScheduled"), "")
    return reason, bool(pod.status.nominatedNodeName)


def is_over(pod: Pod) -> bool:
    """Return whether a pod has ended or is about to."""
    return pod.status.phase in FINISHED_PHASES or pod.metadata.deletionTimestamp is not None
