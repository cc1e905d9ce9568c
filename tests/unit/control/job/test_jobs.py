"""Jobs: completions, parallelism, work queues, suspension, deadlines, and what is left behind."""

from tests.unit.control.job.jobs import FOREVER, End, job, jobs
from tests.virtual_time import run_virtual

from moorage.control.job.pods import TRACKING, is_tracked


def test_a_job_runs_its_pods_a_few_at_a_time_until_enough_have_succeeded() -> None:
    async def story() -> None:
        async with jobs(lambda pod: End(10.0)) as seen:
            made = await seen.create(job(completions=5, parallelism=2))
            status = await seen.status()
            assert (status["active"], status["ready"], status["terminating"]) == (2, 2, 0)
            assert status["uncountedTerminatedPods"] == {}
            pods = await seen.pods()
            metadata = pods[0].raw["metadata"]
            assert metadata["generateName"] == "pi-"
            assert metadata["finalizers"] == [TRACKING]
            assert metadata["labels"]["batch.kubernetes.io/job-name"] == "pi"
            assert metadata["labels"]["batch.kubernetes.io/controller-uid"] == made.uid
            assert metadata["ownerReferences"][0]["uid"] == made.uid
            await seen.cluster.settle(60)
            status = await seen.status()
            assert await seen.counts() == (0, 5, 0)
            assert status["startTime"] == "2026-01-01T00:00:00Z"
            assert status["completionTime"] == "2026-01-01T00:00:33Z"
            reached = ("True", "CompletionsReached", "Reached expected number of succeeded pods")
            assert await seen.conditions() == {"SuccessCriteriaMet": reached, "Complete": reached}
            assert not any(is_tracked(pod.view) for pod in await seen.pods())
            assert seen.messages("Completed") == ["Job completed"]
            assert sorted(seen.messages("SuccessfulCreate")) == [
                f"Created pod: {pod.name}" for pod in await seen.pods()
            ]

    run_virtual(story())


def test_a_work_queue_is_done_when_one_pod_has_succeeded_and_all_have_ended() -> None:
    async def story() -> None:
        async with jobs(lambda pod: End(FOREVER)) as seen:
            await seen.create(job(parallelism=3, completions=None))
            first, second, third = await seen.running()
            await seen.kubelet.end(first)
            await seen.cluster.settle(30)
            assert await seen.counts() == (2, 1, 0)
            await seen.kubelet.end(second)
            await seen.kubelet.end(third)
            await seen.cluster.settle(5)
            assert await seen.counts() == (0, 3, 0)
            assert "Complete" in await seen.conditions()

    run_virtual(story())


def test_a_job_that_wants_nothing_is_done_at_once() -> None:
    async def story() -> None:
        async with jobs() as seen:
            await seen.create(job(completions=0))
            assert "Complete" in await seen.conditions()
            assert not await seen.pods()

    run_virtual(story())
