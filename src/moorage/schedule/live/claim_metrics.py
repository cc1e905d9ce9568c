"""Metrics about ResourceClaims and their devices, under Kubernetes' names.

Kubernetes: pkg/scheduler/metrics (resourceclaim_creates_total, dra_bindingconditions_*).
"""

from moorage.match.devices.claims import FAILED, TIMED_OUT, waiting_devices
from moorage.model.types.devices import ResourceClaim
from moorage.telemetry.metrics import Metrics, exponential_buckets


class ClaimMetrics:
    """Counts claims made for extended resources, and waits for devices."""

    def __init__(self, metrics: Metrics) -> None:
        name, said = "scheduler_resourceclaim_creates_total", "ResourceClaims created for extended resources."
        creates = metrics.counter(name, said, ("status",))
        self._created = {is_success: creates.labels("success" if is_success else "failure") for is_success in (0, 1)}
        labels = ("profile", "driver", "status")
        name = "scheduler_dra_bindingconditions_allocations_total"
        said = "Attempts that used devices with binding conditions, by driver and what became of them."
        self._allocations = metrics.counter(name, said, labels)
        name = "scheduler_dra_bindingconditions_wait_duration_seconds"
        said = "Seconds spent waiting for binding conditions before a pod is bound."
        self._waits = metrics.histogram(name, said, labels, exponential_buckets(0.1, 2, 14))

    def created(self, is_success: bool) -> None:
        self._created[is_success].value += 1

    def waited(self, profile: str, claims: list[ResourceClaim], seconds: float, error: str) -> None:
        """Count a wait for devices; `error` is empty if they are ready."""
        status = "success"
        if error:
            status = next((name for text, name in _STATUS if error.startswith(text)), "error")
        for claim in claims:
            allocation = claim.status.allocation
            for result in allocation.devices.results if allocation is not None else ():
                self._waits.labels(profile, result.driver, status).observe(seconds)
            for result in waiting_devices(claim):
                self._allocations.labels(profile, result.driver, status).value += 1


_STATUS = ((TIMED_OUT, "timeout"), (FAILED, "failure"))
