"""Nodes that shut down: who leaves when, and what is said of it (pkg/kubelet/nodeshutdown)."""

from typing import Any

import pytest
from tests.unit.run.simulation import MIDNIGHT, Simulation, simulating

from moorage.model.gates import gates_from
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.run.shutdown import DEFAULT_PERIODS, Period, group_of, read_periods

SHUTDOWN = "simulate.moorage.dev/shutdown"
CRITICAL = "system-cluster-critical"
TEXT = "Pod was terminated in response to imminent node shutdown."


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("true", DEFAULT_PERIODS),
        ("false", ()),
        ("", ()),
        ("0=60s", ((0, 60),)),
        ("100=1m30s, 0=5 ,-10=0", ((-10, 0), (0, 5), (100, 90))),
        ("0=5,0=6", ()),
        ("0=-5s", ()),
        ("x=5", ()),
        ("0", ()),
        ("99999999999=5", ()),
        ("2147483648=5", ()),
        ("0=1" + "0" * 5000, ()),
        (",".join(f"{number}=1" for number in range(100)), ()),
    ],
)
def test_periods_are_read_or_count_as_absent(text: str, periods: Any) -> None:
    assert read_periods(text) == periods


@pytest.mark.parametrize(
    ("priority", "group"), [(None, 0), (-5, 0), (0, 0), (9, 0), (10, 1), (11, 1), (100, 2), (2_000_000_000, 2)]
)
def test_group_is_the_highest_priority_that_is_not_above_the_pods(priority: int | None, group: int) -> None:
    """As TestGroupByPriority: those below the lowest belong to it, boundaries to the lower one."""
    pod = convert_view({"spec": {"priority": priority}}, Pod)
    assert group_of(pod, (Period(0, 1), Period(10, 1), Period(100, 1))) == group


async def shut_down(world: Simulation, value: str | None = "true") -> None:
    patch = {"metadata": {"annotations": {SHUTDOWN: value}}}
    await world.client.patch(KINDS.NODE, "n1", "", patch)
    await world.settle()


async def ready(world: Simulation) -> tuple[str, str, str]:
    node = (await world.client.get(KINDS.NODE, "n1")).raw
    (condition,) = [one for one in node["status"]["conditions"] if one["type"] == "Ready"]
    return condition["status"], condition["reason"], condition["message"]


async def ended(world: Simulation, name: str) -> float | None:
    """Return how many seconds after midnight a pod has failed."""
    status = await world.status(name)
    if status["phase"] != "Failed":
        return None
    found = seconds_of(status["containerStatuses"][0]["state"]["terminated"]["finishedAt"])
    assert found is not None
    return found - MIDNIGHT


async def test_pods_end_group_by_group(simulation: Simulation) -> None:
    await simulation.node(cpu="64")
    for name, priority, delay, grace in (
        ("quick", "", "2s", 30),
        ("slow", "", "15s", 30),
        ("stubborn", "", "1h", 600),
        ("own", "", "1h", 5),
        ("critical", CRITICAL, "3s", 30),
    ):
        fields: dict[str, Any] = {"priorityClassName": priority, "terminationGracePeriodSeconds": grace}
        await simulation.pod(name, simulate={"stop-delay": delay}, **fields)
    await simulation.settle()
    simulation.reports.clear()
    await shut_down(simulation)
    assert await ready(simulation) == ("False", "KubeletNotReady", "node is shutting down")
    assert ("n1", "Normal", "Shutdown", "Shutdown manager detected shutdown event") in simulation.reports
    assert ("n1", "Normal", "NodeNotReady", "Node n1 status is now: NodeNotReady") in simulation.reports
    killed = [name for name, _, reason, _ in simulation.reports if reason == "Killing"]
    assert killed == ["quick", "slow", "stubborn", "own"]
    await simulation.settle(60)
    names = ("quick", "own", "slow", "stubborn", "critical")
    assert [await ended(simulation, name) for name in names] == [2, 5, 15, 20, 23]
    status = await simulation.status("quick")
    assert (status["reason"], status["message"]) == ("Terminated", TEXT)
    conditions = {one["type"]: one for one in status["conditions"]}
    target = conditions["DisruptionTarget"]
    assert (target["status"], target["reason"], target["message"]) == ("True", "TerminationByKubelet", TEXT)
    assert conditions["Ready"]["status"] == "False"
    codes = {name: await exit_code(simulation, name) for name in ("quick", "stubborn", "own")}
    assert codes == {"quick": 143, "stubborn": 137, "own": 137}


async def exit_code(world: Simulation, name: str) -> int:
    code: int = (await world.status(name))["containerStatuses"][0]["state"]["terminated"]["exitCode"]
    return code


async def test_next_group_begins_as_soon_as_one_has_ended_and_empty_ones_take_no_time(simulation: Simulation) -> None:
    await simulation.node(cpu="64")
    await simulation.client.create(KINDS.PRIORITY_CLASS, {"metadata": {"name": "high"}, "value": 1000})
    await simulation.pod("low", simulate={"stop-delay": "4s"})
    fields: dict[str, Any] = {"priorityClassName": "high", "terminationGracePeriodSeconds": 600}
    await simulation.pod("high", simulate={"stop-delay": "1h"}, **fields)
    await shut_down(simulation, "-5=60s,0=60s,500=60s,1000=7s,5000=60s")
    await simulation.settle(600)
    assert [await ended(simulation, name) for name in ("low", "high")] == [4, 11]


async def test_new_pods_are_refused_until_the_node_comes_back(simulation: Simulation) -> None:
    await simulation.node()
    await shut_down(simulation)
    await simulation.pod("late")
    await simulation.refusals()
    status = await simulation.status("late")
    assert (status["phase"], status["reason"]) == ("Failed", "NodeShutdown")
    assert status["message"] == "Pod was rejected: Pod was rejected as the node is shutting down."
    counted = 'kubelet_admission_rejections_total{reason="NodeShutdown"} 1'
    assert simulation.measured("kubelet_admission_rejections_total") == counted
    await shut_down(simulation, None)
    assert (await ready(simulation))[0] == "True"
    assert ("n1", "Normal", "Shutdown", "Shutdown manager detected shutdown cancellation") in simulation.reports
    await simulation.pod("later")
    await simulation.settle()
    assert await simulation.phase("later") == "Running"


async def test_restarted_simulator_goes_on_with_the_shutdown(simulation: Simulation) -> None:
    await simulation.node(cpu="64")
    await simulation.pod("low", simulate={"stop-delay": "30s"})
    await simulation.pod("critical", simulate={"stop-delay": "5s"}, priorityClassName=CRITICAL)
    await simulation.settle()
    await simulation.stop()
    await shut_down(simulation)
    await simulation.start()
    await simulation.settle(60)
    assert await simulation.phase("low") == await simulation.phase("critical") == "Failed"
    assert (await ready(simulation))[0] == "False"


async def test_deleted_pod_goes_although_its_node_shuts_down(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod("p", simulate={"stop-delay": "10s"})
    await simulation.settle()
    await shut_down(simulation)
    await simulation.client.delete(KINDS.POD, "p", "default", grace_seconds=1)
    await simulation.settle(30)
    assert not [one for one in (await simulation.client.list_all(KINDS.POD)).items if one.name == "p"]


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ({"GracefulNodeShutdownBasedOnPodPriority": False}, 20),  # the two default groups, whatever is configured
        ({"GracefulNodeShutdown": False, "GracefulNodeShutdownBasedOnPodPriority": False}, None),
    ],
)
async def test_gates_decide_what_a_shutdown_is(gates: dict[str, bool], expected: float | None) -> None:
    async with simulating(gates_from(gates)) as world:
        await world.node()
        await world.pod("p", simulate={"stop-delay": "1h"}, terminationGracePeriodSeconds=600)
        await world.settle()
        await shut_down(world, "0=50s")
        await world.settle(100)
        assert await ended(world, "p") == expected
        assert (await ready(world))[0] == ("True" if expected is None else "False")
