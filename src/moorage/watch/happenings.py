"""Tell from two states of a pod or node what happened to it: placed, moved, evicted and by what, failed, gone.

Kubernetes: the DisruptionTarget condition says who deleted a pod; which taint it was, the node's taints say.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from moorage.control.framework.workloads import is_finished, is_ready
from moorage.match.taint_eviction import gate_in_the_way
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import all_gates
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod, PodCondition
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.report.reasons import without_preemption
from moorage.run.pod_status import REJECTED
from moorage.telemetry.pod_loops import PodLoops, workload_name

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
    LOOP = "loop"
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
#: Of these, those that evict the pods that are made in their stead, too.
_BY_TAINTS = frozenset({"DeletionByTaintManager", "DeletionByDeviceTaintManager"})


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
    """Tells changes of pods as happenings; a pod that is placed is matched with one of its workload that left."""

    def __init__(self) -> None:
        self._departures: dict[str, deque[_Departure]] = {}
        self._refusals, self._evictions = PodLoops(), PodLoops()

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
            if new.status.message.startswith(REJECTED):
                yield from self._refused_again(new, nodes, now)
        elif _is_going(new) and (old is None or not _is_going(old)) and not is_finished(new):
            yield self._departs(new, nodes, now)
            yield from self._evicted_again(new, nodes, now)

    def _refused_again(self, pod: Pod, nodes: Mapping[str, Node], now: float) -> Iterator[Happening]:
        """Name a workload once whose pods are refused by kubelets, and made again."""
        loop = self._refusals.ended(pod.metadata, now)
        if loop is not None and loop.is_news:
            why = f"{pod.status.reason}: {pod.status.message.removeprefix(REJECTED)}"
            hint = _gate_hint(pod, nodes, "the kubelet")
            text = loop.predicate("refused by their kubelet", f"{why}{hint}")
            yield Happening(now, HappeningKind.LOOP, loop.workload, loop.workload, text)

    def _evicted_again(self, pod: Pod, nodes: Mapping[str, Node], now: float) -> Iterator[Happening]:
        """Name a workload once whose pods are evicted because of taints, and made again."""
        if not any(one.type == "DisruptionTarget" and one.reason in _BY_TAINTS for one in pod.status.conditions):
            return
        loop = self._evictions.ended(pod.metadata, now)
        if loop is not None and loop.is_news:
            hint = _gate_hint(pod, nodes, "the controller manager")
            text = loop.predicate("evicted", f"by {_cause(pod, nodes)[1]}{hint}")
            yield Happening(now, HappeningKind.LOOP, loop.workload, loop.workload, text)

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


def _gate_hint(pod: Pod, nodes: Mapping[str, Node], component: str) -> str:
    """Return which gate must be off, if the pod may be on its node with all gates on."""
    node = nodes.get(pod.spec.nodeName)
    gate = gate_in_the_way(pod.spec, node) if node is not None else None
    return f"; the feature gate {gate} is off in {component}" if gate else ""


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
