"""Play each value of a taint or threshold at which something changes: the curve of `moorage capacity curve`.

Points come one after the other, as they are played, within a bound on processor time.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.capacity.curving.curve import Point, as_it_is, point_of
from moorage.capacity.curving.steps import Axis, CurveStep
from moorage.capacity.curving.taint_axis import taint_axis
from moorage.capacity.curving.text import cost_of
from moorage.capacity.curving.workload_axes import share_axis, threshold_axis
from moorage.capacity.node_choice import NodeChoice, NoSuchNodes
from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.plan.node_changes import ChangeError
from moorage.plan.pools.reading import read_pool_sources
from moorage.plan.simulation.forked import CopyFailed, in_fork, processor_seconds
from moorage.pools.prices import Prices

#: How much processor time all points of one answer, and one of them, may take.
MAX_SECONDS, MAX_SECONDS_EACH = 30.0, 8.0
_FORMS = ("taint", "threshold", "share")
_FORM = 'curve takes {"form": "taint", "threshold" or "share", "key": KEY, "workload": "KIND/NAMESPACE/NAME"}'


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield what is varied, the cluster as it is, then a part for each point; `complete` says whether all were played.

    Arguments: `form`, `key`; of a taint `nodes` as pairs of label and value; `workload`, and `toleration` of a share.
    """
    form, key = arguments.get("form", "taint"), arguments.get("key")
    if form not in _FORMS or not isinstance(key, str) or not key:
        raise BadQuestion(_FORM)
    pools = read_pool_sources((), base.planner.inventory).pools
    prices = Prices(pools) if pools else None
    try:
        axis = _axis(base, form, key, arguments, pools)
    except (ChangeError, NoSuchNodes) as error:
        raise BadQuestion(str(error)) from None
    about = {"kind": axis.kind, "key": axis.key, "what": axis.what, "unit": axis.unit, "leftOut": axis.left_out}
    yield {"part": "axis", **about, "steps": len(axis.steps), "priced": prices is not None}
    until, is_complete = processor_seconds() + MAX_SECONDS, True
    for number, step in enumerate((as_it_is(axis), *axis.steps)):
        seconds = min(MAX_SECONDS_EACH, until - processor_seconds())
        point = _played(base, axis, step, prices, seconds) if seconds > 0 else None
        if point is None:
            is_complete = False
            continue
        yield {"part": "point" if number else "before", **msgspec.to_builtins(point), "costText": cost_of(point)}
    yield {"part": "end", "complete": is_complete, "done": True}


def _axis(base: Base, form: str, key: str, arguments: dict[str, Any], pools: Any) -> Axis:
    simulation, inventory = base.simulation, base.planner.inventory
    workload, toleration = arguments.get("workload", ""), arguments.get("toleration", "")
    if not isinstance(workload, str) or not isinstance(toleration, str):
        raise BadQuestion(_FORM)
    if form == "share":
        return share_axis(simulation, inventory, key, [workload] if workload else [], toleration)
    if form == "threshold":
        return threshold_axis(simulation, inventory, key, [workload], "", pools)
    return taint_axis(simulation, key, list(_choices(arguments.get("nodes", []))))


def _choices(nodes: Any) -> Iterator[NodeChoice]:
    if not isinstance(nodes, list) or len(nodes) > 100:
        raise BadQuestion("nodes: must be a list of pairs of label and value")
    for pair in nodes:
        if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
            raise BadQuestion("nodes: must be a list of pairs of label and value")
        yield NodeChoice(((pair[0], pair[1]),))


def _played(base: Base, axis: Axis, step: CurveStep, prices: Prices | None, seconds: float) -> Point | None:
    """Return a point, played on a copy of its own; None if that takes too long."""

    def play() -> object:
        return msgspec.to_builtins(point_of(base.planner, base.simulation, base.plan, axis, step, prices))

    try:
        return msgspec.convert(in_fork(play, seconds), Point)
    except CopyFailed:
        return None
