r"""Match regular expressions as Go understands them, by way of RE2: matches, find and findAll.

Compiled patterns search UTF-8 bytes in linear time, and are kept, so an expression that is evaluated often compiles its
pattern once. A pattern written as a literal is compiled with the expression, and fails there; in find() and findAll()
any other fails as "Illegal regex". Kubernetes: Go's package regexp; apiserver/pkg/cel/library/regex.go.
Differs: RE2 also knows `\C`, which is refused here as Go refuses it; findAll stops with an error at a million matches;
patterns of more than some 170,000 instructions are refused, and so are texts that a large pattern would take long for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import re2

from moorage.match.cel.functions import Argument, CallEstimate, Interval, pattern_cost, pattern_estimate, row
from moorage.match.cel.values import CelError
from moorage.model.text.readers import reads_text

_SMALL = 200  # characters of a pattern
MEMORABLE = 64  # characters of a text
_MAX_MATCHES = 1_000_000
_MAX_MEMORY = 4 * 1024 * 1024  # bytes for the automata of a pattern, which is refused if it needs more
#: Instructions of a pattern times bytes of a text: about a quarter of a second, if the engine has to try all of them.
_MAX_STEPS = 20_000_000
# RE2's words → Go's.
_GO_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "duplicate capture group name": "duplicate capture group name",
}


def _options() -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True  # nothing asks for groups, and keeping track of them is most of the work
    options.max_mem = _MAX_MEMORY
    return options


_OPTIONS = _options()


def _error(message: str) -> CelError:
    return CelError(f"error parsing regexp: {message}")


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Return the compiled pattern; `search(bytes)` returns a match or None."""
    if _has_any_byte(pattern):
        raise _error("invalid escape sequence: `\\C`")
    try:
        return re2.compile(pattern, _OPTIONS)
    except UnicodeEncodeError:
        raise _error(f"invalid UTF-8: `{pattern}`") from None
    except re2.error as error:
        raw = error.args[0]
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else str(raw)
    if text.startswith("trailing \\"):
        raise _error("trailing backslash at end of expression: ``")
    what, _, where = text.partition(": ")
    if what == "missing )" or (what == "invalid perl operator" and _is_flags_only(where)):
        what, where = "missing )", pattern
    raise _error(f"{_GO_WORDS.get(what, what)}: `{where}`")


def search(pattern: str, text: str) -> bool:
    """Return whether the pattern occurs in the text."""
    return searcher(pattern)(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=256)
def searcher(pattern: str) -> Callable[[bytes], bool]:
    """Answers yes or no, in half the time it takes to say where: as a set of one pattern, which has no groups to fill.

    A set that runs out of memory says no, so only patterns whose automaton is surely small are asked that way.
    """
    compiled = compile_pattern(pattern)
    if len(pattern) > _SMALL or "{" in pattern:
        longest = _longest_text(compiled)
        return lambda text: compiled.search(_checked(text, longest)) is not None
    alone = re2.Set.SearchSet(_OPTIONS)
    alone.Add(pattern)
    alone.Compile()
    matching = alone.Match
    return lambda text: bool(matching(text))


@lru_cache(maxsize=256)
def remembering_searcher(pattern: str) -> Callable[[str], bool]:
    """Return a searcher for texts of up to `MEMORABLE` characters that remembers a few: loops ask the same again."""
    search_bytes = searcher(pattern)
    return lru_cache(maxsize=128)(lambda text: search_bytes(text.encode("utf-8", "surrogatepass")))


def _longest_text(compiled: Any) -> int:
    """Return how many bytes a pattern may be tried on."""
    return int(_MAX_STEPS // (max(1, compiled._regexp.ProgramSize()) * (1 + compiled.groups)))


def _checked(text: bytes, longest: int) -> bytes:
    if len(text) > longest:
        raise CelError(f"regular expression too large for a text of {len(text)} bytes: the longest has {longest}")
    return text


def _is_flags_only(where: str) -> bool:
    return re.fullmatch(r"\(\?[imsU-]*", where) is not None


@reads_text("\\", "Q", "E", "C", "a")
def _has_any_byte(pattern: str) -> bool:
    """Return whether `\\C` stands as an escape, outside of \\Q…\\E."""
    position = 0
    quoted = False
    while (position := pattern.find("\\", position)) >= 0:
        following = pattern[position + 1 : position + 2]
        if quoted:
            quoted = following != "E"
        elif following == "Q":
            quoted = True
        elif following == "C":
            return True
        position += 2
    return False


def _matches(text: str, pattern: str) -> bool:
    return search(pattern, text)


def _legal(pattern: str) -> Any:
    try:
        return compile_pattern(pattern)
    except CelError as error:
        raise CelError(f"Illegal regex: {error}") from None


def _find(text: str, pattern: str) -> str:
    compiled = _legal(pattern)
    occurrence = compiled.search(_checked(text.encode("utf-8", "surrogatepass"), _longest_text(compiled)))
    return "" if occurrence is None else _decoded(occurrence.group(0))


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Return successive matches; an empty one right after another match does not count."""
    compiled = _legal(pattern)
    search = compiled.search
    raw = _checked(text.encode("utf-8", "surrogatepass"), _longest_text(compiled))
    matches: list[str] = []
    position, previous_end = 0, -1
    while position <= len(raw) and (limit < 0 or len(matches) < limit):
        occurrence = search(raw, position)
        if occurrence is None:
            break
        start, end = occurrence.span(0)
        if end > position or start != previous_end:
            if len(matches) == _MAX_MATCHES:
                raise CelError(f"result too large: findAll() stops at {_MAX_MATCHES} matches")
            matches.append(_decoded(raw[start:end]))
        position = end if end > position else _next_code_point(raw, position)
        previous_end = end
    return matches


def _next_code_point(raw: bytes, position: int) -> int:
    position += 1
    while position < len(raw) and raw[position] & 0xC0 == 0x80:
        position += 1
    return position


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _estimate(text: Argument, pattern: Argument, *_: Argument) -> CallEstimate:
    """At worst every character is a match of its own."""
    return CallEstimate(pattern_estimate(text, pattern).cost, Interval(0, text.size.max))


_COSTS = (_estimate, pattern_cost)
FUNCTIONS = (
    row("matches(string, string) -> bool", "matches", _matches),
    row("string.matches(string) -> bool", "matches_string", _matches, pattern_estimate, pattern_cost),
    row("string.find(string) -> string", "string_find_string", _find, *_COSTS),
    row("string.findAll(string) -> list(string)", "string_find_all_string", _find_all, *_COSTS),
    row("string.findAll(string, int) -> list(string)", "string_find_all_string_int", _find_all, *_COSTS),
)
