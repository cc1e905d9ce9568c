"""Running lowered pods leave when a value crosses their threshold, in time or not at all, by delete or by eviction."""

import asyncio
from typing import Any

import pytest
from tests.controller_context import controller_context
from tests.unit.attached.controller.attached_cluster import (
    ALL_OFF,
    beside_a_cluster,
    lowered_pod,
    metric,
    names_of_pods,
    put_node,
    taint,
    tolerates,
)
from tests.unit.control.cluster_objects import pod
from tests.virtual_cluster import VirtualCluster

from moorage.attach import formats
from moorage.attach.formats import marker
from moorage.attached.controller.registry import EvictBy
from moorage.control.disruption import DisruptionController
from moorage.control.framework.controller import Controller
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
ROW = "lowered-eviction"
MARKING = "Marking for deletion Pod default/"


def running(metrics: Metrics | None = None) -> Any:
    return VirtualCluster.running(beside_a_cluster(ROW, metrics=metrics), gates=ALL_OFF)


def messages(cluster: VirtualCluster) -> list[str]:
    return [event.message for event in cluster.events if event.involved.get("kind") == "Pod"]


async def place(cluster: VirtualCluster, *pods: Raw) -> None:
    for document in pods:
        await cluster.client.create(KINDS.POD, document)
    await cluster.settle()


async def test_a_value_that_crosses_evicts_at_once_with_the_inequality() -> None:
    metrics = Metrics()
    async with running(metrics) as cluster:
        await put_node(cluster, "n", taint("spot", "960"))
        strict, lax = tolerates("Gt", "950"), tolerates("Gt", "900")
        keeps = lowered_pod("leaves", "n", strict, metadata={"finalizers": ["example.com/wait"]})
        await place(cluster, keeps, lowered_pod("stays", "n", lax), pod("plain", "n", tolerates("Exists")))
        assert metric(metrics, "moorage_attach_lowered_pods") == 2
        await put_node(cluster, "n", taint("spot", "940"))
        await cluster.settle()
        found = (await cluster.client.get(KINDS.POD, "leaves", "default")).raw
        assert found["metadata"]["deletionTimestamp"]
        (condition,) = [each for each in found["status"]["conditions"] if each["type"] == "DisruptionTarget"]
        assert (condition["reason"], condition["message"]) == (
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
        )
        assert messages(cluster) == [
            f"{MARKING}leaves: 940 > 950 is false (taint spot=940, toleration Gt 950)",
        ]
        assert cluster.events[-1].reason == "TaintManagerEviction"
        assert await names_of_pods(cluster) == {"leaves", "stays", "plain"}
        assert metric(metrics, 'moorage_attach_evictions_total{way="delete",outcome="done"}') == 1
        assert metric(metrics, "moorage_attach_eviction_duration_seconds_count") == 1


async def test_the_seconds_of_the_toleration_that_matches_count_and_a_value_that_comes_back_cancels() -> None:
    async with running() as cluster:
        await put_node(cluster, "n", taint("spot", "960"))
        patient = (tolerates("Gt", "950"), tolerates("Gt", "900", tolerationSeconds=60))
        await place(cluster, lowered_pod("a", "n", *patient))
        await put_node(cluster, "n", taint("spot", "940"))
        await cluster.settle(30)
        await put_node(cluster, "n", taint("spot", "970"))
        await cluster.settle(100)
        assert await names_of_pods(cluster) == {"a"}
        assert messages(cluster) == ["Cancelling deletion of Pod default/a"]
        await put_node(cluster, "n", taint("spot", "940"))
        await cluster.settle(59)
        assert await names_of_pods(cluster) == {"a"}
        await cluster.settle(3)
        assert await names_of_pods(cluster) == set()
        assert messages(cluster)[1:] == [f"{MARKING}a: spot=940 is tolerated for 60 s"]


async def test_what_the_clusters_own_controller_does_in_time_is_left_to_it() -> None:
    async with running() as cluster:
        await put_node(cluster, "n")
        await place(cluster, lowered_pod("a", "n", tolerates("Gt", "950", tolerationSeconds=8)))
        await put_node(cluster, "n", taint("spot", "960"))
        await cluster.settle(9.5)
        assert await names_of_pods(cluster) == set()
        assert messages(cluster) == [f"{MARKING}a"]  # in the words of the native controller, once


async def test_the_native_controller_evicts_after_the_longest_seconds_while_ours_is_down() -> None:
    async with VirtualCluster.running(beside_a_cluster("none"), gates=ALL_OFF) as cluster:
        await put_node(cluster, "n", taint("spot", "960"))
        both = (tolerates("Gt", "950", tolerationSeconds=8), tolerates("Gt", "900", tolerationSeconds=2))
        await place(cluster, lowered_pod("a", "n", *both), lowered_pod("b", "n", tolerates("Gt", "950")))
        await cluster.settle(9)
        assert await names_of_pods(cluster) == {"b"}


async def test_a_controller_that_was_down_evicts_as_soon_as_it_is_back() -> None:
    async with running() as cluster:
        await put_node(cluster, "n", taint("spot", "960"))
        limited = tolerates("Gt", "900", tolerationSeconds=20)
        await place(cluster, lowered_pod("a", "n", tolerates("Gt", "950")), lowered_pod("b", "n", limited))
        await cluster.stop()
        await put_node(cluster, "n", taint("spot", "800"))
        await cluster.settle(60)
        assert await names_of_pods(cluster) == {"a", "b"}
        await cluster.start()
        await cluster.settle(0.5)
        assert await names_of_pods(cluster) == set()


async def test_timers_survive_a_restart() -> None:
    async with running() as cluster:
        await put_node(cluster, "n", taint("spot", "960"))
        limits = (tolerates("Gt", "950", tolerationSeconds=60), tolerates("Gt", "900"))
        await place(cluster, lowered_pod("a", "n", *limits))
        for _ in range(5):
            await cluster.settle(11)
            await cluster.restart()
        assert await names_of_pods(cluster) == {"a"}
        await cluster.settle(6)
        assert await names_of_pods(cluster) == set()


@pytest.mark.parametrize(
    "annotation",
    [
        "",
        "[",
        "{}",
        '["x"]',
        '[{"operator":"Gt","key":"spot","value":"x","effect":"NoExecute"}]',
        '[{"operator":"Gt","key":"spot","value":"950","effect":"NoExecute","tolerationSeconds":"9"}]',
        "[" * 10_000,
    ],
)
async def test_an_annotation_that_lowering_has_not_written_evicts_nothing(annotation: str) -> None:
    async with running() as cluster:
        await put_node(cluster, "n", taint("spot", "960"))
        document = lowered_pod("a", "n", tolerates("Gt", "950"))
        document["metadata"]["annotations"][formats.TOLERATIONS] = annotation
        await place(cluster, document, lowered_pod("b", "n", tolerates("Gt", "950")))
        await put_node(cluster, "n", taint("spot", "1"))
        await cluster.settle()
        assert await names_of_pods(cluster) == {"a"}


async def test_a_forged_annotation_counts_only_for_what_the_pod_tolerates_anyway() -> None:
    """It cannot keep a pod that does not tolerate the taint, nor does it count without the marker."""
    claim = {formats.TOLERATIONS: formats.written([tolerates("Gt", "0")])}
    async with running() as cluster:
        await put_node(cluster, "n")
        elsewhere = pod("elsewhere", "n", tolerates("Exists", key="other"), marker(), metadata={"annotations": claim})
        strict = {formats.TOLERATIONS: formats.written([tolerates("Gt", "999")])}
        unmarked = pod("unmarked", "n", tolerates("Exists"), metadata={"annotations": strict})
        await place(cluster, elsewhere, unmarked)
        await put_node(cluster, "n", taint("spot", "500"))
        await cluster.settle()
        assert await names_of_pods(cluster) == {"unmarked"}
        assert messages(cluster) == [f"{MARKING}elsewhere"]


async def test_an_edited_annotation_is_obeyed_at_once_for_its_own_pod() -> None:
    async with running() as cluster:
        await put_node(cluster, "n", taint("spot", "960"))
        await place(cluster, lowered_pod("a", "n", tolerates("Gt", "950")))
        claim = {formats.TOLERATIONS: formats.written([tolerates("Gt", "990")])}
        await cluster.client.patch(KINDS.POD, "a", "default", {"metadata": {"annotations": claim}})
        await cluster.settle()
        assert await names_of_pods(cluster) == set()


async def test_a_node_that_is_deleted_meanwhile_stops_the_timer() -> None:
    async with running() as cluster:
        await put_node(cluster, "n", taint("spot", "960"))
        limits = (tolerates("Gt", "950", tolerationSeconds=60), tolerates("Gt", "900"))
        await place(cluster, lowered_pod("a", "n", *limits))
        await cluster.client.delete(KINDS.NODE, "n")
        await cluster.settle(100)
        cluster.check()
        assert await names_of_pods(cluster) == {"a"}


# -- by the Eviction API -----------------------------------------------------------------------------------------------


def with_budgets(metrics: Metrics) -> Any:
    def make() -> list[Controller]:
        budgets = DisruptionController(controller_context())
        return [budgets, *beside_a_cluster(ROW, metrics=metrics, evict_by=EvictBy.EVICTION)()]

    return VirtualCluster.running(make, gates=ALL_OFF)


def ready(name: str) -> Raw:
    document = lowered_pod(name, "n", tolerates("Gt", "950"), metadata={"labels": {"app": "a"}})
    return document | {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}


async def test_a_budget_that_refuses_is_named_and_asked_again() -> None:
    metrics = Metrics()
    async with with_budgets(metrics) as cluster:
        await put_node(cluster, "n", taint("spot", "960"))
        for name in ("a", "b"):
            await cluster.client.create(KINDS.POD, ready(name))
            await cluster.client.patch(
                KINDS.POD, name, "default", {"status": ready(name)["status"]}, subresource="status"
            )
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec}
        await cluster.client.create(KINDS.POD_DISRUPTION_BUDGET, budget, "default")
        await cluster.settle(5)
        await put_node(cluster, "n", taint("spot", "940"))
        await cluster.settle(10)
        (left,) = await names_of_pods(cluster)
        asked = metric(metrics, 'moorage_attach_evictions_total{way="eviction",outcome="blocked"}')
        assert 3 <= asked <= 6
        blocked = [event for event in cluster.events if event.reason == "EvictionBlocked"]
        assert blocked[-1].involved["name"] == left
        assert blocked[-1].message == (
            "The disruption budget b needs 1 healthy pods and has 1 currently; eviction is tried again"
        )
        assert len(blocked) <= 4
        await cluster.client.delete(KINDS.POD_DISRUPTION_BUDGET, "b", "default")
        await cluster.settle(31)
        assert await names_of_pods(cluster) == set()
        assert metric(metrics, 'moorage_attach_evictions_total{way="eviction",outcome="done"}') == 2


async def test_a_value_that_comes_back_ends_the_attempts() -> None:
    metrics = Metrics()
    async with with_budgets(metrics) as cluster:
        await put_node(cluster, "n", taint("spot", "960"))
        await cluster.client.create(KINDS.POD, ready("a"))
        await cluster.client.patch(KINDS.POD, "a", "default", {"status": ready("a")["status"]}, subresource="status")
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec}
        await cluster.client.create(KINDS.POD_DISRUPTION_BUDGET, budget, "default")
        await cluster.settle(5)
        await put_node(cluster, "n", taint("spot", "940"))
        await asyncio.sleep(4)
        await put_node(cluster, "n", taint("spot", "960"))
        await cluster.settle(5)
        asked = metric(metrics, 'moorage_attach_evictions_total{way="eviction",outcome="blocked"}')
        await cluster.settle(200)
        assert metric(metrics, 'moorage_attach_evictions_total{way="eviction",outcome="blocked"}') == asked
        assert await names_of_pods(cluster) == {"a"}
