"""Read manifests out of a text that is being written, and find what is wrong with them: each problem at its place.

Problems are what `lint` finds. The issues of an expression that does not compile are told one by one, each where it is
in the text, also inside of block scalars.
"""

import io
import re
from collections.abc import Iterator
from contextlib import suppress

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from moorage.dashboard.questions.playing.problems import CONTAINER, RuleProblem, marked_by_issue, unreadable_text
from moorage.dashboard.questions.playing.text_ranges import TextRange, offset_of_mark, range_between, value_range
from moorage.lint.catalogue import rules
from moorage.lint.engine import Linter
from moorage.lint.facts.custom_kinds import OwnLines
from moorage.lint.finding import Finding
from moorage.model.gates import GateSet
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Document, read_documents
from moorage.model.text.yaml_text import compose_documents
from moorage.policy.cases import PlacedObject

_MAX_PROBLEMS = 200
_ISSUE = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
_NAMES_KEY = frozenset({"unknown-field", "duplicate-field"})


class ManifestText:
    """The objects of a text, in their order, and why other parts of it are not objects."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text, self.lines = name, text, text.split("\n")
        self.documents: list[Document] = []
        self.unreadable: list[RuleProblem] = []
        for document in read_documents(io.BytesIO(text.encode("utf-8")), name):
            if isinstance(document, DecodeError):
                self.unreadable.append(unreadable_text(text, document))
            else:
                self.documents.append(document)
        self._nodes = dict(_nodes_by_place(text))

    def placed(self) -> list[PlacedObject]:
        """Return the objects, each with its line."""
        return [PlacedObject(document.raw, f"{self.name}:{document.line}") for document in self.documents]

    def problems(self, gates: GateSet, *, refusals_only: bool = False) -> list[RuleProblem]:
        """Return all problems in the order of the text, or only what the API server says of it."""
        linter = Linter(gates, frozenset(rules()))
        found = list(self.unreadable)
        for document in self.documents:
            for finding in linter.lint_document(document, OwnLines(document)):
                found += self._placed(finding)
        for finding in linter.finish():
            found += self._placed(finding)
        kept = [one for one in found if not refusals_only or one.api_server or one.severity == "error"]
        return sorted(kept, key=lambda one: (one.line, one.column, one.severity, one.message))[:_MAX_PROBLEMS]

    def _placed(self, finding: Finding) -> Iterator[RuleProblem]:
        place = finding.place
        node = self._nodes.get((place.line, place.column))
        issues = _ISSUE.findall(finding.message) if finding.rule == "rejected" else []
        if issues and isinstance(node, ScalarNode):
            for line, column, message in issues:
                start, end = marked_by_issue(str(node.value), int(line), int(column))
                where = value_range(self.text, self.lines, node, start, end)
                yield _problem(finding, where, message.removesuffix(CONTAINER))
            return
        names_key = finding.rule in _NAMES_KEY or not isinstance(node, ScalarNode)
        yield _problem(finding, self._at(place.line, place.column) if names_key else self._of(node), finding.message)

    def _of(self, node: Node | None) -> TextRange:
        assert node is not None
        start, end = (offset_of_mark(self.lines, mark) for mark in (node.start_mark, node.end_mark))
        return range_between(self.text, start, end)

    def _at(self, line: int, column: int) -> TextRange:
        """Return what a line has from a column on, up to a colon: a key."""
        written = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        key = written[column - 1 :].partition(":")[0].rstrip()
        return TextRange(max(line, 1), max(column, 1), max(column, 1) + max(len(key), 1))


def _problem(finding: Finding, where: TextRange, message: str) -> RuleProblem:
    return RuleProblem(
        where.line,
        where.column,
        where.end_column,
        finding.place.path,
        message,
        str(finding.severity),
        finding.hint,
        finding.rule,
        finding.api_server,
    )


def _nodes_by_place(text: str) -> Iterator[tuple[tuple[int, int], Node]]:
    """Yield the value at each place that a finding can name: where its key stands, or an item begins."""
    with suppress(DecodeError):  # told by those that read documents
        for root in compose_documents(text.encode("utf-8"), "the text", 1):
            yield from _below(root)


def _below(root: Node) -> Iterator[tuple[tuple[int, int], Node]]:
    left, seen = [root], set[int]()
    while left:
        node = left.pop()
        if id(node) in seen:  # through an alias
            continue
        seen.add(id(node))
        if isinstance(node, SequenceNode):
            for item in node.value:
                yield _place(item), item
                left.append(item)
        elif isinstance(node, MappingNode):
            for key, value in node.value:
                yield _place(key), value
                left.append(value)


def _place(node: Node) -> tuple[int, int]:
    return node.start_mark.line + 1, node.start_mark.column + 1
