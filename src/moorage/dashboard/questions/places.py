"""Say which pods are in the place that a Pending pod waits for: those of other workloads, and its own old ones."""

from collections.abc import Iterator
from typing import Any

from moorage.columns.cluster import PodRecord
from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import POD_TEMPLATE_HASH, REVISION_HASH
from moorage.plan.departures import OwnerNames
from moorage.plan.explain.target import TargetError, find_target
from moorage.plan.report.plain import as_data
from moorage.plan.rollout import kind_of_workload, update_limits
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.taken_places import Owner, places_taken, why_old_pods_stay

MAX_NODES = 50
MAX_PODS = 12
_ROLLED = ("Deployment", "StatefulSet", "DaemonSet")


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part about the pod `pod`. `text` is a sentence, empty if no pod is in its place."""
    name = arguments.get("pod")
    if not isinstance(name, str) or not name:
        raise BadQuestion('places takes {"pod": "NAMESPACE/NAME"}')
    simulation = base.simulation
    try:
        target = find_target(simulation, base.planner.inventory, name, alone=True)
    except TargetError as error:
        raise BadQuestion(str(error)) from None
    pod, key = target.pod.pod, target.pod.key
    if target.pod.node:
        yield {"nodes": [], "lookedAt": 0, "by": [], "text": "", "done": True}
        return
    names, keys = OwnerNames(simulation), dict[tuple[str, bool], list[str]]()
    waiting = simulation.world.get(KINDS.POD, key)
    workload = names.of(waiting) if waiting is not None else ""

    def owner(record: PodRecord) -> Owner:
        item = simulation.world.get(KINDS.POD, record.key)
        whose = (names.of(item) if item is not None else "") or f"Pod {record.key}"
        is_own = whose == workload
        is_old = is_own and _revision(record.pod) != _revision(pod)
        keys.setdefault((whose, is_old), []).append(record.key)
        return Owner(whose, is_own=is_own, is_old=is_old)

    taken = places_taken(simulation, key, pod, (), owner)
    yield {
        "nodes": taken.nodes[:MAX_NODES],
        "lookedAt": taken.looked_at,
        "by": [
            {**as_data(one), "nodes": one.nodes[:MAX_NODES], "keys": sorted(keys[one.workload, one.is_old])[:MAX_PODS]}
            for one in taken.by
        ],
        "text": taken.text(_why_old_pods_stay(simulation, workload)),
        "done": True,
    }


def _why_old_pods_stay(simulation: Simulation, workload: str) -> str:
    kind, _, key = workload.partition(" ")
    item = simulation.world.get(kind_of_workload(kind), key) if kind in _ROLLED else None
    return why_old_pods_stay(kind, update_limits(kind, item.view)[1] if item is not None else 0)


def _revision(pod: Pod) -> str:
    return pod.metadata.labels.get(POD_TEMPLATE_HASH) or pod.metadata.labels.get(REVISION_HASH, "")
