"""Hold what a check has found: items in sections, each fine, notable, wrong or not checked, and what mends it.

Kubernetes: conditions with a reason. Differs: what is wrong names the command that mends it.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

Raw = dict[str, Any]


class Level(StrEnum):
    """How good it is."""

    FINE = "ok"
    NOTE = "note"
    UNKNOWN = "not checked"
    WRONG = "wrong"


class Item(NamedTuple):
    """One sentence, and the command that mends it, if one does."""

    level: Level
    text: str
    mend: str = ""

    def as_json(self) -> Raw:
        return {"level": self.level.value, "text": self.text, **({"mend": self.mend} if self.mend else {})}


class Section(NamedTuple):
    """What was found about one piece. `details` are for programs: every node, every object."""

    name: str
    items: tuple[Item, ...]
    details: Raw

    @property
    def level(self) -> Level:
        order = list(Level)
        return max((item.level for item in self.items), key=order.index, default=Level.FINE)

    def as_json(self) -> Raw:
        items = [item.as_json() for item in self.items]
        return {"name": self.name, "level": self.level.value, "items": items, **self.details}


def section(name: str, items: Iterable[Item], **details: Any) -> Section:
    return Section(name, tuple(items), details)


def fine(text: str) -> Item:
    return Item(Level.FINE, text)


def note(text: str, mend: str = "") -> Item:
    return Item(Level.NOTE, text, mend)


def wrong(text: str, mend: str = "") -> Item:
    return Item(Level.WRONG, text, mend)


def unknown(text: str) -> Item:
    return Item(Level.UNKNOWN, text)
