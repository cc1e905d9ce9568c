"""What is kept of a DaemonSet's nodes is what a look at everything would say; news cost only what they concern."""

import random
from typing import Any

import pytest
from tests.unit.control.workloads import pod, ready, seen

from moorage.client.protocol import Object
from moorage.control.daemon_set.controller import MAX_SECONDS, FailedPods
from moorage.control.daemon_set.tracker import Stage, Tracker, Wishes, judge_node
from moorage.match.daemon_pods import DaemonTemplate, pinned_affinity
from moorage.model.gates import default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import LabelSelector
from moorage.model.types.node import Node, Taint
from moorage.model.types.pod import PodSpec

NOW = 1_767_225_700.0
SELECTOR = LabelSelector(matchLabels={"app": "agent"})
PHASES: list[dict[str, Any]] = [
    {"phase": "Pending"},
    {"phase": "Failed"},
    {"phase": "Succeeded"},
    ready(),
    ready("2026-01-01T00:01:35Z"),
]


def new_tracker(surges: bool = False) -> Tracker:
    template = DaemonTemplate(convert_view({"nodeSelector": {"disk": "ssd"}}, PodSpec), default_gates())
    return Tracker(template, SELECTOR, Wishes("new", "", 10, surges))


def node(name: str, disk: str = "ssd", taint: str = "") -> Node:
    view = convert_view({"metadata": {"name": name, "labels": {"disk": disk}}}, Node)
    if not taint:
        return view
    raw = {"metadata": {"name": name, "labels": {"disk": disk}}, "spec": {"taints": [{"key": "a", "effect": taint}]}}
    assert convert_view(raw, Node).spec.taints == (Taint(key="a", effect=taint),)
    return convert_view(raw, Node)


def daemon(name: str, on: str, status: dict[str, Any], *, hash_: str = "new", bound: bool = True) -> Object:
    where: dict[str, Any] = {"nodeName": on} if bound else {"affinity": pinned_affinity(None, on)}
    return seen(pod(name, {"app": "agent", "controller-revision-hash": hash_}, spec=where, status=status))


def picture(tracker: Tracker) -> Any:
    tracker.refresh(NOW)
    stages = {stage: set(tracker.at(stage)) for stage in Stage if stage is not Stage.ELSEWHERE}
    surplus = {name: set(verdict.delete) for name, verdict in tracker.nodes_with_surplus()}
    return tracker.counts, set(tracker.nodes_without_pod), surplus, stages, tracker.available_nodes, tracker.next_change


@pytest.mark.parametrize("seed", range(30))
def test_changes_add_up_to_the_whole(seed: int) -> None:
    chance = random.Random(seed)
    tracker = new_tracker(surges=bool(seed % 2))
    nodes: dict[str, Node] = {}
    pods: dict[str, Object] = {}
    for _ in range(60):
        name = f"n{chance.randrange(5)}"
        if chance.random() < 0.4:
            effect = chance.choice(["", "", "NoSchedule", "NoExecute"])
            made = node(name, chance.choice(["ssd", "ssd", "hdd"]), effect) if chance.random() < 0.8 else None
            nodes.pop(name, None)
            if made is not None:
                nodes[name] = made
            tracker.node_changed(name, made)
        else:
            key = f"default/p{chance.randrange(8)}"
            found = daemon(
                key[8:], name, chance.choice(PHASES), hash_=chance.choice(["new", "old"]), bound=chance.random() < 0.7
            )
            if chance.random() < 0.3:
                pods.pop(key, None)
                tracker.pod_changed(key, None)
            else:
                pods[key] = found
                tracker.pod_changed(key, found)
        if chance.random() < 0.3:
            tracker.refresh(NOW)
    whole = new_tracker(surges=bool(seed % 2))
    for name, view in nodes.items():
        whole.node_changed(name, view)
    for key, found in pods.items():
        whole.pod_changed(key, found)
    assert picture(tracker) == picture(whole)


def test_news_of_one_pod_are_about_one_node(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = new_tracker()
    for number in range(100):
        tracker.node_changed(f"n{number}", node(f"n{number}"))
    tracker.refresh(NOW)
    judged: list[Any] = []

    def counted(*kind: Any) -> Any:
        judged.append(kind)
        return judge_node(*kind)

    monkeypatch.setattr("moorage.control.daemon_set.tracker.judge_node", counted)
    there = daemon("p", "n7", ready())
    assert tracker.pod_changed("default/p", there)
    tracker.refresh(NOW)
    assert len(judged) == 1
    assert not tracker.pod_changed("default/p", daemon("p", "n7", {**ready(), "podIP": "10.0.0.1"}))
    assert not tracker.node_changed("n7", node("n7"))
    tracker.refresh(NOW)
    assert len(judged) == 1


def test_time_alone_makes_a_pod_available() -> None:
    tracker = new_tracker()
    tracker.node_changed("n0", node("n0"))
    tracker.pod_changed("default/p", daemon("p", "n0", ready("2026-01-01T00:01:35Z")))
    tracker.refresh(NOW)
    assert (tracker.counts.ready, tracker.counts.available) == (1, 0)
    assert tracker.next_change == NOW + 5
    tracker.refresh(NOW + 5)
    assert tracker.counts.available == 1
    assert tracker.next_change is None


def test_waiting_grows_and_is_forgotten() -> None:
    failed = FailedPods(1)
    assert failed.waits("n", 0.0) == 0
    for delay in (1, 2, 4, 8):
        failed.failed("n", 0.0)
        assert failed.waits("n", 0.0) == delay
    for _ in range(20):
        failed.failed("n", 0.0)
    assert failed.waits("n", 0.0) == MAX_SECONDS
    failed.failed("n", 2 * MAX_SECONDS + 1)
    assert failed.waits("n", 2 * MAX_SECONDS + 1) == 1
    later = 10 * MAX_SECONDS
    for number in range(1024):
        failed.failed(f"n{number}", later if number > 400 else 0.0)
    assert len(failed) < 700
