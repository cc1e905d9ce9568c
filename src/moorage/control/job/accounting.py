"""Decide whether and how a Job ends, and count its finished pods exactly once.

The status announces an `Ending` as SuccessCriteriaMet or FailureTarget before pods are deleted, and as Complete or
Failed once all are counted. The UID of a finished pod is first written to the status, then its finalizer is removed,
then it is counted and its UID dropped. Successes of indexed Jobs need no UIDs. Kubernetes: syncJob, matchSuccessPolicy,
trackJobStatusAndRemoveFinalizers.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Raw
from moorage.control.framework.workloads import condition, nonempty
from moorage.control.job.pods import is_failed, is_tracked, rule_on, valid_index
from moorage.control.job.situation import Indexes, Situation, parse_indexes
from moorage.model.go.times import time_text
from moorage.model.types.workload import SuccessPolicy


def fulfilled_rule(policy: SuccessPolicy | None, completions: int, succeeded: Indexes) -> int | None:
    if policy is None or not succeeded.intervals:
        return None
    for number, rule in enumerate(policy.rules):
        count = rule.succeededCount
        if rule.succeededIndexes is None:
            if count is not None and succeeded.total >= count:
                return number
            continue
        required = parse_indexes(rule.succeededIndexes, completions)
        if not required.intervals:
            continue
        both = required.overlap(succeeded)
        if both == required.total or (count is not None and both >= count):
            return number
    return None


SUCCESS_ANNOUNCED, FAILURE_ANNOUNCED = "SuccessCriteriaMet", "FailureTarget"
_PROBED = "lastProbeTime"


class Ending(NamedTuple):
    """How the Job ends. `is_announced`: the status says so already."""

    succeeds: bool
    reason: str
    message: str
    is_announced: bool = False


def ending_of(seen: Situation, started: float | None, now: float) -> Ending | None:
    """Return the ending, except for reached completions (see `completed`)."""
    return _announced(seen) or _failure(seen, started, now) or _enough(seen)


def completed(seen: Situation) -> Ending | None:
    """Return the ending if no pod is active and enough have succeeded; one is enough for a work queue."""
    enough = 1 if seen.completions is None else seen.completions
    if seen.active or seen.succeeded < enough:
        return None
    return Ending(True, "CompletionsReached", "Reached expected number of succeeded pods")


def deadline(seen: Situation, started: float | None) -> float | None:
    """Return the time at which activeDeadlineSeconds is over."""
    seconds = seen.spec.activeDeadlineSeconds
    if seconds is None or started is None or seen.is_suspended:
        return None
    return started + seconds


def _announced(seen: Situation) -> Ending | None:
    for kind in (SUCCESS_ANNOUNCED, FAILURE_ANNOUNCED):
        for found in seen.status.conditions:
            if found.type == kind and found.status == "True":
                return Ending(kind == SUCCESS_ANNOUNCED, found.reason, found.message, is_announced=True)
    return None


def _failure(seen: Situation, started: float | None, now: float) -> Ending | None:
    spec = seen.spec
    if spec.podFailurePolicy is not None:
        for pod in seen.pods:
            message = rule_on(spec.podFailurePolicy, pod.view).message if is_failed(pod.view, spec) else ""
            if message:
                return Ending(False, "PodFailurePolicy", message)
    limit = 6 if spec.backoffLimit is None else spec.backoffLimit
    if seen.failed > limit or _restarted_too_often(seen, limit):
        return Ending(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    until = deadline(seen, started)
    if until is not None and now >= until:
        return Ending(False, "DeadlineExceeded", "Job was active longer than specified deadline")
    return _failed_indexes(seen)


def _restarted_too_often(seen: Situation, limit: int) -> bool:
    """Return whether restarts in place exceed the limit, for restartPolicy OnFailure."""
    if seen.spec.template.spec.restartPolicy != "OnFailure":
        return False
    restarts = 0
    for pod in seen.pods:
        status = pod.view.status
        if status.phase in ("Running", "Pending"):
            restarts += sum(one.restartCount for one in (*status.initContainerStatuses, *status.containerStatuses))
    return restarts > 0 if limit == 0 else restarts >= limit


def _failed_indexes(seen: Situation) -> Ending | None:
    failed = seen.failed_indexes
    if failed is None:
        return None
    max_failed = seen.spec.maxFailedIndexes
    if max_failed is not None and failed.total > max_failed:
        message = "Job has exceeded the specified maximal number of failed indexes"
        return Ending(False, "MaxFailedIndexesExceeded", message)
    if failed.total and failed.total + seen.succeeded_indexes.total >= (seen.completions or 0):
        return Ending(False, "FailedIndexes", "Job has failed indexes")
    return None


def _enough(seen: Situation) -> Ending | None:
    if not seen.is_indexed:
        return None
    rule = fulfilled_rule(seen.spec.successPolicy, seen.completions or 0, seen.succeeded_indexes)
    return None if rule is None else Ending(True, "SuccessPolicy", f"Matched rules at index {rule}")


#: Most UIDs in uncountedTerminatedPods.
MAX_UNCOUNTED = 500


class Books(NamedTuple):
    """The new status, the pods to release once it is written, whether the Job is finished, and the rules used."""

    status: Raw
    releases: Sequence[Object]
    is_over: bool
    rulings: Counter[str]


def keep_books(seen: Situation, ending: Ending | None, start_time: str | None, now: float) -> Books:
    tracked = {pod.uid for pod in seen.pods if is_tracked(pod.view)}
    uncounted = seen.status.uncountedTerminatedPods
    named_succeeded = [uid for uid in (uncounted.succeeded if uncounted else ()) if uid in tracked]
    named_failed = [uid for uid in (uncounted.failed if uncounted else ()) if uid in tracked]
    succeeded = seen.status.succeeded + len(seen.uncounted_succeeded) - len(named_succeeded)
    failed = seen.status.failed + len(seen.uncounted_failed) - len(named_failed)

    releases: list[Object] = []
    rulings: Counter[str] = Counter()
    fails = ending is not None and not ending.succeeds
    new_indexes = 0
    for pod in seen.pods:
        view = pod.view
        if pod.uid not in tracked:
            continue
        has_failed = is_failed(view, seen.spec)
        if not _may_go(seen, ending, pod, has_failed=has_failed):
            continue
        releases.append(pod)
        index = valid_index(view, seen.spec)
        if view.status.phase == "Succeeded" and pod.uid not in seen.uncounted_failed:
            if seen.is_indexed:
                new_indexes += index is not None and not seen.counted_indexes.has(index)
            elif pod.uid not in seen.uncounted_succeeded:
                named_succeeded.append(pod.uid)
        elif (
            (has_failed or fails)
            and pod.uid not in seen.uncounted_failed
            and (not seen.is_indexed or index is not None)
        ):
            ruling = rule_on(seen.spec.podFailurePolicy, view)
            rulings[ruling.action] += 1
            if ruling.counts:
                named_failed.append(pod.uid)
        if new_indexes + len(named_succeeded) + len(named_failed) >= MAX_UNCOUNTED:
            break

    status = dict(seen.job.raw.get("status") or {})
    status["uncountedTerminatedPods"] = nonempty(succeeded=named_succeeded, failed=named_failed)
    if seen.is_indexed:
        succeeded = seen.succeeded_indexes.total
        _set(status, "completedIndexes", str(seen.succeeded_indexes))
        if seen.failed_indexes is not None:
            status["failedIndexes"] = str(seen.failed_indexes)
    for field, value in (("active", len(seen.active)), ("succeeded", succeeded), ("failed", failed)):
        _set(status, field, value)
    status["ready"], status["terminating"] = seen.ready, seen.terminating
    _set(status, "startTime", start_time)
    busy = releases or named_succeeded or named_failed or seen.active or seen.terminating
    is_over = ending is not None and not busy
    if ending is not None:
        _announce(status, ending, is_over=is_over, now=now)
    return Books(status, releases, is_over, rulings)


def _may_go(seen: Situation, ending: Ending | None, pod: Object, *, has_failed: bool) -> bool:
    """Return whether the pod's finalizer is no longer needed."""
    if seen.is_leaving or ending is not None or pod.view.status.phase == "Succeeded":
        return True
    if not has_failed:
        return False
    index = valid_index(pod.view, seen.spec)
    last = None if index is None else seen.last_failed.get(index)
    return last is None or last.uid != pod.uid


def _set(status: Raw, field: str, value: object) -> None:
    if value:
        status[field] = value
    else:
        status.pop(field, None)


def _announce(status: Raw, ending: Ending, *, is_over: bool, now: float) -> None:
    conditions = list(status.get("conditions") or ())
    announced, final = (SUCCESS_ANNOUNCED, "Complete") if ending.succeeds else (FAILURE_ANNOUNCED, "Failed")
    if not ending.is_announced:
        conditions.append(condition(announced, "True", ending.reason, ending.message, now, _PROBED))
    if is_over:
        conditions.append(condition(final, "True", ending.reason, ending.message, now, _PROBED))
        if ending.succeeds:
            status["completionTime"] = time_text(now)
    status["conditions"] = conditions


_SUSPENDED = "Suspended"


def tell_suspension(conditions: Sequence[Raw], *, is_suspended: bool, now: float) -> list[Raw] | None:
    """Return conditions with Suspended; None if unchanged. A Job never suspended gets no condition."""
    status, reason, message = (
        ("True", "JobSuspended", "Job suspended") if is_suspended else ("False", "JobResumed", "Job resumed")
    )
    new = condition(_SUSPENDED, status, reason, message, now, _PROBED)
    for position, old in enumerate(conditions):
        if old.get("type") == _SUSPENDED:
            if old.get("status") == status:
                return None
            return [*conditions[:position], new, *conditions[position + 1 :]]
    return [*conditions, new] if is_suspended else None
