r"""Regular expressions as Go understands them, by way of RE2.

In: a pattern. Out: a compiled one that searches UTF-8 bytes in linear time, or a `CelError` with Go's text. Compiled
patterns are kept, so an expression that is evaluated often compiles its pattern once. Kubernetes: Go's package regexp.
Differs: RE2 also knows `\C`, which is refused here as Go refuses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import re2

from moorage.match.cel.values import CelError

_SMALL = 200  # characters of a pattern
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
    return options


_OPTIONS = _options()


def _error(message: str) -> CelError:
    return CelError(f"error parsing regexp: {message}")


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """Return the compiled pattern; `search(bytes)` returns a match or None."""
    position = _any_byte(pattern)
    if position is not None:
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
    return _searcher(pattern)(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=256)
def _searcher(pattern: str) -> Callable[[bytes], bool]:
    """Answers yes or no, in half the time it takes to say where: as a set of one pattern, which has no groups to fill.

    A set that runs out of memory says no, so only patterns whose automaton is surely small are asked that way.
    """
    compiled = compile_pattern(pattern)
    if len(pattern) > _SMALL or "{" in pattern:
        return lambda text: compiled.search(text) is not None
    alone = re2.Set.SearchSet(_OPTIONS)
    alone.Add(pattern)
    alone.Compile()
    matching = alone.Match
    return lambda text: bool(matching(text))


def _is_flags_only(where: str) -> bool:
    return re.fullmatch(r"\(\?[imsU-]*", where) is not None


def _any_byte(pattern: str) -> int | None:
    """Return where `\\C` stands as an escape, outside of \\Q…\\E."""
    position = 0
    quoted = False
    while (position := pattern.find("\\", position)) >= 0:
        following = pattern[position + 1 : position + 2]
        if quoted:
            quoted = following != "E"
        elif following == "Q":
            quoted = True
        elif following == "C":
            return position
        position += 2
    return None
