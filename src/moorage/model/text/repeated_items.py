"""Decode an object of a stream that repeats an earlier one but for a few scalars, without parsing it.

Pods of one workload differ by their names, uids, addresses and times. An item is compared with an earlier one line by
line: where all lines that differ hold one scalar each after the same key, its value is that of the earlier item with
these scalars put in. What both have in common is shared, so that it must not be modified. Whatever is not certain to
mean the same is left to the parser.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from yaml import MappingNode, Node, ScalarNode, SequenceNode

from moorage.model.text.positions import Location
from moorage.model.text.readers import reads_text
from moorage.model.text.yaml_text import NotJson, is_merge, resolve_plain

Scalar = str | int | float | bool | None
Step = str | int
Steps = tuple[Step, ...]
#: By line, where the values of lines go: a tree of steps.
Tree = dict[Step, Any]

#: Items that differ in more lines are not repetitions.
MAX_DIFFERENT = 64
#: Items with the same number of lines that are remembered, and numbers of lines.
_OF_EACH, _LENGTHS = 4, 256
_NOTHING = object()

_QUOTED = re.compile(rb'"[ !#-\[\]-~]*"|\'[ -&(-~]*\'')
_PLAIN = re.compile(rb"[A-Za-z0-9./_][A-Za-z0-9._/@+-]*(?::[A-Za-z0-9._/@+-]+)*")
_JSON_SCALAR = re.compile(rb'("[ !#-\[\]-~]*"|-?(?:0|[1-9][0-9]{0,14})|true|false|null)(,?)')
_JSON_LINE = re.compile(
    rb'(?P<key> *(?:"(?P<name>[ !#-\[\]-~]*)": )?)'
    rb'(?:(?P<scalar>"[ !#-\[\]-~]*"|-?(?:0|[1-9][0-9]{0,14})|true|false|null)|(?P<open>[{\[])'
    rb'|\{\}|\[\]|-?[0-9][0-9.eE+-]*|"[^"\\]*+(?:\\.[^"\\]*+)*+"),?'
)
_JSON_END = re.compile(rb" *[}\]],?")
_JSON_WORDS: dict[bytes, Scalar] = {b"true": True, b"false": False, b"null": None}


class Leaf(NamedTuple):
    """A line that holds one scalar: what stands before it, where it belongs, and its value."""

    prefix: bytes
    steps: Steps
    value: Scalar


class Pattern:
    """An item that was decoded, to which others are compared. `place` is counted from its first line."""

    __slots__ = ("_find_leaves", "_leaves", "_trees", "has_aliases", "is_json", "lines", "place", "raw")

    def __init__(
        self,
        lines: list[bytes],
        raw: Any,
        place: Location,
        find_leaves: Callable[[], dict[int, Leaf]],
        *,
        is_json: bool,
        has_aliases: bool,
    ) -> None:
        self.lines, self.raw, self.place = lines, raw, place
        self.is_json, self.has_aliases = is_json, has_aliases
        self._find_leaves: Callable[[], dict[int, Leaf]] | None = find_leaves
        self._leaves: dict[int, Leaf] = {}
        self._trees: dict[tuple[int, ...], Tree] = {}

    @property
    def leaves(self) -> Mapping[int, Leaf]:
        """The lines that hold one scalar, found when the first item is compared."""
        if self._find_leaves is not None:
            self._leaves = self._find_leaves()
            self._find_leaves = None
        return self._leaves

    def tree(self, lines: tuple[int, ...]) -> Tree:
        """Return where the values of these lines go."""
        found = self._trees.get(lines)
        if found is None:
            if len(self._trees) >= _LENGTHS:
                self._trees.clear()
            found = self._trees[lines] = {}
            for line in lines:
                *above, last = self.leaves[line].steps
                inner = found
                for step in above:
                    inner = inner.setdefault(step, {})
                inner[last] = line
        return found


class RepeatedItem(NamedTuple):
    """An item that differs from a pattern by the values of these lines."""

    pattern: Pattern
    values: dict[int, Scalar]
    raw: Any


class RepeatedItems:
    """The items of one list that were decoded last."""

    def __init__(self) -> None:
        self._patterns: dict[int, list[Pattern]] = {}

    def find(self, text: bytes) -> RepeatedItem | None:
        """Return an item as a repetition of an earlier one; None if it has to be parsed."""
        lines = text.split(b"\n")
        patterns = self._patterns.get(len(lines), ())
        for pattern in reversed(patterns):
            values = _different(lines, pattern)
            if values is not None:
                return RepeatedItem(pattern, values, put(pattern.tree(tuple(values)), pattern.raw, values))
        return None

    def learn(
        self,
        text: bytes,
        raw: Any,
        place: Location,
        compose: Callable[[], Node] | None,
        *,
        has_aliases: bool = False,
    ) -> None:
        """Remember an item that was decoded; `compose` returns its nodes if it is YAML."""
        lines = text.split(b"\n")
        patterns = self._patterns.setdefault(len(lines), [])
        if len(patterns) >= _OF_EACH:
            del patterns[0]
        if len(self._patterns) > _LENGTHS:
            del self._patterns[next(iter(self._patterns))]

        def find_leaves() -> dict[int, Leaf]:
            return json_leaves(lines, raw) if compose is None else yaml_leaves(lines, raw, compose())

        patterns.append(Pattern(lines, raw, place, find_leaves, is_json=compose is None, has_aliases=has_aliases))


def _different(lines: list[bytes], pattern: Pattern) -> dict[int, Scalar] | None:
    """Return the values of the lines that differ; None if they differ by anything else."""
    numbers = [number for number, (new, old) in enumerate(zip(lines, pattern.lines, strict=True)) if new != old]
    if len(numbers) > MAX_DIFFERENT:
        return None
    leaves, values = pattern.leaves, dict[int, Scalar]()
    for number in numbers:
        leaf, line = leaves.get(number), lines[number]
        if leaf is None or not line.startswith(leaf.prefix):
            return None
        text = line[len(leaf.prefix) :]
        value = _json_scalar(text, pattern.lines[number]) if pattern.is_json else yaml_scalar(text)
        if value is _NOTHING:
            return None
        values[number] = value
    return values


def put(tree: Tree, value: Any, values: Mapping[int, Scalar]) -> Any:
    """Return a document with other values at some places; the rest is shared."""
    made = value.copy()
    for step, below in tree.items():
        made[step] = values[below] if type(below) is int else put(below, made[step], values)
    return made


@reads_text("a", '"', "'", ":", "1", "/", "-")
def yaml_scalar(text: bytes) -> Any:
    """Return the value of a scalar that takes the rest of a line; `_NOTHING` unless that is certain."""
    if _PLAIN.fullmatch(text):
        try:
            return resolve_plain(text.decode("ascii"))
        except NotJson:
            return _NOTHING
    return text[1:-1].decode("ascii") if _QUOTED.fullmatch(text) else _NOTHING


def _json_scalar(text: bytes, old: bytes) -> Any:
    found = _JSON_SCALAR.fullmatch(text)
    return _NOTHING if found is None or (found[2] == b",") is not old.endswith(b",") else _json_value(found[1])


def _json_value(text: bytes) -> Scalar:
    if text[:1] == b'"':
        return text[1:-1].decode("ascii")
    return _JSON_WORDS[text] if text in _JSON_WORDS else int(text)


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def yaml_leaves(lines: list[bytes], raw: Any, root: Node) -> dict[int, Leaf]:
    """Return the lines of a YAML item that hold one scalar; none if keys are merged."""
    leaves: dict[int, Leaf] = {}
    twice: set[int] = set()  # lines that an alias has elsewhere, too
    pending: list[tuple[Node, Steps, Any]] = [(root, (), raw)]
    while pending:
        node, steps, value = pending.pop()
        if isinstance(node, SequenceNode):
            pending += [(item, (*steps, number), value[number]) for number, item in enumerate(node.value)]
        elif isinstance(node, MappingNode):
            for key, below in node.value:
                if is_merge(key):
                    return {}
                name = getattr(key, "value", None)
                if isinstance(name, str) and name in value:  # a key such as `yes` has another name
                    pending.append((below, (*steps, name), value[name]))
        elif isinstance(node, ScalarNode) and steps and node.start_mark.line == node.end_mark.line:
            line, column = node.start_mark.line, node.start_mark.column
            text = lines[line] if line < len(lines) else b""
            if text.isascii() and b"&" not in text and _is_same(yaml_scalar(text[column:]), value):
                if line in leaves:
                    twice.add(line)
                leaves[line] = Leaf(text[:column], steps, value)
    return {line: leaf for line, leaf in leaves.items() if line not in twice}


def json_leaves(lines: list[bytes], raw: Any) -> dict[int, Leaf]:
    """Return the lines of an indented JSON item that hold one scalar; none if it is laid out in another way."""
    leaves: dict[int, Leaf] = {}
    open_values: list[tuple[Any, Iterator[int]]] = []  # and the indexes of its items, if it is a list
    steps: list[Step] = []
    for number, line in enumerate(lines):
        if _JSON_END.fullmatch(line):
            if not open_values:
                return {}
            open_values.pop()
            if steps:
                steps.pop()
            continue
        found = _JSON_LINE.fullmatch(line)
        if found is None:
            if not line.strip() and not open_values:
                continue
            return {}
        if not open_values:
            if number or not found["open"]:
                return {}
            open_values.append((raw, iter(range(len(raw)))))
            continue
        parent, indexes = open_values[-1]
        step: Step = next(indexes, -1) if isinstance(parent, list) else (found["name"] or b"").decode("ascii")
        if not _has(parent, step):
            return {}
        value = parent[step]
        if found["open"]:
            open_values.append((value, iter(range(len(value) if isinstance(value, list) else 0))))
            steps.append(step)
        elif found["scalar"] is not None and _is_same(_json_value(found["scalar"]), value):
            leaves[number] = Leaf(found["key"], (*steps, step), value)
    return leaves


def _has(parent: Any, step: Step) -> bool:
    if isinstance(parent, list):
        return isinstance(step, int) and 0 <= step < len(parent)
    return isinstance(parent, dict) and step in parent
