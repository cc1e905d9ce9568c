"""A pod in a plan: its workload, its node, or the reason why it has none."""

from enum import StrEnum

import msgspec

from moorage.client.protocol import Object
from moorage.columns.cluster import PodRecord
from moorage.columns.shape import Shape
from moorage.control.framework.workloads import ready_condition
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.plan.input.inventory import Key
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.cycle import UNSCHEDULABLE
from moorage.schedule.plugins.scheduling_gates import CONDITION_REASON

NOT_CREATED = "NotCreated"
NO_SCHEDULER = "NoScheduler"
TERMINATING = "Terminating"
_STATEFUL_SET = KINDS["apps/v1", "StatefulSet"]


class State(StrEnum):
    """What becomes of a pod."""

    BOUND = "Bound"  # it had its node when the plan began
    PLACED = "Placed"
    PENDING = "Pending"


class PlannedPod(msgspec.Struct):
    """One pod. `reason` and `message` are those of a PodScheduled condition."""

    key: str
    pod: Pod
    owner: Key | None
    node: str
    existing: bool
    reason: str = ""
    message: str = ""

    @property
    def state(self) -> State:
        if not self.node:
            return State.PENDING
        return State.BOUND if self.existing else State.PLACED

    @property
    def workload(self) -> str:
        return str(self.owner) if self.owner is not None else ""

    @property
    def priority(self) -> int:
        return self.pod.spec.priority or 0


def planned_pod(simulation: Simulation, found: Object) -> PlannedPod:
    owner = simulation.owner_of(found)
    pod: Pod = found.view
    existing = found.uid in simulation.bound_at_start
    return PlannedPod(found.key, pod, Key(*owner) if owner is not None else None, pod.spec.nodeName, existing)


def planned_pods(simulation: Simulation) -> list[PlannedPod]:
    """Return all pods that are not over, those that wait with the reason; then those that are not made yet."""
    pods = [planned_pod(simulation, found) for found in simulation.pods()]
    told: dict[tuple[str, Shape], str] = {}
    for pod in pods:
        if not pod.node:
            _diagnose(simulation, pod, told)
    return pods + _not_created(simulation)


def _diagnose(simulation: Simulation, pod: PlannedPod, told: dict[tuple[str, Shape], str]) -> None:
    """Find out why a pod has no node. Pods of one shape are told the same, unless room was made for one of them."""
    kept_out = why_kept_out(simulation, pod.pod)
    if kept_out is not None:
        pod.reason, pod.message = kept_out
        return
    scheduler, record = simulation.scheduler, record_of(simulation, pod.key, pod.pod)
    key = pod.pod.spec.schedulerName, record.shape
    if scheduler.nominations.slot_of(pod.key) is not None:
        message = scheduler.why_not(record)
    elif key in told:
        message = told[key]
    else:
        message = told[key] = scheduler.why_not(record)
    pod.reason, pod.message = UNSCHEDULABLE, message


def record_of(simulation: Simulation, key: str, pod: Pod) -> PodRecord:
    """Return what the scheduler knows of a pod without a node."""
    queued = simulation.scheduler.queue.get(key)
    return queued.record if queued is not None else simulation.cluster.record(key, pod)


def why_unplaced(simulation: Simulation, found: Object) -> str:
    """Return the message for a pod without a node."""
    kept_out = why_kept_out(simulation, found.view)
    return kept_out[1] if kept_out else simulation.scheduler.why_not(record_of(simulation, found.key, found.view))


def why_kept_out(simulation: Simulation, pod: Pod) -> tuple[str, str] | None:
    """Return the reason and message for a pod that the scheduler does not look at."""
    scheduler, spec = simulation.scheduler, pod.spec
    if pod.metadata.deletionTimestamp is not None:
        return TERMINATING, "is being deleted"
    if not scheduler.knows(spec.schedulerName):
        known = ", ".join(scheduler.engines)
        return NO_SCHEDULER, f"waits for scheduler {spec.schedulerName}; this plan has {known}"
    verdict = scheduler.queue.why_gated(spec, spec.schedulerName)
    return (CONDITION_REASON, "; ".join(verdict.reasons)) if verdict is not None else None


def _not_created(simulation: Simulation) -> list[PlannedPod]:
    """Return the pods that a StatefulSet makes once those before them run."""
    missing: list[PlannedPod] = []
    for found in simulation.world.all(_STATEFUL_SET):
        spec = found.view.spec
        if spec.podManagementPolicy == "Parallel" or found.view.metadata.deletionTimestamp is not None:
            continue
        first = spec.ordinals.start if spec.ordinals is not None else 0
        waits_for = ""
        for ordinal in range(first, first + (1 if spec.replicas is None else spec.replicas)):
            key = f"{found.key}-{ordinal}"
            made = simulation.world.view(KINDS["v1", "Pod"], key)
            if made is not None:
                waits_for = waits_for or ("" if ready_condition(made) is not None else f"{found.name}-{ordinal}")
                continue
            if not waits_for:
                break
            text = f"is created once {waits_for} runs: the StatefulSet makes its pods in order (OrderedReady)"
            metadata = msgspec.structs.replace(
                spec.template.metadata, name=f"{found.name}-{ordinal}", namespace=found.namespace
            )
            pod = Pod(metadata=metadata, spec=spec.template.spec)
            owner = Key("StatefulSet", found.namespace, found.name)
            missing.append(PlannedPod(key, pod, owner, "", False, NOT_CREATED, text))
    return missing
