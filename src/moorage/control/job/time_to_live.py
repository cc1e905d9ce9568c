"""Delete finished Jobs after ttlSecondsAfterFinished. Kubernetes: pkg/controller/ttlafterfinished."""

from collections.abc import Iterable

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Delete, Plan
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.workloads import ending_condition
from moorage.control.framework.world import World
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.workload import Job
from moorage.telemetry.metrics import exponential_buckets

JOB = KINDS["batch/v1", "Job"]


class TimeToLiveController(Controller):
    """Deletes expired Jobs."""

    name = "ttl-after-finished-controller"
    watches = (JOB,)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._lateness = context.metrics.histogram(
            "ttl_after_finished_controller_job_deletion_duration_seconds",
            "The time it took to delete the job since it became eligible for deletion",
            (),
            exponential_buckets(0.1, 2, 14),
        )
        self._expired: dict[str, float] = {}

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        return (new.key,) if new is not None and _expiry(new.view) is not None else ()

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        job = world.get(JOB, key)
        expiry = None if job is None else _expiry(job.view)
        if job is None or expiry is None:
            self._expired.pop(key, None)
            return NOTHING
        if now < expiry:
            return Plan(again_after=expiry - now)
        self._expired[key] = expiry
        # Only if unchanged: its TTL may just have been extended.
        delete = Delete(JOB, job.namespace, job.name, job.uid, propagation="Foreground", revision=job.revision)
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
    ending = ending_condition(job.status)
    over = seconds_of(ending.lastTransitionTime) if ending is not None else None
    return None if over is None else over + seconds
