"""Notes about the input of a plan: refused objects, dangling references, kinds passed over."""

from collections.abc import Callable
from enum import StrEnum

import msgspec

from moorage.model.text.positions import Location


class Level(StrEnum):
    """An error keeps an object out of the plan, a warning makes the plan doubtful, the rest is good to know."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Place:
    """Where an object stands. The line is looked up on demand."""

    __slots__ = ("_start", "source")

    def __init__(self, source: str = "", start: Callable[[], Location] | None = None) -> None:
        self.source = source
        self._start = start

    @property
    def line(self) -> int:
        return self._start().line if self._start is not None else 0

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


NOWHERE = Place()
#: How the message begins if a source cannot be read.
UNREADABLE = "cannot be read: "


class Note(msgspec.Struct, frozen=True):
    """One remark about an object of the input. Reports call the fields `object` and `file`."""

    level: Level
    subject: str = msgspec.field(name="object")
    message: str
    source: str = msgspec.field(default="", name="file")
    line: int = 0

    @property
    def where(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source

    def __str__(self) -> str:
        return ": ".join(part for part in (self.where, self.subject, self.message.removeprefix(UNREADABLE)) if part)


def note_at(level: Level, subject: str, message: str, place: Place) -> Note:
    return Note(level, subject, message, place.source, place.line)
