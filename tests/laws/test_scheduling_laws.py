"""The queue and the cycle in virtual time, under random schedules of events.

Nobody is lost; nobody waits who could be placed, although only those are woken whom an event may help; nothing is
over-committed; nobody is evicted by somebody who is not more important.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, UNTIL_NOTICED, assert_notices
from tests.laws.random_clusters import NAMESPACES, Raw, random_node, random_pod, storage_objects
from tests.unit.schedule.clusters import play

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.resources import PODS
from moorage.columns.shape import Shape
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import NO_SLOT, Candidates
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.cycle import Bind, NoNode, Scheduler
from moorage.schedule.framework.events import Event, EventKind
from moorage.schedule.waiting_pods import RequeueTable

SCHEDULER = "default-scheduler"
PROFILE = default_profile(gates_from({"AllAlpha": True}))
_MAX_BACKOFF_LENGTH = 10.0


def social_node(random: Random, name: str) -> Raw:
    """A node on which nothing matters but who else is there."""
    labels = {"kubernetes.io/hostname": name, "zone": random.choice(["a", "b", "c"])}
    if random.random() < 0.2:
        del labels["zone"]
    taints = [{"key": "spot", "effect": "NoSchedule"}] if random.random() < 0.2 else []
    allocatable = {"cpu": "9", "memory": "8Gi", "pods": random.choice(["2", "9"])}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {"allocatable": allocatable},
    }


def social_pod(random: Random, name: str) -> Raw:
    """A pod that cares about others: it wants them near, or far, or evenly spread."""
    app = random.choice(["web", "db"])
    term: Raw = {
        "labelSelector": {"matchLabels": {"app": random.choice(["web", "db"])}},
        "topologyKey": random.choice(["zone", "kubernetes.io/hostname"]),
    }
    if random.random() < 0.3:
        term["namespaceSelector"] = {"matchLabels": {"team": random.choice(["a", "b"])}}
    spec: Raw = {"containers": [{"name": "c", "image": "web:1"}]}
    wish = random.choice(["podAffinity", "podAntiAffinity", "spread", ""])
    if wish == "spread":
        constraint = {
            "maxSkew": 1,
            "whenUnsatisfiable": "DoNotSchedule",
            "nodeTaintsPolicy": random.choice(["Honor", "Ignore"]),
        }
        spec["topologySpreadConstraints"] = [
            {**constraint, "topologyKey": term["topologyKey"], "labelSelector": term["labelSelector"]}
        ]
    elif wish:
        spec["affinity"] = {wish: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    namespace = random.choice(["default", "team"])
    return {"metadata": {"name": name, "namespace": namespace, "labels": {"app": app}}, "spec": spec}


class World:
    """A cluster in which random things happen, and the scheduler that is told of them."""

    def __init__(self, seed: int, break_it: Callable[[Scheduler], None]) -> None:
        self.random = Random(seed)
        social = self.random.random() < 0.6
        self.random_pod, self.random_node = (social_pod, social_node) if social else (random_pod, random_node)
        self.cluster = Cluster(seed)
        self.now = 0.0
        self.scheduler = Scheduler({SCHEDULER: PROFILE}, self.cluster)
        self.pending: dict[str, PodRecord] = {}
        self.names = 0
        for name, labels in NAMESPACES.items():
            self.scheduler.namespace_changed(name, {**labels, "kubernetes.io/metadata.name": name}, 0.0)
        for thing in storage_objects():
            self.cluster.storage.set(thing)
        break_it(self.scheduler)

    # -- what may happen ------------------------------------------------------------------------------------------

    def something_happens(self) -> None:
        what = self.random.choice(
            [self.pod_comes] * 4
            + [self.node_comes, self.node_changes, self.node_changes, self.node_goes]
            + [self.pod_goes, self.pod_goes, self.pod_is_relabelled, self.pod_ends]
            + [self.pending_pod_changes, self.pending_pod_goes, self.namespace_changes]
        )
        what()

    def pod_comes(self) -> None:
        self.names += 1
        raw = self.random_pod(self.random, f"p{self.names}")
        raw["spec"]["priority"] = self.random.choice([0, 0, 10, 20])
        raw["spec"]["preemptionPolicy"] = self.random.choice(["PreemptLowerPriority", "Never"])
        if self.random.random() < 0.1:
            raw["spec"]["schedulingGates"] = [{"name": "wait"}]
        record = self._record(raw)
        self.pending[record.key] = record
        self.scheduler.add(record, self.now)

    def node_comes(self) -> None:
        name = f"n{self.random.randint(0, 4)}"
        if name not in self.cluster.nodes.slot_of:
            self.scheduler.node_added(self._node(name), self.now)

    def node_changes(self) -> None:
        if self.cluster.nodes.slot_of:
            name = self.random.choice(sorted(self.cluster.nodes.slot_of))
            old = self.cluster.nodes.node(self.cluster.nodes.slot_of[name])
            new = self._node(name)
            # One thing at a time, so that one hint has to notice it.
            keep = self.random.choice(["metadata", "spec", "status", ""])
            kept = {field: getattr(old, field) for field in ("metadata", "spec", "status") if field != keep}
            self.scheduler.node_changed(msgspec.structs.replace(new, **kept) if keep else new, self.now)

    def node_goes(self) -> None:
        if self.cluster.nodes.slot_of and self.random.random() < 0.5:
            self.scheduler.node_gone(self.random.choice(sorted(self.cluster.nodes.slot_of)), self.now)

    def pod_goes(self) -> None:
        if self.cluster.pods:
            self.scheduler.pod_gone(self.random.choice(sorted(self.cluster.pods)), self.now)

    def pod_is_relabelled(self) -> None:
        self._change_running(labels={"app": self.random.choice(["web", "db", "none"])})

    def pod_ends(self) -> None:
        self._change_running(deletionTimestamp="2026-01-01T00:00:00Z")

    def pending_pod_changes(self) -> None:
        if not self.pending:
            return
        old = self.pending[self.random.choice(sorted(self.pending))]
        other = convert_view(self.random_pod(self.random, "x"), Pod)
        metadata, spec = old.pod.metadata, msgspec.structs.replace(old.pod.spec, schedulingGates=())
        if self.random.random() < 0.5:
            metadata = msgspec.structs.replace(metadata, labels=other.metadata.labels)
        else:
            spec = msgspec.structs.replace(spec, tolerations=(*spec.tolerations, *other.spec.tolerations))
        record = self.cluster.record(old.key, msgspec.structs.replace(old.pod, metadata=metadata, spec=spec))
        self.pending[old.key] = record
        self.scheduler.update(record, self.now)

    def pending_pod_goes(self) -> None:
        if self.pending:
            key = self.random.choice(sorted(self.pending))
            del self.pending[key]
            self.scheduler.delete(key, self.now)

    def namespace_changes(self) -> None:
        team = self.random.choice(["a", "b"])
        labels = {"team": team, "kubernetes.io/metadata.name": "team"}
        self.scheduler.namespace_changed("team", labels, self.now)

    def _change_running(self, **changes: Any) -> None:
        if self.cluster.pods:
            old = self.cluster.pods[self.random.choice(sorted(self.cluster.pods))]
            metadata = msgspec.structs.replace(old.pod.metadata, **changes)
            new = msgspec.structs.replace(old.pod, metadata=metadata)
            self.scheduler.pod_changed(self.cluster.record(old.key, new), self.now)

    def _record(self, raw: Raw) -> PodRecord:
        pod = convert_view(raw, Pod)
        return self.cluster.record(f"{pod.metadata.namespace}/{pod.metadata.name}", pod)

    def _node(self, name: str) -> Node:
        return convert_view(self.random_node(self.random, name), Node)

    # -- what has to hold -----------------------------------------------------------------------------------------

    def scheduler_runs(self) -> None:
        for action in play(self.scheduler, self.now):
            if isinstance(action, Bind):
                self.check_bound(action)
            else:
                self.check_not_bound(action)

    def check_bound(self, action: Bind) -> None:
        nodes = self.cluster.nodes
        del self.pending[action.record.key]
        assert nodes.node(action.slot).metadata.name == action.node
        assert all(nodes.free(name)[action.slot] >= 0 for name in (PODS, *action.record.shape.requests))

    def check_not_bound(self, action: NoNode) -> None:
        assert action.message
        assert all(victim.priority < action.record.priority for victim in action.victims)
        assert not action.victims or action.record.pod.spec.preemptionPolicy != "Never"

    def check_nobody_is_lost(self) -> None:
        queue = self.scheduler.queue
        assert {pod.key for pod in queue} == self.pending.keys()

    def check_nobody_waits_in_vain(self) -> None:
        for key, record in self.pending.items():
            if record.pod.spec.schedulingGates:
                continue
            own = self.scheduler.nominations.remove(key)
            shape = self.cluster.refresh(record)
            engine = self.scheduler.engines[SCHEDULER]
            fresh = Candidates(engine.profile, shape, self.cluster)
            assert fresh.best() == NO_SLOT, f"{key} fits"
            assert engine.candidates(shape).best() == NO_SLOT
            if own is not None:
                self.scheduler.nominations.add(record, own)


def _is_right(scheduler: Scheduler) -> None:
    return None


def law_of_scheduling(break_it: Callable[[Scheduler], None], how: settings = LAW_SETTINGS) -> None:
    @how
    @given(st.integers(0, 2**32), st.integers(1, 40))
    def law(seed: int, events: int) -> None:
        world = World(seed, break_it)
        for _ in range(events):
            for _ in range(world.random.randint(1, 2)):
                world.something_happens()
            world.now += world.random.choice([0.0, 0.5, _MAX_BACKOFF_LENGTH])
            world.scheduler_runs()
            world.check_nobody_is_lost()
            world.check_nobody_waits_in_vain()

    law()


def test_law_of_scheduling() -> None:
    law_of_scheduling(_is_right)


# -- broken twins -----------------------------------------------------------------------------------------------------


def _deaf_to(kind: EventKind) -> Callable[[Scheduler], None]:
    """A scheduler whose hints say no to one kind of event."""

    def break_it(scheduler: Scheduler) -> None:
        happened = scheduler.queue.happened
        update = {"happened": lambda event, now: None if event.kind is kind else happened(event, now)}
        scheduler.queue.__dict__.update(update)

    return break_it


def _forgetful(scheduler: Scheduler) -> None:
    """A queue that drops whoever failed twice."""
    failed = scheduler.queue.failed

    def fail(pod: Any, rejected_by: frozenset[str], now: float, answer: str = "") -> None:
        if pod.attempts > 1:
            scheduler.queue.remove(pod.key)
        else:
            failed(pod, rejected_by, now, answer)

    scheduler.queue.__dict__["failed"] = fail


def _careless(scheduler: Scheduler) -> None:
    """An engine that does not look at what is left."""
    engine = scheduler.engines[SCHEDULER]
    filters = tuple(plugin for plugin in engine.profile.filters if plugin.name != "NodeResourcesFit")
    engine.profile = msgspec.structs.replace(engine.profile, filters=filters)


def test_deafness_is_noticed() -> None:
    kinds = EventKind
    for kind in (kinds.POD_ADDED, kinds.POD_REMOVED, kinds.NODE_ADDED, kinds.NODE_TAINTS, kinds.NODE_LABELS):
        assert_notices(partial(law_of_scheduling, _deaf_to(kind), UNTIL_NOTICED))


def test_lost_pods_are_noticed() -> None:
    assert_notices(partial(law_of_scheduling, _forgetful, UNTIL_NOTICED))


def test_overcommitment_is_noticed() -> None:
    assert_notices(partial(law_of_scheduling, _careless, UNTIL_NOTICED))


# -- only those who may be helped -------------------------------------------------------------------------------------


def test_hints_wake_fewer_pods_than_waking_everybody() -> None:
    """The same events with a queue that wakes everybody lead to the same law, with many more attempts."""

    def attempts(wakes_everybody: bool) -> int:
        tried = 0
        for seed in range(12):
            world = World(seed, _wake_everybody if wakes_everybody else _is_right)
            for _ in range(30):
                world.something_happens()
                world.now += _MAX_BACKOFF_LENGTH
                tried += sum(1 for action in play(world.scheduler, world.now) if isinstance(action, NoNode))
                world.pending = {pod.key: pod.record for pod in world.scheduler.queue}
        return tried

    assert attempts(wakes_everybody=False) * 1.5 < attempts(wakes_everybody=True)


def _wake_everybody(scheduler: Scheduler) -> None:
    class Wide(RequeueTable):
        def interested(self, kind: EventKind) -> frozenset[str]:
            return frozenset(self._rows)

        def goes_by_keys(self, name: str, event: Event) -> bool:
            return False

        def may_help(self, shape: Shape, rejected_by: frozenset[str], event: Event) -> bool:
            return True

    engine = scheduler.engines[SCHEDULER]
    table = Wide(engine.profile.filters, scheduler.cluster, lambda name, shape: (None,))
    scheduler.queue.__dict__["_tables"] = {SCHEDULER: table}
