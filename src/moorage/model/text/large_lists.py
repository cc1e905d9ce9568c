"""Cut a large `List` into its items without decoding it whole, every line and column where it was.

It must be laid out as kubectl prints it. YAML: in block style an item starts at a dash in the column of the first dash,
and nothing inside stands that far left. JSON: indented, with a brace on a line of its own around each item; text in
quotes has no line breaks. All nodes of such a list at once would take gigabytes.
"""

import re
from itertools import pairwise
from typing import NamedTuple

from moorage.model.text.readers import reads_text

_ITEMS = re.compile(rb"^items:[ \t]*(?:#[^\n]*)?\r?\n(?=(?:[ \t]*(?:#[^\n]*)?\r?\n)*( *)-[ \r\n])", re.MULTILINE)
#: What stands above the items of a JSON list on lines of its own: type and metadata.
_JSON_HEAD = re.compile(
    rb"(?:\xef\xbb\xbf)?\s{0,100}\{\n"
    rb'(?: +"[^"\n]{0,100}": (?:"[^"\n]{0,1000}"|\{[^{}\n]{0,1000}\}),\n)*+ +"items": \[\n'
)
_BRACE = re.compile(rb"( *)\{\n")
#: The head of a list that is read while it comes is looked for in this many bytes.
MAX_HEAD_BYTES = 16 * 1024


class ItemText(NamedTuple):
    """The text of an item, and the number of lines before it."""

    text: bytes
    lines_before: int


class ListText(NamedTuple):
    """A large `List` without its items, and each item. An alias cannot refer to an anchor in another item."""

    frame: bytes
    items: list[ItemText]


class Layout(NamedTuple):
    """How the items of a list are laid out. `begin` is where the first one starts in the text that has the head."""

    begin: int
    is_json: bool
    indent: int


def layout_of(text: bytes) -> Layout | None:
    """Return the layout of the list that begins with this text; None if it is not one that kubectl prints."""
    head = text[:MAX_HEAD_BYTES]
    found = _JSON_HEAD.match(head)
    if found is not None:
        brace = _BRACE.match(text, found.end())
        return None if brace is None else Layout(found.end(), True, len(brace[1]))
    header = _ITEMS.search(head)
    return None if header is None else Layout(header.end(), False, len(header[1]))


class Cut(NamedTuple):
    """The items that a text begins with, and where the rest starts. It `ends` if no further item follows."""

    items: list[ItemText]
    end: int
    ends: bool


def cut_items(text: bytes, layout: Layout, *, final: bool) -> Cut:
    """Cut items off the beginning of a text. Unless it is `final`, the last one may not be complete yet."""
    return (_cut_json if layout.is_json else _cut_yaml)(text, layout.indent, final=final)


def _cut_yaml(text: bytes, indent: int, *, final: bool) -> Cut:
    dash = b" " * indent + b"-"
    starts: list[int] = []
    end, ends = len(text), False
    for edge in re.finditer(rb"^ {0,%d}[^ \t\r\n#]" % indent, text, re.MULTILINE):
        if edge[0] != dash or text[edge.end() : edge.end() + 1].strip():
            end, ends = edge.start(), True
            break
        starts.append(edge.start())
    if not ends and not final:
        end = starts.pop() if starts else 0
    items = []
    line, counted = 0, 0
    for start, stop in pairwise((*starts, end)):
        line += text.count(b"\n", counted, start)
        counted = start
        items.append(ItemText(text[start:stop], line))
    return Cut(items, end, ends or final)


def _cut_json(text: bytes, indent: int, *, final: bool) -> Cut:
    margin = b" " * indent
    opening, closing = margin + b"{\n", b"\n" + margin + b"}\n"
    stop = text.find(closing)
    pieces = text[: stop if stop >= 0 else len(text)].split(b"\n" + margin + b"},\n" + opening)
    rest = pieces.pop() if stop < 0 else None
    items: list[ItemText] = []
    at = line = 0
    for number, piece in enumerate(pieces):
        item = (opening if number else b"") + piece + closing
        items.append(ItemText(item, line))
        at += len(item) + 1  # and a comma
        line += item.count(b"\n")
    if rest is None:
        return Cut(items, at - 1, True)
    return Cut(items, at, final)


@reads_text("items:\n", "- a: b\n", "  - c\n", "#\n", " ", "-", "\n")
def split_yaml_list(text: bytes) -> ListText | None:
    """Cut a whole list into its items; None if it is not laid out as kubectl does it."""
    header = _ITEMS.search(text)
    if header is None:
        return None
    cut = _cut_yaml(text[header.end() :], len(header[1]), final=True)
    before = text.count(b"\n", 0, header.end())
    end = header.end() + cut.end
    frame = text[: header.start()] + b"\n" * text.count(b"\n", header.start(), end) + text[end:]
    return ListText(frame, [ItemText(item, before + lines) for item, lines in cut.items])


@reads_text("{\n", '  "items": [\n', "    {\n", '      "a": 1\n', "    },\n", "    }\n", "  ]\n", "}\n")
def split_json_list(text: bytes) -> ListText | None:
    """Cut a whole list into its items; None if it is not laid out as kubectl does it."""
    layout = layout_of(text)
    if layout is None or not layout.is_json:
        return None
    cut = _cut_json(text[layout.begin :], layout.indent, final=True)
    other = rb"^(?! {%d})(?! {%d}(?:\{|\},?)$)" % (layout.indent + 1, layout.indent)
    if re.compile(other, re.MULTILINE).search(text, layout.begin, layout.begin + cut.end - 1) is not None:
        return None
    end = layout.begin + cut.end
    before = text.count(b"\n", 0, layout.begin)
    frame = text[: layout.begin] + b"\n" * text.count(b"\n", layout.begin, end) + text[end:]
    return ListText(frame, [ItemText(item, before + lines) for item, lines in cut.items])


def without_dash(item: bytes) -> bytes:
    """Return an item's text as a document of its own, every column where it was."""
    return item.replace(b"-", b" ", 1)
