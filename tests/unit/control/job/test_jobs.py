"""Jobs: completions, parallelism, work queues, suspension, deadlines, and what is left behind."""

from tests.unit.control.job.jobs import FOREVER, End, job, jobs
from tests.unit.control.workloads import pod

from moorage.control.job.pods import TRACKING, is_tracked
from moorage.model.kinds import KINDS


async def test_a_job_runs_its_pods_a_few_at_a_time_until_enough_have_succeeded() -> None:
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
        assert sorted(seen.messages("SuccessfulCreate")) == [f"Created pod: {pod.name}" for pod in await seen.pods()]


async def test_a_work_queue_is_done_when_one_pod_has_succeeded_and_all_have_ended() -> None:
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


async def test_a_job_that_wants_nothing_is_done_at_once() -> None:
    async with jobs() as seen:
        await seen.create(job(completions=0))
        assert "Complete" in await seen.conditions()
        assert not await seen.pods()


async def test_fewer_at_a_time_means_that_some_go_without_having_failed() -> None:
    async with jobs(lambda pod: End(FOREVER)) as seen:
        await seen.create(job(completions=4, parallelism=4))
        await seen.change({"parallelism": 1})
        assert await seen.counts() == (1, 0, 0)
        assert len(await seen.pods()) == 1
        assert len(seen.messages("SuccessfulDelete")) == 3
        await seen.change({"parallelism": 3})
        assert await seen.counts() == (3, 0, 0)


async def test_a_suspended_job_has_no_pods_and_begins_anew_when_it_is_resumed() -> None:
    async with jobs(lambda pod: End(FOREVER)) as seen:
        await seen.create(job(completions=2, parallelism=2, activeDeadlineSeconds=100, suspend=True))
        assert "startTime" not in await seen.status()
        assert await seen.conditions() == {"Suspended": ("True", "JobSuspended", "Job suspended")}
        assert not await seen.pods()
        await seen.change({"suspend": False}, settle=50)
        assert await seen.counts() == (2, 0, 0)
        assert (await seen.status())["startTime"] == "2026-01-01T00:00:05Z"
        await seen.change({"suspend": True}, settle=500)
        assert await seen.counts() == (0, 0, 0)
        assert "startTime" not in await seen.status()
        assert not await seen.pods()
        await seen.change({"suspend": False}, settle=80)
        assert await seen.conditions() == {"Suspended": ("False", "JobResumed", "Job resumed")}
        assert await seen.counts() == (2, 0, 0)
        assert seen.messages("Suspended") == ["Job suspended"] * 2
        assert seen.messages("Resumed") == ["Job resumed"] * 2
        await seen.cluster.settle(30)
        assert (await seen.conditions())["Failed"][1] == "DeadlineExceeded"


async def test_a_job_that_takes_too_long_fails_and_its_pods_are_stopped() -> None:
    async with jobs(lambda pod: End(FOREVER), seconds_to_stop=10) as seen:
        await seen.create(job(completions=3, parallelism=2, activeDeadlineSeconds=60), settle=62)
        failed = ("True", "DeadlineExceeded", "Job was active longer than specified deadline")
        assert await seen.conditions() == {"FailureTarget": failed}
        assert (await seen.status())["terminating"] == 2
        await seen.cluster.settle(15)
        assert await seen.conditions() == {"FailureTarget": failed, "Failed": failed}
        status = await seen.status()
        assert (status.get("active"), status["failed"], status["terminating"]) == (None, 2, 0)
        assert "completionTime" not in status
        assert seen.messages("DeadlineExceeded") == [failed[2]]
        assert not await seen.pods()


async def test_a_job_goes_some_time_after_it_is_over() -> None:
    async with jobs() as seen:
        await seen.create(job(ttlSecondsAfterFinished=100), settle=90)
        assert "Complete" in await seen.conditions()
        await seen.cluster.settle(20)
        assert not await seen.cluster.all(KINDS.JOB)


async def test_a_job_that_gets_more_time_stays() -> None:
    async with jobs() as seen:
        await seen.create(job(ttlSecondsAfterFinished=100), settle=90)
        await seen.change({"ttlSecondsAfterFinished": 1000}, settle=500)
        assert await seen.cluster.all(KINDS.JOB)
        await seen.change({"ttlSecondsAfterFinished": 0})
        assert not await seen.cluster.all(KINDS.JOB)


async def test_pods_of_a_job_that_is_gone_are_held_by_nobody() -> None:
    async with jobs(lambda pod: End(FOREVER)) as seen:
        await seen.create(job(parallelism=2, completions=2))
        await seen.cluster.client.delete(KINDS.JOB, "pi", "default", propagation="Orphan")
        await seen.cluster.settle(5)
        pods = await seen.pods()
        assert len(pods) == 2
        assert not any(is_tracked(pod.view) for pod in pods)


async def test_pods_that_match_are_adopted_and_counted_and_let_go_when_they_do_not_match_any_more() -> None:
    async with jobs(lambda pod: End(FOREVER)) as seen:
        await seen.cluster.client.create(KINDS.POD, pod("lone", {"app": "pi"}, spec={"restartPolicy": "Never"}))
        selector = {"matchLabels": {"app": "pi"}}
        made = await seen.create(job(parallelism=2, completions=2, manualSelector=True, selector=selector))
        lone = await seen.cluster.client.get(KINDS.POD, "lone", "default")
        assert [owner["uid"] for owner in lone.raw["metadata"]["ownerReferences"]] == [made.uid]
        assert is_tracked(lone.view)
        assert len(await seen.pods()) == 2
        await seen.cluster.client.patch(KINDS.POD, "lone", "default", {"metadata": {"labels": {"app": "other"}}})
        await seen.cluster.settle(5)
        lone = await seen.cluster.client.get(KINDS.POD, "lone", "default")
        assert not lone.view.metadata.ownerReferences
        assert not is_tracked(lone.view)
        assert await seen.counts() == (2, 0, 0)


async def test_a_template_that_is_refused_is_told_and_does_not_loop_hot() -> None:
    async with jobs() as seen:
        await seen.create(job(pod_spec={"priorityClassName": "missing"}), settle=100)
        tries = seen.messages("FailedCreate")
        assert "no PriorityClass with name missing was found" in tries[0]
        assert 3 < len(tries) < 30
        assert await seen.counts() == (0, 0, 0)


async def test_a_job_that_somebody_else_manages_is_left_alone() -> None:
    async with jobs() as seen:
        await seen.create(job(managedBy="example.com/other"))
        assert not await seen.pods()
        text = seen.metrics()
        assert 'job_controller_jobs_by_external_controller_total{controller_name="example.com/other"} 1' in text


async def test_what_is_done_is_counted() -> None:
    async with jobs() as seen:
        await seen.create(job(completions=3, parallelism=1), settle=30)
        text = seen.metrics()
        for line in (
            'jobs_finished_total{completion_mode="NonIndexed",result="succeeded",reason="CompletionsReached"} 1',
            'job_pods_finished_total{completion_mode="NonIndexed",result="succeeded"} 3',
            'job_pods_creation_total{reason="new",status="succeeded"} 3',
        ):
            assert f"job_controller_{line}" in text


async def test_a_controller_that_starts_again_goes_on_where_the_other_was() -> None:
    async with jobs(lambda pod: End(3.0)) as seen:
        await seen.create(job(completions=4, parallelism=2), settle=3)
        for _ in range(20):
            await seen.cluster.restart()
            await seen.cluster.settle(0.7)
        await seen.cluster.settle(20)
        assert await seen.counts() == (0, 4, 0)
        assert len(await seen.pods()) == 4
