"""Forecast which pods have to leave their nodes if taints are changed, before the simulation plays the change.

The decision is that of the taint eviction controller, made once for each distinct list of taints and tolerations, so
that what a change of taints means for twenty thousand pods is known at once. The simulation shows what follows from it:
where the pods go, who makes room, who waits. The two agree: every pod of the forecast leaves by its time, because of
the taint unless its controller, a drain or a pod of higher priority takes it away first; and no other pod that had a
node leaves because of a taint. Taints in manifests among the changes are not part of the forecast.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from moorage.client.protocol import Object
from moorage.control.framework.taint_evictions import Taints
from moorage.match.taint_eviction import Eviction, When, no_execute
from moorage.model.kinds import KINDS
from moorage.model.types.pod import Pod
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.node_changes import TaintChange, UntaintChange, find_nodes, with_taint
from moorage.plan.simulation.evictions import Tolerations
from moorage.plan.simulation.simulation import HORIZON, Simulation


class PlannedEviction(NamedTuple):
    """A pod that has to leave, in how many seconds, and because of which taint."""

    pod: Object
    seconds: int
    because: str


class EvictionForecast(msgspec.Struct, frozen=True):
    """The pods that have to leave, and how many others on the nodes concerned may stay."""

    evictions: list[PlannedEviction]
    tolerated: int


def forecast_evictions(
    simulation: Simulation,
    taints: Iterable[TaintChange] = (),
    untaints: Iterable[UntaintChange] = (),
    until: float | None = None,
) -> EvictionForecast:
    """Return who has to leave once these changes are made, in their order. Raises ChangeError.

    `until`: within this many seconds. Pods whose time runs already are included.
    """
    world, now, evictions = simulation.world, simulation.clock.now, simulation.evictions
    limit = HORIZON if until is None else until
    changed = _changed_taints(simulation, taints, untaints)
    planned: list[PlannedEviction] = []
    tolerated = 0
    for new, names in _by_taints(changed).items():
        known: dict[int, tuple[Tolerations, Eviction | None]] = {}  # pods of one template share their tolerations
        for pod in (pod for name in names for pod in world.pods_on(name)):
            view: Pod = pod.view
            if view.metadata.deletionTimestamp is not None:
                continue
            tolerations = view.spec.tolerations
            if (decision := known.get(id(tolerations))) is None:
                decision = known[id(tolerations)] = tolerations, evictions.decide(new, tolerations)
            eviction = decision[1]
            if eviction is None or eviction.when is When.NEVER:
                tolerated += 1
            elif eviction.when is When.NOW:
                planned.append(PlannedEviction(pod, 0, eviction.because))
            elif (clock := evictions.deadline_by(eviction, pod, new)).due - now > limit:
                tolerated += 1
            else:
                planned.append(PlannedEviction(pod, clock.seconds, clock.because))
    for timer in evictions.node_timers():
        if timer.pod.view.spec.nodeName not in changed and timer.due - now <= limit:
            planned.append(PlannedEviction(timer.pod, max(0, round(timer.due - now)), timer.because))
    return EvictionForecast(planned, tolerated)


def _changed_taints(
    simulation: Simulation, taints: Iterable[TaintChange], untaints: Iterable[UntaintChange]
) -> dict[str, Taints]:
    """Return the NoExecute taints of every node of which these change."""
    after: dict[str, Taints] = {}
    changes: list[TaintChange | UntaintChange] = [*taints, *untaints]
    for change in changes:
        for node in find_nodes(simulation, change.node):
            before = after.get(node.name, node.view.spec.taints)
            if isinstance(change, TaintChange):
                after[node.name] = tuple(with_taint(before, change))
            else:
                after[node.name] = tuple(
                    one for one in before if one.key != change.key or change.effect not in ("", one.effect)
                )
    world = simulation.world
    new = {
        name: tuple(taint for taint in all_taints if taint.effect == NO_EXECUTE) for name, all_taints in after.items()
    }
    return {name: one for name, one in new.items() if one != no_execute(world.view(KINDS.NODE, name))}


def _by_taints(nodes: dict[str, Taints]) -> dict[Taints, list[str]]:
    groups: dict[Taints, list[str]] = {}
    for name, taints in nodes.items():
        groups.setdefault(taints, []).append(name)
    return groups
