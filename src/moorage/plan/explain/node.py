"""Explain one node: how full it is, which pods are on it, and of all others whether they could be, and why not.

One pod of each workload is asked about, as the cluster is once every pod that can be placed is. Kubernetes: kubectl
describe node tells the first half.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from moorage.columns.cluster import PodRecord
from moorage.control.framework.workloads import is_ready
from moorage.plan.explain.afterwards import deadlines_of
from moorage.plan.explain.groups import plain_refusal
from moorage.plan.explain.target import TargetError
from moorage.plan.input.inventory import Inventory, Note
from moorage.plan.outcome import NodeLine, node_lines
from moorage.plan.pod_lines import PlannedPod, PodDeadline, PodRows, record_of
from moorage.plan.report.plain import as_data
from moorage.plan.simulation.admission_notes import assumption_notes
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.cycle import UNSCHEDULABLE
from moorage.schedule.diagnosis import Refusal, refusals_of
from moorage.schedule.framework.plugin import Code, Verdict

_MAX_ASKED = 500
_KEPT_OUT = "Scheduler"


class Elsewhere(msgspec.Struct, frozen=True):
    """Pods of one workload, or one pod, that are not on the node. Without `refusals` they could be."""

    workload: str  # empty for a pod without an owner
    pods: tuple[str, ...]
    pending: bool
    refusals: tuple[Refusal, ...]

    @property
    def distance(self) -> int:
        return sum(refusal.verdict.objections for refusal in self.refusals)

    @property
    def rank(self) -> tuple[bool, int, float]:
        """Pods that wait first, then fewest reasons, then the nearest."""
        return not self.pending, self.distance, sum(refusal.verdict.gap for refusal in self.refusals)


class NodeExplanation(msgspec.Struct, frozen=True):
    """Everything about one node. `left_out` counts workloads that were not asked about."""

    line: NodeLine
    ready: str
    pods: tuple[str, ...]
    #: By pod: when a taint makes it leave the node, or made it leave, and what follows.
    deadlines: dict[str, PodDeadline]
    elsewhere: tuple[Elsewhere, ...]
    left_out: int = 0
    notes: tuple[Note, ...] = ()


def explain_node(simulation: Simulation, inventory: Inventory, name: str, *, alone: bool = False) -> NodeExplanation:
    """Explain a node; with `alone`, as the cluster is, without placing pods that wait. Raises TargetError."""
    if name not in simulation.cluster.nodes.slot_of:
        raise TargetError(_no_node(list(simulation.cluster.nodes.slot_of), name))
    simulation.controllers.work()
    simulation.scheduling.take_in()
    if not alone:
        leaves = (timer.due for timer in simulation.evictions.timers() if timer.pod.view.spec.nodeName == name)
        simulation.settle(before=min(leaves, default=float("inf")))
    slot = simulation.cluster.nodes.slot_of[name]
    here: list[str] = []
    leaving: list[PlannedPod] = []
    groups: dict[tuple[str, bool], list[PlannedPod]] = {}
    for pod in PodRows(simulation).all():
        if pod.node == name and pod.deadline is not None:
            leaving.append(pod)
        if not pod.is_present:
            continue
        if pod.node == name:
            here.append(pod.key)
        elif not _is_daemon_elsewhere(pod):
            groups.setdefault((pod.workload or pod.key, not pod.node), []).append(pod)
    asked = sorted(groups.items(), key=lambda entry: not entry[0][1])[:_MAX_ASKED]
    found = [
        Elsewhere(pods[0].workload, tuple(pod.key for pod in pods), pending, refusals_at(simulation, pods[0], slot))
        for (_, pending), pods in asked
    ]
    line = next(node_line for node_line in node_lines(simulation.cluster) if node_line.name == name)
    return NodeExplanation(
        line,
        "Ready" if is_ready(simulation.cluster.nodes.node(slot)) else "NotReady",
        tuple(here),
        deadlines_of(simulation, leaving),
        tuple(sorted(found, key=lambda one: one.rank)),
        len(groups) - len(asked),
        tuple(dict.fromkeys((*inventory.notes, *assumption_notes(simulation, inventory)))),
    )


def _no_node(known: Sequence[str], name: str) -> str:
    close = get_close_matches(name, known, n=1)
    return f"there is no node {name!r} in the input{f'; did you mean {close[0]}?' if close else ''}"


def _is_daemon_elsewhere(pod: PlannedPod) -> bool:
    """Return whether a pod was made for another node, so that it cannot be here."""
    return pod.owner is not None and pod.owner.kind == "DaemonSet" and bool(pod.node)


def refusals_at(simulation: Simulation, pod: PlannedPod, slot: int) -> tuple[Refusal, ...]:
    """Return what every plugin that refuses the node says of the pod; empty if it could be there."""
    scheduler, cluster = simulation.scheduler, simulation.cluster
    if not pod.node and pod.reason != UNSCHEDULABLE:
        return (Refusal(_KEPT_OUT, Verdict(Code.UNRESOLVABLE, (pod.message or pod.reason,))),)
    if not scheduler.knows(pod.pod.spec.schedulerName):
        return (Refusal(_KEPT_OUT, Verdict(Code.UNRESOLVABLE, (f"uses {pod.pod.spec.schedulerName}",))),)
    bound = cluster.pods.get(pod.key)
    if bound is not None and bound.slot >= 0:
        with cluster.as_if_gone([bound]):
            return _asked(simulation, bound, slot)
    return _asked(simulation, record_of(simulation, pod.key, pod.pod), slot)


def _asked(simulation: Simulation, record: PodRecord, slot: int) -> tuple[Refusal, ...]:
    cluster, spec = simulation.cluster, record.pod.spec
    free = msgspec.structs.replace(record.pod, spec=msgspec.structs.replace(spec, nodeName=""))
    candidates = simulation.scheduler.engines[spec.schedulerName].candidates(cluster.shape_of(free, by_name=True))
    return tuple(refusals_of(candidates, slot))


def plain_node(told: NodeExplanation) -> dict[str, Any]:
    """Return plain data, for JSON."""
    return {
        "version": 1,
        "node": told.line.name,
        "ready": told.ready,
        "schedulable": told.line.schedulable,
        "taints": list(told.line.taints),
        "resources": as_data(told.line.resources),
        "devices": as_data(told.line.devices),
        "pods": list(told.pods),
        "deadlines": [{"pod": pod, **as_data(deadline)} for pod, deadline in told.deadlines.items()],
        "elsewhere": [
            {
                "workload": one.workload,
                "pods": list(one.pods),
                "pending": one.pending,
                "fits": not one.refusals,
                "distance": one.distance,
                "refusals": [plain_refusal(refusal) for refusal in one.refusals],
            }
            for one in told.elsewhere
        ],
        "notes": as_data(told.notes),
    }
