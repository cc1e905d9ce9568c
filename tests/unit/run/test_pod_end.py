"""How pods end: by themselves, again and again, too late, or because somebody wants them gone."""

import pytest
from tests.unit.run.simulation import MIDNIGHT, POD, Simulation, container, simulate

from moorage.run.pod_status import time_text


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", "0", "Succeeded"), ("Never", "3", "Failed"), ("OnFailure", "0", "Succeeded")],
)
def test_containers_that_are_not_started_again_decide_the_phase(policy: str, code: str, phase: str) -> None:
    async def story(world: Simulation) -> None:
        await world.node(cpu="1")
        await world.pod(restartPolicy=policy, simulate={"completes-after": "90s", "exit-code": code})
        await world.settle(90)
        status = await world.status()
        assert status["phase"] == phase
        terminated = status["containerStatuses"][0]["state"]["terminated"]
        assert terminated["exitCode"] == int(code)
        assert terminated["reason"] == ("Error" if int(code) else "Completed")
        assert terminated["finishedAt"] == time_text(MIDNIGHT + 90)
        reasons = {one["type"]: (one["status"], one.get("reason")) for one in status["conditions"]}
        why = "PodFailed" if int(code) else "PodCompleted"
        assert reasons["Ready"] == reasons["ContainersReady"] == ("False", why)
        assert reasons["PodReadyToStartContainers"] == ("False", None)
        await world.pod("next")
        assert await world.phase("next") == "Running"  # the place is free again

    simulate(story)


@pytest.mark.parametrize(("policy", "code"), [("Always", "0"), ("Always", "1"), ("OnFailure", "1")])
def test_containers_that_are_started_again_wait_longer_each_time(policy: str, code: str) -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(restartPolicy=policy, simulate={"completes-after": "1s", "exit-code": code})
        uid = (await world.client.get(POD, "p", "default")).uid
        await world.settle(1)
        (only,) = (await world.status())["containerStatuses"]
        assert only["restartCount"] == 1  # at once, the first time
        assert only["lastState"]["terminated"]["exitCode"] == int(code)
        at = 2.0
        for restarts, wait, text in ((1, 10, "10s"), (2, 20, "20s"), (3, 40, "40s"), (4, 80, "1m20s")):
            await world.settle(MIDNIGHT + at - world.now() + 0.5)
            status = await world.status()
            (only,) = status["containerStatuses"]
            assert status["phase"] == "Running"
            said = f"back-off {text} restarting failed container=c pod=p_default({uid})"
            assert only["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": said}}
            assert only["restartCount"] == restarts
            assert (await world.conditions())["Ready"] == "False"
            at += wait
            await world.settle(MIDNIGHT + at - world.now() + 0.5)
            (only,) = (await world.status())["containerStatuses"]
            assert "running" in only["state"]
            assert only["restartCount"] == restarts + 1
            at += 1
        assert (await world.status())["startTime"] == time_text(MIDNIGHT)
        assert set(world.said("BackOff")) == {f"Back-off restarting failed container c in pod p_default({uid})"}

    simulate(story)


def test_the_wait_has_an_end_and_good_runs_are_remembered() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(simulate={"completes-after": "700s"})
        for restarts in range(1, 4):
            await world.settle(700)
            (only,) = (await world.status())["containerStatuses"]
            assert only["restartCount"] == restarts  # never had to wait
        await world.pod("quick", simulate={"completes-after": "1s"})
        await world.settle(3600)
        before = (await world.status("quick"))["containerStatuses"][0]["restartCount"]
        await world.settle(301 * 4)
        assert (await world.status("quick"))["containerStatuses"][0]["restartCount"] == before + 4

    simulate(story)


def test_a_pod_has_a_deadline_that_restarts_do_not_move() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(activeDeadlineSeconds=30, simulate={"completes-after": "1s"})
        await world.settle(29)
        assert await world.phase() == "Running"
        await world.settle(1)
        status = await world.status()
        assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
        assert status["message"] == "Pod was active on the node longer than the specified deadline"
        assert "terminated" in status["containerStatuses"][0]["state"]
        assert world.said("DeadlineExceeded") == [status["message"]]

    simulate(story)


def test_a_deadline_also_ends_a_pod_that_has_not_started() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(activeDeadlineSeconds=5, simulate={"start-delay": "1h"})
        await world.settle(5)
        assert await world.phase() == "Failed"

    simulate(story)


def test_a_deadline_may_be_shortened() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(activeDeadlineSeconds=500)
        await world.settle(10)
        await world.client.patch(POD, "p", "default", {"spec": {"activeDeadlineSeconds": 20}})
        await world.settle(10)
        assert await world.phase() == "Failed"

    simulate(story)


@pytest.mark.parametrize(("takes", "grace", "gone_after"), [("0s", 30, 0), ("5s", 30, 5), ("50s", 30, 30)])
def test_a_deleted_pod_has_its_grace_period(takes: str, grace: int, gone_after: int) -> None:
    async def story(world: Simulation) -> None:
        await world.node(cpu="1")
        await world.pod(terminationGracePeriodSeconds=grace, simulate={"stop-delay": takes})
        await world.client.delete(POD, "p", "default")
        if gone_after:
            await world.settle(gone_after - 0.5)
            assert await world.exists()
            assert (await world.conditions())["Ready"] == "True"
            await world.pod("early")
            assert (await world.status("early"))["reason"] == "OutOfcpu"
        await world.settle(1)
        assert not await world.exists()
        assert world.said("Killing") == ["Stopping container c"]
        await world.pod("next")
        assert await world.phase("next") == "Running"

    simulate(story)


def test_who_is_in_a_hurry_shortens_the_grace_period() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(terminationGracePeriodSeconds=100, simulate={"stop-delay": "80s"})
        await world.client.delete(POD, "p", "default")
        await world.settle(10)
        await world.client.delete(POD, "p", "default", grace_seconds=2)
        await world.settle(1)
        assert await world.exists()
        await world.settle(2)
        assert not await world.exists()
        assert len(world.said("Killing")) == 1

    simulate(story)


@pytest.mark.parametrize("completes", ["1s", "1h"])
def test_a_pod_that_finalizers_keep_is_not_deleted_over_and_over(completes: str) -> None:
    async def story(world: Simulation) -> None:
        await world.node(cpu="1")
        delays = {"completes-after": completes, "stop-delay": "3s"}
        await world.pod(finalizers=["example.com/hold"], restartPolicy="Never", simulate=delays)
        await world.settle(2)
        await world.client.delete(POD, "p", "default")
        await world.settle(60)
        before = await world.client.get(POD, "p", "default")
        assert before.raw["status"]["phase"] == ("Succeeded" if completes == "1s" else "Failed")
        await world.settle(600)
        assert (await world.client.get(POD, "p", "default")).revision == before.revision
        await world.pod("next")
        assert await world.phase("next") == "Running"
        patch = {"metadata": {"finalizers": None}}
        await world.client.patch(POD, "p", "default", patch)
        await world.settle()
        assert not await world.exists()

    simulate(story)


def test_pods_of_jobs_complete_after_a_second() -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1"}
        document = {"metadata": {"name": "p", "namespace": "default", "ownerReferences": [owner]}}
        spec = {"nodeName": "n1", "restartPolicy": "Never", "containers": [container()]}
        await world.client.create(POD, {**document, "spec": spec})
        await world.settle(1.1)
        assert await world.phase() == "Succeeded"

    simulate(story)


@pytest.mark.parametrize("text", ["soon", "-5s", "1e9", "", "٣", "9" * 400])
def test_annotations_that_cannot_be_read_do_no_harm(text: str) -> None:
    async def story(world: Simulation) -> None:
        await world.node()
        await world.pod(simulate={"completes-after": text, "exit-code": text, "start-delay": text})
        await world.settle(1)
        await world.pod("other")
        assert await world.phase("other") == "Running"

    simulate(story)
