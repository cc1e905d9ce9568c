"""PrioritySort: order the queue by priority, then by how long pods have waited.

One queue serves all profiles of a scheduler, so that they all have this plugin.
Kubernetes: pkg/scheduler/framework/plugins/queuesort. Differs: pods that came at the same instant keep the order in
which they came, so that the same input gives the same plan.
"""

from moorage.model.types.pod import PodSpec

QueuePosition = tuple[int, float, int]


class PrioritySort:
    """Gives each pod a position; the smallest is next."""

    name = "PrioritySort"

    def position(self, spec: PodSpec, since: float, number: int) -> QueuePosition:
        """Return the position of a pod queued at `since`, after `number` others."""
        return (-(spec.priority or 0), since, number)
