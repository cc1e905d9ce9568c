"""Describe what keeps a pod from nodes, so that nodes with other values of it can be told of together.

A cause is what is asked for, such as `cpu: 12`; each node has its own value of it. A cause is told in three ways: as a
sentence of its own where all nodes have it, after "fits 2 nodes but for", and of the nodes that are left.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from moorage.columns.resources import PODS
from moorage.plan.explain.sentence.amounts import at_least, at_most
from moorage.plan.explain.sentence.words import Where, capital


class Value(NamedTuple):
    """What some nodes have of a cause."""

    value: Any
    nodes: int


class Cause(msgspec.Struct, frozen=True):
    """The base of causes. Equal causes ask for the same. The pod may not use nodes that one of them `excludes`."""

    excludes: ClassVar[bool] = False

    @abstractmethod
    def alone(self, values: Sequence[Value], where: Where) -> str:
        """Return a sentence about nodes that all have this cause."""

    @abstractmethod
    def but_for(self, values: Sequence[Value]) -> str:
        """Return what is missing, as a noun."""

    @abstractmethod
    def of_others(self, nodes: int) -> str:
        """Return the predicate of a sentence about this many nodes."""


class Plain(Cause, frozen=True):
    """A cause of which nodes have no values that are worth a word.

    The sentence is `before`, then one of the words of `Where`, then `after`; `lacks` follows "but for"; `one` and
    `many` are predicates.
    """

    before: str
    which: str
    after: str
    lacks: str
    one: str
    many: str

    def alone(self, values: Sequence[Value], where: Where) -> str:
        nodes = getattr(where, self.which) if self.which else ""
        return capital(f"{self.before}{nodes}{self.after}")

    def but_for(self, values: Sequence[Value]) -> str:
        return self.lacks

    def of_others(self, nodes: int) -> str:
        return self.one if nodes == 1 else self.many


class Excluding(Plain, frozen=True):
    """The same of nodes that the pod may not use."""

    excludes = True


CORDONED = Excluding("", "every", " is cordoned", "the cordon", "is cordoned", "are cordoned")


class Room(NamedTuple):
    """How much of a resource is free on a node, and how much it has in all."""

    free: int
    capacity: int


class ShortOf(Cause, frozen=True):
    """Nodes have too little of a resource; their values are `Room`."""

    resource: str
    needs: int

    def alone(self, values: Sequence[Value], where: Where) -> str:
        best = max(one.value.free for one in values)
        needed = f"Needs {at_least(self.resource, self.needs)} {self.resource}"
        if not any(one.value.capacity for one in values):
            return f"{needed}; {where.no} has any"
        if best <= 0:
            return f"{needed}; {where.no} has any free"
        return f"{needed}; {where.the('emptiest')} has {at_most(self.resource, best)} free"

    def but_for(self, values: Sequence[Value]) -> str:
        best = max(one.value.free for one in values)
        most = "at most " if sum(one.nodes for one in values) > 1 else ""
        free = f"{most}{at_most(self.resource, best)}" if best > 0 else "none"
        return f"{self.resource} (needs {at_least(self.resource, self.needs)}, {free} free)"

    def of_others(self, nodes: int) -> str:
        return f"{'is' if nodes == 1 else 'are'} short of {self.resource}"


class TooManyPods(Cause, frozen=True):
    """Nodes run as many pods as they may; their values are `Room`."""

    def alone(self, values: Sequence[Value], where: Where) -> str:
        limits = {one.value.capacity for one in values}
        most = f"{'at most ' if len(limits) > 1 else ''}{max(limits):,}"
        return capital(f"{where.every} runs as many pods as it may ({most})")

    def but_for(self, values: Sequence[Value]) -> str:
        limits = {one.value.capacity for one in values}
        return f"the limit of {f'{limits.pop()} ' if len(limits) == 1 else ''}{PODS}"

    def of_others(self, nodes: int) -> str:
        return "runs as many pods as it may" if nodes == 1 else "run as many pods as they may"


class Spread(Cause, frozen=True):
    """Nodes on which the pod would break a topology spread constraint; their values are the skew there would be."""

    name: str
    max_skew: int
    domains: str  # how many of the minDomains there are, if too few

    def alone(self, values: Sequence[Value], where: Where) -> str:
        return f"On {where.every} it would break its {self._rule(values)}"

    def but_for(self, values: Sequence[Value]) -> str:
        return f"its {self._rule(values)}"

    def of_others(self, nodes: int) -> str:
        return f"would break its spread over {self.name}"

    def _rule(self, values: Sequence[Value]) -> str:
        skews = {one.value for one in values}
        would = f"{'at least ' if len(skews) > 1 else ''}{min(skews)}"
        few = f", with {self.domains}" if self.domains else ""
        return f"spread over {self.name} (maxSkew {self.max_skew}, would be {would}{few})"


class VolumeLimit(Cause, frozen=True):
    """Nodes have as many volumes of a driver attached as they may; their values are the limit."""

    driver: str

    def alone(self, values: Sequence[Value], where: Where) -> str:
        return capital(f"{where.every} has as many volumes of {self.driver} attached as it may ({_most(values)})")

    def but_for(self, values: Sequence[Value]) -> str:
        return f"the limit of attached volumes of {self.driver} ({_most(values)})"

    def of_others(self, nodes: int) -> str:
        return f"{'has' if nodes == 1 else 'have'} as many volumes attached as {'it' if nodes == 1 else 'they'} may"


def _most(values: Sequence[Value]) -> str:
    limits = {one.value for one in values}
    return f"{'at most ' if len(limits) > 1 else ''}{max(limits):,}"


class Devices(Cause, frozen=True):
    """Nodes have too few free devices for a request; their values are the number that they have."""

    count: int
    device_class: str

    def alone(self, values: Sequence[Value], where: Where) -> str:
        best = max(one.value for one in values)
        rest = f"{where.the('best')} has {best} that it can use" if best > 0 else f"{where.no} has one that it can use"
        return f"Needs {self._asked}; {rest}"

    def but_for(self, values: Sequence[Value]) -> str:
        best = max(one.value for one in values)
        return f"{self._asked} ({best or 'none'} that it can use)"

    def of_others(self, nodes: int) -> str:
        return f"{'has' if nodes == 1 else 'have'} no devices that it can use"

    @property
    def _asked(self) -> str:
        return f"{self.count} device{'s' if self.count > 1 else ''} of class {self.device_class}"
