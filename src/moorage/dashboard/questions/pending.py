"""Report the plan as `moorage plan --output json` does, and the pods that stay Pending in groups.

Groups are by what pods ask for and by the reason, the largest first; each has the sentence of `moorage explain`. Pods
of one shape are interchangeable to the scheduler, so that one of them stands for all. The reasons are those of `moorage
plan`. Kubernetes has nothing like it: kubectl get pods lists them one by one.
"""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.model.kinds import KINDS
from moorage.plan.evictions.follow_ups import add_follow_ups
from moorage.plan.explain.sentence.waiting import kept_out_sentence, why_waiting
from moorage.plan.outcome import Outcome
from moorage.plan.pod_lines import PodLine, State
from moorage.plan.report.grouping import by_reason
from moorage.plan.report.plain import plain
from moorage.plan.report.reasons import shortened, without_preemption
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.diagnosis import event_note

MAX_GROUPS = 500
MAX_PODS = 50
_MAX_WORKLOADS = 20
#: Nodes that are asked for sentences: about a second. Groups beyond have the scheduler's message only.
_MAX_ASKED = 100_000
_DAEMON_SETS = "DaemonSet "


def plan(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: the whole plan."""
    outcome = base.planner.with_evictions(base.simulation, base.plan)
    add_follow_ups(base.simulation, outcome)
    yield {**plain(outcome), "done": True}


def pending(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: the groups, and how many pods there are of each state."""
    if arguments:
        raise BadQuestion(f"pending takes no arguments, got {', '.join(sorted(map(str, arguments)))}")
    outcome = base.plan
    groups = _grouped(base.simulation, outcome)
    with_sentence = max(_MAX_ASKED // max(len(outcome.nodes), 1), 1)
    yield {
        "groups": [
            {
                **_group(base.simulation, pods),
                "sentence": _sentence(base.simulation, pods) if number < with_sentence else "",
            }
            for number, pods in enumerate(groups[:MAX_GROUPS])
        ],
        "leftOut": max(len(groups) - MAX_GROUPS, 0),
        "pending": len(outcome.pending),
        "unmade": sum(base.simulation.world.view(KINDS.POD, pod.key) is None for pod in outcome.pending),
        "placed": len(outcome.of_state(State.PLACED)),
        "bound": len(outcome.of_state(State.BOUND)),
        "nodes": len(outcome.nodes),
        "done": True,
    }


def _grouped(simulation: Simulation, outcome: Outcome) -> list[list[PodLine]]:
    groups: list[list[PodLine]] = []
    for group in by_reason(outcome.pending):
        shapes: dict[object, list[PodLine]] = {}
        for pod in group.pods:
            shapes.setdefault(_shape(simulation, pod), []).append(pod)
        groups += shapes.values()
    return sorted(groups, key=lambda pods: (-len(pods), pods[0].key))


def _shape(simulation: Simulation, pod: PodLine) -> object:
    """Return what the scheduler reads of a pod; of one that is not made yet, or of a DaemonSet, its workload.

    Pods of a DaemonSet ask for the same, each on a node of its own: there may be thousands.
    """
    if pod.workload.startswith(_DAEMON_SETS):
        return pod.workload
    view = simulation.world.view(KINDS.POD, pod.key)
    return simulation.cluster.shape_of(view) if view is not None else pod.workload


def _group(simulation: Simulation, pods: list[PodLine]) -> dict[str, Any]:
    first = pods[0]
    workloads = list(dict.fromkeys(pod.workload for pod in pods if pod.workload))
    return {
        "reason": first.reason,
        "short": without_preemption(first.message),
        "message": shortened(first.message),
        "full": event_note(first.message),
        "count": len(pods),
        "unmade": simulation.world.view(KINDS.POD, first.key) is None,
        "workloads": workloads[:_MAX_WORKLOADS],
        "moreWorkloads": max(len(workloads) - _MAX_WORKLOADS, 0),
        "pods": [pod.key for pod in pods[:MAX_PODS]],
        "morePods": max(len(pods) - MAX_PODS, 0),
        "priority": first.priority,
        "example": first.key,
    }


def _sentence(simulation: Simulation, pods: list[PodLine]) -> str:
    """Return why the first pod of a group waits: the others wait alike."""
    first = pods[0]
    view = simulation.world.view(KINDS.POD, first.key)
    if view is None:
        return kept_out_sentence(first.reason, first.message)
    engines = simulation.scheduler.engines
    engine = engines.get(view.spec.schedulerName) or next(iter(engines.values()))
    candidates = engine.candidates(simulation.cluster.shape_of(view, by_name=True))
    text = why_waiting(candidates, simulation.gates, view, first.reason, first.message).text
    is_daemon = first.workload.startswith(_DAEMON_SETS) and len(pods) > 1
    return f"{text}; {len(pods) - 1:,} more like it" if is_daemon else text
