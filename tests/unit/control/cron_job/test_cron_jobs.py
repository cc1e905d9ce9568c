"""CronJobs: Jobs in time, policies about those that still run, history, and times that were missed."""

import asyncio

import pytest
from tests.unit.control.cron_job.cron_jobs import cron_job, crons, name_at
from tests.unit.control.job.jobs import FOREVER, End, job

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.control.cron_job import SCHEDULED_AT, last_due, seconds_until_next
from moorage.model.cron_schedule import ScheduleError, parse_schedule
from moorage.model.kinds import KINDS


async def test_a_job_is_made_each_time_it_is_due() -> None:
    async with crons() as seen:
        made = await seen.create(cron_job("*/2 * * * *"), settle=119)
        assert not await seen.jobs()
        await seen.cluster.settle(2)
        assert await seen.jobs() == [name_at(2)] == await seen.active()
        metadata = (await seen.cluster.client.get(KINDS.JOB, name_at(2), "default")).raw["metadata"]
        assert metadata["annotations"][SCHEDULED_AT] == "2026-01-01T00:02:00Z"
        assert metadata["labels"] == {"app": "tick"}
        assert metadata["ownerReferences"][0]["uid"] == made.uid
        assert (await seen.status())["lastScheduleTime"] == "2026-01-01T00:02:00Z"
        assert seen.messages("SuccessfulCreate") == [f"Created job {name_at(2)}"]
        await seen.cluster.settle(20)
        status = await seen.status()
        assert "active" not in status
        assert status["lastSuccessfulTime"] == "2026-01-01T00:02:02Z"
        assert seen.messages("SawCompletedJob") == [f"Saw completed job: {name_at(2)}, condition: Complete"]
        await seen.cluster.settle(120)
        assert await seen.jobs() == [name_at(2), name_at(4)]
        assert "cronjob_controller_job_creation_skew_duration_seconds_count 2" in seen.books[-1].render()[0].decode()


async def test_times_are_local_where_a_time_zone_is_given() -> None:
    async with crons() as seen:
        await seen.create(cron_job("30 9 * * *", timeZone="Asia/Tokyo"), settle=30 * 60 + 5)
        (made,) = await seen.cluster.all(KINDS.JOB)
        assert made.name == name_at(30)
        assert made.view.metadata.annotations[SCHEDULED_AT] == "2026-01-01T09:30:00+09:00"


async def test_jobs_may_run_beside_each_other() -> None:
    async with crons(lambda pod: End(FOREVER)) as seen:
        await seen.create(cron_job(), settle=185)
        assert await seen.active() == [name_at(1), name_at(2), name_at(3)]


async def test_a_job_that_may_not_run_beside_another_starts_when_that_is_over() -> None:
    async with crons(lambda pod: End(90.0)) as seen:
        await seen.create(cron_job(concurrencyPolicy="Forbid"), settle=130)
        assert await seen.active() == [name_at(1)]
        message = "Not starting job because prior execution is running and concurrency policy is Forbid"
        assert seen.messages("JobAlreadyActive") == [message]
        await seen.cluster.settle(40)
        assert await seen.active() == [name_at(2)]


async def test_a_job_may_replace_the_one_before() -> None:
    async with crons(lambda pod: End(FOREVER)) as seen:
        await seen.create(cron_job(concurrencyPolicy="Replace"), settle=185)
        assert await seen.jobs() == [name_at(3)] == await seen.active()
        assert seen.messages("SuccessfulDelete") == [f"Deleted job {name_at(1)}", f"Deleted job {name_at(2)}"]
        assert not seen.messages("MissingJob")


@pytest.mark.parametrize(("code", "limit"), [(0, "successfulJobsHistoryLimit"), (1, "failedJobsHistoryLimit")])
async def test_only_some_jobs_that_are_over_are_kept(code: int, limit: str) -> None:
    async with crons(lambda pod: End(1.0, code)) as seen:
        wanted = cron_job(job_spec={"backoffLimit": 0})
        wanted["spec"][limit] = 2
        await seen.create(wanted, settle=60 * 5 + 30)
        assert await seen.jobs() == [name_at(4), name_at(5)]
        assert not seen.messages("MissingJob")
        assert len(seen.messages("SuccessfulDelete")) == 3


async def test_a_suspended_cron_job_makes_nothing_and_makes_up_for_the_last_time_when_it_goes_on() -> None:
    async with crons() as seen:
        await seen.create(cron_job("*/2 * * * *", suspend=True), settle=350)
        assert not await seen.jobs()
        await seen.change({"suspend": False})
        assert await seen.jobs() == [name_at(4)]


async def test_another_schedule_does_not_make_up_for_times_at_which_it_was_not_there() -> None:
    async with crons() as seen:
        await seen.create(cron_job("0 12 * * *"), settle=150)
        await seen.change({"schedule": "*/2 * * * *"})
        assert not await seen.jobs()
        await seen.cluster.settle(90)
        assert await seen.jobs() == [name_at(4)]


async def test_nothing_is_made_twice_or_forgotten_by_a_controller_that_starts_again() -> None:
    async with crons(lambda pod: End(FOREVER)) as seen:
        await seen.create(cron_job())
        for _ in range(40):
            await seen.cluster.restart()
            await seen.cluster.settle(6)
        assert await seen.active() == await seen.jobs() == [name_at(minute) for minute in (1, 2, 3, 4)]
        assert not seen.messages("UnexpectedJob")


async def test_of_many_times_that_were_missed_the_last_is_made_up_for() -> None:
    async with crons(lambda pod: End(FOREVER)) as seen:
        await seen.create(cron_job())
        await seen.cluster.stop()
        await asyncio.sleep(60 * 200)
        await seen.cluster.start()
        await seen.cluster.settle(5)
        assert await seen.jobs() == [name_at(200)]
        message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        assert seen.messages("TooManyMissedTimes") == [message]


async def test_a_time_that_was_missed_for_too_long_is_not_made_up_for_and_told_once() -> None:
    async with crons() as seen:
        await seen.create(cron_job("0 * * * *", startingDeadlineSeconds=60))
        await seen.cluster.stop()
        await asyncio.sleep(3600 + 300)
        await seen.cluster.start()
        await seen.cluster.settle(60)
        await seen.change({"successfulJobsHistoryLimit": 5})
        assert not await seen.jobs()
        message = "Missed scheduled time to start a job: Thu, 01 Jan 2026 01:00:00 +0000"
        assert seen.messages("MissSchedule") == [message]
        await seen.cluster.settle(3600)
        assert await seen.jobs() == [name_at(120)]


async def test_a_deadline_lets_few_times_be_missed() -> None:
    async with crons() as seen:
        await seen.create(cron_job(startingDeadlineSeconds=120))
        await seen.cluster.stop()
        await asyncio.sleep(60 * 200)
        await seen.cluster.start()
        await seen.cluster.settle(5)
        assert await seen.jobs() == [name_at(200)]
        assert not seen.messages("TooManyMissedTimes")


async def test_a_job_that_somebody_deletes_is_missed() -> None:
    async with crons(lambda pod: End(FOREVER)) as seen:
        await seen.create(cron_job("5 * * * *"), settle=310)
        await seen.cluster.client.delete(KINDS.JOB, name_at(5), "default", propagation="Background")
        await seen.cluster.settle(5)
        assert seen.messages("MissingJob") == [f"Active job went missing: {name_at(5)}"]
        assert await seen.active() == await seen.jobs() == []


async def test_a_job_that_somebody_else_made_is_told_of_once() -> None:
    async with crons(lambda pod: End(FOREVER)) as seen:
        made = await seen.create(cron_job("0 12 * * *"))
        by_hand = job("by-hand")
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "tick", "uid": made.uid, "controller": True}
        by_hand["metadata"] |= {
            "annotations": {"cronjob.kubernetes.io/instantiate": "manual"},
            "ownerReferences": [owner],
        }
        await seen.cluster.client.create(KINDS.JOB, by_hand)
        await seen.cluster.settle(30)
        message = "Saw a job that the controller did not create or forgot: by-hand"
        assert seen.messages("UnexpectedJob") == [message]
        assert await seen.active() == []


async def test_a_name_that_is_taken_is_left_to_its_owner() -> None:
    async with crons() as seen:
        await seen.cluster.client.create(KINDS.JOB, job(name_at(1)))
        await seen.create(cron_job(), settle=130)
        assert await seen.jobs() == [name_at(1), name_at(2)]
        assert not seen.messages("FailedCreate")


@pytest.mark.parametrize(
    ("change", "reason", "text"),
    [
        (
            {"schedule": "59 23 31 2 *"},
            "InvalidSchedule",
            "time difference between two schedules is less than 1 second",
        ),
        ({"schedule": "* * * *"}, "UnparseableSchedule", "expected exactly 5 fields, found 4: [* * * *]"),
        ({"schedule": "TZ=UTC * * * * *"}, "UnsupportedSchedule", "is not officially supported"),
        ({"timeZone": "Nowhere"}, "UnknownTimeZone", 'invalid timeZone: "Nowhere": unknown time zone Nowhere'),
    ],
)
async def test_what_cannot_be_planned_is_told(change: dict[str, str], reason: str, text: str) -> None:
    """Such a CronJob is stored already: admission would not take it now."""
    async with crons() as seen:
        await seen.create(cron_job("0 12 * * *"))
        controller = seen.cluster.manager.runners[0].controller
        world = seen.cluster.manager.world
        (found,) = world.all(KINDS.CRON_JOB)
        raw = {**found.raw, "spec": {**found.raw["spec"], **change}}
        world.apply(KINDS.CRON_JOB, Delta(found, Object(KINDS.CRON_JOB, found.key, found.revision, raw=raw)))
        first = controller.reconcile("default/tick", world, 1_767_225_610.0)
        assert [getattr(action, "reason", "") for action in first.actions] == [reason]
        assert text in getattr(first.actions[0], "message", "")
        assert not controller.reconcile("default/tick", world, 1_767_225_610.0).actions


async def test_a_template_that_is_refused_is_told_and_does_not_loop_hot() -> None:
    async with crons() as seen:
        await seen.create(cron_job(), settle=55)
        # Such a template cannot be stored, but may have been before.
        world = seen.cluster.manager.world
        (found,) = world.all(KINDS.CRON_JOB)
        template = {"spec": {**found.raw["spec"]["jobTemplate"]["spec"], "parallelism": -1}}
        raw = {**found.raw, "spec": {**found.raw["spec"], "jobTemplate": template}}
        world.apply(KINDS.CRON_JOB, Delta(found, Object(KINDS.CRON_JOB, found.key, found.revision, raw=raw)))
        await seen.cluster.settle(45)
        tries = seen.messages("FailedCreate")
        assert "spec.parallelism: Invalid value: -1" in tries[0]
        assert 3 < len(tries) < 30


def test_the_last_time_is_found_also_where_times_are_not_regular() -> None:
    schedule = parse_schedule("30 6-16/4 * * 1-5")
    monday = 1_767_571_200.0  # 2026-01-05
    assert last_due(schedule, monday, monday + 3600).at is None
    assert last_due(schedule, monday, monday + 7 * 3600).at == monday + 6.5 * 3600
    friday_evening = monday + 4 * 86_400 + 20 * 3600
    assert last_due(schedule, monday, friday_evening).at == monday + 4 * 86_400 + 14.5 * 3600
    assert seconds_until_next(schedule, monday, friday_evening) == pytest.approx(2 * 86_400 + 10.5 * 3600 + 0.1)
    with pytest.raises(ScheduleError):
        last_due(parse_schedule("0 0 31 2 *"), monday, monday)
