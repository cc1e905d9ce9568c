"""A large `List` in YAML, cut into its items before it is parsed: its nodes all at once would take gigabytes.

In block style an item starts at a dash in the column of the first dash, and nothing inside an item stands that far
left. Differs from a parse of the whole in one way: an alias cannot refer to an anchor in another item.
"""

import re
from typing import NamedTuple

_ITEMS = re.compile(rb"^items:[ \t]*(?:#[^\n]*)?\r?\n(?=(?:[ \t]*(?:#[^\n]*)?\r?\n)*( *)-[ \r\n])", re.MULTILINE)


class ListText(NamedTuple):
    """A list without its items, and each item with the number of lines before it."""

    frame: bytes
    items: list[tuple[bytes, int]]


def split_yaml_list(text: bytes) -> ListText | None:
    """Cut a list into its items, or None if it is not one that can be cut."""
    found = _ITEMS.search(text)
    if found is None:
        return None
    begin = found.end()
    indent = len(found[1])
    dash = b" " * indent + b"-"
    starts: list[int] = []
    end = len(text)
    for edge in re.finditer(rb"^ {0,%d}[^ \t\r\n#]" % indent, text[begin:], re.MULTILINE):
        if edge[0] != dash or text[begin + edge.end() : begin + edge.end() + 1].strip():
            end = begin + edge.start()
            break
        starts.append(begin + edge.start())
    items = []
    line, counted = 0, 0
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        line += text.count(b"\n", counted, start)
        counted = start
        items.append((text[start:stop], line))
    frame = text[: found.start()] + b"\n" * text.count(b"\n", found.start(), end) + text[end:]
    return ListText(frame, items)


def without_dash(item: bytes) -> bytes:
    """Return an item's text as a document of its own, every column where it was."""
    return item.replace(b"-", b" ", 1)
