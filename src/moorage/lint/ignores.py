"""Read `# moorage: ignore RULE` comments, and tell which findings they cover.

A comment covers its own line; on a line of its own it covers the field or item below it with all that is indented
below that, and before the first key of a document it covers the whole document. Only text that contains `moorage:` is
looked at. Words after `--` are the reason, for people.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import yaml

from moorage.lint.catalogue import SelectionError, matching_rules

if TYPE_CHECKING:
    from moorage.lint.finding import SourcePlace
    from moorage.model.text.document_chunks import Chunk

_MARK = b"moorage:"
_COMMENT = re.compile(r"(?:^|(?<=\s))#+\s*moorage:\s*(?P<word>[\w-]*)(?P<rest>.*)")
_REASON = re.compile(r"\s(?:--+|#|–|—)(?:\s|$)")
_SEPARATORS = re.compile(r"[,\s]+")
_WORDS = ("ignore", "disable", "skip", "suppress", "noqa", "nolint", "allow", "exclude")
#: Larger text is not scanned for the quoted and block texts that comments may seem to stand in.
_MAX_SCANNED_BYTES = 1024 * 1024
_MAX_MISTAKES = 1_000


class IgnoreMistake(NamedTuple):
    """A comment that looks like an ignore comment and ignores less than it says."""

    source: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.reason}"


class _Comment(NamedTuple):
    """A comment for the linter, and whether its line has nothing else."""

    line: int
    rules: frozenset[str]
    is_alone: bool


class _IgnoredDocument(NamedTuple):
    """The lines of a document of which some rules are ignored."""

    first: int
    last: int
    rules: frozenset[str]


class _IgnoredBlock(NamedTuple):
    """The lines of a field or item of which some rules are ignored, with those of the blocks around it."""

    first: int
    last: int
    rules: frozenset[str]
    outer: int  # the position of the next larger block, or -1


class Ignores:
    """The ignore comments of all sources, as they are read."""

    def __init__(self) -> None:
        self.mistakes: list[IgnoreMistake] = []
        self._lines: dict[str, dict[int, frozenset[str]]] = {}
        self._blocks: dict[str, list[_IgnoredBlock]] = {}
        self._documents: dict[str, list[_IgnoredDocument]] = {}
        self._heading: frozenset[str] = frozenset()  # of comments that stand before a `---`

    def begin(self, source: str) -> None:
        """Start a source: comments at the end of the one before say nothing about it."""
        self._heading = frozenset()
        self._lines.pop(source, None)
        self._blocks.pop(source, None)
        self._documents.pop(source, None)

    def add(self, source: str, chunk: Chunk) -> None:
        """Read the comments of a document."""
        heading, self._heading = self._heading, frozenset()
        if _MARK not in chunk.text and _MARK not in chunk.heading and not heading:
            return
        lines = chunk.text.decode("utf-8", "replace").split("\n")
        first_key = next((number for number, line in enumerate(lines) if _is_content(line)), None)
        for comment in self._comments([chunk.heading.decode("utf-8", "replace")], source, chunk.first_line - 1):
            heading |= comment.rules
        for comment in self._comments(lines, source, chunk.first_line, _hidden_places(chunk.text)):
            index = comment.line - chunk.first_line
            if first_key is None or index < first_key:
                heading |= comment.rules
            else:
                self._cover(source, comment, lines, chunk.first_line)
        if first_key is None:
            self._heading = heading
        elif heading:
            document = _IgnoredDocument(chunk.first_line, chunk.first_line + len(lines), heading)
            self._documents.setdefault(source, []).append(document)

    def cover(self, rule: str, place: SourcePlace) -> bool:
        """Return whether a comment covers findings of this rule at this place."""
        if not self._lines and not self._blocks and not self._documents:
            return False
        if rule in self._lines.get(place.source, {}).get(place.line, ()):
            return True
        blocks = self._blocks.get(place.source, [])
        at = _innermost(blocks, place.line)
        if at >= 0 and rule in blocks[at].rules:
            return True
        documents = self._documents.get(place.source, [])
        at = bisect_right(documents, place.line, key=lambda document: document.first) - 1
        return at >= 0 and place.line <= documents[at].last and rule in documents[at].rules

    def _cover(self, source: str, comment: _Comment, lines: list[str], first_line: int) -> None:
        index = comment.line - first_line
        if not comment.is_alone:
            covered = self._lines.setdefault(source, {})
            covered[comment.line] = covered.get(comment.line, frozenset()) | comment.rules
            return
        while index < len(lines) and lines[index].lstrip().startswith("#"):
            index += 1
        if index < len(lines) and _is_content(lines[index]):
            blocks = self._blocks.setdefault(source, [])
            outer = _innermost(blocks, first_line + index)
            rules = comment.rules | blocks[outer].rules if outer >= 0 else comment.rules
            blocks.append(_IgnoredBlock(first_line + index, first_line + _end_of_block(lines, index), rules, outer))

    def _comments(
        self, lines: list[str], source: str, first_line: int, hidden: Iterable[tuple[_Mark, _Mark]] = ()
    ) -> Iterator[_Comment]:
        spans = iter(hidden)
        span = next(spans, None)
        for index, line in enumerate(lines):
            match = _COMMENT.search(line) if "moorage:" in line else None
            if match is None:
                continue
            while span is not None and span[1] <= (index, match.start()):
                span = next(spans, None)
            if span is not None and span[0] <= (index, match.start()):
                continue
            number = first_line + index
            if match["word"] == "ignore":
                rules = self._named_rules(_REASON.split(match["rest"], maxsplit=1)[0], source, number)
                yield _Comment(number, rules, not line[: match.start()].strip())
            elif _means_ignore(match["word"]):
                self._mistake(source, number, f"moorage: {match['word']} is unknown; write # moorage: ignore RULE")

    def _named_rules(self, text: str, source: str, line: int) -> frozenset[str]:
        names = [name for name in _SEPARATORS.split(text.strip(" \t\r,:")) if name]
        if not names:
            self._mistake(source, line, "# moorage: ignore names no rule; write # moorage: ignore RULE")
        rules: set[str] = set()
        for name in names:
            try:
                rules |= matching_rules(name)
            except SelectionError as error:
                self._mistake(source, line, f"# moorage: ignore: {error}")
        return frozenset(rules)

    def _mistake(self, source: str, line: int, reason: str) -> None:
        if len(self.mistakes) < _MAX_MISTAKES:
            self.mistakes.append(IgnoreMistake(source, line, reason))


_Mark = tuple[int, int]


def _means_ignore(word: str) -> bool:
    from difflib import get_close_matches  # only wrong words need it

    return bool(get_close_matches(word, _WORDS, n=1, cutoff=0.75))


def _innermost(blocks: list[_IgnoredBlock], line: int) -> int:
    """Return the position of the smallest block that has the line, or -1."""
    at = bisect_right(blocks, line, key=lambda block: block.first) - 1
    while at >= 0 and blocks[at].last < line:
        at = blocks[at].outer
    return at


def _end_of_block(lines: list[str], start: int) -> int:
    """Return the last line of the field or item that starts in a line: those that are indented more.

    The items of a list may stand right below the key that they belong to.
    """
    text = lines[start].lstrip(" ")
    indent, is_item = len(lines[start]) - len(text), _is_item(text)
    last = start
    for number in range(start + 1, len(lines)):
        if not _is_content(lines[number]):
            continue
        text = lines[number].lstrip(" ")
        depth = len(lines[number]) - len(text)
        if depth < indent or (depth == indent and (is_item or not _is_item(text))):
            break
        last = number
    return last


def _is_item(text: str) -> bool:
    return text.startswith("- ") or text.rstrip() == "-"


def _is_content(line: str) -> bool:
    text = line.strip("\ufeff \t\r")
    return bool(text) and not text.startswith(("#", "%", "---"))


def _hidden_places(text: bytes) -> Iterator[tuple[_Mark, _Mark]]:
    """Yield begin and end of each scalar, in lines and columns: a comment in one is part of a value."""
    if len(text) > _MAX_SCANNED_BYTES:
        return
    try:
        for token in yaml.scan(text, Loader=yaml.CSafeLoader):
            if isinstance(token, yaml.ScalarToken):
                begin, end = token.start_mark, token.end_mark
                yield (begin.line, begin.column), (end.line, end.column)
    except (yaml.YAMLError, UnicodeDecodeError):
        return
