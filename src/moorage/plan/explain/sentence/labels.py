"""Tell which labels of nodes a pod asks for, and what the nodes have instead."""

from collections.abc import Iterator, Sequence
from typing import Any

from moorage.match.comparison import Comparison
from moorage.match.node_selector import FieldRequirement, NodeSelectorTermMatcher, RequiredNodeAffinity
from moorage.match.requirement import (
    DOES_NOT_EXIST,
    DOUBLE_EQUALS,
    EQUALS,
    EXISTS,
    IN,
    Requirement,
    aggregate,
    comparison_by,
)
from moorage.model.types.node import Node
from moorage.model.well_known.labels import HOSTNAME
from moorage.plan.explain.sentence.causes import Cause, Excluding, Value
from moorage.plan.explain.sentence.words import KeyNames, Where, adjective, cut, listed, nearest_text, value_text

_OTHERS = ("does not match its node affinity/selector", "do not match its node affinity/selector")
_WANTED = (IN, EQUALS, DOUBLE_EQUALS)
_MAX_TERMS, _MAX_ASKED = 4, 120


class Label(Cause, frozen=True):
    """A requirement on a label; values of nodes are the label's value, or None."""

    excludes = True

    name: str
    key: str
    operator: str
    values: tuple[str, ...]

    def alone(self, values: Sequence[Value], where: Where) -> str:
        comparison = comparison_by(self.operator)
        if comparison is not None:
            return f"Needs {self.name} {self._threshold(comparison)}; {_best(self, comparison, values, where)}"
        if self.operator == EXISTS:
            return f"Needs the label {self.name}; {where.no} has it"
        if self.operator == DOES_NOT_EXIST:
            return f"Needs a node without the label {self.name}; {where.every} has it"
        if self.operator in _WANTED and self.key == HOSTNAME:
            return f"Needs {self.name}={self._values}; {where.no} has it"
        has = _different(values)
        if self.operator in _WANTED:
            return f"Needs {self.name}={self._values}; {_instead(has, values, where)}"
        return f"Needs {self.name} other than {self._values}; {where.every} has {listed(has, 'or')}"

    def but_for(self, values: Sequence[Value]) -> str:
        comparison = comparison_by(self.operator)
        if comparison is not None:
            best = _nearest(self, comparison, values)
            word = adjective(comparison.symbol, comparison.kind)
            near = f"the {word} is {best}" if _nodes(values) > 1 else f"has {best}"
            lacks = "no such label" if all(one.value is None for one in values) else "no value to compare"
            return f"{self.name} (needs {self._threshold(comparison)}, {near if best else lacks})"
        if self.operator == EXISTS:
            return f"the label {self.name}"
        if self.operator == DOES_NOT_EXIST:
            return f"the label {self.name}, which it avoids"
        has = _different(values)
        if self.operator in _WANTED:
            return f"the label {self.name}={self._values} ({_has(has, values)})"
        return f"the label {self.name}={listed(has, 'or')}, which it avoids"

    def of_others(self, nodes: int) -> str:
        return _OTHERS[nodes > 1]

    def _threshold(self, comparison: Comparison) -> str:
        return f"{comparison.symbol} {value_text(self.values[0], comparison.kind)}"

    @property
    def asked(self) -> str:
        """What is asked for, as a noun."""
        comparison = comparison_by(self.operator)
        if comparison is not None:
            return f"{self.name} {self._threshold(comparison)}"
        if self.operator in (EXISTS, DOES_NOT_EXIST):
            return f"{'the' if self.operator == EXISTS else 'no'} label {self.name}"
        return f"{self.name}{'=' if self.operator in _WANTED else ' other than '}{self._values}"

    @property
    def _values(self) -> str:
        return listed([value_text(one) for one in sorted(self.values)], "or")


class Terms(Cause, frozen=True):
    """Several terms of a node affinity, of which no one matches."""

    excludes = True

    terms: int
    asked: str  # what each term asks for, if that is short

    def alone(self, values: Sequence[Value], where: Where) -> str:
        if self.asked:
            return f"Needs {self.asked}; {where.no} has one of these"
        return f"None of its {self.terms} node affinity terms matches {where.a}"

    def but_for(self, values: Sequence[Value]) -> str:
        return f"its {self.terms} node affinity terms{f' ({self.asked})' if self.asked else ''}"

    def of_others(self, nodes: int) -> str:
        return _OTHERS[nodes > 1]


def label_causes(
    required: RequiredNodeAffinity, node: Node, obstacle: str, names: KeyNames
) -> Iterator[tuple[Cause, Any]]:
    """Yield the requirements that a node does not meet, each with what the node has.

    `obstacle` says which operator needs a gate that is off, so that a term is not looked at.
    """
    labels, affinity = node.metadata.labels, required.affinity
    for requirement in required.labels.requirements:
        if not requirement.match(labels):
            yield label_cause(requirement, names), labels.get(requirement.key)
    if affinity is None or affinity.match(labels, node.metadata.name):
        return
    if len(affinity.terms) == 1:
        yield from _of_term(affinity.terms[0], node, obstacle, names)
    else:
        yield Terms(len(affinity.terms), _asked(affinity.terms, names)), None


def _asked(terms: Sequence[NodeSelectorTermMatcher], names: KeyNames) -> str:
    """Return what each of a few terms asks for; empty if that is not told in a few words."""
    if len(terms) > _MAX_TERMS or any(term.errors or term.fields for term in terms):
        return ""
    asked = [[label_cause(one, names).asked for one in term.labels.requirements] for term in terms]
    text = listed([" with ".join(one) for one in asked], "or")
    return text if all(asked) and len(text) <= _MAX_ASKED else ""


def label_cause(requirement: Requirement, names: KeyNames) -> Label:
    name = names.name(requirement.key, is_version=_is_version(requirement))
    return Label(name, requirement.key, requirement.operator, requirement.values)


def _is_version(requirement: Requirement) -> bool:
    return requirement.comparison is not None and requirement.comparison.kind.noun == "version"


def _of_term(term: NodeSelectorTermMatcher, node: Node, obstacle: str, names: KeyNames) -> Iterator[tuple[Cause, Any]]:
    if term.errors:
        why = obstacle or cut(aggregate(term.errors))
        yield Excluding("Its node affinity does not count: ", "", why, f"its node affinity ({why})", *_OTHERS), None
        return
    for requirement in term.labels.requirements:
        if not requirement.match(node.metadata.labels):
            yield label_cause(requirement, names), node.metadata.labels.get(requirement.key)
    for field in term.fields:
        if not field.match(node.metadata.name):
            yield _of_field(field), None


def _of_field(field: FieldRequirement) -> Excluding:
    name = cut(field.value)
    if field.equal:
        return Excluding(f"Is only for node {name}", "", "", f"its node, {name}", *_OTHERS)
    return Excluding(f"Avoids node {name}; ", "no", " is another one", f"node {name}, which it avoids", *_OTHERS)


def _nearest(label: Label, comparison: Comparison, values: Sequence[Value]) -> str:
    """Return the value that is nearest to the threshold; empty if none can be compared."""
    texts = [one.value for one in values if one.value is not None]
    return nearest_text(comparison, label.values[0], texts)


def _best(label: Label, comparison: Comparison, values: Sequence[Value], where: Where) -> str:
    best = _nearest(label, comparison, values)
    word = adjective(comparison.symbol, comparison.kind)
    if best and comparison.kind.noun == "version":
        return f"{where.the(word)} has {best}"
    if best:
        return where.value(word, best)
    if all(one.value is None for one in values):
        return f"{where.no} has that label"
    return f"{where.no} has a value that can be compared"


def _different(values: Sequence[Value]) -> list[str]:
    """Return the values that nodes have, the commonest first."""
    nodes: dict[str, int] = {}
    for one in values:
        if one.value is not None:
            nodes[one.value] = nodes.get(one.value, 0) + one.nodes
    return [value_text(text) for text in sorted(nodes, key=lambda text: (-nodes[text], text))]


def _instead(has: Sequence[str], values: Sequence[Value], where: Where) -> str:
    if not has:
        return f"{where.no} has that label"
    if any(one.value is None for one in values):
        has = [*has, "no such label"]
    return f"{where.every} has {listed(has, 'or')}"


def _has(has: Sequence[str], values: Sequence[Value]) -> str:
    if any(one.value is None for one in values):
        has = [*has, "no such label"]
    return f"has {listed(has, 'or')}"


def _nodes(values: Sequence[Value]) -> int:
    return sum(one.nodes for one in values)
