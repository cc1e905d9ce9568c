"""SchedulingGates: keep a pod out of the queue until its scheduling gates are removed.

Kubernetes: pkg/scheduler/framework/plugins/schedulinggates, and the condition that the API server gives such a pod.
"""

from moorage.model.types.pod import PodSpec
from moorage.schedule.framework.plugin import Verdict, unresolvable

CONDITION_REASON = "SchedulingGated"


class SchedulingGates:
    """Asked before a pod enters the queue."""

    name = "SchedulingGates"

    def pre_enqueue(self, spec: PodSpec) -> Verdict | None:
        if not spec.schedulingGates:
            return None
        gates = " ".join(gate.name for gate in spec.schedulingGates)
        return unresolvable(f"waiting for scheduling gates: [{gates}]")
