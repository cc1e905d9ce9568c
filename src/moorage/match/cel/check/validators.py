"""Check literals for what types alone do not catch: durations, timestamps, patterns, and mixed lists and maps.

In: a checked tree. Out: (offset, message) pairs with cel-go's texts. Kubernetes: cel-go cel/validator.go, the four
validators of apiserver/pkg/cel/environment/base.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from moorage.match.cel.libraries.calendar import parse_duration, parse_timestamp
from moorage.match.cel.libraries.operators import MAX_SECONDS, MIN_SECONDS
from moorage.match.cel.libraries.string_format import VERBS, Clause, FormatError, interpolate, refusal
from moorage.match.cel.parse import syntax
from moorage.match.cel.patterns import compile_pattern
from moorage.match.cel.types import Type, TypeKind
from moorage.match.cel.values import CelError


def validate_literals(root: syntax.Node) -> list[tuple[int, str]]:
    issues: list[tuple[int, str]] = []
    for node, in_format in _walk(root):
        if isinstance(node, syntax.Call):
            wrong = check_format_call(node)
            if wrong is not None:
                issues.append(wrong)
            if node.function in ("duration", "timestamp", "matches") and node.args:
                literal = node.args[0]
                if isinstance(literal, syntax.Literal) and not _is_valid(node.function, literal.value):
                    issues.append((literal.position, f"invalid {node.function} argument"))
        elif in_format:
            continue
        elif isinstance(node, syntax.ListLiteral):
            issues.extend(_mixed_list(node))
        elif isinstance(node, syntax.MapLiteral):
            issues.extend(_mixed_map(node))
    return issues


def _walk(root: syntax.Node) -> Iterator[tuple[syntax.Node, bool]]:
    """Yield all nodes, each with whether it is part of a call of format(), whose arguments may be mixed."""
    waiting = [(root, False)]
    while waiting:
        node, in_format = waiting.pop()
        yield node, in_format
        in_format = in_format or (isinstance(node, syntax.Call) and node.function == "format")
        waiting.extend((child, in_format) for child in syntax.children(node))


def _is_valid(function: str, value: object) -> bool:
    try:
        if function == "duration":
            return isinstance(value, str) and parse_duration(value) is not None
        if function == "timestamp":
            if isinstance(value, int):
                return MIN_SECONDS <= value <= MAX_SECONDS
            return isinstance(value, str) and parse_timestamp(value) is not None
        if isinstance(value, str):
            compile_pattern(value)
    except CelError:
        return False
    return True


def _value_type(type_: Type, optional: bool) -> Type:
    return type_.parameters[0] if optional and type_.parameters else type_


def _mixed_list(node: syntax.ListLiteral) -> Iterator[tuple[int, str]]:
    first: Type | None = None
    for index, element in enumerate(node.elements):
        type_ = _value_type(element.type, index in node.optional)
        if first is None:
            first = type_
        elif type_ != first:
            yield element.position, f"expected type '{first}' but found '{type_}'"
            return


def _mixed_map(node: syntax.MapLiteral) -> Iterator[tuple[int, str]]:
    first: tuple[Type, Type] | None = None
    for entry in node.entries:
        key, value = entry.key.type, _value_type(entry.value.type, entry.optional)
        if first is None:
            first = (key, value)
            continue
        if key != first[0]:
            yield entry.key.position, f"expected type '{first[0]}' but found '{key}'"
        if value != first[1]:
            yield entry.value.position, f"expected type '{first[1]}' but found '{value}'"


class _ArgumentError(FormatError):
    """A clause that refuses its argument's type."""

    def __init__(self, node: syntax.Node, reason: str) -> None:
        super().__init__(reason)
        self.node = node


def check_format_call(call: syntax.Call) -> tuple[int, str] | None:
    """Return where and what is wrong with one call; None if nothing is, or if it cannot be known yet."""
    target = call.target
    if call.overloads is None or all(row.id != "string_format" for row in call.overloads):
        return None
    if not isinstance(target, syntax.Literal) or type(target.value) is not str:
        return None
    if len(call.args) != 1 or not isinstance(call.args[0], syntax.ListLiteral):
        return None
    arguments = call.args[0].elements
    used = 0

    def accept(index: int, clause: Clause) -> str:
        nonlocal used
        used = index + 1
        stranger = _refused(arguments[index], clause.verb)
        if stranger is not None:
            raise _ArgumentError(stranger, f"error during formatting: {refusal(clause.verb, stranger.type.name)}")
        return ""

    try:
        interpolate(target.value, len(arguments), accept, arguments_first=False)
    except _ArgumentError as error:
        return error.node.position, str(error)
    except FormatError as error:
        return call.position, str(error)
    if len(arguments) > used:
        expected = f"expected {used}, got {len(arguments)}"
        return call.position, f"too many arguments supplied to string.format ({expected})"
    return None


def _refused(node: syntax.Node, verb: str) -> syntax.Node | None:
    """Return the first part of the argument the clause cannot take; only `%s` looks into list and map literals."""
    if node.type.kind is not TypeKind.DYN and node.type.kind not in VERBS[verb].accepts:
        return node
    if verb != "s":
        return None
    parts: list[syntax.Node] = []
    if isinstance(node, syntax.ListLiteral):
        parts = node.elements
    elif isinstance(node, syntax.MapLiteral):
        parts = [part for entry in node.entries for part in (entry.key, entry.value)]
    return next((inner for inner in (_refused(part, verb) for part in parts) if inner is not None), None)
