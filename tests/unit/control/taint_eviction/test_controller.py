"""Pods leave tainted nodes at once, in time or never; all of it in virtual time with the real API server."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from tests.controller_context import controller_context
from tests.log_text import log_text
from tests.unit.control.cluster_objects import node, pod, taint
from tests.virtual_cluster import VirtualCluster

from moorage.control.taint_eviction import TaintEvictionController
from moorage.model.gates import GateSet, default_gates, gates_from, parse_feature_gates
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]
ALL_ON = "AllAlpha=true"


def gates_of(text: str) -> GateSet:
    return gates_from(parse_feature_gates(text)) if text else default_gates()


@asynccontextmanager
async def running(gates: str = ALL_ON, manager_gates: str | None = None) -> AsyncIterator[VirtualCluster]:
    """A cluster with the taint eviction controller; the controller manager may have other gates than the API server."""
    own = gates_of(gates if manager_gates is None else manager_gates)
    kept: list[VirtualCluster] = []

    def make() -> list[TaintEvictionController]:
        metrics = kept[0].metrics if kept else Metrics()
        return [TaintEvictionController(controller_context(own, metrics))]

    async with VirtualCluster.running(make, gates=gates_of(gates)) as cluster:
        kept.append(cluster)
        await cluster.restart()  # with the cluster's own metrics
        yield cluster


@pytest.fixture
def cluster() -> AbstractAsyncContextManager[VirtualCluster]:
    return running()


async def names(cluster: VirtualCluster) -> set[str]:
    return {found.name for found in await cluster.all(KINDS.POD)}


async def set_taints(cluster: VirtualCluster, name: str, *taints: Raw) -> None:
    await cluster.client.patch(KINDS.NODE, name, "", {"spec": {"taints": list(taints)}})


def tolerates(key: str, operator: str = "Exists", value: str = "", **more: Any) -> Raw:
    toleration = {"key": key, "operator": operator, "effect": "NoExecute", **more}
    return {**toleration, "value": value} if value else toleration


def value_of(cluster: VirtualCluster, name: str) -> float:
    lines = cluster.metrics.render()[0].decode().splitlines()
    return float(next(line.split()[-1] for line in lines if line.startswith(name + " ")))


async def test_at_once_with_condition_event_and_metrics(cluster: VirtualCluster) -> None:
    seen: list[Raw] = []
    await cluster.client.create(KINDS.NODE, node("n"))
    stays = pod("stays", "n", tolerates("gone"))
    leaves = pod("leaves", "n", metadata={"finalizers": ["example.com/wait"]})
    await cluster.client.create(KINDS.POD, stays)
    await cluster.client.create(KINDS.POD, leaves)
    await cluster.settle()
    await set_taints(cluster, "n", taint("gone"))
    await cluster.settle()
    seen.append((await cluster.client.get(KINDS.POD, "leaves", "default")).raw)
    await cluster.settle(1000)
    assert await names(cluster) == {"leaves", "stays"}
    assert value_of(cluster, "taint_eviction_controller_pod_deletions_total") == 1
    assert value_of(cluster, "taint_eviction_controller_pod_deletion_duration_seconds_count") == 1
    assert seen[0]["metadata"]["deletionTimestamp"]
    condition = next(one for one in seen[0]["status"]["conditions"] if one["type"] == "DisruptionTarget")
    assert condition["status"] == "True"
    assert condition["reason"] == "DeletionByTaintManager"
    assert condition["message"] == "Taint manager: deleting due to NoExecute taint"
    assert condition["observedGeneration"] == 1
    assert [(event.type, event.reason, event.message) for event in cluster.events] == [
        ("Normal", "TaintManagerEviction", "Marking for deletion Pod default/leaves")
    ]
    assert cluster.events[0].involved["uid"] == seen[0]["metadata"]["uid"]


async def test_in_time_and_not_before(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n"))
    for seconds in (5, 30):
        await cluster.client.create(KINDS.POD, pod(f"p{seconds}", "n", tolerates("gone", tolerationSeconds=seconds)))
    await cluster.settle(100)
    await set_taints(cluster, "n", taint("gone"))
    await cluster.settle(4.9)
    assert await names(cluster) == {"p5", "p30"}
    await cluster.settle(2)
    assert await names(cluster) == {"p30"}
    await cluster.settle(23)
    assert await names(cluster) == {"p30"}
    await cluster.settle(2)
    assert await names(cluster) == set()


async def test_timers_survive_a_restart_though_kubectl_writes_no_time(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n"))
    await cluster.client.create(KINDS.POD, pod("p", "n", tolerates("gone", tolerationSeconds=60)))
    await cluster.settle(10)
    await set_taints(cluster, "n", taint("gone"))
    await cluster.settle(1)
    found = await cluster.client.get(KINDS.NODE, "n")
    assert found.view.spec.taints[0].timeAdded == "2026-01-01T00:00:10Z"
    for _ in range(5):
        await cluster.restart()
        await cluster.settle(10)
    assert await names(cluster) == {"p"}
    await cluster.stop()
    await cluster.settle(100)
    await cluster.start()
    await cluster.settle(1)
    assert await names(cluster) == set()


async def test_a_pod_that_comes_later_has_all_its_time(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("gone", timeAdded="2020-01-01T00:00:00Z")))
    await cluster.settle(10)
    await cluster.client.create(KINDS.POD, pod("p", "n", tolerates("gone", tolerationSeconds=60)))
    await cluster.settle(59)
    assert await names(cluster) == {"p"}
    await cluster.settle(2)
    assert await names(cluster) == set()


@pytest.mark.parametrize("how", ["taint goes", "taint changes back", "tolerations grow", "seconds grow"])
async def test_cancellation(how: str, cluster: VirtualCluster) -> None:
    first, limited = tolerates("sla", "Gt", "950"), tolerates("sla", "Exists", tolerationSeconds=30)
    await cluster.client.create(KINDS.NODE, node("n", taint("sla", "990")))
    await cluster.client.create(KINDS.POD, pod("p", "n", first, limited))
    await cluster.settle(10)
    await set_taints(cluster, "n", taint("sla", "900"))
    await cluster.settle(10)
    assert cluster.reasons() == []
    if how == "taint goes":
        await set_taints(cluster, "n")
    elif how == "taint changes back":
        await set_taints(cluster, "n", taint("sla", "990"))
    else:
        found = await cluster.client.get(KINDS.POD, "p", "default")
        kept = found.raw["spec"]["tolerations"]
        if how == "tolerations grow":
            kept = [tolerates("sla", "Gt", "800"), *kept]
        else:
            kept = [one if "tolerationSeconds" not in one else {**one, "tolerationSeconds": 9000} for one in kept]
        await cluster.client.patch(KINDS.POD, "p", "default", {"spec": {"tolerations": kept}})
    await cluster.settle(1000)
    assert await names(cluster) == {"p"}
    said = [event.message for event in cluster.events]
    assert said == ([] if how == "seconds grow" else ["Cancelling deletion of Pod default/p"])


async def test_a_pod_that_somebody_else_deletes_need_not_wait_any_more(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("gone")))
    await cluster.client.create(KINDS.POD, pod("p", "n", tolerates("gone", tolerationSeconds=30)))
    await cluster.settle(10)
    await cluster.client.delete(KINDS.POD, "p", "default")
    await cluster.settle(100)
    assert [event.message for event in cluster.events] == ["Cancelling deletion of Pod default/p"]


async def test_waiting_pods_go_at_once_when_nothing_tolerates_a_new_taint(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("a")))
    await cluster.client.create(KINDS.POD, pod("p", "n", tolerates("a", tolerationSeconds=300)))
    await cluster.settle(10)
    await set_taints(cluster, "n", taint("a"), taint("b"))
    await cluster.settle(1)
    assert await names(cluster) == set()
    said = [event.message for event in cluster.events]
    assert said == ["Cancelling deletion of Pod default/p", "Marking for deletion Pod default/p"]


async def test_many_taints_each_with_its_time_the_first_deadline_counts(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("a")))
    both = (tolerates("a", tolerationSeconds=60), tolerates("b", tolerationSeconds=20))
    await cluster.client.create(KINDS.POD, pod("p", "n", *both))
    await cluster.settle(20)
    found = await cluster.client.get(KINDS.NODE, "n")
    await set_taints(cluster, "n", *found.raw["spec"]["taints"], taint("b"))
    await cluster.settle(19)
    assert await names(cluster) == {"p"}
    await cluster.settle(3)
    assert await names(cluster) == set()


async def test_an_sla_that_drops_evicts_exactly_those_whose_threshold_it_crosses(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("sla", "990")))
    for threshold in (900, 949, 950, 951, 980):
        await cluster.client.create(KINDS.POD, pod(f"gt{threshold}", "n", tolerates("sla", "Gt", str(threshold))))
    await cluster.settle()
    assert len(await names(cluster)) == 5
    await set_taints(cluster, "n", taint("sla", "950"))
    await cluster.settle()
    assert await names(cluster) == {"gt900", "gt949"}


OPERATORS = {
    "Lt": ("TaintTolerationComparisonOperators", "15", tolerates("t", "Lt", "20")),
    "Gt": ("TaintTolerationComparisonOperators", "15", tolerates("t", "Gt", "5")),
    "SemverLt": ("TaintTolerationNodeAffinitySemverComparisonOperators", "1.31.2", tolerates("t", "SemverLt", "1.32")),
    "SemverGt": ("TaintTolerationNodeAffinitySemverComparisonOperators", "1.31.2", tolerates("t", "SemverGt", "1.30")),
    "SemverEq": (
        "TaintTolerationNodeAffinitySemverComparisonOperators",
        "1.31.2",
        tolerates("t", "SemverEq", "v1.31.2"),
    ),
    "expression": ("TaintTolerationCEL", "15", {"expression": "taint.key == 't' && int(taint.value) < 20"}),
}


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("seconds", [None, 30])
async def test_every_operator_counts_where_the_controllers_own_gate_is_on(
    operator: str, enabled: bool, seconds: int | None
) -> None:
    gate, value, toleration = OPERATORS[operator]
    if seconds is not None:
        toleration = {**toleration, "tolerationSeconds": seconds}
    async with running(manager_gates=f"AllAlpha=true,{gate}={str(enabled).lower()}") as cluster:
        await cluster.client.create(KINDS.NODE, node("n"))
        await cluster.client.create(KINDS.POD, pod("p", "n", toleration))
        await cluster.settle(10)
        await set_taints(cluster, "n", taint("t", value))
        await cluster.settle(2)
        assert await names(cluster) == ({"p"} if enabled else set())
        await cluster.settle(100)
        assert await names(cluster) == ({"p"} if enabled and seconds is None else set())


async def test_equal_and_exists_need_no_gate() -> None:
    async with running("") as cluster:
        await cluster.client.create(KINDS.NODE, node("n", taint("t", "v")))
        await cluster.client.create(KINDS.POD, pod("equal", "n", tolerates("t", "Equal", "v")))
        await cluster.client.create(KINDS.POD, pod("exists", "n", tolerates("t")))
        await cluster.client.create(KINDS.POD, pod("other", "n", tolerates("t", "Equal", "w")))
        await cluster.settle(100)
        assert await names(cluster) == {"equal", "exists"}


async def test_expressions_have_a_cache_of_their_own_with_counters(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("t", "x")))
    for index in range(3):
        expression = {"expression": f"taint.value == 'x' || '{index}' == ''"}
        await cluster.client.create(KINDS.POD, pod(f"p{index}", "n", expression))
    await cluster.client.create(KINDS.POD, pod("fails", "n", {"expression": "int(taint.value) > 1"}))
    await cluster.settle(10)
    assert await names(cluster) == {"p0", "p1", "p2"}
    assert value_of(cluster, "taint_eviction_controller_cel_cache_misses_total") == 4
    assert value_of(cluster, "taint_eviction_controller_cel_evaluation_errors_total") >= 1


@pytest.mark.parametrize(
    ("toleration", "value", "said"),
    [
        (tolerates("t", "Gt", "5"), "95.5", "failed to parse taint value as integer for numeric comparison"),
        (tolerates("t", "SemverGt", "1.2"), "x.y", "failed to parse taint value as semantic version"),
        ({"expression": "int(taint.value) > 5"}, "x.y", "A toleration's expression failed"),
    ],
)
async def test_a_taint_that_cannot_be_compared_is_told_once_and_counted_for_each_pod(
    toleration: Raw, value: str, said: str, caplog: pytest.LogCaptureFixture, cluster: VirtualCluster
) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("t", value)))
    for index in range(3):
        await cluster.client.create(KINDS.POD, pod(f"p{index}", "n", toleration))
    await cluster.settle(10)
    assert await names(cluster) == set()
    lines = [line for line in log_text(caplog).splitlines() if said in line]
    assert len(lines) == 1
    assert 'node="n"' in lines[0]
    assert f'taint="t={value}:NoExecute"' in lines[0]
    assert 'pod="default/p0"' in lines[0]
    labels = f'{{source="taint",key="t",operator="{toleration.get("operator", "expression")}"}}'
    assert value_of(cluster, f"taint_eviction_controller_unreadable_values_total{labels}") >= 3


async def test_a_time_in_the_future_is_noticed_anew(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("t", timeAdded="2030-01-01T00:00:00Z")))
    await cluster.client.create(KINDS.POD, pod("p", "n", tolerates("t", tolerationSeconds=30)))
    await cluster.settle(32)
    assert await names(cluster) == set()


async def test_nodes_whose_time_concerns_nobody_are_left_alone(cluster: VirtualCluster) -> None:
    made = await cluster.client.create(KINDS.NODE, node("n", taint("t")))
    await cluster.client.create(KINDS.POD, pod("p", "n", tolerates("t")))
    await cluster.settle(32)
    assert (await cluster.client.get(KINDS.NODE, "n")).revision == made.revision


async def test_what_is_far_in_the_future_is_never(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("t")))
    await cluster.client.create(KINDS.POD, pod("p", "n", tolerates("t", tolerationSeconds=2**63 - 1)))
    await cluster.client.create(KINDS.POD, pod("q", "n", tolerates("t", tolerationSeconds=10**12)))
    await cluster.settle(10**6)
    assert await names(cluster) == {"p", "q"}


def sliding(**more: Any) -> Raw:
    """A pod that stays where the SLA is above 950, and for half a minute where it is above 900."""
    above_950 = tolerates("sla", "Gt", "950")
    return pod("p", "n", above_950, tolerates("sla", "Gt", "900", tolerationSeconds=30), **more)


async def test_a_value_that_changes_often_does_not_keep_those_whose_time_runs(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("sla", "990")))
    await cluster.client.create(KINDS.POD, sliding())
    await cluster.settle(100)
    for value in ("940", "935", "930"):
        await set_taints(cluster, "n", taint("sla", value))
        await cluster.settle(9)
        assert await names(cluster) == {"p"}
    await set_taints(cluster, "n", taint("sla", "925"))
    await cluster.settle(5)
    assert await names(cluster) == set()


async def test_a_value_that_recovers_in_between_begins_the_time_anew(cluster: VirtualCluster) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("sla", "990")))
    await cluster.client.create(KINDS.POD, sliding())
    for _ in range(4):
        await set_taints(cluster, "n", taint("sla", "940"))
        await cluster.settle(20)
        await set_taints(cluster, "n", taint("sla", "960"))
        await cluster.settle(20)
    assert await names(cluster) == {"p"}


@pytest.mark.parametrize("seconds", [0.0, 300.0])
async def test_a_taint_that_is_edited_in_place_has_the_time_of_its_former_value(
    seconds: float, cluster: VirtualCluster
) -> None:
    """Somebody else's time was written down long ago, or just now, and the new value keeps it."""
    await cluster.client.create(KINDS.NODE, node("n", taint("sla", "990")))
    await cluster.client.create(KINDS.POD, pod("other", "n", tolerates("sla", tolerationSeconds=3000)))
    await cluster.client.create(KINDS.POD, sliding())
    await cluster.settle(0.1 + seconds)
    (found,) = (await cluster.client.get(KINDS.NODE, "n")).raw["spec"]["taints"]
    assert found["timeAdded"]
    for value in ("940", "930"):
        (found,) = (await cluster.client.get(KINDS.NODE, "n")).raw["spec"]["taints"]
        await set_taints(cluster, "n", {**found, "value": value})
        await cluster.settle(14)
        assert await names(cluster) == {"p", "other"}
    await cluster.settle(5)
    assert await names(cluster) == {"other"}
    await cluster.settle(2930 - seconds)
    assert await names(cluster) == {"other"}
    await cluster.settle(60)
    assert await names(cluster) == set()


@pytest.mark.parametrize(
    ("toleration", "why"),
    [
        (tolerates("t", "Gt", "5", tolerationSeconds=30), "t=9 is tolerated for 30 s"),
        (tolerates("t", "Gt", "20"), "9 > 20 is false (taint t=9, toleration Gt 20)"),
    ],
)
async def test_a_workload_whose_pods_are_evicted_again_and_again_is_logged_once(
    toleration: Raw, why: str, caplog: pytest.LogCaptureFixture, cluster: VirtualCluster
) -> None:
    await cluster.client.create(KINDS.NODE, node("n", taint("t", "9")))
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
    for index in range(6):
        made = pod(f"p{index}", "n", toleration)
        made["metadata"]["ownerReferences"] = [owner]
        await cluster.client.create(KINDS.POD, made)
        await cluster.settle(40)
    assert await names(cluster) == set()
    assert value_of(cluster, "taint_eviction_controller_pods_evicted_again_total") == 5
    (line,) = (line for line in log_text(caplog).splitlines() if "again and again" in line)
    assert f"ReplicaSet default/web makes pods again and again that are evicted, 4 within 120 s: {why}" in line


async def test_the_loop_names_the_gate_that_is_off_in_the_controller_manager(caplog: pytest.LogCaptureFixture) -> None:
    gate = "TaintTolerationComparisonOperators"
    async with running(manager_gates=f"AllAlpha=true,{gate}=false") as cluster:
        await cluster.client.create(KINDS.NODE, node("n", taint("t", "9")))
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
        for index in range(6):
            made = pod(f"p{index}", "n", tolerates("t", "Gt", "5"))
            made["metadata"]["ownerReferences"] = [owner]
            await cluster.client.create(KINDS.POD, made)
            await cluster.settle(5)
    (line,) = (line for line in log_text(caplog).splitlines() if "again and again" in line)
    assert f"; the feature gate {gate} is off in the controller manager" in line
