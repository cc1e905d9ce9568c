"""Answer one question of `moorage capacity fit` from beginning to end, for the command and the library."""

from collections.abc import Sequence

import msgspec

from moorage.capacity.fitting.fit import Fitted, fit
from moorage.capacity.fitting.headroom import add_headroom
from moorage.capacity.fitting.report import FitReport, report_of
from moorage.capacity.fitting.survival import make_survive
from moorage.capacity.fitting.worlds import FitWorld
from moorage.lint.finding import Severity
from moorage.plan.outcome import failed_workloads
from moorage.plan.planner import Planner
from moorage.pools.reading import Pools


class FitOptions(msgspec.Struct, frozen=True):
    """What is asked: `survive` is zone, pool or a number of nodes, `headroom` a percentage of the pods."""

    max_cost: float | None = None
    survive: str | int | None = None
    keeps_existing: bool = False
    headroom: float = 0.0
    explains: bool = False
    seed: int = 0


def answer(planner: Planner, pools: Pools, question: FitOptions, notes: Sequence[str] = ()) -> tuple[FitReport, Fitted]:
    """Return the cheapest mix for what a planner has read, as a report and in full. Raises Unpriced."""
    world = FitWorld(planner, keeps_nodes=question.keeps_existing)
    if question.headroom or pools.buffers:
        placed = world.planned() if question.headroom else None
        add_headroom(world, placed, question.headroom, pools, planner.inventory)
    fitted = fit(world, pools.pools)
    survival = None
    if question.survive is not None and fitted.played is not None:
        survival = make_survive(fitted, question.survive, question.seed)
    refused = [str(note) for note in planner.inventory.notes if note.level is Severity.ERROR]
    for one in failed_workloads(fitted.base, planner.inventory):
        refused.append(f"{one.workload}: its pods are refused: {one.message}")
    report = report_of(
        fitted, max_cost=question.max_cost, explains=question.explains, survival=survival, notes=notes, refused=refused
    )
    return report, fitted
