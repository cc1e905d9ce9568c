"""Say what would still fit on one node: how many more pods of each workload, and the largest pod.

Copies of a workload's pod are put on the node, one after the other, for as long as every filter of the scheduler lets
them pass: taints, affinity, spread and ports count as resources do. Kubernetes: kubectl describe node lists requests,
and leaves the division to the reader.
"""

from collections.abc import Container, Iterator

import msgspec

from moorage.columns.cluster import PodRecord
from moorage.columns.resources import CPU, MEMORY, PODS
from moorage.control.framework.workloads import is_finished
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.well_known.taints import UNSCHEDULABLE
from moorage.plan.explain.target import TargetError
from moorage.plan.input.inventory import Key
from moorage.plan.report.node_lists import natural
from moorage.plan.simulation.loading import COUNTED
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.diagnosis import refusals_of
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources
from moorage.schedule.plugins.volumes.volume_binding import VolumeBinding
from moorage.schedule.plugins.volumes.volume_restrictions import VolumeRestrictions
from moorage.schedule.plugins.volumes.volume_zone import VolumeZone

#: Workloads that are tried, copies of a pod of each, and copies in all.
MAX_WORKLOADS, MAX_MORE, MAX_TRIALS = 200, 250, 20_000
#: Filters that ask about the claims that the pod has; a further one would have others.
_OF_CLAIMS = (DynamicResources.name, VolumeBinding.name, VolumeZone.name, VolumeRestrictions.name)
_CLAIMS = "each further pod would need claims of its own"


class Fit(msgspec.Struct, frozen=True, rename="camel"):
    """A workload. `more` of its pods fit, then `why` not; of one that cannot be told, `more` is None."""

    workload: str
    more: int | None
    why: str = ""
    is_capped: bool = False  # more were not tried


class Room(msgspec.Struct, frozen=True, rename="camel"):
    """What would still fit. `largest` is what a pod that tolerates the node's taints can request; None if none fits."""

    node: str
    largest: dict[str, int] | None
    why_none: str
    workloads: tuple[Fit, ...]
    left_out: int = 0


def room_on(simulation: Simulation, name: str) -> Room:
    """Try what fits on a node of a settled simulation. Raises TargetError."""
    if name not in simulation.cluster.nodes.slot_of:
        raise TargetError(f"there is no node {name!r} in the cluster")
    trials = _Trials(simulation, simulation.cluster.nodes.slot_of[name])
    largest, why_none = trials.largest()
    pods = sorted(_one_of_each(simulation).items(), key=lambda entry: natural(entry[0]))
    fits: list[Fit] = []
    for workload, pod in pods[:MAX_WORKLOADS]:
        if trials.are_used_up:
            break
        fits.append(trials.fit(workload, pod))
    tried = len(fits)
    fits.sort(key=lambda fit: -(fit.more or 0))
    return Room(name, largest, why_none, tuple(fits), len(pods) - tried)


def _one_of_each(simulation: Simulation) -> dict[str, Pod]:
    """Return a pod of every workload that has some number of them, the newest, by the workload's name."""
    pods: dict[str, Pod] = {}
    for found in simulation.world.all(KINDS.POD):
        owner = simulation.owner_of(found)
        if owner is not None and owner[0] in COUNTED and not is_finished(found.view):
            pods[str(Key(*owner))] = found.view
    return pods


class _Trials:
    """Puts pods on one node and takes them away again."""

    def __init__(self, simulation: Simulation, slot: int) -> None:
        self._simulation, self._cluster, self._slot = simulation, simulation.cluster, slot
        self._left = MAX_TRIALS

    @property
    def are_used_up(self) -> bool:
        """Whether no more copies are to be tried."""
        return self._left <= 0

    def largest(self) -> tuple[dict[str, int] | None, str]:
        """Return the requests of the largest pod, or why none fits. It tolerates what the node has."""
        nodes = self._cluster.nodes
        node: Node = nodes.node(self._slot)
        free = {name: int(nodes.free(name)[self._slot]) for name in (CPU, MEMORY)}
        requests = {CPU: f"{max(0, free[CPU])}m", MEMORY: str(max(0, free[MEMORY]))}
        tolerations = [
            {"key": taint.key, "operator": "Exists", "effect": taint.effect}
            for taint in node.spec.taints
            if taint.key not in ("", UNSCHEDULABLE)
        ]
        container = {"name": "largest", "image": "largest", "resources": {"requests": requests}}
        scheduler = next(iter(self._simulation.scheduler.engines))
        pod = convert_view(
            {
                "metadata": {"name": "largest", "namespace": self._simulation.settings.namespace},
                "spec": {"containers": [container], "tolerations": tolerations, "schedulerName": scheduler},
            },
            Pod,
        )
        why = self._why_not(self._cluster.record("/largest", pod))
        if why:
            return None, why
        return {**free, PODS: int(nodes.free(PODS)[self._slot])}, ""

    def fit(self, workload: str, pod: Pod) -> Fit:
        """Count how many more pods like this one fit."""
        if not self._simulation.scheduler.knows(pod.spec.schedulerName):
            return Fit(workload, None, f"its pods wait for scheduler {pod.spec.schedulerName}")
        spec = msgspec.structs.replace(pod.spec, nodeName="")
        record = self._cluster.record(f"/{workload}", msgspec.structs.replace(pod, spec=spec))
        if record.claims or record.shape.devices or pod.spec.resourceClaims:
            why = self._why_not(record, besides=_OF_CLAIMS)
            return Fit(workload, 0, why) if why else Fit(workload, None, _CLAIMS)
        placed: list[PodRecord] = []
        why = ""
        try:
            for copy in self._copies(record):
                why = self._why_not(copy)
                if why:
                    break
                self._cluster.add_pod(copy, self._slot)
                placed.append(copy)
        finally:
            for copy in placed:
                self._cluster.remove_pod(copy)
        return Fit(workload, len(placed), why, not why)

    def _copies(self, like: PodRecord) -> Iterator[PodRecord]:
        for number in range(MAX_MORE):
            if self._left <= 0:
                return
            self._left -= 1
            yield PodRecord(f"{like.key}+{number}", like.pod, like.shape)

    def _why_not(self, record: PodRecord, besides: Container[str] = ()) -> str:
        """Return what the first filter that refuses the node says, besides some; empty if all let it pass."""
        candidates = self._simulation.scheduler.engines[record.pod.spec.schedulerName].candidates(record.shape)
        refusals = refusals_of(candidates, self._slot)
        first = next((refusal for refusal in refusals if refusal.plugin not in besides), None)
        return "" if first is None else next(iter((*first.verdict.details, *first.verdict.reasons)), first.plugin)
