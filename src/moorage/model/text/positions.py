"""Find the line and column of a field, when asked for: most documents are never asked.

Of a field that does not exist the closest ancestor is found. Lines and columns are counted from one.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from json.decoder import scanstring  # type: ignore[attr-defined]  # pure or C, whichever json has
from typing import NamedTuple, Protocol

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from moorage.model.field_error import child_path
from moorage.model.go.integers import read_int
from moorage.model.text.alias_places import AliasPlaces
from moorage.model.text.late_positions import LatePositions, Written
from moorage.model.text.yaml_text import NUMERIC_START, WORDS, is_merge

_TOKEN = re.compile(r'[\[\]{},:]|"|[^\s\[\]{},:"]+')


class JsonPlace:
    """One value: where it starts, where to point at (its key, if it has one), and its children by step."""

    __slots__ = ("children", "is_list", "shown_at", "value_at")

    def __init__(self, shown_at: int, value_at: int, is_list: bool) -> None:
        self.shown_at = shown_at
        self.value_at = value_at
        self.is_list = is_list
        self.children: dict[str, JsonPlace] = {}


def place_json(text: str, start: int, levels: int | None = None) -> JsonPlace:
    """Return the places in the JSON value that begins at `start` (or after white space there), down to these levels."""
    root: JsonPlace | None = None
    parents: list[JsonPlace] = []
    key: tuple[str, int] | None = None
    at = start
    while True:
        match = _TOKEN.search(text, at)
        if match is None:
            break
        token, begin, at = match[0], match.start(), match.end()
        if token == '"':
            value, at = scanstring(text, at, False)
            if key is None and parents and not parents[-1].is_list:
                key = (value, begin)
                continue
        elif token in ",:":
            continue
        elif token in "]}":
            parents.pop()
            if not parents:
                break
            continue
        place = JsonPlace(begin if key is None else key[1], begin, is_list=token == "[")
        if parents and (levels is None or len(parents) <= levels):
            siblings = parents[-1].children
            siblings[str(len(siblings)) if key is None else key[0]] = place
        key = None
        root = root or place
        if token in "[{":
            parents.append(place)
        elif not parents:
            break
    return root or JsonPlace(start, start, is_list=False)


_NEWLINE = re.compile("\n")


class Location(NamedTuple):
    """A place in a text, counted from one."""

    line: int
    column: int


class Positions(Protocol):
    """Finds fields in one document."""

    @property
    def has_aliases(self) -> bool:
        """Whether the text may have aliases."""
        ...

    def find(self, steps: tuple[str, ...]) -> Location:
        """Return the place of the field at these steps, or of its closest existing ancestor."""
        ...

    def alias(self, steps: tuple[str, ...]) -> Location | None:
        """Return the place of the alias through which a field, with its key, is there; None if it is written there."""
        ...

    def below(self, steps: tuple[str, ...]) -> "Positions":
        """Return the positions of the value at these steps, taken as a document of its own."""
        ...

    def start(self) -> Callable[[], Location]:
        """Return where the document starts; this outlives its nodes."""
        ...

    def detached(self) -> "Positions":
        """Return the same positions, to be kept: without nodes, where they can be made again."""
        ...


#: A node, and which of its children: keys and values of a mapping count in turn.
_Edge = tuple[Node, int]
#: The node to show for a step (the key, the item), the node to go on from, which child of which node that is, and the
#: edges passed before through merge keys.
_Child = tuple[Node, Node, Node, int, tuple[_Edge, ...]]


class YamlPositions:
    """Positions out of libyaml's nodes. `aliases` knows the aliases of the text; `written` has a text without any."""

    def __init__(
        self,
        root: Node,
        first_line: int,
        key_text: Callable[[Node], str],
        aliases: AliasPlaces | None = None,
        alias: Location | None = None,
        written: Written | None = None,
    ) -> None:
        self._root = root
        self._first_line = first_line
        self._key_text = key_text
        self._aliases = aliases
        self._alias = alias
        self._written = written
        self.has_aliases = aliases is not None

    def find(self, steps: tuple[str, ...]) -> Location:
        shown, node = self._root, self._root
        for step in steps:
            child = self._child(node, step)
            if child is None:
                break
            shown, node = child[:2]
        return self.location_of(shown)

    def alias(self, steps: tuple[str, ...]) -> Location | None:
        return self._alias or self._alias_on_the_way(steps, with_value=False)

    def _alias_on_the_way(self, steps: tuple[str, ...], *, with_value: bool) -> Location | None:
        """Return the first alias that is passed; the value of the last key counts only if it is asked for."""
        node, passed, is_key = self._root, list[_Edge](), False
        for step in steps if self._aliases is not None else ():
            child = self._child(node, step)
            if child is None:
                break
            shown, node, parent, number, before = child
            passed += [*before, (parent, number)]
            is_key = shown is not node
        if passed and is_key and not with_value:
            passed.pop()
        for parent, number in passed:
            if self._aliases is not None and (place := self._aliases.at(parent, number)) is not None:
                return Location(place[0] + self._first_line, place[1] + 1)
        return None

    def below(self, steps: tuple[str, ...]) -> Positions:
        node = self._root
        for step in steps:
            child = self._child(node, step)
            if child is not None:
                node = child[1]
        alias = self._alias or self._alias_on_the_way(steps, with_value=True)
        written = None if self._written is None else self._written.below(steps)
        return YamlPositions(node, self._first_line, self._key_text, self._aliases, alias, written)

    def start(self) -> Callable[[], Location]:
        location = self.location_of(self._root)  # at once: nodes take far more memory than a place
        return lambda: location

    def detached(self) -> Positions:
        return self if self._written is None else LatePositions(self._written)

    def location_of(self, node: Node) -> Location:
        return Location(node.start_mark.line + self._first_line, node.start_mark.column + 1)

    def path_to(self, target: Node) -> str:
        """The path of a node, as the API server's strict decoding writes it; searched for, so only for rare use."""
        pending = [(self._root, "")]
        while pending:
            node, path = pending.pop()
            if node is target:
                return path
            if isinstance(node, SequenceNode):
                pending.extend((item, f"{path}[{i}]") for i, item in enumerate(node.value))
            elif isinstance(node, MappingNode):
                for key, value in node.value:
                    if not isinstance(value, ScalarNode) and not is_merge(key):
                        pending.append((value, child_path(path, self._key_text(key))))
        return ""

    def _child(self, node: Node, step: str) -> _Child | None:
        if isinstance(node, SequenceNode):
            index = read_int(step, 0, len(node.value) - 1)
            return None if index is None else (node.value[index], node.value[index], node, index, ())
        if not isinstance(node, MappingNode):
            return None
        merged: _Child | None = None
        # Text that is nothing else in YAML: a key without a tag of its own says it if it is written so.
        is_text = step not in WORDS and step[0] not in NUMERIC_START and step != "<<"
        for number in range(len(node.value) - 1, -1, -1):  # the last of several equal keys is the one that counts
            key, value = node.value[number]
            if is_text and (key.tag is True or key.tag is False) and key.value != "<<":
                if key.value == step:
                    return key, value, node, 2 * number + 1, ()
            elif is_merge(key):
                edge = (node, 2 * number + 1)
                if isinstance(value, SequenceNode):
                    for index, source in enumerate(value.value):
                        merged = merged or self._merged(source, step, edge, (value, index))
                else:
                    merged = merged or self._merged(value, step, edge)
            elif self._key_text(key) == step:
                return key, value, node, 2 * number + 1, ()
        return merged

    def _merged(self, source: Node, step: str, *edges: _Edge) -> _Child | None:
        child = self._child(source, step)
        return None if child is None else (*child[:4], (*edges, *child[4]))


class _Lines:
    """The lines of a text, found once for all the places that are asked for in it."""

    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._first_line = first_line
        self._ends: list[int] | None = None

    def location(self, offset: int) -> Location:
        if self._ends is None:
            self._ends = [match.start() for match in _NEWLINE.finditer(self._text)]
        before = bisect_left(self._ends, offset)
        last_end = self._ends[before - 1] if before else -1
        return Location(self._first_line + before, offset - last_end)


class JsonPositions:
    """Positions out of JSON text, which is scanned when the first is asked for."""

    has_aliases = False

    def __init__(self, text: str, start: int, first_line: int, lines: _Lines | None = None) -> None:
        self._text = text
        self._start = start
        self._lines = lines or _Lines(text, first_line)
        self._whole: JsonPlace | None = None
        self._outline: JsonPlace | None = None

    def find(self, steps: tuple[str, ...]) -> Location:
        if self._whole is None:
            self._whole = place_json(self._text, self._start_of_value())
        place = self._whole
        shown = place.value_at
        for step in steps:
            child = place.children.get(step)
            if child is None:
                break
            shown, place = child.shown_at, child
        return self._lines.location(shown)

    def alias(self, steps: tuple[str, ...]) -> Location | None:
        return None

    def below(self, steps: tuple[str, ...]) -> Positions:
        return _JsonPart(self, steps, self._text, self._start, self._lines)

    def start(self) -> Callable[[], Location]:
        return lambda: self.find(())  # later: to find the lines of thousands of items takes longer than to read them

    def detached(self) -> Positions:
        return self

    def offset_of(self, steps: tuple[str, ...]) -> int:
        """Return where the value at these steps starts. A list of thousands is scanned once for all its items."""
        if self._outline is None:
            self._outline = place_json(self._text, self._start, levels=len(steps))
        place = self._outline
        for step in steps:
            place = place.children.get(step) or place
        return place.value_at

    def _start_of_value(self) -> int:
        return self._start


class _JsonPart(JsonPositions):
    """Positions inside of a value that is itself part of a larger one."""

    def __init__(self, parent: JsonPositions, steps: tuple[str, ...], text: str, start: int, lines: _Lines) -> None:
        super().__init__(text, start, 0, lines)
        self._parent = parent
        self._steps = steps

    def _start_of_value(self) -> int:
        return self._parent.offset_of(self._steps)


class ItemPositions:
    """Positions in an object that was not decoded by itself: its place is known, all else is found on demand."""

    def __init__(
        self, place: Location, first_line: int, decode: Callable[[], Positions], *, has_aliases: bool = False
    ) -> None:
        """`place` is that of the item, counted from its first line."""
        self._place, self._first_line, self._decode = place, first_line, decode
        self.has_aliases = has_aliases
        self._whole: Positions | None = None

    def _positions(self) -> Positions:
        if self._whole is None:
            self._whole = self._decode()
        return self._whole

    def find(self, steps: tuple[str, ...]) -> Location:
        return self._positions().find(steps) if steps else self._start()

    def alias(self, steps: tuple[str, ...]) -> Location | None:
        return self._positions().alias(steps) if self.has_aliases else None

    def below(self, steps: tuple[str, ...]) -> Positions:
        return self._positions().below(steps)

    def start(self) -> Callable[[], Location]:
        location = self._start()
        return lambda: location

    def _start(self) -> Location:
        return Location(self._first_line + self._place.line, self._place.column)

    def detached(self) -> Positions:
        self._whole = None
        return self
