"""Finds wrong `format` calls before they run: a literal format string with a literal list of arguments.

Comes in: a checked tree. Goes out: at most one issue per call, at the argument to blame or at the call. Kubernetes:
stringFormatValidator in cel-go ext/formatting.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.match.cel.libraries.text.string_format import VERBS, Clause, FormatError, interpolate, refusal
from moorage.match.cel.parse.syntax import Call, ListLiteral, Literal, MapLiteral

if TYPE_CHECKING:
    from moorage.match.cel.parse.syntax import Node


class _ArgumentError(FormatError):
    """A clause that refuses its argument's type."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(reason)
        self.node = node


def check_format_call(call: Call) -> tuple[int, str] | None:
    """Return where and what is wrong with one call; None if nothing is, or if it cannot be known yet."""
    target = call.target
    if call.overloads is None or all(row.id != "string_format" for row in call.overloads):
        return None
    if not isinstance(target, Literal) or type(target.value) is not str:
        return None
    if len(call.args) != 1 or not isinstance(call.args[0], ListLiteral):
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


def _refused(node: Node, verb: str) -> Node | None:
    """Return the first part of the argument the clause cannot take; only `%s` looks into list and map literals."""
    if not node.type.is_dyn and node.type.kind not in VERBS[verb].accepts:
        return node
    if verb != "s":
        return None
    parts: list[Node] = []
    if isinstance(node, ListLiteral):
        parts = node.elements
    elif isinstance(node, MapLiteral):
        parts = [part for entry in node.entries for part in (entry.key, entry.value)]
    return next((found for found in (_refused(part, verb) for part in parts) if found is not None), None)
