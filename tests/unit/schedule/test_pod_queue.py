"""The queue by itself: plugins are stand-ins that say which events they mind."""

from math import inf
from typing import Any

import msgspec
import pytest
from tests.unit.schedule.clusters import Raw, cluster_of, node, pod

from moorage.columns.cluster import Cluster, PodRecord
from moorage.model.types.storage import PersistentVolumeClaim
from moorage.schedule.framework.events import Event, EventKind, Requeue, node_events, on
from moorage.schedule.framework.plugin import Plugin
from moorage.schedule.pod_queue import SchedulingQueue
from moorage.schedule.waiting_pods import NO_NODES, QueuedPod, QueueState, RequeueTable

SCHEDULER = "default-scheduler"


class Minds(Plugin[Any]):
    """A plugin that minds some events only."""

    name: str  # type: ignore[misc]
    requeue_on: tuple[Requeue, ...] | None  # type: ignore[misc]

    def __init__(self, name: str, requeue_on: tuple[Requeue, ...] | None) -> None:
        self.name = name
        self.requeue_on = requeue_on


PODS = Minds("Pods", (on(EventKind.POD_REMOVED),))
NODES = Minds("Nodes", (on(EventKind.NODE_ADDED, hint=lambda want, shape, event, cluster: bool(shape.requests)),))
ANYTHING = Minds("Anything", None)
CLAIMS = Minds("Claims", (on(EventKind.CLAIM_ADDED, EventKind.OWN_LABELS),))
BY_PODS, BY_NODES = frozenset({"Pods"}), frozenset({"Nodes"})
POD_REMOVED = Event(EventKind.POD_REMOVED, pod())


class Bench:
    """A queue, and pods for it."""

    def __init__(self) -> None:
        self.cluster: Cluster = cluster_of(node("n"))
        plugins = (PODS, NODES, ANYTHING, CLAIMS)
        table = RequeueTable(plugins, self.cluster, lambda name, shape: ("want",))
        self.queue = SchedulingQueue({SCHEDULER: table})

    def record(self, name: str, priority: int = 0, labels: Raw | None = None, **spec: Any) -> PodRecord:
        return self.cluster.record(f"default/{name}", pod(name, labels, priority=priority, **spec))

    def add(self, name: str, now: float = 0.0, priority: int = 0, **spec: Any) -> None:
        self.queue.add(self.record(name, priority, **spec), now)

    def pop(self, now: float = 0.0) -> QueuedPod:
        popped = self.queue.pop(now)
        assert popped is not None
        return popped

    def names(self, now: float = 0.0) -> list[str]:
        """Everybody who can be popped now, in order."""
        popped = []
        while (one := self.queue.pop(now)) is not None:
            popped.append(one.key.removeprefix("default/"))
        return popped

    def place(self, name: str) -> QueueState:
        found = self.queue.get(f"default/{name}")
        assert found is not None
        return found.place


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_order_is_by_priority_then_by_waiting_time_then_by_arrival(bench: Bench) -> None:
    bench.add("late", now=2.0)
    bench.add("first", now=1.0)
    bench.add("second", now=1.0)
    bench.add("urgent", now=3.0, priority=7)
    assert bench.names(3.0) == ["urgent", "first", "second", "late"]


def test_rejected_pod_waits_for_events_of_its_plugin(bench: Bench) -> None:
    bench.add("a")
    bench.queue.failed(bench.pop(), BY_PODS, 0.0)
    assert bench.place("a") is QueueState.UNSCHEDULABLE
    bench.queue.happened(Event(EventKind.NODE_ADDED, None, node("m")), 5.0)
    assert bench.names(5.0) == []
    bench.queue.happened(POD_REMOVED, 5.0)
    assert bench.names(5.0) == ["a"]


def test_hint_can_leave_a_pod_waiting(bench: Bench) -> None:
    bench.add("small")
    bench.queue.failed(bench.pop(), BY_NODES, 0.0)
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    bench.add("large", containers=containers)
    bench.queue.failed(bench.pop(), BY_NODES, 0.0)
    for event in node_events(None, node("m")):
        bench.queue.happened(event, 5.0)
    assert bench.names(5.0) == ["large"]


def test_any_event_wakes_where_a_plugin_has_no_rows(bench: Bench) -> None:
    bench.add("a")
    bench.queue.failed(bench.pop(), frozenset({"Anything"}), 0.0)
    bench.queue.happened(Event(EventKind.STORAGE_CLASS_CHANGED), 5.0)
    assert bench.names(5.0) == ["a"]


def test_without_nodes_a_pod_waits_for_the_first(bench: Bench) -> None:
    bench.add("a")
    bench.queue.failed(bench.pop(), frozenset({NO_NODES}), 0.0)
    bench.queue.happened(POD_REMOVED, 5.0)
    assert bench.names(5.0) == []
    bench.queue.happened(Event(EventKind.NODE_ADDED, None, node("m")), 5.0)
    assert bench.names(5.0) == ["a"]


def test_backoff_lets_others_go_first(bench: Bench) -> None:
    bench.add("failed", priority=9)
    bench.queue.failed(bench.pop(), BY_PODS, 0.0)
    bench.queue.happened(POD_REMOVED, 0.5)
    assert bench.place("failed") is QueueState.BACKOFF
    assert bench.queue.next_time() == 1.0
    bench.add("fresh", now=0.5)
    assert bench.names(0.5) == ["fresh", "failed"]


def test_backoff_ends_by_itself(bench: Bench) -> None:
    bench.add("failed", priority=9)
    bench.queue.failed(bench.pop(), BY_PODS, 0.0)
    bench.queue.happened(POD_REMOVED, 0.5)
    bench.add("fresh", now=0.5)
    assert bench.names(1.0) == ["failed", "fresh"]


def test_backoff_doubles(bench: Bench) -> None:
    bench.add("a")
    for wait in (1.0, 2.0, 4.0, 8.0, 10.0, 10.0):
        bench.queue.failed(bench.pop(), BY_PODS, 0.0)
        bench.queue.happened(POD_REMOVED, 0.0)
        assert bench.queue.next_time() == wait


def test_errors_wait_out_their_backoff(bench: Bench) -> None:
    bench.add("a")
    bench.queue.failed(bench.pop(), frozenset(), 0.0)
    assert bench.place("a") is QueueState.BACKOFF
    assert bench.names(0.9) == []
    assert bench.names(1.0) == ["a"]


def test_after_five_minutes_a_pod_is_tried_anyway(bench: Bench) -> None:
    bench.add("a")
    bench.queue.failed(bench.pop(), BY_PODS, 10.0)
    assert bench.queue.next_time() == 310.0
    assert bench.names(309.9) == []
    assert bench.names(310.0) == ["a"]


def test_five_minutes_count_from_the_last_failure(bench: Bench) -> None:
    bench.add("a")
    bench.queue.failed(bench.pop(), BY_PODS, 0.0)
    bench.queue.happened(POD_REMOVED, 5.0)
    bench.queue.failed(bench.pop(5.0), BY_PODS, 5.0)
    assert bench.names(300.0) == []
    assert bench.names(305.0) == ["a"]
    assert bench.queue.next_time() == inf


def test_events_in_flight_are_not_lost(bench: Bench) -> None:
    bench.add("a")
    bench.add("b")
    first, second = bench.pop(), bench.pop()
    bench.queue.happened(POD_REMOVED, 0.0)
    bench.queue.failed(first, BY_NODES, 0.0)
    bench.queue.failed(second, BY_PODS, 0.0)
    assert bench.place("a") is QueueState.UNSCHEDULABLE
    assert bench.place("b") is QueueState.BACKOFF


def test_events_before_the_flight_do_not_count(bench: Bench) -> None:
    bench.add("a")
    bench.add("b")
    first = bench.pop()
    bench.queue.happened(POD_REMOVED, 0.0)
    second = bench.pop()
    bench.queue.done(first)
    bench.queue.failed(second, BY_PODS, 0.0)
    assert bench.place("b") is QueueState.UNSCHEDULABLE


def test_a_pod_that_goes_while_it_is_tried_does_not_come_back(bench: Bench) -> None:
    bench.add("a")
    flying = bench.pop()
    bench.queue.remove("default/a")
    bench.queue.failed(flying, BY_PODS, 0.0)
    assert len(bench.queue) == 0
    assert bench.names(1000.0) == []


def test_removed_from_wherever_it_is(bench: Bench) -> None:
    for name in ("active", "backoff", "unschedulable"):
        bench.add(name)
    for _ in range(2):
        popped = bench.pop()
        bench.queue.failed(popped, BY_PODS if popped.key.endswith("unschedulable") else frozenset(), 0.0)
    for name in ("active", "backoff", "unschedulable"):
        bench.queue.remove(f"default/{name}")
    bench.queue.happened(POD_REMOVED, 0.0)
    assert bench.names(1000.0) == []


def test_a_gated_pod_enters_when_the_gate_opens(bench: Bench) -> None:
    bench.add("a", schedulingGates=[{"name": "x"}, {"name": "y"}])
    assert bench.place("a") is QueueState.GATED
    bench.queue.update(bench.record("a", schedulingGates=[{"name": "y"}]), 1.0)
    assert bench.names(1000.0) == []
    bench.queue.update(bench.record("a"), 1000.0)
    assert bench.names(1000.0) == ["a"]


def test_an_update_wakes_only_if_it_may_help(bench: Bench) -> None:
    for name in ("a", "b", "c"):
        bench.add(name)
    for rejected_by in (BY_PODS, frozenset({"Claims"}), BY_PODS):
        bench.queue.failed(bench.pop(), rejected_by, 0.0)
    for name in ("a", "b"):
        bench.queue.update(bench.record(name, labels={"app": "web"}), 5.0)
    bench.queue.update(bench.record("c", nodeSelector={"disk": "ssd"}), 5.0)
    assert bench.names(5.0) == ["b", "c"]


def test_an_update_in_flight_is_not_lost(bench: Bench) -> None:
    bench.add("a")
    flying = bench.pop()
    bench.queue.update(bench.record("a", labels={"app": "web"}), 0.0)
    bench.queue.failed(flying, frozenset({"Claims"}), 0.0)
    assert bench.place("a") is QueueState.BACKOFF


def test_an_update_of_an_active_pod_moves_it(bench: Bench) -> None:
    bench.add("a")
    bench.add("b")
    bench.queue.update(bench.record("b", priority=5), 0.0)
    assert bench.names() == ["b", "a"]


def test_an_unknown_pod_that_changes_is_new(bench: Bench) -> None:
    bench.queue.update(bench.record("a"), 0.0)
    assert bench.names() == ["a"]


def test_claim_events_wake_only_pods_that_use_the_claim(bench: Bench) -> None:
    for name in ("a", "b"):
        bench.add(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": f"of-{name}"}}])
        bench.queue.failed(bench.pop(), frozenset({"Claims"}), 0.0)
    claim = msgspec.convert({"metadata": {"name": "of-b", "namespace": "default"}}, PersistentVolumeClaim)
    bench.queue.happened(Event(EventKind.CLAIM_ADDED, None, claim), 5.0)
    assert bench.names(5.0) == ["b"]


def test_activate(bench: Bench) -> None:
    bench.add("a")
    bench.queue.failed(bench.pop(), BY_PODS, 0.0)
    bench.queue.activate("default/a")
    bench.queue.activate("default/nobody")
    assert bench.place("a") is QueueState.ACTIVE
    flying = bench.pop()
    bench.queue.activate("default/a")
    bench.queue.failed(flying, BY_PODS, 0.0)
    assert bench.place("a") is QueueState.BACKOFF


def test_a_thousand_replicas_wait_as_one(bench: Bench) -> None:
    asked = 0

    def count(want: object, shape: object, event: object, cluster: object) -> bool:
        nonlocal asked
        asked += 1
        return True

    table = RequeueTable((Minds("Pods", (on(EventKind.POD_REMOVED, hint=count),)),), bench.cluster, lambda n, s: ("w",))
    bench.queue = SchedulingQueue({SCHEDULER: table})
    for index in range(1000):
        bench.add(f"p{index}")
    for _ in range(1000):
        bench.queue.failed(bench.pop(), BY_PODS, 0.0)
    bench.queue.happened(POD_REMOVED, 5.0)
    assert asked == 1
    assert len(bench.names(5.0)) == 1000


def test_old_timers_are_thrown_away(bench: Bench) -> None:
    bench.add("a")
    for second in range(1000):
        bench.queue.failed(bench.pop(float(second)), BY_PODS, float(second))
        bench.queue.happened(POD_REMOVED, float(second))
    assert len(bench.queue._longest_waiting._entries) < 100
