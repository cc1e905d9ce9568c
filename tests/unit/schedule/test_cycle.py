"""The scheduler as a whole: events in, actions out."""

from typing import Any

import msgspec
import pytest
from tests.unit.schedule.clusters import Raw, cluster_of, node, play, requests

from moorage.columns.cluster import Cluster, PodRecord
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule.config.default_profile import default_profile
from moorage.schedule.cycle import Action, Bind, NoNode, Scheduler
from moorage.schedule.framework.events import Event, EventKind
from moorage.schedule.framework.plugin import Profile
from moorage.schedule.preemption.nominations import NominatedPods
from moorage.schedule.waiting_pods import QueueState

DEFAULT = "default-scheduler"


class Bench:
    def __init__(self, *nodes: Node, **more: Any) -> None:
        self.cluster: Cluster = cluster_of(*nodes)
        profiles: dict[str, Profile] = {DEFAULT: default_profile(default_gates())}
        self.scheduler = Scheduler(profiles, self.cluster, **more)

    def record(self, name: str, priority: int = 0, cpu: str = "1", labels: Raw | None = None, **spec: Any) -> PodRecord:
        raw = {
            "metadata": {"name": name, "namespace": "default", "labels": labels or {}},
            "spec": {"containers": requests(cpu=cpu), "priority": priority, **spec},
        }
        return self.cluster.record(f"default/{name}", convert_view(raw, Pod))

    def add(self, *args: Any, now: float = 0.0, **spec: Any) -> PodRecord:
        record = self.record(*args, **spec)
        self.scheduler.add(record, now)
        return record

    def put(self, on: str, *args: Any, **spec: Any) -> PodRecord:
        record = self.record(*args, **spec)
        self.scheduler.pod_placed(record, self.cluster.nodes.slot_of[on], 0.0)
        return record

    def play(self, now: float = 0.0) -> list[tuple[str, str]]:
        """What was decided: for each attempt the pod and its node, or nothing."""
        return [self._said(action) for action in play(self.scheduler, now)]

    def step(self, now: float = 0.0) -> NoNode:
        action = self.scheduler.step(now)
        assert isinstance(action, NoNode)
        return action

    def _said(self, action: Action) -> tuple[str, str]:
        name = action.record.key.removeprefix("default/")
        return name, action.node if isinstance(action, Bind) else ""

    def place(self, name: str) -> QueueState:
        pod = self.scheduler.queue.get(f"default/{name}")
        return pod.place if pod is not None else QueueState.NOWHERE


def test_a_pod_gets_a_node_and_counts_there_at_once() -> None:
    bench = Bench(node("n"))
    record = bench.add("a", cpu="3")
    bench.add("b", cpu="3")
    assert bench.play() == [("a", "n"), ("b", "")]
    assert record.slot == bench.cluster.nodes.slot_of["n"]
    assert bench.place("a") is QueueState.NOWHERE
    assert bench.place("b") is QueueState.UNSCHEDULABLE


def test_message_without_nodes() -> None:
    bench = Bench()
    bench.add("a")
    action = bench.step()
    assert action.message == "no nodes available to schedule pods"
    assert bench.scheduler.why_not(action.record) == action.message
    bench.scheduler.node_added(node("n"), 2.0)
    assert bench.play(2.0) == [("a", "n")]


def test_the_reason_as_event_and_condition() -> None:
    bench = Bench(node("n", taints=[{"key": "sla", "value": "80", "effect": "NoSchedule"}]), node("m"))
    record = bench.add("a", cpu="9")
    action = bench.step()
    text = (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {sla: 80}. "
        "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    )
    assert action.message == action.note == text == bench.scheduler.why_not(record)
    assert action.rejected_by == {"NodeResourcesFit", "TaintToleration"}
    condition = action.condition
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
    assert condition.message == text


def test_a_changed_taint_wakes_only_if_the_verdict_changed() -> None:
    taint = {"key": "sla", "value": "80", "effect": "NoSchedule"}
    bench = Bench(node("n", taints=[taint]))
    bench.add("a")
    assert bench.play() == [("a", "")]
    bench.scheduler.node_changed(node("n", taints=[{**taint, "value": "90"}]), 5.0)
    assert bench.play(5.0) == []
    bench.scheduler.node_changed(node("n", taints=[{**taint, "effect": "PreferNoSchedule"}]), 5.0)
    assert bench.play(5.0) == [("a", "n")]


def test_a_pod_that_is_being_deleted_is_not_scheduled() -> None:
    bench = Bench(node("n"))
    record = bench.record("a")
    metadata = msgspec.structs.replace(record.pod.metadata, deletionTimestamp="2026-01-01T00:00:00Z")
    bench.scheduler.add(bench.cluster.record(record.key, msgspec.structs.replace(record.pod, metadata=metadata)), 0.0)
    assert bench.play() == []
    assert bench.place("a") is QueueState.NOWHERE


def test_several_profiles() -> None:
    cluster = cluster_of(node("n"))
    whole = default_profile(default_gates())
    fits_anywhere = Profile("careless", (), whole.scores)
    scheduler = Scheduler({DEFAULT: whole, "careless": fits_anywhere}, cluster)
    bench = Bench()
    bench.cluster, bench.scheduler = cluster, scheduler
    assert scheduler.knows("careless")
    assert not scheduler.knows("other")
    bench.add("a", cpu="9")
    bench.add("b", cpu="9", schedulerName="careless")
    assert bench.play() == [("a", ""), ("b", "n")]


# -- preemption ------------------------------------------------------------------------------------------


def test_preemption_offline() -> None:
    bench = Bench(node("n"))
    bench.put("n", "low", 0, "4")
    bench.add("high", 10, "4")
    evicted: list[str] = []
    actions = list(play(bench.scheduler, 0.0, lambda victim: evicted.append(victim.key)))
    assert [bench._said(action) for action in actions] == [("high", ""), ("high", "n")]
    assert evicted == ["default/low"]
    first = actions[0]
    assert isinstance(first, NoNode)
    assert (first.nominated, first.message) == ("n", "0/1 nodes are available: 1 Insufficient cpu.")


def test_preemption_may_be_turned_off() -> None:
    bench = Bench(node("n"), preemption={DEFAULT: None})
    bench.put("n", "low", 0, "4")
    bench.add("high", 10, "4")
    action = bench.step()
    assert (action.victims, action.message) == ((), "0/1 nodes are available: 1 Insufficient cpu.")


def test_live_a_pod_waits_for_its_victims_and_others_leave_it_the_room() -> None:
    bench = Bench(node("n"))
    victim = bench.put("n", "low", 0, "4")
    bench.add("high", 10, "4")
    assert bench.step().victims == (victim,)
    bench.scheduler.queue.activate("default/high")
    again = bench.step()
    assert (again.victims, again.nominated) == ((), "n")
    assert again.message.endswith("preemption: not eligible due to a terminating pod on the nominated node.")
    bench.add("equal", 10, "1")
    bench.add("lower", 5, "1")
    assert bench.play() == [("equal", ""), ("lower", "")]
    bench.scheduler.pod_gone("default/low", 1.0)
    assert bench.play(1.0)[-1] == ("high", "n")
    assert bench.place("equal") is bench.place("lower") is QueueState.UNSCHEDULABLE


def test_pods_of_higher_priority_ignore_nominations() -> None:
    bench = Bench(node("n"))
    bench.put("n", "low", 0, "4")
    nominee = bench.add("nominee", 10, "4")
    bench.step()
    bench.scheduler.pod_gone("default/low", 0.0)
    bench.add("higher", 20, "4")
    assert bench.play() == [("higher", "n"), ("nominee", "")]
    assert bench.scheduler.nominations.slot_of(nominee.key) is None


def test_a_more_important_preemptor_takes_the_nomination_away() -> None:
    bench = Bench(node("n"))
    bench.put("n", "low", 0, "4")
    nominee = bench.add("nominee", 10, "4")
    bench.step()
    bench.add("higher", 20, "4")
    assert bench.step().demoted == (nominee,)
    assert bench.scheduler.nominations.slot_of(nominee.key) is None


def test_pod_blocked_by_a_nomination_is_woken_when_it_ends() -> None:
    bench = Bench(node("n"))
    bench.put("n", "low", 0, "4")
    bench.add("nominee", 10, "4")
    bench.step()
    bench.scheduler.pod_gone("default/low", 0.0)
    bench.scheduler.queue.remove("default/nominee")
    bench.scheduler.queue.add(bench.record("nominee", 10, "4", schedulingGates=[{"name": "wait"}]), 0.0)
    bench.add("other", 0, "1")
    action = bench.step()
    assert action.message.startswith("0/1 nodes are available: 1 Insufficient cpu.")
    assert action.rejected_by == {NominatedPods.name, "NodeResourcesFit"}
    bench.scheduler.delete("default/nominee", 5.0)
    assert bench.play(5.0) == [("other", "n")]


def test_the_status_of_a_pod_may_nominate_it() -> None:
    bench = Bench(node("n"))
    record = bench.record("nominee", 10, "4")
    status = msgspec.structs.replace(record.pod.status, nominatedNodeName="n")
    nominee = bench.cluster.record(record.key, msgspec.structs.replace(record.pod, status=status))
    bench.scheduler.add(nominee, 0.0)
    assert bench.scheduler.nominations.slot_of(nominee.key) == 0
    assert bench.play() == [("nominee", "n")]


def nominated(bench: Bench, record: PodRecord, node: str) -> PodRecord:
    """Return the pod as another component has nominated it."""
    status = msgspec.structs.replace(record.pod.status, nominatedNodeName=node)
    return bench.cluster.record(record.key, msgspec.structs.replace(record.pod, status=status))


def test_nomination_by_another_component_reserves_the_node() -> None:
    """As UpdateNominatedPod: added, changed and removed nominations of a pod that waits are followed."""
    bench = Bench(node("n"), node("m"))
    waiting = bench.add("waiting", 10, "4", schedulingGates=[{"name": "wait"}])
    to_n, to_m, to_none = (nominated(bench, waiting, name) for name in ("n", "m", ""))
    bench.scheduler.renominate(to_n, waiting.pod, 0.0)
    bench.add("a", cpu="1")
    assert bench.play() == [("a", "m")]
    bench.add("b", cpu="4")
    assert bench.play() == [("b", "")]
    bench.scheduler.renominate(to_m, to_n.pod, 5.0)
    assert bench.play(5.0) == [("b", "n")]  # it is as if a pod had left the node
    bench.add("c", cpu="1")
    assert bench.play(5.0) == [("c", "")]
    bench.scheduler.renominate(to_none, to_m.pod, 20.0)
    assert bench.play(20.0) == [("c", "m")]


def test_nomination_for_a_node_that_does_not_exist_yet_holds_when_it_comes() -> None:
    """As the nominator, which keeps nominations by the name of the node."""
    bench = Bench(node("m", status={"allocatable": {"cpu": "1", "pods": "9"}}))
    gated = bench.record("gated", 10, "4", schedulingGates=[{"name": "wait"}])
    bench.scheduler.add(nominated(bench, gated, "n"), 0.0)
    never = bench.record("never", 10, "4", preemptionPolicy="Never")
    bench.scheduler.add(nominated(bench, never, "later"), 0.0)
    assert bench.step().nominated == "later"  # no preemption, so its nomination stays
    bench.add("other", cpu="4")
    assert bench.step().nominated == ""
    bench.scheduler.node_added(node("n"), 50.0)
    assert {name for _, name in bench.play(50.0)} == {""}
    assert bench.scheduler.nominations.slot_of("default/gated") == bench.cluster.nodes.slot_of["n"]


def test_nomination_outlives_its_node() -> None:
    bench = Bench(node("n"), node("m", status={"allocatable": {"cpu": "1", "pods": "9"}}))
    gated = bench.record("gated", 10, "4", schedulingGates=[{"name": "wait"}])
    bench.scheduler.add(nominated(bench, gated, "n"), 0.0)
    bench.scheduler.node_gone("n", 0.0)
    assert not bench.scheduler.nominations
    bench.scheduler.node_added(node("n"), 5.0)
    bench.add("low", cpu="4")
    assert bench.play(5.0) == [("low", "")]
    bench.scheduler.delete("default/gated", 20.0)
    assert bench.play(20.0) == [("low", "n")]


def test_anti_affinity_of_a_nominee_is_respected() -> None:
    bench = Bench(node("n", {"zone": "a"}), node("m", {"zone": "a"}))
    bench.put("n", "low", 0, "4")
    bench.put("m", "important", 50, "3")
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    bench.add("nominee", 10, "4", affinity=affinity)
    assert bench.step().nominated == "n"
    bench.scheduler.pod_gone("default/low", 0.0)
    bench.scheduler.queue.remove("default/nominee")
    bench.add("web", 0, "2", labels={"app": "web"})
    assert bench.step().rejected_by >= {"NodeResourcesFit", NominatedPods.name}


# -- the rest of the world ------------------------------------------------------------------------------------------


def test_a_failed_binding_is_tried_again() -> None:
    bench = Bench(node("n"))
    bench.add("a", cpu="4")
    bound = bench.scheduler.step(0.0)
    assert isinstance(bound, Bind)
    bench.add("b", cpu="4")
    assert bench.play() == [("b", "")]
    bench.scheduler.bind_failed(bound, 0.0)
    assert bench.cluster.nodes.free("cpu")[0] == 4000
    assert bench.place("a") is QueueState.BACKOFF
    assert bench.play(0.5) == [("b", "n")]
    assert bench.play(1.0) == [("a", "")]


def test_a_pod_that_somebody_else_bound_is_not_scheduled() -> None:
    bench = Bench(node("n"), node("m"))
    bench.add("a")
    bench.scheduler.pod_placed(bench.record("a"), bench.cluster.nodes.slot_of["m"], 0.0)
    assert bench.play() == []
    bench.scheduler.pod_placed(bench.record("a", cpu="2"), bench.cluster.nodes.slot_of["m"], 0.0)
    assert bench.cluster.nodes.free("cpu")[bench.cluster.nodes.slot_of["m"]] == 2000
    bench.scheduler.pod_placed(bench.record("a", cpu="2"), bench.cluster.nodes.slot_of["n"], 0.0)
    assert bench.cluster.nodes.free("cpu")[bench.cluster.nodes.slot_of["m"]] == 4000


def test_a_node_that_goes_takes_its_pods_and_nominations_along() -> None:
    bench = Bench(node("n"), node("m", status={"allocatable": {"cpu": "1", "pods": "9"}}))
    bench.put("n", "low", 0, "4")
    bench.add("high", 10, "4")
    bench.step()
    assert [record.key for record in bench.scheduler.node_gone("n", 0.0)] == ["default/low"]
    assert not bench.scheduler.nominations
    bench.scheduler.node_added(node("n"), 5.0)
    assert bench.play(5.0) == [("high", "n")]


@pytest.mark.parametrize("cpu", ["4", "2"])
def test_a_pod_that_shrinks_makes_room(cpu: str) -> None:
    bench = Bench(node("n"))
    bench.put("n", "a", 0, "4")
    bench.add("b", cpu="2")
    assert bench.play() == [("b", "")]
    bench.scheduler.pod_changed(bench.record("a", 0, cpu), 5.0)
    assert bench.play(5.0) == ([("b", "n")] if cpu == "2" else [])


def test_namespace_labels_are_kept_and_unrelated_events_wake_no_pod() -> None:
    bench = Bench(node("n"))
    bench.add("b", cpu="9")
    bench.play()
    bench.scheduler.namespace_changed("default", {"team": "a"}, 5.0)
    bench.scheduler.happened(Event(EventKind.VOLUME_ADDED), 5.0)
    assert bench.play(5.0) == []
    assert bench.cluster.namespaces["default"] == {"team": "a"}


def test_an_update_of_a_nominee_keeps_its_nomination() -> None:
    bench = Bench(node("n"))
    bench.put("n", "low", 0, "4")
    bench.add("high", 10, "4")
    bench.step()
    changed = bench.record("high", 10, "4", labels={"app": "web"})
    bench.scheduler.update(changed, 0.0)
    assert bench.scheduler.nominations.at(0) == {"default/high": changed}
