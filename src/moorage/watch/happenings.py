"""Tell from two states of a pod or node what happened to it: placed, moved, evicted and by what, failed, gone.

Kubernetes: the DisruptionTarget condition says who deleted a pod; which taint it was, the node's taints say. A workload
whose pods are evicted for the same reason as those that they replaced is in a loop, which is told once.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.workloads import is_finished, is_ready
from moorage.match.taint_eviction import gate_in_the_way
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod, PodCondition
from moorage.plan.departures import EvictionLoop
from moorage.plan.report.reasons import without_preemption
from moorage.run.pod_status import REJECTED
from moorage.telemetry.pod_loops import PodLoops, workload_name
from moorage.watch.eviction_causes import eviction_cause
from moorage.watch.replacements import Places, where_placed

_MAX_WORKLOADS = 10_000


class HappeningKind(StrEnum):
    """What happened, in one word."""

    PENDING = "pending"
    PLACED = "placed"
    MOVED = "moved"
    LEAVING = "leaving"
    EVICTED = "evicted"
    LOOP = "loop"
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


_BY_TAINT, _BY_DEVICE_TAINT = "DeletionByTaintManager", "DeletionByDeviceTaintManager"
#: Reasons of DisruptionTarget, each with what it is called.
_CAUSES = {
    _BY_TAINT: (HappeningKind.EVICTED, "a NoExecute taint"),
    _BY_DEVICE_TAINT: (HappeningKind.EVICTED, "a taint of its device"),
    "EvictionByEvictionAPI": (HappeningKind.EVICTED, "the eviction API (a drain)"),
    "TerminationByKubelet": (HappeningKind.EVICTED, "the kubelet"),
    "DeletionByPodGC": (HappeningKind.DELETED, "pod garbage collection: its node is gone"),
    "PreemptionByScheduler": (HappeningKind.PREEMPTED, "a pod of higher priority"),
}


def workload_of(pod: Pod) -> str:
    """Return the workload that a pod belongs to, such as `Deployment default/web`; empty if it has no controller."""
    return workload_name(pod.metadata)


def key_of(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def waiting_condition(pod: Pod) -> PodCondition | None:
    """Return why the scheduler has not placed a pod; None if it has, or has not tried yet."""
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return condition
    return None


class Chronicle:
    """Tells changes of pods as happenings; a pod that is placed moved if it certainly replaces one that left."""

    def __init__(self) -> None:
        self._refusals = PodLoops()
        self._places = Places()
        self.loops: dict[str, tuple[EvictionLoop, float]] = {}  # by workload, and when a pod was evicted last

    def replica_set_changed(self, old: Object | None, new: Object | None, now: float) -> None:
        """Learn how large a ReplicaSet is: that decides whether a deleted pod is replaced. Nothing is told."""
        self._places.replica_set_changed(old, new, now)

    def of_pod(self, old: Pod | None, new: Pod | None, nodes: Mapping[str, Node], now: float) -> Iterator[Happening]:
        if old is not None and (new is None or old.metadata.uid != new.metadata.uid):
            if not _is_going(old) and not is_finished(old):
                yield from self._departs(old, nodes, now)
            self._places.end(old, now)
            old = None
        if new is None:
            return
        if old is None:
            self._places.arrive(new, now, is_new=True)
        if new.spec.nodeName and (old is None or not old.spec.nodeName):
            if old is not None:
                self._places.arrive(new, now, is_new=False)
            yield self._placed(new, now)
        condition = waiting_condition(new)
        if condition is not None and not new.spec.nodeName and (old is None or waiting_condition(old) is None):
            text = f"{condition.reason}: {without_preemption(condition.message)}"
            yield Happening(now, HappeningKind.PENDING, key_of(new), workload_of(new), text)
        if is_finished(new) and (old is None or not is_finished(old)):
            yield _ended(new, now)
            self._places.forget(new)
            if _disruption(new) is not None and (old is None or not _is_going(old)):
                self._places.leave(new, now, "", is_disrupted=True)
            if new.status.message.startswith(REJECTED):
                yield from self._refused_again(new, nodes, now)
        elif _is_going(new) and (old is None or not _is_going(old)) and not is_finished(new):
            yield from self._departs(new, nodes, now)

    def _refused_again(self, pod: Pod, nodes: Mapping[str, Node], now: float) -> Iterator[Happening]:
        """Name a workload once whose pods are refused by kubelets, and made again."""
        loop = self._refusals.ended(pod.metadata, now)
        if loop is not None and loop.is_news:
            why = f"{pod.status.reason}: {pod.status.message.removeprefix(REJECTED)}"
            hint = _gate_hint(pod, nodes, "the kubelet")
            text = loop.predicate("refused by their kubelet", f"{why}{hint}")
            yield Happening(now, HappeningKind.LOOP, loop.workload, loop.workload, text)

    def _placed(self, pod: Pod, now: float) -> Happening:
        has_moved, where = where_placed(pod, self._places.replaced_by(pod))
        kind = HappeningKind.MOVED if has_moved else HappeningKind.PLACED
        return Happening(now, kind, key_of(pod), workload_of(pod), where)

    def _departs(self, pod: Pod, nodes: Mapping[str, Node], now: float) -> Iterator[Happening]:
        kind, why, because = _cause(pod, nodes, now)
        node, workload = pod.spec.nodeName, workload_of(pod)
        where = f"from {node}" if node else "before it had a node"
        yield Happening(now, kind, key_of(pod), workload, f"{where}{f' by {why}' if why else ''}")
        before = self._places.forget(pod)
        self._places.leave(pod, now, because, is_disrupted=_disruption(pod) is not None)
        last = next((left for left in before.candidates if left.because and left.because == because), None)
        if last is not None:
            yield from self._repeats(workload, round(now - last.time), because, now)

    def _repeats(self, workload: str, seconds: int, because: str, now: float) -> Iterator[Happening]:
        """Tell once that pods of a workload are evicted again and again."""
        known = self.loops.get(workload)
        if known is None and len(self.loops) >= _MAX_WORKLOADS:
            return
        loop = EvictionLoop(workload, seconds, because, known[0].evictions + 1 if known is not None else 2)
        self.loops[workload] = loop, now
        if known is None:
            yield Happening(now, HappeningKind.LOOP, workload, workload, f"{loop.text}: {because}")


def _gate_hint(pod: Pod, nodes: Mapping[str, Node], component: str) -> str:
    """Return which gate must be off, if the pod may be on its node with all gates on."""
    node = nodes.get(pod.spec.nodeName)
    gate = gate_in_the_way(pod.spec, node) if node is not None else None
    return f"; the feature gate {gate} is off in {component}" if gate else ""


def _is_going(pod: Pod) -> bool:
    return pod.metadata.deletionTimestamp is not None


def _cause(pod: Pod, nodes: Mapping[str, Node], now: float) -> tuple[HappeningKind, str, str]:
    """Return what happened to a pod that leaves, by what, and if a taint evicts it, why."""
    condition = _disruption(pod)
    if condition is None:
        return HappeningKind.DELETED, "", ""
    kind, why = _CAUSES.get(condition.reason, (HappeningKind.EVICTED, condition.message or condition.reason))
    if condition.reason == _BY_TAINT:
        taints, because = eviction_cause(pod, nodes.get(pod.spec.nodeName), now)
        why = f"taint {taints}" if taints else why
        if because:
            return kind, f"{why}: {because}", because
        return kind, why, why + _gate_hint(pod, nodes, "the controller manager")
    return kind, why, why if condition.reason == _BY_DEVICE_TAINT else ""


def _disruption(pod: Pod) -> PodCondition | None:
    """Return who disrupted a pod; None if it was not disrupted."""
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget" and condition.status == "True":
            return condition
    return None


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
