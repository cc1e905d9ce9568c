"""List every operator once: of tolerations, node affinity, volume affinity, label selectors and exit codes.

A new operator is a row here, its gate in `model.gates`, its documentation and its test vectors
(docs/contributing/add-operator.md). Validation, matching, `lint`, `explain`'s suggestions, the slider, the gate audit
and OpenAPI iterate over the rows; `accepted_values` gives the values that an operator accepts, as a set.
Kubernetes: core/v1 TolerationOperator and NodeSelectorOperator, metav1.LabelSelectorOperator; KEP-5471 (Lt and Gt in
tolerations), KEP-5721 (semver operators).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache

import msgspec

from moorage.match.comparison import (
    CANONICAL_GT,
    CANONICAL_LT,
    INTEGER_GT,
    INTEGER_LT,
    VERSION_EQ,
    VERSION_GT,
    VERSION_LT,
    Comparison,
    ValueKind,
)
from moorage.match.intervals import Intervals
from moorage.model.gates import SEMVER_COMPARISON_OPERATORS, TAINT_TOLERATION_COMPARISON_OPERATORS, Gate, GateSet
from moorage.model.names import label_value_errors


class OperatorPlace(Enum):
    """Where an operator can stand. Node affinity of pods and of PersistentVolumes is one type, NodeSelector."""

    TOLERATION = "tolerations"
    NODE_SELECTOR = "matchExpressions of node affinity"
    NODE_FIELD = "matchFields of node affinity"
    LABEL_SELECTOR = "label selectors"
    EXIT_CODES = "exit codes"


class Arity(Enum):
    """How many values an operator takes in a selector; a toleration's `value` counts as one."""

    NONE = "none"
    ONE = "exactly one"
    SOME = "at least one"


class AcceptedValues(msgspec.Struct, frozen=True):
    """The texts that an operator accepts: all or none but some, of which each kind of values accepts some intervals.

    `absent`: it also accepts that there is no value at all.
    """

    texts: frozenset[str]
    all_but: bool
    spans: tuple[tuple[ValueKind, Intervals], ...] = ()
    absent: bool = False

    def contains(self, text: str) -> bool:
        return (text in self.texts) != self.all_but and all(kind.contains(span, text) for kind, span in self.spans)

    def __and__(self, other: "AcceptedValues") -> "AcceptedValues":
        spans = dict(self.spans)
        for kind, span in other.spans:
            spans[kind] = spans[kind] & span if kind in spans else span
        mine, theirs, absent = self.texts, other.texts, self.absent and other.absent
        if self.all_but and other.all_but:
            return AcceptedValues(mine | theirs, True, tuple(spans.items()), absent)
        texts = theirs - mine if self.all_but else mine - theirs if other.all_but else mine & theirs
        return AcceptedValues(texts, False, tuple(spans.items()), absent)

    @property
    def is_empty(self) -> bool:
        """Whether no label value is accepted: neither a taint nor a label can have one."""
        return self.example() is None

    def example(self, *like: str) -> str | None:
        """Return a label value that is accepted, the nearest to the first of some texts that can be read; or None."""
        for text in self._candidates(like):
            if self.contains(text) and not label_value_errors(text):
                return text
        return None

    def _candidates(self, like: Sequence[str]) -> Iterator[str]:
        if not self.all_but:
            yield from (*like, *sorted(self.texts))
            return
        for kind, span in self.spans:
            if (nearest := kind.nearest(span, *like)) is not None:
                yield nearest
            for value in span.candidates():
                yield kind.scale.write(value, "")
                # Beside a value that is left out, or in a spelling that is not.
                yield from kind.around(kind.scale.write(value, ""))
        if not self.spans:
            yield from ("true", "", *(f"{text}-x" for text in sorted(self.texts)))


class Plain(Enum):
    """What an operator that compares texts accepts."""

    ONE_OF = "one of the values"
    NONE_OF = "every text but the values, or none at all"
    ANY = "every text"
    ABSENT = "none at all"


class Use(msgspec.Struct, frozen=True):
    """How an operator works in one place: what it compares, if it does, and the gate it needs, if any."""

    comparison: Comparison | None = None
    gate: Gate | None = None


class Operator(msgspec.Struct, frozen=True):
    """One operator.

    `plain` is what it accepts where it compares texts. `selection` is its name in Kubernetes' selection package, which
    label requirements use. `spellings` are other words that people write for it, in lower case. `never` says why a
    toleration with a readable value can match no taint, and `never_hint` what to write; `prerelease` says what
    comparing with a distribution's build of a version means.
    """

    name: str
    places: Mapping[OperatorPlace, Use]
    arity: Arity
    selection: str = ""
    spellings: tuple[str, ...] = ()
    never: str = ""
    never_hint: str = "write operator Exists if every value is meant, or remove the toleration"
    prerelease: str = ""
    plain: Plain = Plain.ONE_OF


TOLERATION, NODE_SELECTOR = OperatorPlace.TOLERATION, OperatorPlace.NODE_SELECTOR
LABEL_SELECTOR, NODE_FIELD = OperatorPlace.LABEL_SELECTOR, OperatorPlace.NODE_FIELD
EXIT_CODES = OperatorPlace.EXIT_CODES
#: The operators that every release has in tolerations.
EQUAL, EXISTS = "Equal", "Exists"
_PLAIN = Use()


def _numbers(toleration: Comparison, node: Comparison) -> dict[OperatorPlace, Use]:
    return {TOLERATION: Use(toleration, TAINT_TOLERATION_COMPARISON_OPERATORS), NODE_SELECTOR: Use(node)}


def _versions(comparison: Comparison, gate: Gate = SEMVER_COMPARISON_OPERATORS) -> dict[OperatorPlace, Use]:
    return {TOLERATION: Use(comparison, gate), NODE_SELECTOR: Use(comparison, gate)}


#: In the order in which Kubernetes' selection package, and so the messages of selectors, list them.
OPERATORS = (
    Operator("Equal", {TOLERATION: _PLAIN}, Arity.ONE, spellings=("=", "==", "===", "eq", "equals", "equalto", "is")),
    Operator(
        "In",
        dict.fromkeys((NODE_SELECTOR, NODE_FIELD, LABEL_SELECTOR, EXIT_CODES), _PLAIN),
        Arity.SOME,
        "in",
        spellings=("oneof", "anyof", "among"),
    ),
    Operator(
        "NotIn",
        dict.fromkeys((NODE_SELECTOR, NODE_FIELD, LABEL_SELECTOR, EXIT_CODES), _PLAIN),
        Arity.SOME,
        "notin",
        spellings=("!in", "noneof", "isnotin"),
        plain=Plain.NONE_OF,
    ),
    Operator(
        "Exists",
        dict.fromkeys((TOLERATION, NODE_SELECTOR, LABEL_SELECTOR), _PLAIN),
        Arity.NONE,
        "exists",
        spellings=("exist", "present", "isset", "any", "*"),
        plain=Plain.ANY,
    ),
    Operator(
        "DoesNotExist",
        dict.fromkeys((NODE_SELECTOR, LABEL_SELECTOR), _PLAIN),
        Arity.NONE,
        "!",
        spellings=("!exists", "notexists", "notexist", "doesnotexists", "absent", "missing"),
        plain=Plain.ABSENT,
    ),
    Operator(
        "Gt",
        _numbers(CANONICAL_GT, INTEGER_GT),
        Arity.ONE,
        "gt",
        spellings=(">", "greaterthan", "greater", "more", "morethan", "above", "over", "larger", "higher"),
        never="no 64-bit integer is above {value}",
    ),
    Operator(
        "Lt",
        _numbers(CANONICAL_LT, INTEGER_LT),
        Arity.ONE,
        "lt",
        spellings=("<", "lessthan", "less", "below", "under", "smaller", "lower", "fewer"),
        never="a taint's value is a label value, which cannot be negative, so none is below {value}",
        never_hint="write a threshold above 0, or operator Exists if every value is meant",
    ),
    Operator(
        "SemverGt",
        _versions(VERSION_GT),
        Arity.ONE,
        "SemverGt",
        spellings=("semvergreaterthan", "semvergreater", "semver>", "versiongt", "newer", "newerthan"),
        never="no version is above {value}",
        prerelease="{base} itself counts as newer than {value}",
    ),
    Operator(
        "SemverLt",
        _versions(VERSION_LT),
        Arity.ONE,
        "SemverLt",
        spellings=("semverlessthan", "semverless", "semver<", "versionlt", "older", "olderthan"),
        never="no version is below {value}",
        prerelease="{base} itself is not below {value}, and other builds of {base} may or may not be",
    ),
    Operator(
        "SemverEq",
        _versions(VERSION_EQ),
        Arity.ONE,
        "SemverEq",
        spellings=("semverequal", "semverequals", "semver=", "semver==", "versioneq"),
        never="no taint can have it: written out, the version {value} is not a label value",
        prerelease="{base} and its other builds are not equal to {value}",
    ),
)

BY_NAME = {row.name: row for row in OPERATORS}
_USES = {(row.name, place): use for row in OPERATORS for place, use in row.places.items()}
#: Every gate that some operator needs, in the order of the table.
OPERATOR_GATES = tuple({use.gate.name: use.gate for use in _USES.values() if use.gate is not None}.values())


def use_of(name: str, place: OperatorPlace) -> Use | None:
    """Return how the operator works in this place; None if it does not exist there."""
    return _USES.get((name, place))


def comparison_of(name: str, place: OperatorPlace) -> Comparison | None:
    """Return what the operator compares in this place; None if it does not exist there or compares nothing."""
    use = _USES.get((name, place))
    return use.comparison if use is not None else None


def accepted_values(name: str, place: OperatorPlace, values: Sequence[str]) -> AcceptedValues | None:
    """Return what the operator accepts with these values; None if it does not exist in this place.

    A comparison with a value that cannot be read, or with several, accepts nothing. Gates are not looked at.
    """
    row = BY_NAME.get(name or EQUAL)
    use = row.places.get(place) if row is not None else None
    if row is None or use is None:
        return None
    if use.comparison is not None:
        accepted = use.comparison.accepted(values[0]) if len(values) == 1 else Intervals(use.comparison.kind.scale)
        return AcceptedValues(frozenset(), True, ((use.comparison.kind, accepted),))
    if row.plain is Plain.ANY:
        return AcceptedValues(frozenset(), True)
    if row.plain is Plain.NONE_OF:
        return AcceptedValues(frozenset(values), True, absent=True)
    return AcceptedValues(
        frozenset(values if row.plain is Plain.ONE_OF else ()), False, absent=row.plain is Plain.ABSENT
    )


def gate_of(name: str, place: OperatorPlace) -> Gate | None:
    """Return the gate that the operator needs in this place; None if it needs none or does not exist there."""
    use = _USES.get((name, place))
    return use.gate if use is not None else None


def needed_gate(gate: Gate, component: str = "") -> str:
    """Write `the feature gate X in the scheduler`: what something needs, and where it is off."""
    return f"the feature gate {gate.name}{component and f' in {component}'}"


@lru_cache(maxsize=64)
def names_in(place: OperatorPlace, gates: GateSet | None = None) -> tuple[str, ...]:
    """List the operators of a place: all of them, or those that these gates allow."""
    return tuple(
        row.name
        for row in OPERATORS
        if (use := row.places.get(place)) is not None and (gates is None or use.gate is None or gates.enabled(use.gate))
    )


def comparisons_in(place: OperatorPlace, kind: ValueKind) -> dict[str, Comparison]:
    """Return the operators of a place that compare values of this kind."""
    found = ((name, comparison_of(name, place)) for name in names_in(place))
    return {name: comparison for name, comparison in found if comparison is not None and comparison.kind is kind}


def siblings(name: str, place: OperatorPlace) -> tuple[str, ...]:
    """List the comparing operators that came with this one: those that need the same gate and read the same values.

    Messages about the values of one of them name them all.
    """
    use = _USES[name, place]
    return tuple(
        other
        for other in names_in(place)
        if (found := _USES[other, place]).comparison is not None
        and use.comparison is not None
        and found.comparison.kind is use.comparison.kind
        and found.gate is use.gate
    )


def less_first(names: Iterable[str]) -> list[str]:
    """Sort as the API server's validation lists operators: plain ones, less, greater, equal."""

    def rank(name: str) -> int:
        symbols = [use.comparison.symbol for use in BY_NAME[name].places.values() if use.comparison is not None]
        return ("<", ">").index(symbols[0]) + 1 if symbols and symbols[0] in "<>" else 3 if symbols else 0

    return sorted(names, key=rank)
