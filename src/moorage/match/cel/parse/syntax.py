"""Define the syntax tree of an expression, and the source it came from.

A node's `position` is an offset in code points: of the operator, the dot, the opening parenthesis or the first token,
whichever cel-go reports errors at. Kubernetes: cel-go common/ast and common/source.go.
"""

from __future__ import annotations

import re
import sys
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.match.cel.types import DYN, Type
from moorage.model.text.readers import reads_text

if TYPE_CHECKING:
    from moorage.match.cel.functions import Overload

# Offset of errors that concern the expression as a whole; cel-go prints them at line -1, column 0.
NO_POSITION = -1
# The accumulator of a macro's loop. No identifier can be written like this.
ACCUMULATOR = "@result"


class Issue(NamedTuple):
    """Something wrong with an expression: where (line and column count from 1) and what, in cel-go's words."""

    line: int
    column: int
    message: str


class Source:
    """The text of an expression with its lines, for turning offsets into lines and columns and for error snippets."""

    __slots__ = ("lines", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")

    def issue(self, position: int, message: str) -> Issue:
        if position < 0:
            return Issue(-1, 0, message)
        if not self.text:
            return Issue(1, 0, message)
        line = self.text.count("\n", 0, position)
        start = self.text.rfind("\n", 0, position) + 1
        return Issue(line + 1, position - start + 1, message)

    def render(self, issues: list[Issue]) -> str:
        """Return all issues as cel-go prints them, sorted by place, each with its line and a caret."""
        ordered = sorted(issues, key=lambda issue: issue[:2])
        shown = [self._render_one(issue) for issue in ordered[:100]]
        if len(ordered) > 100:
            shown.append(f"{len(ordered) - 100} more errors were truncated")
        return "\n".join(shown)

    def _render_one(self, issue: Issue) -> str:
        text = f"ERROR: <input>:{issue.line}:{issue.column}: {issue.message}"
        if not self.text or not 1 <= issue.line <= len(self.lines):
            return text
        snippet = self.lines[issue.line - 1].replace("\t", " ")
        if len(snippet.encode("utf-8", "surrogatepass")) > 16384:
            return text
        dots = "".join("．" if ord(char) > 127 else "." for char in snippet[: issue.column - 1])
        under = snippet[issue.column - 1 : issue.column]
        caret = "＾" if under and ord(under) > 127 else "^"
        return f"{text}\n | {snippet}\n | {dots}{caret}"


@dataclass(slots=True, eq=False)
class Node:
    """Base of the tree. `depth` counts the nested operators of the source below and including this node."""

    position: int
    type: Type = field(default=DYN, init=False)
    depth: int = field(default=0, init=False)


@dataclass(slots=True, eq=False)
class Literal(Node):
    """A constant: null, bool, int, uint, double, string or bytes."""

    value: Any


@dataclass(slots=True, eq=False)
class Ident(Node):
    """A variable or a type's name. The checker replaces the name by the qualified one, and notes if it names a type."""

    name: str
    denotes: Type | None = field(default=None, init=False)


@dataclass(slots=True, eq=False)
class Select(Node):
    """`operand.field`, or `has(operand.field)` if it only tests. `variable` is set where the path names a variable."""

    operand: Node
    field: str
    test_only: bool = False
    variable: Ident | None = None


@dataclass(slots=True, eq=False)
class Call(Node):
    """A call or an operator; `overloads` are the rows that apply: one, or several where types are dyn."""

    function: str
    target: Node | None
    args: list[Node]
    overloads: tuple[Overload, ...] | None = None


@dataclass(slots=True, eq=False)
class ListLiteral(Node):
    """`[a, ?b]`; `optional` holds the indices written with a question mark."""

    elements: list[Node]
    optional: frozenset[int] = frozenset()


class Entry(NamedTuple):
    """One entry of a map literal."""

    position: int
    key: Node
    value: Node
    optional: bool


@dataclass(slots=True, eq=False)
class MapLiteral(Node):
    """`{k: v, ?k: v}`."""

    entries: list[Entry]


class Field(NamedTuple):
    """One field of a message literal."""

    position: int
    name: str
    value: Node
    optional: bool


@dataclass(slots=True, eq=False)
class StructLiteral(Node):
    """`pkg.Type{field: value}`, a value of a type that the environment lets expressions construct."""

    name: str
    fields: list[Field]


@dataclass(slots=True, eq=False)
class Comprehension(Node):
    """The loop all macros become: fold `step` over `range` while `condition`, starting from `init`, then `result`."""

    range: Node
    variable: str
    variable2: str
    accumulator: str
    init: Node
    condition: Node
    step: Node
    result: Node

    @property
    def is_binding(self) -> bool:
        """Return whether this is cel.bind or optMap: no loop, only a name for a value."""
        return (
            isinstance(self.range, ListLiteral)
            and not self.range.elements
            and isinstance(self.condition, Literal)
            and self.condition.value is False
            and self.accumulator != ACCUMULATOR
        )


def children(node: Node) -> list[Node]:
    """Return the nodes directly below, in source order."""
    if isinstance(node, Select):
        return [node.operand]
    if isinstance(node, Call):
        return node.args if node.target is None else [node.target, *node.args]
    if isinstance(node, ListLiteral):
        return node.elements
    if isinstance(node, MapLiteral):
        return [part for entry in node.entries for part in (entry.key, entry.value)]
    if isinstance(node, StructLiteral):
        return [field.value for field in node.fields]
    if isinstance(node, Comprehension):
        return [node.range, node.init, node.condition, node.step, node.result]
    return []


def qualified_name(node: Node) -> str | None:
    """Return `a.b.c` as a dotted name if the node is nothing but identifiers and selections, else None."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    parts.append(node.name)
    return ".".join(reversed(parts))


def copy_tree(node: Node) -> Node:
    """Return a deep copy, for macros that use an argument twice."""
    copied = copy(node)
    for name in type(node).__dataclass_fields__:
        setattr(copied, name, _copied(getattr(node, name)))
    return copied


def _copied(part: Any) -> Any:
    if isinstance(part, Node):
        return copy_tree(part)
    if isinstance(part, list):
        return [_copied(element) for element in part]
    return type(part)(*map(_copied, part)) if isinstance(part, Entry | Field) else part


# Room on Python's stack: the recursion limit is raised for expressions that need it, and never lowered again, since a
# program may be run at any time. Frames that one level takes; levels that fit without ado; the most there can be.
_FRAMES_PER_LEVEL = 8
_SHALLOW = 40
_DEEPEST = 1500
_BRACKETS = re.compile(r"[()\[\]{}]")


def make_room(levels: int) -> None:
    """Make this many levels of an expression fit on the stack."""
    if levels > _SHALLOW:
        frames = 1000 + min(levels, _DEEPEST) * _FRAMES_PER_LEVEL
        if sys.getrecursionlimit() < frames:
            sys.setrecursionlimit(frames)


@reads_text("(", ")", "[", "?", "a")
def nesting(source: str) -> int:
    """Return how deeply a parser will nest, at most: brackets (those in strings count too) and ternaries."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(source):
        if bracket in "([{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest + source.count("?")


def count_nodes(root: Node) -> int:
    count = 0
    waiting = [root]
    while waiting:
        node = waiting.pop()
        count += 1
        waiting.extend(children(node))
    return count


def tree_depth(root: Node) -> int:
    """Return how many nodes lie on the longest path through a tree."""
    deepest = 0
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((child, depth + 1) for child in children(node))
    return deepest
