"""Show how an expression came to its value: a tree of its parts as they were written, each with its value or error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from moorage.match.cel.environment import Environment
from moorage.match.cel.parse import syntax
from moorage.match.cel.parse.syntax import Issue, Source, make_room
from moorage.match.cel.program import compile_source
from moorage.match.cel.trace.recording import Evaluated, RecordingCompiler, TraceRecorder
from moorage.match.cel.trace.shown_value import shown_value
from moorage.match.cel.trace.spans import SpanParser
from moorage.match.cel.values import CelError, type_of_value

#: Parts that a trace shows; a longer one says that it was cut.
MAX_PARTS = 300
_MAX_TEXT = 400
_LOGICAL = ("_&&_", "_||_")
#: Calls that may leave arguments out.
_SELECTIVE = (*_LOGICAL, "_?_:_", "or", "orValue")
#: Frames that recording adds to the closures', as levels of an expression.
_MORE_ROOM = 3


class TracedPart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of an expression with its value as CEL writes it, or why it has none.

    `line` and `column` count from 1. `passes` counts the elements that a loop went through, `iterations` shows some.
    """

    expression: str
    line: int = 1
    column: int = 1
    value: str | None = None
    type: str = ""
    error: str | None = None
    skipped: bool = False
    parts: tuple[TracedPart, ...] = ()
    passes: int = 0
    iterations: tuple[TracedIteration, ...] = ()


class TracedIteration(msgspec.Struct, frozen=True, omit_defaults=True):
    """One pass through a loop: its number from 1, the loop's variables, and what was evaluated."""

    number: int
    variables: dict[str, str]
    parts: tuple[TracedPart, ...] = ()


class Trace(msgspec.Struct, frozen=True):
    """What an expression evaluated to, what that cost, and its parts. `result` is its value as CEL computes with it."""

    source: str
    root: TracedPart
    cost: int
    result: Any = None
    error: str | None = None
    is_cut: bool = False


def trace_expression(source: str, environment: Environment, bindings: Mapping[str, Any]) -> Trace | list[Issue]:
    """Evaluate an expression for given values of its variables; return why it does not compile if it does not."""
    text = Source(source)
    recorder = TraceRecorder()
    parsers: list[SpanParser] = []

    def make_parser(given: Source, has_bindings: bool) -> SpanParser:
        parsers.append(SpanParser(given, has_bindings))
        return parsers[-1]

    def make_compiler(given: Environment, checked: bool) -> RecordingCompiler:
        return RecordingCompiler(given, checked, recorder)

    make_room(_MORE_ROOM * syntax.nesting(source))
    try:
        program = compile_source(text, environment, True, make_parser, make_compiler)
    except RecursionError:
        return [text.issue(syntax.NO_POSITION, "max recursion depth exceeded")]
    if isinstance(program, list):
        return program
    result, error = None, None
    try:
        result, cost = program.run_with_cost(bindings)
    except CelError as failure:
        error, cost = str(failure), failure.cost
    tree = _Tree(text, parsers[-1].spans, MAX_PARTS)
    root = tree.whole(recorder.root, result, error)
    return Trace(source, root, cost, result, error, tree.is_cut or recorder.is_full)


class _Tree:
    """Makes the tree that is shown from the events: what was not written is left out, and its parts take its place."""

    def __init__(self, source: Source, spans: Mapping[syntax.Node, tuple[int, int]], most: int) -> None:
        self._source, self._spans, self._left = source, spans, most
        self.is_cut = False

    def whole(self, event: Evaluated | None, result: Any, error: str | None) -> TracedPart:
        """Return the part for the whole expression, which is also there if it is a constant."""
        parts: tuple[TracedPart, ...] = ()
        passes, iterations = 0, tuple[TracedIteration, ...]()
        if event is not None:
            self._left -= 1
            parts = self._below(event, frozenset())
            passes, iterations = event.passes, self._iterations(event, frozenset())
        return TracedPart(
            _shortened(self._source.text.strip()),
            value=None if error is not None else shown_value(result),
            type="" if error is not None else type_of_value(result).name,
            error=error,
            parts=parts,
            passes=passes,
            iterations=iterations,
        )

    def _parts(self, events: list[Evaluated], known: frozenset[str]) -> Iterator[TracedPart]:
        for event in events:
            node = event.node
            if isinstance(node, syntax.Ident) and node.name in known:
                continue
            if node not in self._spans:
                yield from self._parts(event.children, known)
            elif (part := self._part(event, known)) is not None:
                yield part

    def _part(self, event: Evaluated, known: frozenset[str]) -> TracedPart | None:
        if self._left <= 0:
            self.is_cut = True
            return None
        self._left -= 1
        expression, line, column = self._place(event.node)
        failed = event.error is not None
        return TracedPart(
            expression,
            line,
            column,
            None if failed else shown_value(event.value),
            "" if failed else type_of_value(event.value).name,
            event.error,
            parts=self._below(event, known),
            passes=event.passes,
            iterations=self._iterations(event, known),
        )

    def _below(self, event: Evaluated, known: frozenset[str]) -> tuple[TracedPart, ...]:
        """Return the parts below; a chain of `&&` has its terms side by side, and says which were not evaluated."""
        node = event.node
        if not isinstance(node, syntax.Call) or node.function not in _SELECTIVE:
            return tuple(self._parts(event.children, known))
        by_node = {child.node: child for child in event.children}
        parts: list[TracedPart] = []
        for argument in (node.target, *node.args) if node.target is not None else node.args:
            child = by_node.get(argument)
            same = isinstance(argument, syntax.Call) and argument.function == node.function
            if child is not None and same and node.function in _LOGICAL:
                parts += self._below(child, known)
            elif child is not None:
                parts += self._parts([child], known)
            elif argument in self._spans and not isinstance(argument, syntax.Literal):
                expression, line, column = self._place(argument)
                parts.append(TracedPart(expression, line, column, skipped=True))
        return tuple(parts)

    def _iterations(self, event: Evaluated, known: frozenset[str]) -> tuple[TracedIteration, ...]:
        shown: list[TracedIteration] = []
        for index, iteration in enumerate(event.iterations):
            is_last = index == len(event.iterations) - 1
            names = known | {name for name, _ in iteration.variables}
            shown.append(
                TracedIteration(
                    event.passes if is_last else index + 1,
                    {name: shown_value(value) for name, value in iteration.variables},
                    tuple(self._parts(iteration.children, names)),
                )
            )
        return tuple(shown)

    def _place(self, node: syntax.Node) -> tuple[str, int, int]:
        start, end = self._spans[node]
        issue = self._source.issue(start, "")
        return _shortened(self._source.text[start:end]), issue.line, issue.column


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[: _MAX_TEXT - 1]}…"
