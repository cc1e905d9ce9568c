"""Run pods until enough of them succeed or too many fail; delete finished Jobs after ttlSecondsAfterFinished.

Kubernetes: pkg/controller/job and ttlafterfinished. Differs: the status describes the pods before any are created or
deleted, since another reconciliation follows; changes are not batched for a second.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework import workloads
from moorage.control.framework.actions import NOTHING, Action, Create, Delete, Patch, Plan, Raw, note, warn
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.steps import Steps, finish
from moorage.control.framework.world import World, controller_of
from moorage.control.job.accounting import Books, Ending, completed, deadline, ending_of, keep_books, tell_suspension
from moorage.control.job.pods import TRACKING, is_tracked, new_pod, release
from moorage.control.job.situation import OWN_NAME, Failures, Situation, Sizing, parse_indexes, size
from moorage.model.api_error import ApiError
from moorage.model.go.times import seconds_of, time_text
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.workload import Job, JobSpec, JobStatus
from moorage.telemetry import metrics as metric


class SyncOutcome(NamedTuple):
    """What one reconciliation did, to be counted once it is carried out."""

    spec: JobSpec
    before: JobStatus
    after: JobStatus
    action: str
    created: int
    reason_to_create: str
    finished: tuple[str, str] | None  # the result, and the reason for it
    rulings: Counter[str]


class JobMetrics:
    """The metrics."""

    def __init__(self, metrics: metric.Metrics) -> None:
        def counter(name: str, of: str, *labels: str) -> metric.Counter:
            return metrics.counter(f"job_controller_{name}_total", f"The number of {of}", labels)

        self.syncs = counter("job_syncs", "job syncs", "completion_mode", "result", "action")
        self._finished = counter("jobs_finished", "finished jobs", "completion_mode", "result", "reason")
        of = "finished Pods that are fully tracked"
        self._pods = counter("job_pods_finished", of, "completion_mode", "result")
        of = "failed Pods handled by failure policy with respect to the failure policy action applied based on the "
        self._handled = counter("pod_failures_handled_by_failure_policy", of + "matched rule.", "action")
        self._indexes = counter("job_finished_indexes", "finished indexes.", "status", "backoffLimit")
        of = "Pods created by the Job controller labelled with a reason for the Pod creation."
        self.created = counter("job_pods_creation", of, "reason", "status")
        of = "Jobs managed by an external controller"
        self.external = counter("jobs_by_external_controller", of, "controller_name")

    def count(self, outcome: SyncOutcome) -> None:
        spec, before, after = outcome.spec, outcome.before, outcome.after
        mode = spec.completionMode or "NonIndexed"
        self.syncs.labels(mode, "success", outcome.action).inc()
        succeeded = after.succeeded - before.succeeded
        if mode == "Indexed":
            per_index = "global" if spec.backoffLimitPerIndex is None else "perIndex"
            bound = spec.completions or 0
            succeeded = _grown(before.completedIndexes, after.completedIndexes, bound)
            failed = _grown(before.failedIndexes, after.failedIndexes, bound)
            for result, amount in (("succeeded", succeeded), ("failed", failed)):
                if amount > 0:
                    self._indexes.labels(result, per_index).inc(amount)
        for result, amount in (("succeeded", succeeded), ("failed", after.failed - before.failed)):
            if amount > 0:
                self._pods.labels(mode, result).inc(amount)
        if outcome.created:
            self.created.labels(outcome.reason_to_create, "succeeded").inc(outcome.created)
        if outcome.finished is not None:
            self._finished.labels(mode, *outcome.finished).inc()
        for action, amount in outcome.rulings.items():
            if action:
                self._handled.labels(action).inc(amount)


def _grown(before: str | None, after: str | None, below: int) -> int:
    return parse_indexes(after or "", below).total - parse_indexes(before or "", below).total


#: Prefix of the keys of pods whose Job is gone.
_POD_KEY = "pod:"


class JobController(Controller):
    """Reconciles Jobs. It remembers backoffs, and what is to be counted once a plan is carried out."""

    name = "job-controller"
    watches = (KINDS.JOB, KINDS.POD)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._metrics = JobMetrics(context.metrics)
        self._failures: dict[str, Failures] = {}
        self._outcomes: dict[str, SyncOutcome] = {}

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        keys = list(super().concerns(kind, old, new, world))
        if kind is KINDS.POD:
            if new is not None and is_tracked(new.view) and workloads.owner_key(KINDS.JOB, new, world) is None:
                keys.append(_POD_KEY + new.key)
        elif new is None:
            keys += (_POD_KEY + pod.key for pod in world.owned(KINDS.POD, old.uid if old is not None else ""))
        elif old is None and _is_managed_elsewhere(new):
            self._metrics.external.labels(new.view.spec.managedBy).inc()
        return keys

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return finish(self.steps(key, world, now))

    def steps(self, key: str, world: World, now: float) -> Steps[Plan]:
        if key.startswith(_POD_KEY):
            return _release_orphan(key.removeprefix(_POD_KEY), world)
        job = world.get(KINDS.JOB, key)
        if job is None or workloads.job_end(job.view.status):
            self._failures.pop(key, None)
            self._outcomes.pop(key, None)
            return NOTHING if job is None else _release_all(job, world)
        if _is_managed_elsewhere(job):
            return NOTHING
        pods = yield from workloads.claim_in_steps(job, job.view.spec.selector, KINDS.POD, world)
        if pods.patches:
            return Plan(tuple(_with_finalizer(patch) for patch in pods.patches))
        seen = Situation(job, pods.objects)
        yield from seen.look()
        return self._sync(key, seen, now)

    def refused(self, key: str, action: Action, error: ApiError, world: World) -> Sequence[Action]:
        outcome = self._outcomes.pop(key, None)
        job = world.get(KINDS.JOB, key)
        if job is None:
            return ()
        mode = job.view.spec.completionMode or "NonIndexed"
        self._metrics.syncs.labels(mode, "error", outcome.action if outcome is not None else "reconciling").inc()
        if not isinstance(action, Create | Delete) or workloads.namespace_is_terminating(error):
            return ()
        if isinstance(action, Create):
            reason = outcome.reason_to_create if outcome is not None else "new"
            self._metrics.created.labels(reason, "failed").inc()
        return (workloads.refusal_report(job, action, error),)

    def done(self, key: str, plan: Plan, now: float) -> None:
        outcome = self._outcomes.pop(key, None)
        if outcome is not None:
            self._metrics.count(outcome)

    # -- one Job ------------------------------------------------------------------------------------------------------

    def _sync(self, key: str, seen: Situation, now: float) -> Plan:
        failures = self._failures.setdefault(key, Failures())
        failures.learn((pod.view for pod in seen.pods), seen.spec)
        start_time = seen.status.startTime
        if start_time is None and not seen.is_suspended:
            start_time = time_text(now)
        started = seconds_of(start_time)
        ending = ending_of(seen, started, now)
        sizing, manages = Sizing(), ending is None and not seen.is_leaving
        if manages:
            sizing = size(seen, failures, now)
        ending = ending or completed(seen)
        conditions = None
        if manages and ending is None:
            known = (seen.job.raw.get("status") or {}).get("conditions") or ()
            conditions = tell_suspension(known, is_suspended=seen.is_suspended, now=now)
            if conditions is not None:
                start_time = None if seen.is_suspended else time_text(now)
        if ending is not None and start_time is None:
            start_time = time_text(now)
        books = keep_books(seen, ending, start_time, now)
        if conditions is not None:
            books.status["conditions"] = conditions
        actions = self._actions(seen, books, ending, sizing, tells_suspension=conditions is not None)
        if actions:
            self._outcomes[key] = _outcome(seen, books, ending, sizing)
        until = deadline(seen, started) if ending is None else None
        waits = [wait for wait in (sizing.wait, None if until is None else until - now) if wait is not None]
        return Plan(tuple(actions), min(waits, default=None))

    def _actions(
        self, seen: Situation, books: Books, ending: Ending | None, sizing: Sizing, *, tells_suspension: bool
    ) -> list[Action]:
        """Return the actions, the status first: it names finished pods before they lose their finalizer."""
        job = seen.job
        actions: list[Action] = [*workloads.status_update(job, books.status)]
        if tells_suspension:
            what = "Suspended" if seen.is_suspended else "Resumed"
            actions.append(note(job, what, f"Job {what.lower()}"))
        if books.is_over and ending is not None:
            actions += _farewell(seen, books.status, ending)
        if ending is not None:
            actions += [workloads.delete_pod(job, pod.name, pod.uid) for pod in seen.active]
            return actions + [release(pod) for pod in books.releases]
        # Surplus pods have not failed: their finalizer is removed before they are deleted.
        actions += [release(pod) for pod in books.releases]
        actions += [release(pod) for pod in sizing.surplus if is_tracked(pod.view)]
        actions += [workloads.delete_pod(job, pod.name, pod.uid) for pod in sizing.surplus]
        report = workloads.new_pod_report(job)
        for index in sizing.indexes:
            last = None if index is None else seen.last_failed.get(index)
            actions.append(Create(KINDS.POD, new_pod(job, index, last), job.namespace, report))
        return actions


def _is_managed_elsewhere(job: Object) -> bool:
    return job.view.spec.managedBy not in (None, OWN_NAME)


def _farewell(seen: Situation, status: Raw, ending: Ending) -> list[Action]:
    if not ending.succeeds:
        return [warn(seen.job, ending.reason, ending.message)]
    said: list[Action] = []
    if seen.completions is not None and status.get("succeeded", 0) > seen.completions:
        message = "Too many succeeded pods running after completion count reached"
        said.append(warn(seen.job, "TooManySucceededPods", message))
    return [*said, note(seen.job, "Completed", "Job completed")]


def _outcome(seen: Situation, books: Books, ending: Ending | None, sizing: Sizing) -> SyncOutcome:
    action = "pods_deleted" if sizing.surplus else "pods_created" if sizing.indexes else "tracking"
    reason = "new"
    if seen.spec.podReplacementPolicy == "Failed" and seen.failed:
        reason = "recreate_failed"
    elif seen.failed or seen.terminating:
        reason = "recreate_terminating_or_failed"
    finished = None
    if books.is_over and ending is not None:
        finished = ("succeeded" if ending.succeeds else "failed", ending.reason)
    after = convert_view(books.status, JobStatus)
    return SyncOutcome(seen.spec, seen.status, after, action, len(sizing.indexes), reason, finished, books.rulings)


# -- pods without a running Job ---------------------------------------------------------------------------------------


def _release_all(job: Object, world: World) -> Plan:
    """Remove the finalizers of a finished Job's pods."""
    if _is_managed_elsewhere(job):
        return NOTHING
    return Plan(tuple(release(pod) for pod in world.owned(KINDS.POD, job.uid) if is_tracked(pod.view)))


def _release_orphan(key: str, world: World) -> Plan:
    """Remove the finalizer of a pod without a Job."""
    pod = world.get(KINDS.POD, key)
    if pod is None or not is_tracked(pod.view) or workloads.owner_key(KINDS.JOB, pod, world) is not None:
        return NOTHING
    owner = controller_of(pod.view.metadata)
    if owner is not None and (owner.kind, owner.apiVersion) != (KINDS.JOB.name, KINDS.JOB.api_version):
        return NOTHING
    return Plan((release(pod),))


def _with_finalizer(patch: Patch) -> Patch:
    """Add the tracking finalizer to adopted pods and remove it from released ones."""
    assert isinstance(patch.patch, dict)
    metadata = patch.patch["metadata"]
    is_adoption = "$patch" not in metadata["ownerReferences"][0]
    change = {"finalizers": [TRACKING]} if is_adoption else {"$deleteFromPrimitiveList/finalizers": [TRACKING]}
    return patch._replace(patch={"metadata": {**metadata, **change}})


class TimeToLiveController(Controller):
    """Deletes expired Jobs."""

    name = "ttl-after-finished-controller"
    watches = (KINDS.JOB,)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._lateness = context.metrics.histogram(
            "ttl_after_finished_controller_job_deletion_duration_seconds",
            "The time it took to delete the job since it became eligible for deletion",
            (),
            metric.exponential_buckets(0.1, 2, 14),
        )
        self._expired: dict[str, float] = {}

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return (new.key,) if new is not None and _expiry(new.view) is not None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        job = world.get(KINDS.JOB, key)
        expiry = None if job is None else _expiry(job.view)
        if job is None or expiry is None:
            self._expired.pop(key, None)
            return NOTHING
        if now < expiry:
            return Plan(again_after=expiry - now)
        self._expired[key] = expiry
        # Only if unchanged: its TTL may just have been extended.
        delete = Delete(KINDS.JOB, job.namespace, job.name, job.uid, propagation="Foreground", revision=job.revision)
        return Plan((delete,))

    def done(self, key: str, plan: Plan, now: float) -> None:
        expired = self._expired.pop(key, None)
        if expired is not None:
            self._lateness.labels().observe(max(0.0, now - expired))


def _expiry(job: Job) -> float | None:
    """Return when the Job expires; None if it has no TTL, is not finished or is being deleted."""
    seconds = job.spec.ttlSecondsAfterFinished
    if seconds is None or job.metadata.deletionTimestamp is not None:
        return None
    ending = workloads.ending_condition(job.status)
    over = seconds_of(ending.lastTransitionTime) if ending is not None else None
    return None if over is None else over + seconds
