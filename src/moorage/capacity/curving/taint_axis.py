"""Vary the value of a taint of nodes: one step for each range of values in which every operator answers the same."""

from collections import Counter
from collections.abc import Iterator, Sequence

from moorage.capacity.curving.steps import TAINT, Axis, CurveStep, bounded
from moorage.capacity.node_choice import NodeChoice, NoSuchNodes, chosen_nodes
from moorage.capacity.raised_value import RaisedValue, taints_of
from moorage.lint.report.form import counted
from moorage.model.kinds import KINDS
from moorage.model.names import label_value_errors
from moorage.model.types.node import Node
from moorage.plan.node_changes import ChangeError
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.values.keys import keys_of
from moorage.plan.values.turning_values import TurningValues, constants_of

_MAX_SHOWN = 5


def taint_axis(
    simulation: Simulation, key: str, choices: Sequence[NodeChoice], effect: str = "", values: Sequence[str] = ()
) -> Axis:
    """Return the steps of a taint's value on the chosen nodes; without a choice, on those that have the taint.

    `values` are tried besides. Raises NoSuchNodes, ChangeError.
    """
    nodes: list[Node] = [found.view for found in simulation.world.all(KINDS.NODE)]
    if not nodes:
        raise NoSuchNodes("there are no nodes in the input")
    tainted = [node for node in nodes if any(taint.key == key for taint in node.spec.taints)]
    if not choices and not tainted:
        known = sorted({taint.key for node in nodes for taint in node.spec.taints})
        there = f"; there are {', '.join(known)}" if known else ""
        raise NoSuchNodes(f"no node has a taint {key!r}{there}: name the nodes to taint, such as pool=spot")
    names = chosen_nodes(nodes, choices) if choices else [node.metadata.name for node in tainted]
    chosen = set(names)
    now = Counter(
        taint.value
        for node in tainted
        if node.metadata.name in chosen
        for taint in node.spec.taints
        if taint.key == key
    )
    for value in values:
        if errors := label_value_errors(value):
            raise ChangeError(f"{value!r} cannot be the value of a taint: {errors[0]}")
    is_everywhere = sum(now.values()) >= len(names)
    steps = [
        CurveStep(
            value,
            text,
            is_now=is_everywhere and set(now) == {value},
            taints=tuple(taints_of(simulation, names, RaisedValue(key, value, effect))),
        )
        for value, text in _values(simulation, key, now, values)
    ]
    kept, left_out = bounded(steps)
    where = f" ({' '.join(map(str, choices))})" if choices else ""
    what = f"taint {key} of {counted(len(names), 'node')}{where}"
    shown = ", ".join(value or "no value" for value, _ in now.most_common(_MAX_SHOWN))
    more = ", …" if len(now) > _MAX_SHOWN else ""
    return Axis(TAINT, key, what, shown + more, key, kept, left_out)


def _values(simulation: Simulation, key: str, now: Counter[str], values: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield a value of each range, with the range in words, in ascending order."""
    keys = keys_of(simulation)["taint"]
    expressions = {
        toleration.expression
        for pod in simulation.world.all(KINDS.POD)
        for toleration in pod.view.spec.tolerations
        if toleration.expression
    }
    turning = TurningValues(keys.place, keys.counts.get(key, {}), keys.named.of(key), constants_of(expressions))
    if turning.kind is None:  # values without an order: each is a case of its own
        named = (one.value for one in keys.named.of(key))
        for text in sorted(dict.fromkeys([*now, *named, *values])):
            yield text, f"= {text}" if text else "no value"
        return
    yield from turning.cells(values, [value for value, _ in now.most_common()])
    for text in now:
        if turning.kind.value_of(text) is None:
            yield text, f"= {text}" if text else "no value"
