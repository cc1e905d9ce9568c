"""When a Job of a CronJob is due, and when to look again.

In: a schedule, the time of the last Job, the time. Out: a `Due`. Of several times that were missed only the last is
made up for. Kubernetes: mostRecentScheduleTime, nextScheduleTimeDuration. Differs: the last time is found also where
the schedule is not regular.
"""

from typing import NamedTuple

from moorage.model.cron_schedule import Schedule, ScheduleError

#: Looking a little late makes up for clocks that differ a little.
_SLACK = 0.1
_MANY = 100


class Due(NamedTuple):
    """The last time that has come since, if there is one, and whether that makes very many."""

    at: float | None
    is_one_of_many: bool = False


def last_due(schedule: Schedule, since: float, now: float) -> Due:
    """Raises ScheduleError if the schedule is never due."""
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
    """The last time until now. Looks back further and further, since few schedules are due long ago and many times."""
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
    """Until the next time, counted from the last one."""
    try:
        due = last_due(schedule, since, now).at
    except ScheduleError:
        due = now
    following = schedule.next_after(since if due is None else due)
    if following is not None and following <= now:
        following = schedule.next_after(now)
    return None if following is None else following + _SLACK - now
