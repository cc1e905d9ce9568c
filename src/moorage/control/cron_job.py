"""Create a Job whenever a CronJob is due. Kubernetes: syncCronJob, mostRecentScheduleTime, cleanupFinishedJobs.

Of several missed times only the last is made up for, also where the schedule is irregular. An annotation of a Job says
for which time it was made, so none is created twice even if the status is outdated. Differs: a start that was missed
because its deadline passed is reported; the same warning about the same time is reported once.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from email.utils import format_datetime
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Action, Create, Delete, Plan, Raw, Report, note, warn
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.workloads import (
    controller_reference,
    job_end,
    namespace_is_terminating,
    nonempty,
    status_update,
)
from moorage.control.framework.world import World
from moorage.model.api_error import ApiError
from moorage.model.cron_schedule import Schedule, ScheduleError, load_zone, parse_schedule
from moorage.model.go.quoting import go_quote
from moorage.model.go.times import seconds_of, time_text
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.workload import CronJobSpec
from moorage.telemetry.metrics import exponential_buckets

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
                active[job.uid] = job.reference
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


#: Seconds added to the delay, for clock differences.
_SLACK = 0.1
_MANY = 100


class Due(NamedTuple):
    """The last due time, if any, and whether more than 100 were missed."""

    at: float | None
    is_one_of_many: bool = False


def last_due(schedule: Schedule, since: float, now: float) -> Due:
    """Return the last due time. Raises ScheduleError if the schedule is never due."""
    first = schedule.next_after(since)
    if first is None:
        raise ScheduleError("time difference between two schedules is less than 1 second")
    if now < first:
        return Due(None)
    second = schedule.next_after(first)
    if second is None or now < second:
        return Due(first)
    between = second - first
    missed = int((now - first) // between) + 1
    return Due(_latest(schedule, first, between, now), missed > _MANY)


def _latest(schedule: Schedule, first: float, between: float, now: float) -> float:
    """Return the last due time until now, searching back in growing steps."""
    if schedule.every:
        return first + (now - first) // between * between
    back = between
    while now - back > first:
        latest: float | None = None
        following = schedule.next_after(now - back)
        while following is not None and following <= now:
            latest, following = following, schedule.next_after(following)
        if latest is not None:
            return latest
        back *= 2
    latest = following = first
    while following is not None and following <= now:
        latest, following = following, schedule.next_after(following)
    return latest


def seconds_until_next(schedule: Schedule, since: float, now: float) -> float | None:
    try:
        due = last_due(schedule, since, now).at
    except ScheduleError:
        due = now
    following = schedule.next_after(since if due is None else due)
    if following is not None and following <= now:
        following = schedule.next_after(now)
    return None if following is None else following + _SLACK - now


class _Memory:
    """What may be lost in a restart: reports made, Jobs deleted on purpose, what is to be counted."""

    def __init__(self) -> None:
        self.told: dict[tuple[str, str], str] = {}
        self.deleted: set[str] = set()
        self.created_for: float | None = None
        self.has_new_schedule = False


class CronJobController(Controller):
    """Reconciles CronJobs."""

    name = "cronjob-controller"
    watches = (KINDS.CRON_JOB, KINDS.JOB)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._skew = context.metrics.histogram(
            "cronjob_controller_job_creation_skew_duration_seconds",
            "Time between when a cronjob is scheduled to be run, and when the corresponding job is created",
            (),
            exponential_buckets(1, 2, 10),
        )
        self._memories: dict[str, _Memory] = {}

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.CRON_JOB and old is not None and new is not None and _times_of(old) != _times_of(new):
            self._memory(new.key).has_new_schedule = True
        return super().concerns(kind, old, new, world)

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        cron_job = world.get(KINDS.CRON_JOB, key)
        if cron_job is None:
            self._memories.pop(key, None)
            return NOTHING
        memory, jobs = self._memory(key), world.owned(KINDS.JOB, cron_job.uid)
        memory.created_for = None
        history = review(cron_job, jobs, memory.deleted)
        memory.deleted &= {job.uid for job in jobs} | {reference["uid"] for reference in _active(cron_job)}
        actions: list[Action] = [*status_update(cron_job, history.status)]
        actions += self._news(cron_job, history)
        actions += [self._delete(cron_job, job) for job in history.outdated]
        if cron_job.view.metadata.deletionTimestamp is not None:
            return Plan(tuple(actions))
        start, again_after = self._start(cron_job, history, world, now)
        return Plan((*actions, *start), again_after)

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        cron_job = world.get(KINDS.CRON_JOB, key)
        if cron_job is None or namespace_is_terminating(error):
            return ()
        if isinstance(action, Create) and error.reason != "AlreadyExists":
            return (warn(cron_job, "FailedCreate", f"Error creating job: {error.message}"),)
        if isinstance(action, Delete):
            return (warn(cron_job, "FailedDelete", f"Deleted job: {error.message}"),)
        return ()

    def done(self, key: str, plan: Plan, now: float) -> None:
        memory = self._memories.get(key)
        if memory is not None and memory.created_for is not None:
            self._skew.labels().observe(max(0.0, now - memory.created_for))
            memory.created_for = None

    # -- one CronJob --------------------------------------------------------------------------------------------------

    def _start(
        self, cron_job: Object, history: JobHistory, world: World, now: float
    ) -> tuple[Sequence[Action], float | None]:
        """Return the actions that create the Job that is due, and when to look again."""
        spec: CronJobSpec = cron_job.view.spec
        memory = self._memory(cron_job.key)
        try:
            load_zone(spec.timeZone or "")
        except ScheduleError as error:
            message = f"invalid timeZone: {go_quote(spec.timeZone or '')}: {error}"
            return self._warn_once(cron_job, "UnknownTimeZone", message), None
        if spec.suspend:
            return (), None
        actions: list[Action] = []
        if "TZ" in spec.schedule:
            message = (
                f"CRON_TZ or TZ used in schedule {go_quote(spec.schedule)} is not officially supported, see "
                "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
            )
            actions += self._warn_once(cron_job, "UnsupportedSchedule", message)
        try:
            schedule = parse_schedule(spec.schedule, spec.timeZone or "")
        except ScheduleError as error:
            message = f"unparseable schedule: {go_quote(spec.schedule)} : {error}"
            return (*actions, *self._warn_once(cron_job, "UnparseableSchedule", message)), None
        since = history.last_scheduled() or seconds_of(cron_job.view.metadata.creationTimestamp) or now
        again_after = seconds_until_next(schedule, since, now)
        had_other_schedule, memory.has_new_schedule = memory.has_new_schedule, False
        if had_other_schedule:
            # Times before the schedule was changed are not made up for.
            return actions, again_after
        try:
            at, found = self._due(cron_job, schedule, since, now)
        except ScheduleError as error:
            message = f"invalid schedule: {spec.schedule} : {error}"
            return (*actions, *self._warn_once(cron_job, "InvalidSchedule", message)), None
        actions += found
        if at is None or world.get(KINDS.JOB, f"{cron_job.namespace}/{job_name(cron_job, at)}") is not None:
            return actions, again_after
        active = {reference["uid"] for reference in history.active}
        running = [job for job in world.owned(KINDS.JOB, cron_job.uid) if job.uid in active]
        if spec.concurrencyPolicy == "Forbid" and running:
            message = "Not starting job because prior execution is running and concurrency policy is Forbid"
            report = note(cron_job, "JobAlreadyActive", message)
            return (*actions, *self._once(cron_job, report, str(at))), again_after
        if spec.concurrencyPolicy == "Replace":
            actions += [self._delete(cron_job, job) for job in running]
        memory.created_for = at
        report = note(cron_job, "SuccessfulCreate", "Created job {name}")
        actions.append(Create(KINDS.JOB, _new_job(cron_job, at), cron_job.namespace, report))
        return actions, again_after

    def _due(
        self, cron_job: Object, schedule: Schedule, since: float, now: float
    ) -> tuple[float | None, Sequence[Action]]:
        """Return the time for which to create a Job now, and warnings. Raises ScheduleError."""
        due = last_due(schedule, since, now)
        seconds = cron_job.view.spec.startingDeadlineSeconds
        if due.at is None:
            return None, ()
        if seconds is not None:
            if due.at + seconds < now:
                missed = format_datetime(datetime.fromtimestamp(due.at, load_zone("")))
                message = f"Missed scheduled time to start a job: {missed}"
                return None, self._warn_once(cron_job, "MissSchedule", message)
            due = last_due(schedule, max(since, now - seconds), now)._replace(at=due.at)
        if not due.is_one_of_many:
            return due.at, ()
        message = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        return due.at, self._warn_once(cron_job, "TooManyMissedTimes", message, str(due.at))

    def _news(self, cron_job: Object, history: JobHistory) -> Iterable[Action]:
        said: list[Action] = []
        for job in history.unexpected:
            message = f"Saw a job that the controller did not create or forgot: {job.name}"
            said += self._warn_once(cron_job, "UnexpectedJob", message, subject=job.uid)
        for job in history.completed:
            message = f"Saw completed job: {job.name}, condition: {job_end(job.view.status)}"
            said.append(note(cron_job, "SawCompletedJob", message))
        said += [note(cron_job, "MissingJob", f"Active job went missing: {name}") for name in history.missing]
        told = self._memory(cron_job.key).told
        known = {job.uid for job in history.unexpected}
        for reason, subject in [mark for mark in told if mark[1] and mark[1] not in known]:
            del told[reason, subject]
        return said

    def _warn_once(
        self, cron_job: Object, reason: str, message: str, when: str = "", subject: str = ""
    ) -> Sequence[Action]:
        return self._once(cron_job, warn(cron_job, reason, message), when, subject)

    def _once(self, cron_job: Object, report: Report, when: str = "", subject: str = "") -> Sequence[Action]:
        """Return the report, unless it was the last one for its reason."""
        told, mark = self._memory(cron_job.key).told, (report.reason, subject)
        if told.get(mark) == report.message + when:
            return ()
        told[mark] = report.message + when
        return (report,)

    def _delete(self, cron_job: Object, job: Object) -> Delete:
        self._memory(cron_job.key).deleted.add(job.uid)
        report = note(cron_job, "SuccessfulDelete", f"Deleted job {job.name}")
        return Delete(KINDS.JOB, job.namespace, job.name, job.uid, propagation="Background", report=report)

    def _memory(self, key: str) -> _Memory:
        return self._memories.setdefault(key, _Memory())


def _times_of(cron_job: Object) -> tuple[str, str | None]:
    spec = cron_job.view.spec
    return spec.schedule, spec.timeZone


def _active(cron_job: Object) -> Sequence[Raw]:
    return (cron_job.raw.get("status") or {}).get("active") or ()


def _new_job(cron_job: Object, at: float) -> Raw:
    template = cron_job.raw["spec"]["jobTemplate"]
    described = template.get("metadata") or {}
    local = datetime.fromtimestamp(at, load_zone(cron_job.view.spec.timeZone or "")).isoformat()
    metadata: Raw = {
        "name": job_name(cron_job, at),
        "annotations": {**(described.get("annotations") or {}), SCHEDULED_AT: local.replace("+00:00", "Z")},
        "ownerReferences": [controller_reference(cron_job)],
        **nonempty(labels=described.get("labels")),
    }
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template.get("spec") or {}}
