"""Jobs whose pods fail: waiting longer each time, limits, replacement, and policies about failures."""

from typing import Any

import pytest
from tests.unit.control.job.jobs import FOREVER, End, job, jobs

from moorage.client.protocol import Object
from moorage.control.job.situation import wait_after
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS

Raw = dict[str, Any]


def _fails(pod: Object) -> End:
    return End(1.0, 1)


def _created(pods: list[Object]) -> list[float]:
    times = sorted(seconds_of(pod.view.metadata.creationTimestamp) or 0.0 for pod in pods)
    return [round(later - times[0]) for later in times]


async def test_pods_that_fail_are_replaced_later_and_later_until_it_has_happened_too_often() -> None:
    async with jobs(_fails) as seen:
        await seen.create(job(backoffLimit=3), settle=200)
        assert _created(await seen.pods()) == pytest.approx([0, 12, 34, 76], abs=2)
        reached = ("True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        assert await seen.conditions() == {"FailureTarget": reached, "Failed": reached}
        assert await seen.counts() == (0, 0, 4)
        assert seen.messages("BackoffLimitExceeded") == [reached[2]]


def test_waiting_doubles_up_to_ten_minutes() -> None:
    assert [wait_after(failures, 0.0, 0.0) for failures in range(9)] == [0, 10, 20, 40, 80, 160, 320, 600, 600]
    assert wait_after(3, 100.0, 130.0) == 10
    assert wait_after(3, 100.0, 141.0) == 0


async def test_a_success_ends_the_waiting() -> None:
    codes = iter((1, 1, 0, 0))
    async with jobs(lambda pod: End(1.0, next(codes))) as seen:
        await seen.create(job(completions=2), settle=60)
        times = _created(await seen.pods())
        assert times[-1] - times[-2] <= 4
        assert await seen.counts() == (0, 2, 2)


async def test_a_restart_does_not_make_anybody_less_patient() -> None:
    async with jobs(_fails) as seen:
        await seen.create(job(backoffLimit=9), settle=60)
        assert len(await seen.pods()) == 3
        await seen.cluster.restart()
        await seen.cluster.settle(10)
        assert len(await seen.pods()) == 3


async def test_restarts_in_place_count_towards_the_limit() -> None:
    async with jobs(lambda pod: End(FOREVER)) as seen:
        await seen.create(job(backoffLimit=2, pod_spec={"restartPolicy": "OnFailure"}))
        (pod,) = await seen.running()
        restarted = {"name": "c", "image": "i", "imageID": "", "ready": True, "restartCount": 2}
        await seen.kubelet._report(pod, {"containerStatuses": [restarted]})
        await seen.cluster.settle(5)
        assert (await seen.conditions())["Failed"][1] == "BackoffLimitExceeded"


@pytest.mark.parametrize(("policy", "at_once"), [("TerminatingOrFailed", 2), ("Failed", 1)])
async def test_a_pod_that_is_deleted_is_replaced_at_once_or_when_it_is_over(policy: str, at_once: int) -> None:
    async with jobs(lambda pod: End(FOREVER), seconds_to_stop=60) as seen:
        await seen.create(job(podReplacementPolicy=policy))
        (pod,) = await seen.running()
        await seen.cluster.client.delete(KINDS.POD, pod.name, "default")
        await seen.cluster.settle(30)
        assert len(await seen.pods()) == at_once
        assert (await seen.status())["terminating"] == 1
        await seen.kubelet.end(pod, 137)
        await seen.cluster.settle(60)
        assert await seen.counts() == (1, 0, 1)


def _on_code(action: str, *codes: int, operator: str = "In") -> Raw:
    return {"action": action, "onExitCodes": {"operator": operator, "values": list(codes)}}


def _on_condition(action: str, name: str) -> Raw:
    return {"action": action, "onPodConditions": [{"type": name, "status": "True"}]}


_RULES = {
    "rules": [
        _on_code("FailJob", 42),
        _on_condition("Ignore", "DisruptionTarget"),
        _on_code("Count", 7, 8),
        _on_code("Ignore", 9, operator="In"),
    ]
}


async def test_a_policy_ends_the_job_at_the_first_failure_of_a_kind() -> None:
    async with jobs(lambda pod: End(1.0, 42)) as seen:
        await seen.create(job(backoffLimit=6, parallelism=1, completions=3, podFailurePolicy=_RULES))
        (pod,) = await seen.pods()
        text = f"Container c for pod default/{pod.name} failed with exit code 42 matching FailJob rule at index 0"
        told = ("True", "PodFailurePolicy", text)
        assert await seen.conditions() == {"FailureTarget": told, "Failed": told}
        assert await seen.counts() == (0, 0, 1)
        line = 'job_controller_pod_failures_handled_by_failure_policy_total{action="FailJob"} 1'
        assert line in seen.metrics()


async def test_a_policy_ends_the_job_at_a_condition() -> None:
    rules = {"rules": [_on_condition("FailJob", "ConfigIssue")]}
    async with jobs(lambda pod: End(1.0, 1, ("ConfigIssue",))) as seen:
        await seen.create(job(podFailurePolicy=rules))
        (pod,) = await seen.pods()
        text = f"Pod default/{pod.name} has condition ConfigIssue matching FailJob rule at index 0"
        assert (await seen.conditions())["Failed"][2] == text


async def test_failures_that_a_policy_ignores_do_not_count() -> None:
    ends = iter((End(1.0, 1, ("DisruptionTarget",)), End(1.0, 9), End()))
    async with jobs(lambda pod: next(ends)) as seen:
        await seen.create(job(backoffLimit=0, podFailurePolicy=_RULES), settle=100)
        assert await seen.counts() == (0, 1, 0)
        assert "Complete" in await seen.conditions()
        assert len(await seen.pods("Failed")) == 2
        assert 'handled_by_failure_policy_total{action="Ignore"} 2' in seen.metrics()


async def test_failures_that_a_policy_counts_or_does_not_know_count() -> None:
    codes = iter((7, 3, 0))
    async with jobs(lambda pod: End(1.0, next(codes))) as seen:
        await seen.create(job(backoffLimit=2, podFailurePolicy=_RULES), settle=100)
        assert await seen.counts() == (0, 1, 2)
