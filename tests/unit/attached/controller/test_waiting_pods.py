"""Lowered pods that wait are told which comparison no node meets: once, in their words, kept true, not too often."""

from typing import Any

import pytest
from tests.unit.attached.controller.attached_cluster import ALL_OFF, attached, lowered_pod, metric, put_node, taint
from tests.unit.attached.controller.attached_cluster import tolerates as tolerates_no_execute
from tests.unit.control.cluster_objects import pod
from tests.virtual_cluster import VirtualCluster

from moorage.attached.controller import waiting_pods
from moorage.attached.controller.comparisons_met import Demands
from moorage.attached.controller.waiting_pods import (
    EVENTS_AT_ONCE,
    EVENTS_PER_SECOND,
    JUDGING,
    NOT_MET,
    REFRESHING,
    REWRITING,
    SETTLING,
)
from moorage.client.protocol import Client
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/6 nodes"}


def tolerates(operator: str, value: str = "", key: str = "spot") -> Raw:
    return tolerates_no_execute(operator, value, key, "NoSchedule")


GT = tolerates("Gt", "950")


def spot(value: str, key: str = "spot") -> Raw:
    return taint(key, value, "NoSchedule")


def running(metrics: Metrics | None = None, *rows: str, **more: Any) -> Any:
    return VirtualCluster.running(lambda: attached("waiting-pods", *rows, metrics=metrics), gates=ALL_OFF, **more)


async def wait_for_a_node(cluster: VirtualCluster, *documents: Raw, condition: Raw = UNSCHEDULABLE) -> None:
    """Create pods for which the scheduler finds no node."""
    for document in documents:
        created = await cluster.client.create(KINDS.POD, document)
        patch = {"status": {"conditions": [condition]}}
        await cluster.client.patch(KINDS.POD, created.name, "default", patch, subresource="status")


def told(cluster: VirtualCluster) -> list[str]:
    assert all(event.reason == NOT_MET and event.type == "Warning" for event in cluster.events)
    return [event.message for event in cluster.events]


@pytest.mark.parametrize(
    ("tolerations", "nodes", "text"),
    [
        ([GT], [["100"], ["940"], ["500"], ["900"], ["7"]], "needs spot > 950; 5 nodes have less (7 to 940)"),
        ([GT], [["950"], ["100"]], "needs spot > 950; 2 nodes have no more (100 to 950)"),
        ([tolerates("Lt", "5")], [["7"]], "needs spot < 5; 1 node has more (7)"),
        ([tolerates("Lt", "5")], [["5"], ["7"]], "needs spot < 5; 2 nodes have no less (5 to 7)"),
        (
            [tolerates("SemverGt", "1.10.0")],
            [["1.9.0"], ["1.2"], ["new"]],
            "needs spot > 1.10.0; 2 nodes have less (1.2 to 1.9.0), 1 node has new, which is not a semantic version",
        ),
        (
            [GT],
            [["007"], ["word"], ["word"], ["10"]],
            "needs spot > 950; 1 node has less (10), 3 nodes have values such as 007, which is not in canonical form",
        ),
        (
            [GT, tolerates("Equal", "900")],
            [["901"], ["902"]],
            "needs spot > 950 or = 900; 2 nodes have other values (901 and 902)",
        ),
        (
            [tolerates("CEL", "int(taint.value) % 2 == 1")],
            [["2"], ["2"], ["4"], ["6"], ["8"], ["10"], ["12"]],
            "needs spot of which int(taint.value) % 2 == 1 is true; 7 nodes have other values (2, 4, 6 and 3 more)",
        ),
        (
            [GT, tolerates("Lt", "5", key="lag")],
            [["10"], ["960"]],
            "needs spot > 950; 1 node has less (10); 1 node meets this, and something else keeps the pod away",
        ),
    ],
)
async def test_the_comparison_is_told_with_what_the_nodes_have(
    tolerations: list[Raw], nodes: list[list[str]], text: str
) -> None:
    async with running() as cluster:
        for number, (value,) in enumerate(nodes):
            await put_node(cluster, f"n{number}", spot(value))
        await wait_for_a_node(cluster, lowered_pod("p", "", *tolerations))
        await cluster.settle(SETTLING - 1)
        assert told(cluster) == []
        await cluster.settle(2)
        assert told(cluster)[0].startswith(text.split("such as")[0])
        if "canonical" not in text and "CEL" not in str(tolerations):
            assert told(cluster) == [text]


async def test_every_node_is_in_one_group_of_the_message() -> None:
    document = lowered_pod("p", "", GT, tolerates("Lt", "5", key="lag"), nodeSelector={"pool": "a"})
    async with running() as cluster:
        await put_node(cluster, "other", spot("10"), pool="b")
        await put_node(cluster, "low", spot("10"), pool="a")
        await put_node(cluster, "late", spot("990"), spot("9", key="lag"), pool="a")
        await put_node(cluster, "fits", spot("990"), spot("1", key="lag"), pool="a")
        await put_node(cluster, "plain", pool="a")
        await wait_for_a_node(cluster, document)
        await cluster.settle(SETTLING + 1)
        assert told(cluster) == [
            "needs spot > 950 and lag < 5; spot: 1 node has less (10); lag: 1 node has more (9); "
            "its node selector or affinity leaves out 1 node; "
            "2 nodes meet this, and something else keeps the pod away"
        ]


async def test_pods_that_wait_for_other_reasons_are_told_nothing() -> None:
    gated = {**UNSCHEDULABLE, "reason": "SchedulingGated"}
    async with running() as cluster:
        await put_node(cluster, "n", spot("10"))
        await put_node(cluster, "m", spot("990"))
        await wait_for_a_node(
            cluster,
            pod("plain", "", tolerates("Equal", "1")),
            lowered_pod("meets-all", "", tolerates("Gt", "5")),
            lowered_pod("soft", "", tolerates_no_execute("Gt", "950", effect="PreferNoSchedule")),
        )
        await wait_for_a_node(cluster, lowered_pod("gated", "", GT), condition=gated)
        await cluster.client.create(KINDS.POD, lowered_pod("not-tried", "", GT))
        await cluster.client.create(KINDS.POD, lowered_pod("runs", "n", GT))
        await cluster.settle(60)
        assert told(cluster) == []


async def test_the_one_event_of_a_pod_follows_the_numbers_and_ends_when_a_node_is_accepted() -> None:
    metrics = Metrics()
    async with running(metrics) as cluster:
        await put_node(cluster, "n", spot("10"))
        await wait_for_a_node(cluster, lowered_pod("p", "", GT))
        await cluster.settle(SETTLING + 1)
        assert metric(metrics, "moorage_attach_waiting_pods") == 1
        await put_node(cluster, "m", spot("20"))
        await cluster.settle(REWRITING + JUDGING)
        await put_node(cluster, "m", spot("990"))
        await put_node(cluster, "n", spot("990"))
        await cluster.settle(2 * REWRITING)
        assert told(cluster) == [
            "needs spot > 950; 1 node has less (10)",
            "needs spot > 950; 2 nodes have less (10 to 20)",
            "2 nodes meet what it compares, and something else keeps the pod away",
        ]
        assert metric(metrics, "moorage_attach_waiting_pods") == 0
        await cluster.settle(2 * REFRESHING)
        assert len(told(cluster)) == 3


async def test_an_event_is_written_again_before_it_expires() -> None:
    async with running() as cluster:
        await put_node(cluster, "n", spot("10"))
        await wait_for_a_node(cluster, lowered_pod("p", "", GT))
        await cluster.settle(REFRESHING + SETTLING + 5)
        assert told(cluster) == ["needs spot > 950; 1 node has less (10)"] * 2


async def test_values_that_change_all_the_time_are_no_storm() -> None:
    """Ten nodes change three times a second; the pod has one event a minute."""
    async with running() as cluster:
        await put_node(cluster, "n", spot("1"))
        await wait_for_a_node(cluster, lowered_pod("p", "", GT))
        for number in range(600):
            await put_node(cluster, f"n{number % 10}", spot(str(number)))
            await cluster.settle(0.3)
        assert 3 <= len(told(cluster)) <= 4


async def test_many_pods_are_judged_once_and_told_at_a_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[object] = []
    steps = Demands.steps

    def counted(self: Any, groups: Any) -> Any:
        judged.append(self)
        return steps(self, groups)

    monkeypatch.setattr(Demands, "steps", counted)
    metrics = Metrics()
    async with running(metrics) as cluster:
        for number in range(5):
            await put_node(cluster, f"n{number}", spot(str(number)))
        await wait_for_a_node(cluster, *(lowered_pod(f"p{number}", "", GT) for number in range(300)))
        await cluster.settle(SETTLING + 2)
        assert len(judged) == 1
        first = len(cluster.events)
        assert EVENTS_AT_ONCE <= first <= EVENTS_AT_ONCE + 4 * EVENTS_PER_SECOND
        await cluster.settle(30)
        assert len(judged) == 1
        assert len({event.involved["name"] for event in cluster.events}) == len(cluster.events) == 300
        assert metric(metrics, "moorage_attach_waiting_pods") == 300
        assert metric(metrics, "moorage_attach_waiting_shapes") == 1
        assert metric(metrics, "moorage_attach_waiting_events_total") == 300


async def test_a_pod_that_got_a_node_is_forgotten_and_another_of_its_name_is_told_again() -> None:
    metrics = Metrics()
    async with running(metrics) as cluster:
        await put_node(cluster, "n", spot("10"))
        await wait_for_a_node(cluster, lowered_pod("p", "", GT))
        await cluster.settle(SETTLING + 1)
        await cluster.client.delete(KINDS.POD, "p", "default", grace_seconds=0)
        await cluster.settle()
        assert metric(metrics, "moorage_attach_waiting_shapes") == 0
        await wait_for_a_node(cluster, lowered_pod("p", "", GT))
        await cluster.settle(SETTLING + 1)
        assert told(cluster) == ["needs spot > 950; 1 node has less (10)"] * 2


async def test_labels_that_are_not_there_yet_are_the_reason_only_until_they_are() -> None:
    """A match label that nobody has written: the controller of node labels does not run here."""
    odd = tolerates("CEL", "int(taint.value) % 2 == 1")
    async with running() as cluster:
        await put_node(cluster, "n", spot("1"))
        await wait_for_a_node(cluster, lowered_pod("p", "", odd))
        await cluster.settle(SETTLING + 1)
        assert told(cluster) == ["1 node meets what it compares, but lacks the labels for it yet"]


async def test_more_shapes_than_there_is_room_for_are_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_pods, "MOST_SHAPES", 2)
    metrics = Metrics()
    async with running(metrics) as cluster:
        await put_node(cluster, "n", spot("10"))
        for number in range(4):
            await wait_for_a_node(cluster, lowered_pod(f"p{number}", "", tolerates("Gt", str(950 + number))))
        await cluster.settle(SETTLING + 1)
        assert len(told(cluster)) == metric(metrics, "moorage_attach_waiting_shapes") == 2


async def test_an_annotation_that_is_not_ours_is_no_reason_to_stop() -> None:
    broken = lowered_pod("p", "", GT)
    broken["metadata"]["annotations"] = {"attach.moorage.dev/tolerations": '[{"operator":"Gt"}]'}
    async with running() as cluster:
        await put_node(cluster, "n", spot("10"))
        await wait_for_a_node(cluster, broken, lowered_pod("q", "", GT))
        await cluster.settle(SETTLING + 1)
        assert [event.involved["name"] for event in cluster.events] == ["q"]


async def test_nodes_without_number_are_not_asked_twice_while_others_answer() -> None:
    """The API server is asked for nothing but the events."""
    calls: list[str] = []

    def connect(client: Client) -> Client:
        for name in ("create", "patch", "update", "delete"):
            setattr(client, name, lambda *_, called=name, **__: calls.append(called))
        return client

    async with running(connect=connect) as cluster:
        await put_node(cluster, "n", spot("10"))
        await wait_for_a_node(cluster, lowered_pod("p", "", GT))
        await cluster.settle(SETTLING + 1)
        assert calls == []
        assert len(told(cluster)) == 1
