"""Jobs of a CronJob: active, finished, and those beyond the history limits.

An annotation of a Job says for which time it was made, so none is created twice even if the status is outdated.
Kubernetes: syncCronJob, cleanupFinishedJobs.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from moorage.client.events.event_action import reference_to
from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.control.framework.workloads import job_end
from moorage.model.go.times import seconds_of, time_text

SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"


class JobHistory(NamedTuple):
    """The new status, Jobs to report, and Jobs to delete."""

    status: Raw
    completed: Sequence[Object]
    unexpected: Sequence[Object]
    missing: Sequence[str]
    outdated: Sequence[Object]

    @property
    def active(self) -> Sequence[Raw]:
        return self.status.get("active") or ()

    def last_scheduled(self) -> float | None:
        return seconds_of(self.status.get("lastScheduleTime"))


def job_name(cron_job: Object, at: float) -> str:
    """Return the Job's name: the same for the same time, so that none is created twice."""
    return f"{cron_job.name}-{int(at) // 60}"


def review(cron_job: Object, jobs: Sequence[Object], deleted: Collection[str]) -> JobHistory:
    """Compare the status with the Jobs. `deleted`: UIDs of Jobs deleted on purpose, which are not missing."""
    status = dict(cron_job.raw.get("status") or {})
    active: dict[str, Raw] = {reference["uid"]: reference for reference in status.get("active") or ()}
    last_scheduled = seconds_of(status.get("lastScheduleTime"))
    completed: list[Object] = []
    unexpected: list[Object] = []
    outdated = _outdated(cron_job, jobs)
    for job in outdated:
        active.pop(job.uid, None)
    for job in sorted(jobs, key=lambda job: job.name):
        made_for = _made_for(cron_job, job)
        is_new = made_for is not None and (last_scheduled is None or made_for > last_scheduled)
        if is_new:
            last_scheduled = made_for
        over = job_end(job.view.status)
        if over:
            if active.pop(job.uid, None) is not None:
                completed.append(job)
            if over == "Complete":
                _note_success(status, job)
        elif job.uid not in active:
            if is_new:
                active[job.uid] = reference_to(job)
            elif job.uid not in deleted:
                unexpected.append(job)
    there = {job.uid for job in jobs}
    gone = [uid for uid in active if uid not in there]
    missing = [active[uid].get("name", "") for uid in gone if uid not in deleted]
    status["active"] = [reference for uid, reference in active.items() if uid in there]
    if not status["active"]:
        del status["active"]
    if last_scheduled is not None:
        status["lastScheduleTime"] = time_text(last_scheduled)
    return JobHistory(status, completed, unexpected, missing, outdated)


def _made_for(cron_job: Object, job: Object) -> float | None:
    """Return the time for which this controller created the Job, if it did."""
    at = seconds_of(job.view.metadata.annotations.get(SCHEDULED_AT))
    return at if at is not None and job.name == job_name(cron_job, at) else None


def _note_success(status: Raw, job: Object) -> None:
    known, at = seconds_of(status.get("lastSuccessfulTime")), job.view.status.completionTime
    ended = seconds_of(at)
    if ended is not None and (known is None or ended > known):
        status["lastSuccessfulTime"] = at


def _outdated(cron_job: Object, jobs: Sequence[Object]) -> list[Object]:
    """Return the oldest finished Jobs beyond the limits."""
    spec = cron_job.view.spec
    outdated: list[Object] = []
    for kind, limit in (("Complete", spec.successfulJobsHistoryLimit), ("Failed", spec.failedJobsHistoryLimit)):
        if limit is None:
            continue
        over = [job for job in jobs if job_end(job.view.status) == kind and job.view.metadata.deletionTimestamp is None]
        over.sort(key=lambda job: (seconds_of(job.view.status.startTime) or float("inf"), job.name))
        outdated += over[: max(0, len(over) - limit)]
    return outdated
