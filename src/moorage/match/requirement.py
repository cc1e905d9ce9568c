"""Compile one requirement on a label: does a label set meet it, and if not, why not.

Kubernetes: labels.NewRequirement and Requirement.Matches (apimachinery/pkg/labels).
Differs: comparing operators are rows of `match.operators`; values are parsed once, and `match` cannot fail.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from moorage.match.comparison import (
    ABSENT,
    DIFFERS,
    LABEL_VALUE,
    Comparison,
    Unreadable,
    false_inequality,
    shown,
    unreadable_value,
    value_gap,
)
from moorage.match.operators import NODE_SELECTOR, OPERATORS, comparison_of, siblings
from moorage.model.field_error import AsJSON, FieldError, child_path, invalid, not_supported
from moorage.model.names import label_key_errors, label_value_errors
from moorage.telemetry.logs import get_logger

_LOG, _LOG_LEVEL = get_logger("labels"), 10

Labels: TypeAlias = Mapping[str, str]
Predicate: TypeAlias = Callable[[Labels], bool]

# Kubernetes' own names of the operators (apimachinery/pkg/selection) that do not compare, and of two that do.
IN, NOT_IN = "in", "notin"
EQUALS, DOUBLE_EQUALS, NOT_EQUALS = "=", "==", "!="
EXISTS, DOES_NOT_EXIST = "exists", "!"
GREATER_THAN, LESS_THAN = "gt", "lt"

#: The operators between a key and its values, in the order in which the parser's errors list them.
BINARY_OPERATORS = (IN, NOT_IN, EQUALS, DOUBLE_EQUALS, NOT_EQUALS, GREATER_THAN, LESS_THAN)


class SelectorError(ValueError):
    """A selector that cannot be compiled; `str()` is Kubernetes' text, `errors` the field errors it is made of."""

    def __init__(self, text: str, errors: Sequence[FieldError] = ()) -> None:
        super().__init__(text)
        self.errors = tuple(errors)


class Requirement(msgspec.Struct, frozen=True):
    """A compiled requirement. `match(labels)` answers; `explain(labels)` says why the answer is no, else None."""

    key: str
    operator: str
    values: tuple[str, ...]
    match: Predicate

    def explain(self, labels: Labels) -> str | None:
        if self.match(labels):
            return None
        value = labels.get(self.key)
        if value is None:
            return f"label {shown(self.key)} is missing, {shown(str(self))} is required"
        head = f"label {shown(self.key)}={value and shown(value)}"
        if self.operator == DOES_NOT_EXIST:
            return f"{head}: it must not be there"
        row = _OPERATORS[self.operator]
        if row.comparison is None:
            return f"{head}: {false_inequality(value, row.symbol, _listed(self))}"
        unreadable = row.comparison.unreadable(value)
        return f"{head}: {unreadable or false_inequality(value, row.comparison.symbol, self.values[0])}"

    def gap(self, labels: Labels) -> float:
        """Return how far labels that do not meet it are from doing so."""
        value = labels.get(self.key)
        if value is None:
            return ABSENT
        row = _OPERATORS[self.operator]
        return DIFFERS if row.comparison is None else value_gap(row.comparison.kind, self.values[0], value)

    @property
    def compares(self) -> bool:
        """Return whether the label's value is compared, and so may be one that cannot be read."""
        return self.comparison is not None

    @property
    def comparison(self) -> Comparison | None:
        """Return how the label's value is compared; None for operators that look for equal values."""
        return comparison_by(self.operator)

    def unreadable(self, labels: Labels) -> Unreadable | None:
        """Describe the label's value if it is there and cannot be compared."""
        comparison, value = _OPERATORS[self.operator].comparison, labels.get(self.key)
        if comparison is None or value is None:
            return None
        return unreadable_value(LABEL_VALUE, self.key, value, _NAMES[self.operator], comparison.kind)

    def __str__(self) -> str:
        """The canonical form, which parses back to the same requirement (but for the semver operators)."""
        if self.operator == EXISTS:
            return self.key
        if self.operator == DOES_NOT_EXIST:
            return "!" + self.key
        space = "" if self.operator in _WITHOUT_SPACES else " "
        return f"{self.key}{space}{_OPERATORS[self.operator].symbol}{space}{_listed(self)}"


def compile_requirement(key: str, operator: str, values: Sequence[str], path: str = "") -> Requirement:
    """Check and compile; raises `SelectorError` with every complaint, in Kubernetes' order."""
    errors = _requirement_errors(key, operator, values, path)
    if errors:
        raise SelectorError(aggregate(errors), errors)
    return trusted_requirement(key, operator, values)


def trusted_requirement(key: str, operator: str, values: Sequence[str]) -> Requirement:
    """Compile without checks, for what Kubernetes doesn't check either: a pod's plain `nodeSelector`."""
    row = _OPERATORS[operator]
    return Requirement(key, operator, tuple(values), row.predicate(row, key, values))


def comparison_by(operator: str) -> Comparison | None:
    """Return how an operator of requirements compares values; None if it looks for equal ones."""
    return _OPERATORS[operator].comparison


def aggregate(errors: Sequence[FieldError]) -> str:
    """Return several errors as one text: each message once, in brackets if there is more than one."""
    messages = list(dict.fromkeys(map(str, errors)))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


def _listed(requirement: Requirement) -> str:
    values = ",".join(sorted(requirement.values))
    return f"({values})" if requirement.operator in (IN, NOT_IN) else values


def _requirement_errors(key: str, operator: str, values: Sequence[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if complaints := label_key_errors(key):
        errors.append(invalid(child_path(path, "key"), key, "; ".join(complaints)))
    value_path = child_path(path, "values")
    row = _OPERATORS.get(operator)
    if row is None:
        errors.append(
            not_supported(child_path(path, "operator"), AsJSON(operator), (*BINARY_OPERATORS, EXISTS, DOES_NOT_EXIST))
        )
    else:
        if not row.least <= len(values) <= row.most:
            errors.append(invalid(value_path, values, row.wrong_count))
        if row.comparison is not None:
            errors += [
                invalid(f"{value_path}[{i}]", value, "; ".join(row.comparison.kind.errors(value)) or row.wrong_value)
                for i, value in enumerate(values)
                if row.comparison.unreadable(value)
            ]
    for i, value in enumerate(values):
        if complaints := label_value_errors(value):
            errors.append(invalid(f"{value_path}[{i}][{key}]", value, "; ".join(complaints)))
    return errors


class _Operator(msgspec.Struct, frozen=True):
    """A row of the operator table: how it is written, how many values it takes, and the predicate it compiles to."""

    symbol: str
    least: int
    most: float
    wrong_count: str
    predicate: Callable[["_Operator", str, Sequence[str]], Predicate]
    comparison: Comparison | None = None
    wrong_value: str = ""


def _any_of(row: _Operator, key: str, values: Sequence[str]) -> Predicate:
    if len(values) == 1:
        only = values[0]
        return lambda labels: labels.get(key) == only
    accepted = frozenset(values)
    return lambda labels: labels.get(key) in accepted


def _none_of(row: _Operator, key: str, values: Sequence[str]) -> Predicate:
    unwanted = frozenset(values)
    return lambda labels: labels.get(key) not in unwanted


def _present(row: _Operator, key: str, values: Sequence[str]) -> Predicate:
    return lambda labels: key in labels


def _absent(row: _Operator, key: str, values: Sequence[str]) -> Predicate:
    return lambda labels: key not in labels


def _compared(row: _Operator, key: str, values: Sequence[str]) -> Predicate:
    comparison = row.comparison
    assert comparison is not None
    compares = comparison.compile(values[0])

    def match(labels: Labels) -> bool:
        value = labels.get(key)
        if value is None or compares(value):
            return value is not None
        if _LOG.enabled(_LOG_LEVEL):
            _log_unreadable(comparison, value, labels)
        return False

    return match


def _log_unreadable(comparison: Comparison, value: str, labels: Labels) -> None:
    """Log a label's value that is no number or version, in the words of apimachinery and KEP-5721."""
    try:
        comparison.kind.read(value)
    except ValueError as error:
        shown_labels = ",".join(f"{key}={labels[key]}" for key in sorted(labels))
        what = "ParseInt" if comparison.kind.noun == "number" else "Parse semver"
        _LOG.debug(_LOG_LEVEL, f"{what} failed for value {value} in label {shown_labels}, {error}")


_SET_COUNT = "for 'in', 'notin' operators, values set can't be empty"
_EXACT_COUNT = "exact-match compatibility requires one single value"
_UNARY_COUNT = "values set must be empty for exists and does not exist"


def _comparing_rows() -> dict[str, _Operator]:
    rows: dict[str, _Operator] = {}
    for row in OPERATORS:
        if (comparison := comparison_of(row.name, NODE_SELECTOR)) is not None:
            symbol = comparison.symbol if row.selection in BINARY_OPERATORS else row.selection
            named = "for " + ", ".join(f"'{name}'" for name in siblings(row.name, NODE_SELECTOR)) + " operators, "
            count, integer = f"{named}exactly one value is required", f"{named}the value must be an integer"
            rows[row.selection] = _Operator(symbol, 1, 1, count, _compared, comparison, integer)
    return rows


_OPERATORS: dict[str, _Operator] = {
    IN: _Operator("in", 1, float("inf"), _SET_COUNT, _any_of),
    NOT_IN: _Operator("notin", 1, float("inf"), _SET_COUNT, _none_of),
    EQUALS: _Operator("=", 1, 1, _EXACT_COUNT, _any_of),
    DOUBLE_EQUALS: _Operator("==", 1, 1, _EXACT_COUNT, _any_of),
    NOT_EQUALS: _Operator("!=", 1, 1, _EXACT_COUNT, _none_of),
    EXISTS: _Operator("exists", 0, 0, _UNARY_COUNT, _present),
    DOES_NOT_EXIST: _Operator("!", 0, 0, _UNARY_COUNT, _absent),
    **_comparing_rows(),
}
#: The names that manifests have, of the operators that compare.
_NAMES = {row.selection: row.name for row in OPERATORS if row.selection}
_WITHOUT_SPACES = frozenset(BINARY_OPERATORS) - {IN, NOT_IN}
