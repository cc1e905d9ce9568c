"""`--select` and `--ignore`: which rules are wanted.

In: what was given on the command line, names and prefixes (`cel-*`), repeated or separated by commas. Out: the set of
names that are reported, or a `SelectionError` that names the nearest rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.lint.catalogue import BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable


ALWAYS = "unreadable"


class SelectionError(ValueError):
    """A name or prefix that fits no rule."""


def selected_rules(select: Iterable[str], ignore: Iterable[str]) -> frozenset[str]:
    """Everything, or what is selected; without what is ignored.

    Input that cannot be read is told also where only other rules are selected: it was not checked for those either.
    """
    wanted = _expand(select)
    return (wanted | {ALWAYS} if wanted else frozenset(BY_NAME)) - _expand(ignore)


def _expand(given: Iterable[str]) -> frozenset[str]:
    names: set[str] = set()
    for text in given:
        for pattern in filter(None, (part.strip() for part in text.split(","))):
            names |= _matching(pattern)
    return frozenset(names)


def _matching(pattern: str) -> set[str]:
    if pattern in BY_NAME:
        return {pattern}
    if pattern.endswith("*"):
        found = {name for name in BY_NAME if name.startswith(pattern[:-1])}
        if found:
            return found
    raise SelectionError(f"there is no rule {pattern!r}{_suggestion(pattern)}; `moorage lint --rules` lists them")


def _suggestion(pattern: str) -> str:
    from difflib import get_close_matches  # only wrong names need it

    wanted = pattern.rstrip("*")
    family = f"{wanted.rstrip('-')}-"
    if any(name.startswith(family) for name in BY_NAME):
        return f" (did you mean {family}*?)"
    close = get_close_matches(wanted, BY_NAME, n=1, cutoff=0.5)
    return f" (did you mean {close[0]}?)" if close else ""
