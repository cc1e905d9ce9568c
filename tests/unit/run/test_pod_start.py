"""From bound to running and ready."""

from typing import Any

from tests.unit.run.simulation import MIDNIGHT, POD, Simulation, container, simulate

from moorage.run.pod_status import time_text


def test_a_pod_runs_at_once_and_says_all_that_a_kubelet_says() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod()
        status = await world.status()
        assert status["phase"] == "Running"
        assert status["startTime"] == time_text(MIDNIGHT)
        assert status["podIP"] == "10.128.0.1"
        assert status["podIPs"] == [{"ip": "10.128.0.1"}]
        assert status["hostIP"] == "10.0.0.1"
        assert status["observedGeneration"] == 1
        (only,) = status["containerStatuses"]
        assert only["state"] == {"running": {"startedAt": time_text(MIDNIGHT)}}
        assert (only["ready"], only["started"], only["restartCount"], only["lastState"]) == (True, True, 0, {})
        assert await world.conditions() == {
            "PodReadyToStartContainers": "True",
            "Initialized": "True",
            "Ready": "True",
            "ContainersReady": "True",
            "PodScheduled": "True",
        }
        assert [one["observedGeneration"] for one in status["conditions"]] == [1] * 5
        assert world.reports == [("p", "Normal", "Started", "Container started")]
        assert world.measured("kubelet_running_pods") == "kubelet_running_pods 1"
        assert world.measured("kubelet_started_pods_total") == "kubelet_started_pods_total 1"

    simulate(story)


def test_a_pod_that_takes_its_time_is_pending_until_then() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(simulate={"start-delay": "5s"}, initContainers=[container("first")])
        status = await world.status()
        assert status["phase"] == "Pending"
        assert "podIP" not in status
        assert status["containerStatuses"][0]["state"] == {"waiting": {"reason": "ContainerCreating"}}
        assert status["initContainerStatuses"][0]["state"] == {"waiting": {"reason": "PodInitializing"}}
        conditions = {one["type"]: (one["status"], one.get("message", "")) for one in status["conditions"]}
        assert conditions["Initialized"] == ("False", "containers with incomplete status: [first]")
        assert conditions["Ready"] == ("False", "containers with unready status: [c]")
        assert conditions["PodReadyToStartContainers"][0] == "False"
        await world.settle(5)
        status = await world.status()
        assert status["phase"] == "Running"
        assert status["startTime"] == time_text(MIDNIGHT)
        conditions = {one["type"]: (one["status"], one.get("message", "")) for one in status["conditions"]}
        assert set(conditions.values()) == {("True", "")}

    simulate(story)


def test_a_pod_is_ready_when_its_probes_have_been_answered() -> None:
    probe = {"httpGet": {"port": 80}, "initialDelaySeconds": 7, "periodSeconds": 2, "successThreshold": 3}
    startup = {"httpGet": {"port": 80}, "initialDelaySeconds": 4}

    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(containers=[container(readinessProbe=probe, startupProbe=startup)])
        assert await world.phase() == "Running"
        assert (await world.conditions())["Ready"] == "False"
        await world.settle(14.9)
        assert (await world.conditions())["Ready"] == "False"
        await world.settle(0.2)
        conditions = (await world.status())["conditions"]
        ready = next(one for one in conditions if one["type"] == "Ready")
        assert ready["status"] == "True"
        assert ready["lastTransitionTime"] == time_text(MIDNIGHT + 15)
        assert "reason" not in ready
        assert "message" not in ready
        assert (await world.status())["containerStatuses"][0]["state"]["running"]["startedAt"] == time_text(MIDNIGHT)

    simulate(story)


def test_readiness_gates_are_waited_for() -> None:
    async def gate(world: Simulation, status: str) -> dict[str, Any]:
        patch = {"status": {"conditions": [{"type": "example.com/served", "status": status}]}}
        await world.client.patch(POD, "p", "default", patch, subresource="status")
        await world.settle()
        found = (await world.status())["conditions"]
        ready: dict[str, Any] = next(one for one in found if one["type"] == "Ready")
        return ready

    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(readinessGates=[{"conditionType": "example.com/served"}])
        ready = next(one for one in (await world.status())["conditions"] if one["type"] == "Ready")
        assert ready["reason"] == "ReadinessGatesNotReady"
        assert ready["message"] == 'corresponding condition of pod readiness gate "example.com/served" does not exist.'
        assert (await world.conditions())["ContainersReady"] == "True"
        ready = await gate(world, "True")
        assert ready["status"] == "True"
        assert "message" not in ready
        ready = await gate(world, "False")
        said = 'the status of pod readiness gate "example.com/served" is not "True", but False'
        assert (ready["status"], ready["message"]) == ("False", said)

    simulate(story)


def test_init_containers_are_done_and_sidecars_go_on() -> None:
    first = container("first")
    beside = container("beside", restartPolicy="Always")

    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(initContainers=[first, beside], restartPolicy="Never", simulate={"completes-after": "3"})
        done, goes_on = (await world.status())["initContainerStatuses"]
        assert done["state"]["terminated"]["exitCode"] == 0
        assert done["ready"]
        assert not done["started"]
        assert "running" in goes_on["state"]
        await world.settle(3)
        status = await world.status()
        assert status["phase"] == "Succeeded"
        assert status["initContainerStatuses"][1]["state"]["terminated"]["exitCode"] == 0

    simulate(story)


def test_pods_on_the_hosts_network_have_its_address() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(hostNetwork=True)
        status = await world.status()
        assert status["podIP"] == status["hostIP"] == "10.0.0.1"

    simulate(story)


def test_a_pod_that_replaces_another_of_its_name_starts_anew() -> None:
    async def story(world: Simulation) -> None:
        await world.node(cpu="1")
        await world.pod(simulate={"completes-after": "1h"})
        await world.settle(5)
        await world.client.delete(POD, "p", "default", grace_seconds=0)
        await world.pod()
        status = await world.status()
        assert (status["phase"], status["podIP"]) == ("Running", "10.128.0.2")
        assert status["startTime"] == time_text(MIDNIGHT + 5)
        await world.settle(7200)
        assert await world.phase() == "Running"

    simulate(story)


def test_annotations_that_come_later_count() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(restartPolicy="Never")
        await world.settle(60)
        patch = {"metadata": {"annotations": {"simulate.moorage.dev/completes-after": "61s"}}}
        await world.client.patch(POD, "p", "default", patch)
        await world.settle(0.5)
        assert await world.phase() == "Running"
        await world.settle(0.6)
        assert await world.phase() == "Succeeded"

    simulate(story)
