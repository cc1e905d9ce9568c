"""Indexed Jobs: each index once, limits for each of them, and policies about success."""

from typing import Any

import pytest
from tests.unit.control.job.jobs import FOREVER, End, job, jobs

from moorage.client.protocol import Object
from moorage.control.job.pods import INDEX_FAILURES, INDEX_IGNORED_FAILURES, completion_index
from moorage.model.well_known.labels import JOB_COMPLETION_INDEX


def _index(pod: Object) -> int:
    index = completion_index(pod.view)
    assert index is not None
    return index


async def test_each_index_is_worked_on_by_one_pod_that_knows_it() -> None:
    async with jobs(lambda pod: End(FOREVER if _index(pod) == 1 else 5.0)) as seen:
        await seen.create(job(completions=5, parallelism=3, completionMode="Indexed"))
        pods = await seen.pods()
        assert [_index(pod) for pod in pods] == [0, 1, 2]
        raw = pods[2].raw
        assert raw["metadata"]["generateName"] == "pi-2-"
        assert (
            raw["metadata"]["labels"][JOB_COMPLETION_INDEX]
            == raw["metadata"]["annotations"][JOB_COMPLETION_INDEX]
            == "2"
        )
        assert raw["spec"]["hostname"] == "pi-2"
        variable = raw["spec"]["containers"][0]["env"][0]
        assert variable["name"] == "JOB_COMPLETION_INDEX"
        assert variable["valueFrom"]["fieldRef"]["fieldPath"] == f"metadata.labels['{JOB_COMPLETION_INDEX}']"
        await seen.cluster.settle(30)
        status = await seen.status()
        assert (status["completedIndexes"], status["succeeded"], status["active"]) == ("0,2-4", 4, 1)
        await seen.kubelet.end((await seen.running())[0])
        await seen.cluster.settle(5)
        assert (await seen.status())["completedIndexes"] == "0-4"
        assert "Complete" in await seen.conditions()
        assert "job_controller_job_finished_indexes_total" in seen.metrics()
        assert len(await seen.pods()) == 5


async def test_an_index_that_failed_is_tried_again() -> None:
    codes = {0: iter((0,)), 1: iter((1, 1, 0))}
    async with jobs(lambda pod: End(1.0, next(codes[_index(pod)]))) as seen:
        await seen.create(job(completions=2, parallelism=2, completionMode="Indexed"), settle=120)
        assert (await seen.status())["completedIndexes"] == "0,1"
        assert await seen.counts() == (0, 2, 2)
        assert [_index(pod) for pod in await seen.pods()] == [0, 1, 1, 1]


async def test_completions_may_shrink_and_grow_together_with_parallelism() -> None:
    async with jobs(lambda pod: End(FOREVER)) as seen:
        await seen.create(job(completions=4, parallelism=4, completionMode="Indexed"))
        await seen.change({"completions": 2, "parallelism": 2})
        assert [_index(pod) for pod in await seen.pods()] == [0, 1]
        assert await seen.counts() == (2, 0, 0)
        await seen.change({"completions": 3, "parallelism": 3})
        assert [_index(pod) for pod in await seen.pods()] == [0, 1, 2]


async def test_an_index_that_fails_too_often_does_not_keep_the_others_from_ending() -> None:
    async with jobs(lambda pod: End(1.0, _index(pod) % 2)) as seen:
        wanted = job(completions=4, parallelism=4, completionMode="Indexed", backoffLimitPerIndex=1)
        await seen.create(wanted, settle=5)
        status = await seen.status()
        assert (status["completedIndexes"], status["failedIndexes"]) == ("0,2", "")
        await seen.cluster.settle(100)
        status = await seen.status()
        assert (status["completedIndexes"], status["failedIndexes"]) == ("0,2", "1,3")
        assert await seen.counts() == (0, 2, 4)
        assert (await seen.conditions())["Failed"] == ("True", "FailedIndexes", "Job has failed indexes")
        ones = [pod.view.metadata.annotations for pod in await seen.pods() if _index(pod) == 1]
        assert sorted(annotations[INDEX_FAILURES] for annotations in ones) == ["0", "1"]


async def test_too_many_failed_indexes_end_the_job() -> None:
    async with jobs(lambda pod: End(1.0, 1) if _index(pod) < 2 else End(FOREVER)) as seen:
        limits: dict[str, Any] = {"backoffLimitPerIndex": 0, "maxFailedIndexes": 1}
        await seen.create(job(completions=4, parallelism=4, completionMode="Indexed", **limits), settle=60)
        message = "Job has exceeded the specified maximal number of failed indexes"
        assert (await seen.conditions())["Failed"] == ("True", "MaxFailedIndexesExceeded", message)
        assert await seen.counts() == (0, 0, 4)


async def test_a_policy_may_give_an_index_up_or_ignore_a_failure_of_it() -> None:
    codes = {0: iter((9, 0)), 1: iter((42,))}
    rules = [
        {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [42]}},
        {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [9]}},
    ]
    async with jobs(lambda pod: End(1.0, next(codes[_index(pod)]))) as seen:
        limits: dict[str, Any] = {"backoffLimitPerIndex": 3, "podFailurePolicy": {"rules": rules}}
        await seen.create(job(completions=2, parallelism=2, completionMode="Indexed", **limits), settle=60)
        status = await seen.status()
        assert (status["completedIndexes"], status["failedIndexes"], status["failed"]) == ("0", "1", 1)
        assert (await seen.conditions())["Failed"][1] == "FailedIndexes"
        second = [pod for pod in await seen.pods() if _index(pod) == 0 and pod.view.status.phase == "Succeeded"]
        annotations = second[0].view.metadata.annotations
        assert (annotations[INDEX_FAILURES], annotations[INDEX_IGNORED_FAILURES]) == ("0", "1")


@pytest.mark.parametrize(
    ("rule", "done"),
    [
        ({"succeededIndexes": "0"}, "0"),
        ({"succeededCount": 2}, "0,1"),
        ({"succeededIndexes": "1-3", "succeededCount": 1}, "0,1"),
    ],
)
async def test_a_policy_may_be_content_with_less(rule: dict[str, object], done: str) -> None:
    async with jobs(lambda pod: End(10.0 + 10 * _index(pod) if _index(pod) < 2 else FOREVER)) as seen:
        wanted = job(completions=4, parallelism=4, completionMode="Indexed", successPolicy={"rules": [rule]})
        await seen.create(wanted, settle=60)
        met = ("True", "SuccessPolicy", "Matched rules at index 0")
        assert await seen.conditions() == {"SuccessCriteriaMet": met, "Complete": met}
        status = await seen.status()
        assert status["completedIndexes"] == done
        assert "failed" not in status
        assert len(await seen.pods()) == status["succeeded"]
