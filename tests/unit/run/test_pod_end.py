"""How pods end: by themselves, again and again, too late, or because somebody wants them gone."""

import pytest
from tests.unit.run.simulation import MIDNIGHT, Simulation, container

from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS
from moorage.model.types.meta import ObjectMeta, OwnerReference
from moorage.model.types.pod import Pod
from moorage.run.simulated_pod import REFUSAL_DELAY, script_of


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", "0", "Succeeded"), ("Never", "3", "Failed"), ("OnFailure", "0", "Succeeded")],
)
async def test_containers_that_are_not_started_again_decide_the_phase(
    policy: str, code: str, phase: str, simulation: Simulation
) -> None:
    await simulation.node(cpu="1")
    await simulation.pod(restartPolicy=policy, simulate={"completes-after": "90s", "exit-code": code})
    await simulation.settle(90)
    status = await simulation.status()
    assert status["phase"] == phase
    terminated = status["containerStatuses"][0]["state"]["terminated"]
    assert terminated["exitCode"] == int(code)
    assert terminated["reason"] == ("Error" if int(code) else "Completed")
    assert terminated["finishedAt"] == time_text(MIDNIGHT + 90)
    reasons = {one["type"]: (one["status"], one.get("reason")) for one in status["conditions"]}
    why = "PodFailed" if int(code) else "PodCompleted"
    assert reasons["Ready"] == reasons["ContainersReady"] == ("False", why)
    assert reasons["PodReadyToStartContainers"] == ("False", None)
    await simulation.pod("next")
    assert await simulation.phase("next") == "Running"  # the place is free again


@pytest.mark.parametrize(("policy", "code"), [("Always", "0"), ("Always", "1"), ("OnFailure", "1")])
async def test_containers_that_are_started_again_wait_longer_each_time(
    policy: str, code: str, simulation: Simulation
) -> None:
    await simulation.node()
    await simulation.pod(restartPolicy=policy, simulate={"completes-after": "1s", "exit-code": code})
    uid = (await simulation.client.get(KINDS.POD, "p", "default")).uid
    await simulation.settle(1)
    (only,) = (await simulation.status())["containerStatuses"]
    assert only["restartCount"] == 1  # at once, the first time
    assert only["lastState"]["terminated"]["exitCode"] == int(code)
    at = 2.0
    for restarts, wait, text in ((1, 10, "10s"), (2, 20, "20s"), (3, 40, "40s"), (4, 80, "1m20s")):
        await simulation.settle(MIDNIGHT + at - simulation.now() + 0.5)
        status = await simulation.status()
        (only,) = status["containerStatuses"]
        assert status["phase"] == "Running"
        said = f"back-off {text} restarting failed container=c pod=p_default({uid})"
        assert only["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": said}}
        assert only["restartCount"] == restarts
        assert (await simulation.conditions())["Ready"] == "False"
        at += wait
        await simulation.settle(MIDNIGHT + at - simulation.now() + 0.5)
        (only,) = (await simulation.status())["containerStatuses"]
        assert "running" in only["state"]
        assert only["restartCount"] == restarts + 1
        at += 1
    assert (await simulation.status())["startTime"] == time_text(MIDNIGHT)
    assert set(simulation.said("BackOff")) == {f"Back-off restarting failed container c in pod p_default({uid})"}


async def test_the_wait_has_an_end_and_good_runs_are_remembered(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(simulate={"completes-after": "700s"})
    for restarts in range(1, 4):
        await simulation.settle(700)
        (only,) = (await simulation.status())["containerStatuses"]
        assert only["restartCount"] == restarts  # never had to wait
    await simulation.pod("quick", simulate={"completes-after": "1s"})
    await simulation.settle(3600)
    before = (await simulation.status("quick"))["containerStatuses"][0]["restartCount"]
    await simulation.settle(301 * 4)
    assert (await simulation.status("quick"))["containerStatuses"][0]["restartCount"] == before + 4


async def test_a_pod_has_a_deadline_that_restarts_do_not_move(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(activeDeadlineSeconds=30, simulate={"completes-after": "1s"})
    await simulation.settle(29)
    assert await simulation.phase() == "Running"
    await simulation.settle(1)
    status = await simulation.status()
    assert (status["phase"], status["reason"]) == ("Failed", "DeadlineExceeded")
    assert status["message"] == "Pod was active on the node longer than the specified deadline"
    assert "terminated" in status["containerStatuses"][0]["state"]
    assert simulation.said("DeadlineExceeded") == [status["message"]]


async def test_a_deadline_also_ends_a_pod_that_has_not_started(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(activeDeadlineSeconds=5, simulate={"start-delay": "1h"})
    await simulation.settle(5)
    assert await simulation.phase() == "Failed"


async def test_a_deadline_may_be_shortened(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(activeDeadlineSeconds=500)
    await simulation.settle(10)
    await simulation.client.patch(KINDS.POD, "p", "default", {"spec": {"activeDeadlineSeconds": 20}})
    await simulation.settle(10)
    assert await simulation.phase() == "Failed"


@pytest.mark.parametrize(("takes", "grace", "gone_after"), [("0s", 30, 0), ("5s", 30, 5), ("50s", 30, 30)])
async def test_a_deleted_pod_has_its_grace_period(
    takes: str, grace: int, gone_after: int, simulation: Simulation
) -> None:
    await simulation.node(cpu="1")
    await simulation.pod(terminationGracePeriodSeconds=grace, simulate={"stop-delay": takes})
    await simulation.client.delete(KINDS.POD, "p", "default")
    if gone_after:
        await simulation.settle(gone_after - 0.5 - REFUSAL_DELAY)
        await simulation.pod("early")
        await simulation.refusals()
        assert await simulation.exists()
        assert (await simulation.conditions())["Ready"] == "True"
        assert (await simulation.status("early"))["reason"] == "OutOfcpu"
    await simulation.settle(1)
    assert not await simulation.exists()
    assert simulation.said("Killing") == ["Stopping container c"]
    await simulation.pod("next")
    assert await simulation.phase("next") == "Running"


async def test_second_deletion_shortens_the_grace_period(simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(terminationGracePeriodSeconds=100, simulate={"stop-delay": "80s"})
    await simulation.client.delete(KINDS.POD, "p", "default")
    await simulation.settle(10)
    await simulation.client.delete(
        KINDS.POD, "p", "default", grace_seconds=2
    )  # which is over already: a second is left
    await simulation.settle(0.5)
    assert await simulation.exists()
    await simulation.settle(1)
    assert not await simulation.exists()
    assert len(simulation.said("Killing")) == 1


@pytest.mark.parametrize("completes", ["1s", "1h"])
async def test_a_pod_that_finalizers_keep_is_not_deleted_over_and_over(completes: str, simulation: Simulation) -> None:
    await simulation.node(cpu="1")
    delays = {"completes-after": completes, "stop-delay": "3s"}
    await simulation.pod(finalizers=["example.com/hold"], restartPolicy="Never", simulate=delays)
    await simulation.settle(2)
    await simulation.client.delete(KINDS.POD, "p", "default")
    await simulation.settle(60)
    before = await simulation.client.get(KINDS.POD, "p", "default")
    assert before.raw["status"]["phase"] == ("Succeeded" if completes == "1s" else "Failed")
    await simulation.settle(600)
    assert (await simulation.client.get(KINDS.POD, "p", "default")).revision == before.revision
    await simulation.pod("next")
    assert await simulation.phase("next") == "Running"
    patch = {"metadata": {"finalizers": None}}
    await simulation.client.patch(KINDS.POD, "p", "default", patch)
    await simulation.settle()
    assert not await simulation.exists()


async def test_pods_of_jobs_complete_after_a_second(simulation: Simulation) -> None:
    await simulation.node()
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1"}
    document = {"metadata": {"name": "p", "namespace": "default", "ownerReferences": [owner]}}
    spec = {"nodeName": "n1", "restartPolicy": "Never", "containers": [container()]}
    await simulation.client.create(KINDS.POD, {**document, "spec": spec})
    await simulation.settle(1.1)
    assert await simulation.phase() == "Succeeded"


@pytest.mark.parametrize("text", ["soon", "-5s", "1e9", "", "٣", "9" * 400])
async def test_annotations_that_cannot_be_read_do_no_harm(text: str, simulation: Simulation) -> None:
    await simulation.node()
    await simulation.pod(simulate={"completes-after": text, "exit-code": text, "start-delay": text})
    await simulation.settle(1)
    await simulation.pod("other")
    assert await simulation.phase("other") == "Running"


@pytest.mark.parametrize(
    ("kind", "annotations", "takes"),
    [("StatefulSet", {}, 0.5), ("StatefulSet", {"simulate.moorage.dev/stop-delay": "0"}, 0.0), ("ReplicaSet", {}, 0.0)],
)
def test_a_pod_whose_name_returns_takes_a_moment_to_stop(kind: str, annotations: dict[str, str], takes: float) -> None:
    """Kubectl reads a deleted pod once more, and only then begins to watch its name."""
    owner = OwnerReference(apiVersion="apps/v1", kind=kind, name="db", uid="1")
    metadata = ObjectMeta(name="db-0", annotations=annotations, ownerReferences=(owner,))
    assert script_of(Pod(metadata=metadata)).stop_delay == takes
