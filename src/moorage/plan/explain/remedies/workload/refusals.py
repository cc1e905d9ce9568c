"""Suggest what lets the API server take the pods of a workload that it refuses: a larger quota, less of it, a class.

How large a quota has to be is found by trial: without the limit the workload makes all of its pods, and what is used
then is the smallest number that will do.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from moorage.columns.resources import CPU, MEMORY, amount, pod_requests
from moorage.model.kinds import KINDS
from moorage.model.quantity import Quantity, parse_quantity
from moorage.model.types.pod import Pod
from moorage.plan.explain.remedies.change import Change, ChangeKind, ObjectPatch, as_yaml, with_spec
from moorage.plan.explain.remedies.classes import runtime_class_changes
from moorage.plan.explain.remedies.remedy import patch_command
from moorage.plan.explain.remedies.resources import lowered
from moorage.plan.explain.remedies.trials import Accept, Suggestion
from moorage.plan.explain.remedies.workload.choosing import with_effect
from moorage.plan.explain.remedies.workload.pod_watch import is_of
from moorage.plan.explain.remedies.workload.trials import WorkloadTrials
from moorage.plan.outcome import wanted_pods
from moorage.plan.rollout import kind_of_workload
from moorage.plan.simulation.simulation import Simulation

_NO_LIMIT = "1E"
_MAX_CLASSES = 3
#: The names that a quota has for what pods request.
_REQUESTS = ((CPU, ("cpu", "requests.cpu")), (MEMORY, ("memory", "requests.memory")))


def refused_owners(simulation: Simulation) -> Iterator[tuple[str, str, str]]:
    """Yield the workloads of which pods are refused: kind, namespace and name."""
    for kind, key, _ in simulation.controllers.refused_creates():
        found = simulation.world.get(kind, key)
        if found is not None:
            yield simulation.workload_of(found)


def refusal_suggestions(trials: WorkloadTrials, pod: Pod, accepts: Accept) -> Iterator[Suggestion]:
    """Yield the changes after which fewer pods of the workload are refused, each tried on it."""
    changes = [*_other_classes(trials, pod), *_smaller_requests(trials, pod), *_larger_quotas(trials)]
    for change in changes:
        accepted = accepts(change) if change.pod is not None and change.kind is not ChangeKind.RESOURCES else change
        effect = trials.try_changes(accepted) if accepted is not None else None
        if accepted is not None and effect is not None and trials.is_better(effect):
            yield with_effect(Suggestion(accepted, effect.nodes, deletes_pending=effect.deleted), effect, trials)


# -- quotas -----------------------------------------------------------------------------------------------------------


def _larger_quotas(trials: WorkloadTrials) -> Iterator[Change]:
    """Yield the smallest quotas under which the workload makes all of its pods."""
    namespace = trials.key.namespace
    quotas = trials.simulation.world.in_namespace(KINDS.RESOURCE_QUOTA, namespace)
    hard = {quota.name: dict(quota.view.spec.hard) for quota in quotas}
    if not hard:
        return
    without_limit = Change(
        ChangeKind.QUOTA,
        "quota",
        "no limit",
        6,
        patches=tuple(_patch(namespace, name, dict.fromkeys(amounts, _NO_LIMIT)) for name, amounts in hard.items()),
    )
    effect = trials.try_changes(without_limit)
    if effect is None or not trials.is_better(effect):
        return
    needed = {
        name: {
            resource: used
            for resource, used in effect.used.get(name, {}).items()
            if resource in amounts and amounts[resource] < parse_quantity(used)
        }
        for name, amounts in hard.items()
    }
    patches = tuple(_patch(namespace, name, amounts) for name, amounts in needed.items() if amounts)
    if not patches:
        return
    said = (
        f"ResourceQuota {name}: {', '.join(_moved(resource, hard[name][resource], used) for resource, used in more)}"
        for name, amounts in needed.items()
        if (more := sorted(amounts.items()))
    )
    commands = (patch_command(one.kind, namespace, one.name, one.patch, "merge") for one in patches)
    yield Change(
        ChangeKind.QUOTA,
        "quota",
        "; ".join(said),
        6,
        patches=patches,
        yaml="\n---\n".join(as_yaml(one.patch) for one in patches),
        command=" && ".join(commands),
    )


def _patch(namespace: str, name: str, hard: dict[str, str]) -> ObjectPatch:
    return ObjectPatch(KINDS.RESOURCE_QUOTA, namespace, name, {"spec": {"hard": hard}})


def _moved(resource: str, hard: Quantity, used: str) -> str:
    return f"{resource} {hard} → {used}"


def _smaller_requests(trials: WorkloadTrials, pod: Pod) -> Iterator[Change]:
    """Yield the requests with which as many pods as are wanted fit into the quotas."""
    simulation, key = trials.simulation, trials.key
    owner = simulation.world.get(kind_of_workload(key.kind), f"{key.namespace}/{key.name}")
    wanted = wanted_pods(owner) if owner is not None else 0
    asked = pod_requests(pod.spec)
    there = sum(is_of(simulation, one, key) for one in simulation.world.in_namespace(KINDS.POD, key.namespace))
    for resource, names in _REQUESTS:
        levels = []
        for quota in simulation.world.in_namespace(KINDS.RESOURCE_QUOTA, key.namespace):
            for name in names:
                hard, used = quota.view.spec.hard.get(name), quota.view.status.used.get(name)
                if hard is not None and used is not None:
                    others = amount(resource, used) - there * asked.get(resource, 0)
                    levels.append((amount(resource, hard) - others) // max(wanted, 1))
        level = min(levels, default=0)
        change = lowered(pod, resource, asked[resource], level) if 0 < level < asked.get(resource, 0) else None
        if change is not None:
            yield change


# -- classes ----------------------------------------------------------------------------------------------------------


def _other_classes(trials: WorkloadTrials, pod: Pod) -> Iterator[Change]:
    """Yield classes of the cluster in place of one that it does not have, those with a similar name first."""
    world, name = trials.simulation.world, pod.spec.priorityClassName
    if name and world.get(KINDS.PRIORITY_CLASS, name) is None:
        for other in _similar(name, [one.name for one in world.all(KINDS.PRIORITY_CLASS)]):
            yield Change(
                ChangeKind.PRIORITY,
                f"priorityClassName {other}",
                f"priorityClassName {name} → {other}: there is no PriorityClass {name}",
                3,
                pod=with_spec(pod, priorityClassName=other, priority=None, preemptionPolicy=None),
                yaml=f"priorityClassName: {other}",
            )
    runtime_class = pod.spec.runtimeClassName
    if runtime_class is not None and world.get(KINDS.RUNTIME_CLASS, runtime_class) is None:
        yield from runtime_class_changes(pod, world)


def _similar(name: str, known: list[str]) -> list[str]:
    close: list[Any] = get_close_matches(name, known, n=_MAX_CLASSES, cutoff=0.4)
    return list(dict.fromkeys((*close, *known)))[:_MAX_CLASSES]
