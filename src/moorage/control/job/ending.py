"""Decide whether and how a Job ends. Kubernetes: syncJob, matchSuccessPolicy.

The status announces an `Ending` as SuccessCriteriaMet or FailureTarget before pods are deleted, and as Complete or
Failed once all are counted.
"""

from typing import NamedTuple

from moorage.control.job.indexes import Indexes, parse_indexes
from moorage.control.job.pods import is_failed, rule_on
from moorage.control.job.situation import Situation
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
        for condition in seen.status.conditions:
            if condition.type == kind and condition.status == "True":
                return Ending(kind == SUCCESS_ANNOUNCED, condition.reason, condition.message, is_announced=True)
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
