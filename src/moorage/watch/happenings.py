"""Tell from two states of a pod or node what happened to it: placed, moved, evicted and by what, failed, gone.

Kubernetes: the DisruptionTarget condition says who deleted a pod; which taint it was, the node's taints say.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from moorage.control.framework.workloads import is_finished, is_ready
from moorage.control.framework.world import controller_of
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import all_gates
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod, PodCondition
from moorage.model.well_known.labels import POD_TEMPLATE_HASH
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.report.reasons import without_preemption

#: Departures of a workload for which no replacement was seen yet.
_MAX_DEPARTURES = 100
_MAX_WORKLOADS = 10_000
_ALL_GATES = all_gates()
_ALL = frozenset({NO_EXECUTE})


class HappeningKind(StrEnum):
    """What happened, in one word."""

    PENDING = "pending"
    PLACED = "placed"
    MOVED = "moved"
    EVICTED = "evicted"
    PREEMPTED = "preempted"
    DELETED = "deleted"
    FAILED = "failed"
    COMPLETED = "completed"
    NODE = "node"
    CONTROL = "control"
    SERVER = "server"


class Happening(NamedTuple):
    """One line: when, what, to which object, and how. `workload` is that of a pod."""

    time: float
    kind: HappeningKind
    subject: str
    workload: str
    detail: str


class _Departure(NamedTuple):
    pod: str
    node: str


#: Reasons of DisruptionTarget, each with what it is called.
_CAUSES = {
    "DeletionByTaintManager": (HappeningKind.EVICTED, "a NoExecute taint"),
    "DeletionByDeviceTaintManager": (HappeningKind.EVICTED, "a taint of its device"),
    "EvictionByEvictionAPI": (HappeningKind.EVICTED, "the eviction API (a drain)"),
    "TerminationByKubelet": (HappeningKind.EVICTED, "the kubelet"),
    "DeletionByPodGC": (HappeningKind.DELETED, "pod garbage collection: its node is gone"),
    "PreemptionByScheduler": (HappeningKind.PREEMPTED, "a pod of higher priority"),
}


def workload_of(pod: Pod) -> str:
    """Return `Deployment default/web` for a pod of its ReplicaSet, whose name ends with the template's hash."""
    owner = controller_of(pod.metadata)
    if owner is None:
        return ""
    kind, name = owner.kind, owner.name
    suffix = f"-{pod.metadata.labels.get(POD_TEMPLATE_HASH, '')}"
    if kind == "ReplicaSet" and len(suffix) > 1 and name.endswith(suffix):
        kind, name = "Deployment", name.removesuffix(suffix)
    return f"{kind} {pod.metadata.namespace}/{name}"


def key_of(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def waiting_condition(pod: Pod) -> PodCondition | None:
    """Return why the scheduler has not placed a pod; None if it has, or has not tried yet."""
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition
    return None


class Chronicle:
    """Tells changes of pods as happenings; a pod that is placed is matched with one of its workload that left."""

    def __init__(self) -> None:
        self._departures: dict[str, deque[_Departure]] = {}

    def of_pod(self, old: Pod | None, new: Pod | None, nodes: Mapping[str, Node], now: float) -> Iterator[Happening]:
        if new is None:
            if old is not None and not _is_going(old) and not is_finished(old):
                yield self._departs(old, nodes, now)
            return
        if old is not None and old.metadata.uid != new.metadata.uid:
            if not _is_going(old) and not is_finished(old):
                yield self._departs(old, nodes, now)
            old = None
        if new.spec.nodeName and (old is None or not old.spec.nodeName):
            yield self._placed(new, now)
        condition = waiting_condition(new)
        if condition is not None and not new.spec.nodeName and (old is None or waiting_condition(old) is None):
            text = f"{condition.reason}: {without_preemption(condition.message)}"
            yield Happening(now, HappeningKind.PENDING, key_of(new), workload_of(new), text)
        if is_finished(new) and (old is None or not is_finished(old)):
            yield _ended(new, now)
        elif _is_going(new) and (old is None or not _is_going(old)) and not is_finished(new):
            yield self._departs(new, nodes, now)

    def _placed(self, pod: Pod, now: float) -> Happening:
        workload = workload_of(pod)
        waiting = self._departures.get(workload) if workload else None
        if not waiting:
            return Happening(now, HappeningKind.PLACED, key_of(pod), workload, f"on {pod.spec.nodeName}")
        left = waiting.popleft()
        again = "" if left.pod == key_of(pod) else f", instead of {left.pod.rpartition('/')[2]}"
        return Happening(
            now, HappeningKind.MOVED, key_of(pod), workload, f"from {left.node} to {pod.spec.nodeName}{again}"
        )

    def _departs(self, pod: Pod, nodes: Mapping[str, Node], now: float) -> Happening:
        kind, why = _cause(pod, nodes)
        node, workload = pod.spec.nodeName, workload_of(pod)
        if node and workload and (workload in self._departures or len(self._departures) < _MAX_WORKLOADS):
            self._departures.setdefault(workload, deque(maxlen=_MAX_DEPARTURES)).append(_Departure(key_of(pod), node))
        where = f"from {node}" if node else "before it had a node"
        return Happening(now, kind, key_of(pod), workload, f"{where}{f' by {why}' if why else ''}")


def _is_going(pod: Pod) -> bool:
    return pod.metadata.deletionTimestamp is not None


def _cause(pod: Pod, nodes: Mapping[str, Node]) -> tuple[HappeningKind, str]:
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget" and condition.status == "True":
            kind, why = _CAUSES.get(condition.reason, (HappeningKind.EVICTED, condition.message or condition.reason))
            if condition.reason == "DeletionByTaintManager":
                why = _taints(pod, nodes.get(pod.spec.nodeName)) or why
            return kind, why
    return HappeningKind.DELETED, ""


def _taints(pod: Pod, node: Node | None) -> str:
    """Return the taint that evicts a pod: those that nothing tolerates, or all if they are tolerated for a time."""
    if node is None:
        return ""
    evicting = [taint for taint in node.spec.taints if taint.effect == NO_EXECUTE]
    tolerations = compile_tolerations(pod.spec.tolerations, _ALL_GATES)
    blamed = tolerations.untolerated(evicting, _ALL) or evicting
    return "taint " + ", ".join(describe_taint_with_effect(taint) for taint in blamed) if blamed else ""


def _ended(pod: Pod, now: float) -> Happening:
    kind = HappeningKind.FAILED if pod.status.phase == "Failed" else HappeningKind.COMPLETED
    where = f"on {pod.spec.nodeName}" if pod.spec.nodeName else ""
    why = ": ".join(part for part in (pod.status.reason, pod.status.message) if part)
    return Happening(now, kind, key_of(pod), workload_of(pod), ": ".join(part for part in (where, why) if part))


def of_node(old: Node | None, new: Node | None, now: float) -> Iterator[Happening]:
    if new is None:
        if old is not None:
            yield Happening(now, HappeningKind.NODE, old.metadata.name, "", "is gone")
        return
    changes: list[str] = []
    if old is None:
        changes.append("joined")
    else:
        if old.spec.unschedulable != new.spec.unschedulable:
            changes.append("is cordoned" if new.spec.unschedulable else "is schedulable again")
        before, after = _shown_taints(old), _shown_taints(new)
        changes += [f"has a new taint {taint}" for taint in after if taint not in before]
        changes += [f"lost the taint {taint}" for taint in before if taint not in after]
        if is_ready(old) != is_ready(new):
            changes.append("is ready" if is_ready(new) else "is not ready")
    for text in changes:
        yield Happening(now, HappeningKind.NODE, new.metadata.name, "", text)


def _shown_taints(node: Node) -> list[str]:
    return [describe_taint_with_effect(taint) for taint in node.spec.taints]
