"""From bound to running and ready."""

from typing import Any

from tests.unit.run.simulation import MIDNIGHT, Simulation, container

from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS


async def test_pod_runs_at_once_with_a_complete_status(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod()
    status = await simulation.status()
    assert status["phase"] == "Running"
    assert status["startTime"] == time_text(MIDNIGHT)
    assert status["podIP"] == "10.128.0.1"
    assert status["podIPs"] == [{"ip": "10.128.0.1"}]
    assert status["hostIP"] == "10.0.0.1"
    assert status["observedGeneration"] == 1
    (only,) = status["containerStatuses"]
    assert only["state"] == {"running": {"startedAt": time_text(MIDNIGHT)}}
    assert (only["ready"], only["started"], only["restartCount"], only["lastState"]) == (True, True, 0, {})
    assert await simulation.conditions() == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    assert [one["observedGeneration"] for one in status["conditions"]] == [1] * 5
    assert simulation.reports == [("p", "Normal", "Started", "Container started")]
    assert simulation.measured("kubelet_running_pods") == "kubelet_running_pods 1"
    assert simulation.measured("kubelet_started_pods_total") == "kubelet_started_pods_total 1"


async def test_a_pod_that_takes_its_time_is_pending_until_then(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(simulate={"start-delay": "5s"}, initContainers=[container("first")])
    status = await simulation.status()
    assert status["phase"] == "Pending"
    assert "podIP" not in status
    assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
    assert status["initContainerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
    conditions = {one["type"]: (one["status"], one.get("message", "")) for one in status["conditions"]}
    assert conditions["Initialized"] == ("False", "containers with incomplete status: [first]")
    assert conditions["Ready"] == ("False", "containers with unready status: [c]")
    assert conditions["PodReadyToStartContainers"][0] == "False"
    await simulation.settle(5)
    status = await simulation.status()
    assert status["phase"] == "Running"
    assert status["startTime"] == time_text(MIDNIGHT)
    conditions = {one["type"]: (one["status"], one.get("message", "")) for one in status["conditions"]}
    assert set(conditions.values()) == {("True", "")}


async def test_a_pod_is_ready_when_its_probes_have_been_answered(simulation: Simulation) -> None:
    probe = {"httpGet": {"port": 80}, "initialDelaySeconds": 7, "periodSeconds": 2, "successThreshold": 3}
    startup = {"httpGet": {"port": 80}, "initialDelaySeconds": 4}
    await simulation.node()
    await simulation.pod(containers=[container(readinessProbe=probe, startupProbe=startup)])
    assert await simulation.phase() == "Running"
    assert (await simulation.conditions())["Ready"] == "False"
    await simulation.settle(14.9)
    assert (await simulation.conditions())["Ready"] == "False"
    await simulation.settle(0.2)
    conditions = (await simulation.status())["conditions"]
    ready = next(one for one in conditions if one["type"] == "Ready")
    assert ready["status"] == "True"
    assert ready["lastTransitionTime"] == time_text(MIDNIGHT + 15)
    assert "reason" not in ready
    assert "message" not in ready
    assert (await simulation.status())["containerStatuses"][0]["state"]["running"]["startedAt"] == time_text(MIDNIGHT)


async def test_readiness_gates_are_waited_for(simulation: Simulation) -> None:
    async def gate(world: Simulation, status: str) -> dict[str, Any]:
        patch = {"status": {"conditions": [{"type": "example.com/served", "status": status}]}}
        await world.client.patch(KINDS.POD, "p", "default", patch, subresource="status")
        await world.settle()
        found = (await world.status())["conditions"]
        ready: dict[str, Any] = next(one for one in found if one["type"] == "Ready")
        return ready

    await simulation.node()
    await simulation.pod(readinessGates=[{"conditionType": "example.com/served"}])
    ready = next(one for one in (await simulation.status())["conditions"] if one["type"] == "Ready")
    assert ready["reason"] == "ReadinessGatesNotReady"
    assert ready["message"] == 'corresponding condition of pod readiness gate "example.com/served" does not exist.'
    assert (await simulation.conditions())["ContainersReady"] == "True"
    ready = await gate(simulation, "True")
    assert ready["status"] == "True"
    assert "message" not in ready
    ready = await gate(simulation, "False")
    said = 'the status of pod readiness gate "example.com/served" is not "True", but False'
    assert (ready["status"], ready["message"]) == ("False", said)


async def test_init_containers_are_done_and_sidecars_go_on(simulation: Simulation) -> None:
    first = container("first")
    beside = container("beside", restartPolicy="Always")
    await simulation.node()
    await simulation.pod(initContainers=[first, beside], restartPolicy="Never", simulate={"completes-after": "3"})
    done, goes_on = (await simulation.status())["initContainerStatuses"]
    assert done["state"]["terminated"]["exitCode"] == 0
    assert done["ready"]
    assert not done["started"]
    assert "running" in goes_on["state"]
    await simulation.settle(3)
    status = await simulation.status()
    assert status["phase"] == "Succeeded"
    assert status["initContainerStatuses"][1]["state"]["terminated"]["exitCode"] == 0


async def test_pods_on_the_hosts_network_have_its_address(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(hostNetwork=True)
    status = await simulation.status()
    assert status["podIP"] == status["hostIP"] == "10.0.0.1"


async def test_pod_with_the_name_of_a_deleted_one_starts_from_the_beginning(simulation: Simulation) -> None:
    await simulation.node(cpu="1")
    await simulation.pod(simulate={"completes-after": "1h"})
    await simulation.settle(5)
    await simulation.client.delete(KINDS.POD, "p", "default", grace_seconds=0)
    await simulation.pod()
    status = await simulation.status()
    assert (status["phase"], status["podIP"]) == ("Running", "10.128.0.2")
    assert status["startTime"] == time_text(MIDNIGHT + 5)
    await simulation.settle(7200)
    assert await simulation.phase() == "Running"


async def test_annotations_that_come_later_count(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(restartPolicy="Never")
    await simulation.settle(60)
    patch = {"metadata": {"annotations": {"simulate.moorage.dev/completes-after": "61s"}}}
    await simulation.client.patch(KINDS.POD, "p", "default", patch)
    await simulation.settle(0.5)
    assert await simulation.phase() == "Running"
    await simulation.settle(0.6)
    assert await simulation.phase() == "Succeeded"
