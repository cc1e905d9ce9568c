"""Parse an expression and note which stretch of its text each node was written as.

Nodes that macros add were not written and have no span. A node in parentheses has two: with them (`outer`), where the
span of what encloses it begins, and without (`spans`), as it is shown.
"""

from __future__ import annotations

from moorage.match.cel.parse import syntax
from moorage.match.cel.parse.parser import Parser

Span = tuple[int, int]
_OPERATORS = frozenset(("!_", "-_", "@in"))


class SpanParser(Parser):
    """A parser that notes the span of each node in `spans`."""

    def __init__(self, source: syntax.Source, has_bindings: bool) -> None:
        super().__init__(source, has_bindings)
        self.spans: dict[syntax.Node, Span] = {}
        self.outer: dict[syntax.Node, Span] = {}
        self.end = 0

    def skip(self) -> None:
        self.end = self.token.position + len(self.token.text)
        super().skip()

    def note_span(self, node: syntax.Node, start: int, end: int) -> None:
        self.spans[node] = self.outer[node] = (start, end)

    def primary(self) -> syntax.Node:
        start, is_enclosed = self.token.position, self.token.kind == "("
        node = super().primary()
        if is_enclosed:
            self.outer[node] = (start, self.end)
        else:
            self.note_span(node, start, self.end)
        return node

    def unary(self) -> syntax.Node:
        start = self.token.position
        node = super().unary()
        if node in self.outer:  # `!!x` is x
            self.outer[node] = (start, self.outer[node][1])
        return node

    def select_or_call(self, operand: syntax.Node) -> syntax.Node:
        node = super().select_or_call(operand)
        self.note_span(node, self._start(operand), self.end)
        return node

    def index_of(self, operand: syntax.Node) -> syntax.Node:
        node = super().index_of(operand)
        self.note_span(node, self._start(operand), self.end)
        return node

    def call(
        self, at: int, function: str, target: syntax.Node | None, args: list[syntax.Node], nested: int = 0
    ) -> syntax.Node:
        node = super().call(at, function, target, args, nested)
        if function.startswith("_") or function in _OPERATORS:
            last = self.outer.get(args[-1])
            self.note_span(node, min(at, self._start(args[0])), self.end if last is None else last[1])
        return node

    def _start(self, node: syntax.Node) -> int:
        span = self.outer.get(node)
        return node.position if span is None else span[0]
