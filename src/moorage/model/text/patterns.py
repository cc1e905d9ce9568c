r"""Match regular expressions against a user's text in time linear in its length, by way of RE2.

Every pattern that meets text of a request, a manifest or a kubeconfig is compiled here: `whole` and `anywhere` answer
yes or no, `Pattern` has the groups. Patterns are written as in Go: classes such as `\d` are ASCII, `\z` is the end of
the text, and there is neither look-around nor a reference to a group. Text is matched as UTF-8; half of a surrogate
pair counts as U+FFFD, as in Go's JSON. Python's `re`, which goes back and tries again, is for text of our own: a test
(tests/unit/model/text/test_readers.py) has the list of modules that may import it.

A search that fails has read the text once; so has one that succeeds, but `finditer` and `sub` search again behind each
match, so their patterns must decide where a match ends by the character that follows it.
Kubernetes: Go's package regexp, which is linear for the same reason.
"""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

import re2

Text = TypeVar("Text", str, bytes)

_Anchor = re2._re2.RE2.Anchor
_BOTH, _START, _NOWHERE = _Anchor.ANCHOR_BOTH, _Anchor.ANCHOR_START, _Anchor.UNANCHORED
_ABSENT = (-1, -1)


def _options(*, utf8: bool = True, never_capture: bool = False) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = never_capture  # keeping track of groups is most of the work
    if not utf8:
        options.encoding = re2.Options.Encoding.LATIN1
    return options


_UTF8, _LATIN1, _YES_OR_NO = _options(), _options(utf8=False), _options(never_capture=True)


def to_bytes(text: str | bytes) -> bytes:
    """Return text as UTF-8, with U+FFFD for halves of surrogate pairs; bytes as they are."""
    if isinstance(text, bytes):
        return bytes(text)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _compile(pattern: str | bytes, options: Any) -> Any:
    compiled = re2._re2.RE2(pattern.encode() if isinstance(pattern, str) else pattern, options)
    if not compiled.ok():
        raise ValueError(f"cannot compile {pattern!r}: {compiled.error()!r}")
    return compiled


def whole(pattern: str) -> Callable[[str], bool]:
    """Return a function that says whether a pattern matches a text from its beginning to its end."""
    match = _compile(pattern, _YES_OR_NO).Match

    def fits(text: str) -> bool:
        raw = to_bytes(text)
        return bool(match(_BOTH, raw, 0, len(raw))[0] != _ABSENT)

    return fits


def anywhere(pattern: str) -> Callable[[str], bool]:
    """Return a function that says whether a pattern occurs in a text."""
    match = _compile(pattern, _YES_OR_NO).Match

    def occurs(text: str) -> bool:
        raw = to_bytes(text)
        return bool(match(_NOWHERE, raw, 0, len(raw))[0] != _ABSENT)

    return occurs


class Match(Generic[Text]):
    """Where a pattern matched: groups by number or name. Places are those of the text, also of text outside ASCII."""

    __slots__ = ("_of", "_raw", "_spans")

    def __init__(self, of: "Pattern[Text]", raw: bytes, spans: list[tuple[int, int]]) -> None:
        self._of: Pattern[Text] = of
        self._raw, self._spans = raw, spans

    def __getitem__(self, group: int | str) -> Text:
        """Return the text of a group, empty for one that did not take part; `has` tells the difference."""
        start, end = self._spans[self._of.number(group)]
        return self._of.back(self._raw[start:end] if start >= 0 else b"")

    def has(self, group: int | str) -> bool:
        return self._spans[self._of.number(group)] != _ABSENT

    def get(self, group: int | str) -> Text | None:
        return self[group] if self.has(group) else None

    def groups(self) -> tuple[Text, ...]:
        return tuple(self[number] for number in range(1, len(self._spans)))

    def start(self, group: int | str = 0) -> int:
        return self._place(self._spans[self._of.number(group)][0])

    def end(self, group: int | str = 0) -> int:
        return self._place(self._spans[self._of.number(group)][1])

    def _place(self, offset: int) -> int:
        if not self._of.is_text or self._raw.isascii() or offset < 0:
            return offset
        return len(self._raw[:offset].decode())


class Pattern(Generic[Text]):
    """A compiled pattern, with the methods of Python's that are needed."""

    def __init__(self, pattern: Text) -> None:
        self.is_text = isinstance(pattern, str)
        self._compiled = _compile(pattern, _UTF8 if self.is_text else _LATIN1)
        self._match = self._compiled.Match
        self._numbers = {name.decode(): number for name, number in self._compiled.NamedCapturingGroups()}

    def number(self, group: int | str) -> int:
        return group if isinstance(group, int) else self._numbers[group]

    def back(self, raw: bytes) -> Text:
        return raw.decode() if self.is_text else raw  # type: ignore[return-value]

    def fullmatch(self, text: Text) -> "Match[Text] | None":
        return self._at(_BOTH, to_bytes(text), 0)

    def match(self, text: Text) -> "Match[Text] | None":
        return self._at(_START, to_bytes(text), 0)

    def match_at(self, raw: bytes, place: int) -> "Match[Text] | None":
        """Match what begins at a place in bytes. Text has to be made bytes once, before a loop that goes through it."""
        return self._at(_START, raw, place)

    def search(self, text: Text) -> "Match[Text] | None":
        return self._at(_NOWHERE, to_bytes(text), 0)

    def finditer(self, text: Text) -> "Iterator[Match[Text]]":
        """Yield the matches one after the other; an empty one is followed by the search from the next character on."""
        raw, place = to_bytes(text), 0
        while place <= len(raw) and (match := self._at(_NOWHERE, raw, place)) is not None:
            yield match
            start, end = match._spans[0]
            place = end if end > start else _next_character(raw, end)

    def findall(self, text: Text) -> list[Text]:
        return [match[0] for match in self.finditer(text)]

    def sub(self, replace: "Callable[[Match[Text]], Text]", text: Text) -> Text:
        """Replace what matches."""
        raw, done = to_bytes(text), 0
        pieces: list[bytes] = []
        for match in self.finditer(text):
            start, end = match._spans[0]
            pieces += [raw[done:start], to_bytes(replace(match))]
            done = end
        return self.back(b"".join([*pieces, raw[done:]])) if pieces else text

    def _at(self, anchor: Any, raw: bytes, place: int) -> "Match[Text] | None":
        spans = self._match(anchor, raw, place, len(raw))
        return None if spans[0] == _ABSENT else Match(self, raw, spans)


def _next_character(raw: bytes, place: int) -> int:
    place += 1
    while place < len(raw) and raw[place] & 0xC0 == 0x80:
        place += 1
    return place
