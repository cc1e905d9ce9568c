"""List the disruption budgets that allow no disruption now, each with a pod and node whose drain would wait for it.

Kubernetes: EvictionREST refuses a ready pod while `disruptionsAllowed` of its budget is 0, and kubectl drain waits.
"""

from collections.abc import Iterator
from typing import Any

from moorage.admit.subresources.pods import covers
from moorage.client.protocol import Object
from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget
from moorage.plan.simulation.drain import stays
from moorage.plan.simulation.simulation import Simulation

#: How many budgets are named, and how many are looked at: each is compared with the pods of its namespace.
MAX_BUDGETS, _MAX_TRIED = 20, 200


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: the budgets by name, and how many more allow no disruption."""
    if arguments:
        raise BadQuestion(f"budgets takes no arguments, got {', '.join(sorted(map(str, arguments)))}")
    simulation = base.simulation
    exhausted = sorted(filter(_is_exhausted, simulation.world.all(KINDS.POD_DISRUPTION_BUDGET)), key=_key)
    blocking = []
    for budget in exhausted[:_MAX_TRIED]:
        pod = _covered(simulation, budget.view)
        if pod is not None:
            blocking.append({"budget": budget.key, "pod": pod.key, "node": pod.view.spec.nodeName})
        if len(blocking) == MAX_BUDGETS:
            break
    yield {"budgets": blocking, "exhausted": len(exhausted), "done": True}


def _key(budget: Object) -> str:
    return budget.key


def _is_exhausted(budget: Object) -> bool:
    status = budget.view.status
    return bool(status.disruptionsAllowed <= 0 and status.expectedPods > 0)


def _covered(simulation: Simulation, budget: PodDisruptionBudget) -> Object | None:
    """Return the first pod that a drain would have to evict and the budget keeps; None if the budget keeps no pod."""
    pods = simulation.world.in_namespace(KINDS.POD, budget.metadata.namespace)
    return next((pod for pod in pods if _is_held(pod.view) and covers(budget, pod.view)), None)


def _is_held(pod: Pod) -> bool:
    if not pod.spec.nodeName or pod.metadata.deletionTimestamp is not None or stays(pod):
        return False
    return any(condition.type == "Ready" and condition.status == "True" for condition in pod.status.conditions)
