"""Count the pods of a workload: how many it wants, where they are, which wait and why, and which are refused."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from moorage.client.protocol import Object
from moorage.lint.report.form import counted
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.plan.input.inventory import Inventory, Key
from moorage.plan.outcome import FailedLine, failed_workloads, wanted_pods
from moorage.plan.pod_lines import NOT_CREATED, REFUSED, PlannedPod, State
from moorage.plan.report.node_lists import MAX_NAMED, natural, shown_nodes
from moorage.plan.report.plain import as_data
from moorage.plan.simulation.simulation import Simulation


class WaitingPods(msgspec.Struct, frozen=True):
    """Pods that wait for the same reason."""

    pods: tuple[str, ...]
    reason: str
    message: str


class Replicas(msgspec.Struct, frozen=True):
    """The pods of a workload. `nodes` has how many are on each node; `refusal` is why the API server refuses others."""

    workload: str
    wanted: int
    existing: int
    nodes: dict[str, int]
    waiting: tuple[WaitingPods, ...]
    refused: int = 0
    refusal: str = ""
    #: The counts of refused pods, in the words of `plan`.
    counts: str = ""
    suspended: bool = False

    @property
    def placed(self) -> int:
        return sum(self.nodes.values())

    @property
    def headline(self) -> str:
        """Say in one sentence how many pods there are."""
        waiting = sum(len(group.pods) for group in self.waiting)
        if self.refusal:
            wait = (
                f"; {waiting:,} of those that exist {'waits' if waiting == 1 else 'wait'} for a node" if waiting else ""
            )
            return f"{self.counts or 'its pods are refused'}: {self.refusal}{wait}"
        if not self.existing and not waiting:
            return f"{'is suspended and ' * self.suspended}wants {counted(self.wanted, 'pod')}"
        exist = "exists" if self.existing == 1 else "exist"
        where = f": {self._places()}" if self.nodes else ""
        return f"{self.existing:,} of {counted(max(self.wanted, self.existing), 'pod')} {exist}{where}"

    def _places(self) -> str:
        ordered = sorted(self.nodes.items(), key=lambda entry: (-entry[1], natural(entry[0])))
        if len(ordered) == 1:
            return f"on {ordered[0][0]}"
        named = shown_nodes([f"{count:,} on {node}" for node, count in ordered])
        return f"on {named}" if len(ordered) > MAX_NAMED else named


def replicas_of(
    simulation: Simulation, inventory: Inventory, key: Key, owner: Object, pods: Sequence[PlannedPod]
) -> Replicas:
    """Count pods: those of a workload that are on nodes or wait, and those that it lacks."""
    groups: dict[tuple[str, str], list[str]] = {}
    for pod in pods:
        if not pod.node:
            groups.setdefault((pod.reason, pod.message), []).append(pod.key)
    failed = failed_line(simulation, inventory, key)
    suspended = owner.kind is KINDS.JOB and bool(owner.view.spec.suspend)
    return Replicas(
        str(key),
        0 if suspended else max(0, wanted_pods(owner)),
        sum(pod.reason != NOT_CREATED for pod in pods),
        dict(Counter(pod.node for pod in pods if pod.node)),
        tuple(WaitingPods(tuple(names), reason, message) for (reason, message), names in groups.items()),
        failed.refused if failed is not None else 0,
        failed.message if failed is not None else "",
        failed.counts if failed is not None else "",
        suspended,
    )


def failed_line(simulation: Simulation, inventory: Inventory, key: Key) -> FailedLine | None:
    """Return what `plan` says of the pods of a workload that the API server refuses; None if it refuses none."""
    return next((line for line in failed_workloads(simulation, inventory) if line.workload == str(key)), None)


def refused_pod(owner: Object, key: Key, message: str) -> PlannedPod:
    """Return a pod of the workload's template that the API server refuses."""
    template = owner.view.spec.template
    name = f"{key.name}-next"
    metadata = msgspec.structs.replace(template.metadata, name=name, namespace=key.namespace)
    pod = Pod(metadata=metadata, spec=template.spec)
    return PlannedPod(f"{key.namespace}/{name}", pod, key, "", State.PENDING, REFUSED, message)


def plain_replicas(told: Replicas) -> dict[str, Any]:
    """Return plain data, for JSON."""
    return {"headline": told.headline, **as_data(told)}
