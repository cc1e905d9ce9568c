"""Describe what may be written at the cursor, and which part of the line it replaces."""

from collections.abc import Iterable

import msgspec

MAX_CANDIDATES = 100


class Candidate(msgspec.Struct, frozen=True):
    """One completion: the text to insert, what to show beside it, and what kind of thing it is."""

    insert: str
    label: str
    kind: str
    detail: str = ""
    doc: str = ""


class Completion(msgspec.Struct, frozen=True, rename="camel"):
    """Candidates for the part of a line from `column` to `end_column`, both counted in characters from one."""

    line: int
    column: int
    end_column: int
    candidates: tuple[Candidate, ...]
    context: str = ""


def fitting(candidates: Iterable[Candidate], typed: str) -> tuple[Candidate, ...]:
    """Return those that start with what was typed, then those that hold it; each label once."""
    word = typed.lower()
    by_label: dict[str, Candidate] = {}
    for candidate in candidates:
        by_label.setdefault(candidate.label, candidate)
    starting = [one for one in by_label.values() if one.label.lower().startswith(word)]
    holding = [one for one in by_label.values() if word in one.label.lower() and one not in starting]
    return tuple([*starting, *holding][:MAX_CANDIDATES])
