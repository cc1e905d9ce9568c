"""Give a taint of nodes another value: as users write it, and the changes that it means for each node."""

from collections.abc import Iterable

import msgspec

from moorage.client.protocol import Object
from moorage.model.kinds import KINDS
from moorage.model.well_known.taints import NO_EXECUTE
from moorage.plan.node_changes import EFFECTS, ChangeError, TaintChange
from moorage.plan.simulation.simulation import Simulation


class RaisedValue(msgspec.Struct, frozen=True):
    """A value to give to a taint of nodes; without an effect, the taint keeps the effects that it has."""

    key: str
    value: str
    effect: str = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}{self.effect and f':{self.effect}'}"


def parse_value(text: str) -> RaisedValue:
    """Return the value that a text such as `failure-probability=35` names. Raises ChangeError."""
    body, colon, effect = text.rpartition(":")
    key, equals, value = (body if colon else text).partition("=")
    if not key or not equals or not value:
        raise ChangeError(f"{text!r} is not of the form KEY=VALUE or KEY=VALUE:EFFECT")
    if colon and effect not in EFFECTS:
        raise ChangeError(f"{effect!r} in {text!r} is no effect; there are {', '.join(EFFECTS)}")
    return RaisedValue(key, value, effect if colon else "")


def taints_of(simulation: Simulation, nodes: Iterable[str], value: RaisedValue) -> list[TaintChange]:
    """Return a change for each of the nodes and each effect that it concerns."""
    changes: list[TaintChange] = []
    objects = [simulation.api.get(KINDS.NODE, name) for name in nodes]
    known = {effect for node in objects for effect in _effects(node, value.key)}
    for node in objects:
        effects = [value.effect] if value.effect else _effects(node, value.key) or sorted(known) or [NO_EXECUTE]
        changes += [TaintChange(node.name, value.key, value.value, effect) for effect in effects]
    return changes


def _effects(node: Object, key: str) -> list[str]:
    return [taint.effect for taint in node.view.spec.taints if taint.key == key]
