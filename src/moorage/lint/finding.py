"""A finding: one message about one place in the input, printed by every report in its own form."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Severity(StrEnum):
    """An error is refused by the API server, a warning will surprise, an info is worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Excerpt(msgspec.Struct, frozen=True):
    """A source line cut to fit a screen and safe to print, and the carets to print below it."""

    line: str = ""
    carets: str = ""


NO_EXCERPT = Excerpt()


class SourcePlace(msgspec.Struct, frozen=True):
    """A source, a position in it (from 1; 0 is unknown), the object, the path of the field in it, the source line."""

    source: str
    line: int = 0
    column: int = 0
    object: str = ""
    path: str = ""
    excerpt: Excerpt = NO_EXCERPT

    @property
    def position(self) -> str:
        """`file:line`, as terminals make it a link."""
        return f"{self.source}:{self.line}" if self.line else self.source

    @property
    def described(self) -> str:
        """`Pod default/web, spec.tolerations[0] (pods.yaml:12)`: how one finding names the place of another thing."""
        what = ", ".join(part for part in (self.object, self.path) if part)
        return f"{what} ({self.position})" if what else self.position


class Finding(msgspec.Struct, frozen=True):
    """What is wrong, where, why, and what to do; `api_server` if the API server says so."""

    rule: str
    severity: Severity
    message: str
    place: SourcePlace
    hint: str = ""
    api_server: bool = False

    @property
    def message_and_hint(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message

    @property
    def sort_key(self) -> tuple[int, int, str, str]:
        return (self.place.line, self.place.column, self.rule, self.message)
