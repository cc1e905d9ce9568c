"""Play every step of an axis, each in a fork of one settled cluster: pods placed, Pending and evicted, and the cost.

A point is what `moorage plan` says of the same change. The cost is that of the nodes on which pods run that no
DaemonSet makes, by the prices of their pools.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from moorage.capacity.curving.steps import TAINT, Axis, CurveStep
from moorage.capacity.fitting.answer import FitOptions, answer
from moorage.capacity.fitting.fit import check_prices
from moorage.capacity.forks import can_fork, fresh_inventory, play_each
from moorage.model.kinds import KINDS
from moorage.model.types.node import Node
from moorage.model.types.pod import FINISHED_PHASES
from moorage.plan.departures import Cause, Departure
from moorage.plan.input.inventory import Inventory
from moorage.plan.node_changes import ChangeError
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner
from moorage.plan.pod_lines import ON_NODE
from moorage.plan.simulation.drain import stays
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes
from moorage.pools.prices import Prices
from moorage.pools.reading import Pools

#: A pod that leaves for one of these reasons was evicted; the others belong to a rollout.
_EVICTED = (Cause.TAINT, Cause.DEVICE_TAINT, Cause.EVICTION, Cause.PREEMPTED, Cause.DRAIN)


class Point(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What a value does. `pending` are the workloads with pods that wait, and how many of each.

    `nodes` are in use; `cost` is theirs for an hour, without the `unpriced` of them; None without prices. `mix` is what
    the cheapest nodes cost on which all pods run; None if there are no such nodes, or if that was not asked for.
    """

    value: str
    range: str
    is_now: bool = False
    placed: int
    waiting: int
    evicted: int
    pending: dict[str, int]
    nodes: int
    cost: float | None = None
    unpriced: int = 0
    mix: float | None = None
    refused: str = ""


class Curve(msgspec.Struct, frozen=True, rename="camel"):
    """The points of an axis, and the cluster as it is. `left_out` steps were not played, because there are too many."""

    kind: str
    key: str
    what: str
    unit: str
    before: Point
    points: list[Point]
    left_out: int = 0
    is_fitted: bool = False


def play_curve(
    planner: Planner,
    simulation: Simulation,
    before: Outcome,
    axis: Axis,
    prices: Prices | None = None,
    tick: Callable[[], None] = lambda: None,
    workers: int | None = None,
    mixed: Pools | None = None,
) -> Curve:
    """Return the curve of an axis on a planned simulation, which stays as it is.

    With `mixed`, each point of manifests has what the cheapest mix of nodes of these pools costs. Raises Unpriced.
    """
    if mixed is not None:
        check_prices(mixed.pools)

    def play(step: CurveStep) -> object:
        return msgspec.to_builtins(point_of(planner, simulation, before, axis, step, prices, mixed))

    steps = (as_it_is(axis), *axis.steps)
    if can_fork():
        now, *points = msgspec.convert(play_each(simulation, steps, play, tick, workers), list[Point])
    else:
        now, *points = [_played_again(planner, axis, step, prices, tick, mixed) for step in steps]
    return Curve(axis.kind, axis.key, axis.what, axis.unit, now, points, axis.left_out, mixed is not None)


def as_it_is(axis: Axis) -> CurveStep:
    """Return the step that changes nothing."""
    return CurveStep("", f"as it is{axis.now and f' ({axis.now})'}", is_now=True)


def point_of(
    planner: Planner,
    simulation: Simulation,
    before: Outcome,
    axis: Axis,
    step: CurveStep,
    prices: Prices | None = None,
    mixed: Pools | None = None,
) -> Point:
    """Play one step on a planned simulation, which is another one afterwards, or plan the input with its manifests."""
    if axis.kind != TAINT:
        return planned_point(planner, step, prices, mixed)
    if not step.taints:
        return _point(step, simulation, before, 0, prices)
    try:
        after, difference, _ = planner.what_if(simulation, before, Changes(taints=step.taints), [])
    except ChangeError as error:
        return msgspec.structs.replace(_point(step, simulation, before, 0, prices), refused=str(error))
    return _point(step, simulation, after, _evicted(difference.evicted), prices)


def planned_point(planner: Planner, step: CurveStep, prices: Prices | None = None, mixed: Pools | None = None) -> Point:
    """Plan the input with the manifests of a step in the place of its own."""
    again = _fresh(planner)
    rejected = again.inventory.rejected
    again.load(step.sources, announces_updates=False)
    simulation = again.build()
    outcome = again.with_evictions(simulation, again.plan(simulation))
    point = _point(step, simulation, outcome, _evicted(outcome.evicted), prices)
    if again.inventory.rejected > rejected:
        return msgspec.structs.replace(point, refused=_refusal(again.inventory))
    return point if mixed is None else _with_mix(point, planner, step, mixed)


def _with_mix(point: Point, planner: Planner, step: CurveStep, pools: Pools) -> Point:
    """Return a point with the cost of the cheapest mix for the manifests of its step, from nothing."""
    again = _fresh(planner)
    again.load(step.sources, announces_updates=False)
    report, _ = answer(again, pools, FitOptions(seed=planner.settings.seed))
    return msgspec.structs.replace(point, mix=round(report.cost, 6) if report.is_found else None)


def _evicted(departures: Iterable[Departure]) -> int:
    return sum(one.cause in _EVICTED for one in departures)


def _refusal(inventory: Inventory) -> str:
    return next((note.message for note in reversed(inventory.notes) if note.object), "the API server refuses it")


def _point(step: CurveStep, simulation: Simulation, outcome: Outcome, evicted: int, prices: Prices | None) -> Point:
    pending = Counter(line.workload or f"Pod {line.key}" for line in outcome.pending)
    for failed in outcome.failed:
        pending[failed.workload] += failed.refused
    nodes = used_nodes(simulation)
    cost, unpriced = prices.sum_of(nodes) if prices is not None else (None, [])
    return Point(
        value=step.value,
        range=step.range,
        is_now=step.is_now,
        placed=sum(line.state in ON_NODE for line in outcome.pods),
        waiting=sum(pending.values()),
        evicted=evicted,
        pending={name: number for name, number in sorted(pending.items()) if number},
        nodes=len(nodes),
        cost=None if cost is None else round(cost, 6),
        unpriced=len(unpriced),
    )


def used_nodes(simulation: Simulation) -> Sequence[Node]:
    """Return the nodes on which a pod runs that no DaemonSet and no file of the node made."""
    used: list[Node] = []
    for node in simulation.world.all(KINDS.NODE):
        for pod in simulation.world.pods_on(node.name):
            if not stays(pod.view) and pod.view.status.phase not in FINISHED_PHASES:
                used.append(node.view)
                break
    return used


def _fresh(planner: Planner) -> Planner:
    """Return a planner of the same input, which can be planned without a trace in the other one."""
    fresh = Planner(planner.settings)
    fresh.inventory = fresh_inventory(planner.inventory)
    return fresh


def _played_again(
    planner: Planner,
    axis: Axis,
    step: CurveStep,
    prices: Prices | None,
    tick: Callable[[], None],
    mixed: Pools | None,
) -> Point:
    """Plan the input once more and play a step on it."""
    fresh = _fresh(planner)
    simulation = fresh.build()
    point = point_of(fresh, simulation, fresh.plan(simulation), axis, step, prices, mixed)
    tick()
    return point
