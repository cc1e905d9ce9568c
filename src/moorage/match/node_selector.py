"""Compile node selectors: which nodes a pod (or a volume) may be on, and why not the others.

Kubernetes: component-helpers/scheduling/corev1/nodeaffinity. It has an eager form, refused if anything does not parse
(here: look at `errors` first), and a lazy one, in which the terms that parse still count (here: `match`; and
`match_error` is what it reports when none of them did).
Differs: the semver operators of KEP-5721; a preferred term that needs a gate while it is off adds 0.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from moorage.match.comparison import ABSENT, Objection, Unreadable, false_inequality, shown
from moorage.match.label_selector import EVERYTHING, Selector, compile_label_set, conjunction
from moorage.match.operators import BY_NAME, NODE_FIELD, NODE_SELECTOR, gate_of, names_in, needed_gate
from moorage.match.requirement import Labels, Requirement, SelectorError, aggregate, compile_requirement
from moorage.model.field_error import AsJSON, FieldError, child_path, invalid, not_supported
from moorage.model.gates import Gate, GateSet
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import Affinity, PreferredSchedulingTerm

_FIELD_OPERATORS = names_in(NODE_FIELD)
_ALL_OPERATORS = names_in(NODE_SELECTOR)
_T = TypeVar("_T")
_NODE_NAME = "metadata.name"  # the one field there is; any other reads as empty


def _sentence(objections: Sequence[Objection]) -> str | None:
    return "; ".join(why for why, _ in objections) or None


class FieldRequirement(msgspec.Struct, frozen=True):
    """A compiled requirement on a field of the node: equal to one value, or not."""

    key: str
    value: str
    equal: bool

    def match(self, name: str) -> bool:
        return ((name if self.key == _NODE_NAME else "") == self.value) is self.equal

    def explain(self, name: str) -> str | None:
        if self.match(name):
            return None
        actual = name if self.key == _NODE_NAME else ""
        return f"field {shown(self.key)}: {false_inequality(actual, '=' if self.equal else '!=', self.value)}"


class NodeSelectorTermMatcher(msgspec.Struct, frozen=True):
    """One term: all of its requirements on labels and fields. With `errors`, it matches no node."""

    labels: Selector
    fields: tuple[FieldRequirement, ...]
    errors: tuple[FieldError, ...] = ()

    def match(self, labels: Labels, name: str) -> bool:
        if self.errors or not self.labels.match(labels):
            return False
        # A node without a name, such as one a DaemonSet imagines, has no fields to disagree with.
        return not name or all(requirement.match(name) for requirement in self.fields)

    def explain(self, labels: Labels, name: str) -> str | None:
        """One sentence with all that keeps the term from matching; None exactly when `match` is true."""
        return _sentence(self.objections(labels, name))

    def objections(self, labels: Labels, name: str) -> list[Objection]:
        if self.errors:
            return [(aggregate(self.errors), ABSENT)]
        objections = self.labels.objections(labels)
        for requirement in self.fields if name else ():
            if (reason := requirement.explain(name)) is not None:
                objections.append((reason, ABSENT))
        return objections

    def unreadable(self, labels: Labels, name: str) -> Unreadable | None:
        """Describe the first label that cannot be compared, if no other label or field keeps the term from matching."""
        if self.errors or not self.compares or (name and not all(field.match(name) for field in self.fields)):
            return None
        first: Unreadable | None = None
        for requirement in self.labels.requirements:
            if not requirement.match(labels):
                found = requirement.unreadable(labels)
                if found is None:
                    return None
                first = first or found
        return first

    @property
    def compares(self) -> bool:
        return any(requirement.compares for requirement in self.labels.requirements)


class NodeSelectorMatcher(msgspec.Struct, frozen=True):
    """Terms, of which one must match. `errors` are those of all terms, in order: the eager form's verdict."""

    terms: tuple[NodeSelectorTermMatcher, ...]
    errors: tuple[FieldError, ...]

    def match(self, labels: Labels, name: str) -> bool:
        for term in self.terms:  # noqa: SIM110 (a generator inside any() costs more than most terms)
            if term.match(labels, name):
                return True
        return False

    def match_error(self, labels: Labels, name: str) -> str | None:
        """Return what Kubernetes' lazy form returns beside a "no": the errors of the terms that could not be asked."""
        return aggregate(self.errors) if self.errors and not self.match(labels, name) else None

    def unreadable(self, labels: Labels, name: str) -> Unreadable | None:
        """Describe the label that keeps a term from matching because it cannot be compared; None if none does."""
        return next((found for term in self.terms if (found := term.unreadable(labels, name))), None)

    @property
    def compares(self) -> bool:
        return any(term.compares for term in self.terms)

    def explain(self, labels: Labels, name: str) -> str | None:
        """One sentence with what keeps each term from matching; None exactly when `match` is true."""
        return _sentence(self.objections(labels, name))

    def objections(self, labels: Labels, name: str) -> list[Objection]:
        """Return what a single term objects to, or one objection with what keeps each of several from matching."""
        found: list[list[Objection]] = []
        for term in self.terms:
            objections = term.objections(labels, name)
            if not objections:
                return []
            found.append(objections)
        if len(found) == 1:
            return found[0]
        text = "; ".join(f"term {i}: {', '.join(why for why, _ in each)}" for i, each in enumerate(found, 1))
        nearest = min((sum(gap for _, gap in each) for each in found), default=ABSENT)
        return [(text or NO_TERMS, nearest)]


NO_TERMS = "a node selector without terms matches no node"


class RequiredNodeAffinity(msgspec.Struct, frozen=True):
    """What a pod requires of its node: every entry of `spec.nodeSelector`, and the required node affinity."""

    labels: Selector
    affinity: NodeSelectorMatcher | None

    @property
    def errors(self) -> tuple[FieldError, ...]:
        return self.affinity.errors if self.affinity else ()

    def match(self, labels: Labels, name: str) -> bool:
        return self.labels.match(labels) and (self.affinity is None or self.affinity.match(labels, name))

    def match_error(self, labels: Labels, name: str) -> str | None:
        if self.affinity is None or not self.labels.match(labels):
            return None
        return self.affinity.match_error(labels, name)

    def unreadable(self, labels: Labels, name: str) -> Unreadable | None:
        if self.affinity is None or not self.labels.match(labels):
            return None
        return self.affinity.unreadable(labels, name)

    @property
    def compares(self) -> bool:
        return self.affinity is not None and self.affinity.compares

    def explain(self, labels: Labels, name: str) -> str | None:
        """One sentence with all that is not met; None exactly when `match` is true."""
        return _sentence(self.objections(labels, name))

    def objections(self, labels: Labels, name: str) -> list[Objection]:
        """Return every entry and requirement that is not met, each with how far the node is from it."""
        affinity = self.affinity.objections(labels, name) if self.affinity else []
        return [*self.labels.objections(labels), *affinity]


class PreferredTerms(msgspec.Struct, frozen=True):
    """Weighted terms. With `errors`, Kubernetes refuses to score at all; here every term that parses still counts."""

    terms: tuple[tuple[int, NodeSelectorTermMatcher], ...]
    errors: tuple[FieldError, ...]

    def score(self, labels: Labels, name: str) -> int:
        return sum(weight for weight, term in self.terms if term.match(labels, name))

    def explain(self, labels: Labels, name: str) -> list[str]:
        """For each term that adds nothing, one sentence that says what it would have added, and why it does not."""
        return [
            f"weight {weight} is not added: {reason}"
            for weight, term in self.terms
            if (reason := term.explain(labels, name)) is not None
        ]


def compile_node_selector(selector: NodeSelector, gates: GateSet, path: str = "") -> NodeSelectorMatcher:
    """Compile the terms. An empty term matches no node and so is left out."""
    path = child_path(path, "nodeSelectorTerms")
    terms = tuple(
        _compile_term(term, gates, f"{path}[{i}]")
        for i, term in enumerate(selector.nodeSelectorTerms)
        if not _is_empty(term)
    )
    return NodeSelectorMatcher(terms, tuple(error for term in terms for error in term.errors))


def compile_required_node_affinity(
    node_selector: Mapping[str, str], affinity: Affinity | None, gates: GateSet
) -> RequiredNodeAffinity:
    node_affinity = affinity.nodeAffinity if affinity else None
    required = node_affinity.requiredDuringSchedulingIgnoredDuringExecution if node_affinity else None
    return RequiredNodeAffinity(
        compile_label_set(node_selector) if node_selector else EVERYTHING,
        compile_node_selector(required, gates) if required is not None else None,
    )


def compile_preferred_terms(
    preferred: Sequence[PreferredSchedulingTerm], gates: GateSet, path: str = ""
) -> PreferredTerms:
    """Compile the terms that can add to a score: those with a weight and at least one requirement."""
    terms: list[tuple[int, NodeSelectorTermMatcher]] = []
    errors: list[FieldError] = []
    for i, weighted in enumerate(preferred):
        if weighted.weight == 0 or _is_empty(weighted.preference):
            continue
        term = _compile_term(weighted.preference, gates, f"{path}[{i}]")
        terms.append((weighted.weight, term))
        if not _needs_another_gate(weighted.preference, gates):
            errors += term.errors
    return PreferredTerms(tuple(terms), tuple(errors))


def gate_obstacle(selector: NodeSelector | None, gates: GateSet, component: str = "") -> str | None:
    """Return which operator of the terms needs which gate that is off in a component, as the part of a sentence."""
    for term in selector.nodeSelectorTerms if selector is not None else ():
        for expression in term.matchExpressions:
            gate = needed_by(expression)
            if gate is not None and not gates.enabled(gate):
                return f"operator {expression.operator} needs {needed_gate(gate, component)}"
    return None


def needed_by(expression: NodeSelectorRequirement) -> Gate | None:
    """Return the gate that a requirement needs; None if it needs none, or if attach has read it back."""
    return None if expression.attached else gate_of(expression.operator, NODE_SELECTOR)


def label_obstacle(found: Unreadable | None) -> str | None:
    """Return the parenthesis of a reason for a label that an operator of KEP-5721 cannot compare.

    Of `Gt` and `Lt`, which every release has, the reason is Kubernetes' own: logs and `explain` name the label.
    """
    return found.obstacle if found is not None and gate_of(found.operator, NODE_SELECTOR) is not None else None


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.matchExpressions and not term.matchFields


def _needs_another_gate(term: NodeSelectorTerm, gates: GateSet) -> bool:
    needed = map(needed_by, term.matchExpressions)
    return any(gate is not None and not gates.enabled(gate) for gate in needed)


def _compile_term(term: NodeSelectorTerm, gates: GateSet, path: str) -> NodeSelectorTermMatcher:
    operators = names_in(NODE_SELECTOR, gates)
    errors: list[FieldError] = []
    requirements = _collect(
        term.matchExpressions,
        f"{path}.matchExpressions",
        lambda expression, where: _compile_expression(
            expression, _ALL_OPERATORS if expression.attached else operators, where
        ),
        errors,
    )
    fields = _collect(term.matchFields, f"{path}.matchFields", _compile_field, errors)
    return NodeSelectorTermMatcher(conjunction(requirements), tuple(fields), tuple(errors))


def _collect(
    expressions: Sequence[NodeSelectorRequirement],
    path: str,
    compile_one: Callable[[NodeSelectorRequirement, str], _T],
    errors: list[FieldError],
) -> list[_T]:
    compiled: list[_T] = []
    for i, expression in enumerate(expressions):
        try:
            compiled.append(compile_one(expression, f"{path}[{i}]"))
        except SelectorError as error:
            errors += error.errors
    return compiled


def _compile_expression(expression: NodeSelectorRequirement, operators: Sequence[str], path: str) -> Requirement:
    if expression.operator not in operators:
        raise _refused(not_supported(f"{path}.operator", AsJSON(expression.operator), operators))
    return compile_requirement(expression.key, BY_NAME[expression.operator].selection, expression.values, path)


def _compile_field(expression: NodeSelectorRequirement, path: str) -> FieldRequirement:
    if expression.operator not in _FIELD_OPERATORS:
        raise _refused(not_supported(f"{path}.operator", AsJSON(expression.operator), _FIELD_OPERATORS))
    if len(expression.values) != 1:
        raise _refused(invalid(f"{path}.values", expression.values, "must have one element"))
    return FieldRequirement(expression.key, expression.values[0], expression.operator == "In")


def _refused(error: FieldError) -> SelectorError:
    return SelectorError(str(error), (error,))
