"""A finding: one thing to say about one place in the input.

In: what a rule noticed. Out: `Finding`, which every report prints in its own form.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """How bad: the API server refuses it; it will surprise; it is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Place(msgspec.Struct, frozen=True):
    """Where: a source, a position in it (from 1; 0 is unknown), the object, and the path of the field in the object."""

    source: str
    line: int = 0
    column: int = 0
    object: str = ""
    path: str = ""

    @property
    def position(self) -> str:
        """`file:line`, as people and terminals read it."""
        return f"{self.source}:{self.line}" if self.line else self.source

    @property
    def described(self) -> str:
        """`Pod default/web, spec.tolerations[0] (pods.yaml:12)`: how one finding names the place of another thing."""
        what = ", ".join(part for part in (self.object, self.path) if part)
        return f"{what} ({self.position})" if what else self.position


class Excerpt(msgspec.Struct, frozen=True):
    """The source line a finding is about, cut to fit a screen and safe to print, and the carets to print below."""

    line: str = ""
    carets: str = ""


NO_EXCERPT = Excerpt()


class Finding(msgspec.Struct, frozen=True):
    """What is wrong, why, and what to do."""

    rule: str
    severity: Severity
    message: str
    place: Place
    hint: str = ""
    excerpt: Excerpt = NO_EXCERPT
    api_server: bool = False

    @property
    def sort_key(self) -> tuple[int, int, str, str]:
        return (self.place.line, self.place.column, self.rule, self.message)
