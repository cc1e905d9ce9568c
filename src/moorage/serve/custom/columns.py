"""Build the table of a custom kind from its printer columns, and read values of documents by JSON path.

Selectable fields are JSON paths, too. Paths have fields, `\\.` in their names, indexes, slices, `*`, unions of these,
`..` and filters with a comparison. Kubernetes: apiextensions-apiserver, pkg/registry/customresource/tableconvertor, and
client-go's util/jsonpath. Differs: functions such as `range` are not supported.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from operator import eq, ge, gt, le, lt, ne
from typing import Any

import msgspec

from moorage.model.go.integers import read_int
from moorage.model.go.quoting import go_json
from moorage.model.text.patterns import Match, Pattern, to_bytes
from moorage.model.text.readers import reads_text
from moorage.serve.custom.served_kind import Raw, ServedKind
from moorage.serve.tables.columns import NAME, Column, Row, Table, human_duration, moment, table

_AGE: Raw = {
    "name": "Age",
    "type": "date",
    "description": "How long ago the server accepted the object.",
    "jsonPath": ".metadata.creationTimestamp",
}


def table_of_custom(kind: ServedKind) -> Table:
    return kind.remembered("table", _table)


def _table(kind: ServedKind) -> Table:
    columns = [NAME]
    for facts in kind.facts.get("additionalPrinterColumns") or (_AGE,):
        try:
            columns.append(_column(facts))
        except JSONPathError:
            break  # as upstream, which shows the columns before it
    return table(*columns)


def _column(facts: Raw) -> Column:
    path = facts.get("jsonPath") or ""
    find, type_ = compile_path(path), facts.get("type") or ""
    show: Callable[[Any, Row], Any] = _SHOWN.get(type_, lambda value, row: None)

    def cell(row: Row) -> Any:
        values = find(row.raw)
        return show(values[0], row) if values else None

    description = facts.get("description") or f"Custom resource definition column (in JSONPath format): {path}"
    return Column(
        facts.get("name") or "", description, cell, type_, facts.get("priority") or 0, facts.get("format") or ""
    )


def go_text(value: Any) -> str:
    """Return a value as Go prints it: text as it is, objects and lists as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    return go_json(value)


def _text(value: Any, row: Row) -> Any:
    return go_text(value)


def _integer(value: Any, row: Row) -> Any:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any, row: Row) -> Any:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _boolean(value: Any, row: Row) -> Any:
    return value if isinstance(value, bool) else None


def _date(value: Any, row: Row) -> Any:
    if not isinstance(value, str):
        return None
    at = moment(value)
    return "<invalid>" if at is None else human_duration(row.ages.now - at)


_SHOWN: dict[str, Callable[[Any, Row], Any]] = {
    "string": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}


Values = Iterable[Any]
Step = Callable[[Values], Iterator[Any]]


class JSONPathError(ValueError):
    """The path cannot be read."""


_TOKEN = Pattern(
    rb"\.\.(?P<deep>(?:\\.|[\w\x80-\xff-])+)"
    rb"|\.(?P<name>(?:\\.|[^.\[\]{}\s\\*])+|\*)"
    rb"|\[\?\((?P<filter>.*?)\)\]"
    rb"|\[(?P<inside>(?:'(?:\\.|[^'])*'|\"(?:\\.|[^\"])*\"|[^\]'\"])*)\]"
)
_COMPARISON = Pattern(r"\s*@(?P<path>[^=!<>]*?)\s*(?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<value>.+?))?\s*")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_SLICE = Pattern(r"(-?\d*):(-?\d*)(?::(-?\d*))?")
_ESCAPE = Pattern(r"\\.")
#: A path of more characters is refused: what is quadratic in it, as a filter that is not closed, stays short.
_MAX_PATH = 4_096


#: The values that a step looks at in one document: paths such as `..a` and `[*][*]` could look at millions.
_MAX_VALUES = 2_000


@reads_text(
    ".a", "[0]", "[*]", "..", "[?(@", "==", ")]", "'", '"', "\\", "[", ":", "1", raises=JSONPathError, longest=_MAX_PATH
)
def compile_path(text: str) -> Callable[[Any], list[Any]]:
    """Return the function that finds the first value in a document, if there is one. Raises JSONPathError."""
    steps = _steps(text.strip().removeprefix("$"))

    def find(document: Any) -> list[Any]:
        values: Values = [document]
        for step in steps:
            values = islice(step(values), _MAX_VALUES)
        return list(islice(values, 1))

    return find


def _steps(text: str) -> list[Step]:
    if len(text) > _MAX_PATH:
        raise JSONPathError(f"the path has {len(text)} characters, of at most {_MAX_PATH}")
    if text and text[0] not in ".[":
        text = f".{text}"
    steps: list[Step] = []
    raw, at = to_bytes(text), 0
    while at < len(raw) and (at < len(raw) - 1 or raw[at:] != b"."):
        match = _TOKEN.match_at(raw, at)
        if match is None:
            raise JSONPathError(f"cannot read {text!r}")
        steps.append(_step(match))
        at = match.end()
    return steps


def _step(match: Match[bytes]) -> Step:
    if deep := match["deep"].decode():
        return _deep(_unescaped(deep))
    if name := match["name"].decode():
        return _every if name == "*" else _field(_unescaped(name))
    if match.has("filter"):
        return _filter(match["filter"].decode())
    choices = [_choice(part.strip()) for part in match["inside"].decode().split(",")]
    return choices[0] if len(choices) == 1 else lambda values: (one for v in values for c in choices for one in c([v]))


def _choice(text: str) -> Step:
    if text == "*":
        return _every
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return _field(_unescaped(text[1:-1]))
    if (slice_ := _SLICE.fullmatch(text)) is not None:
        begin, end, stride = (_number_in(part) if part else None for part in slice_.groups())
        if stride == 0:
            raise JSONPathError(f"invalid slice {text}")
        return lambda values: (one for v in values if isinstance(v, list) for one in v[begin:end:stride])
    number = _number_in(text)
    return lambda values: (v[number] for v in values if isinstance(v, list) and -len(v) <= number < len(v))


def _number_in(text: str) -> int:
    number = read_int(text)
    if number is None:
        raise JSONPathError(f"invalid array index {text}")
    return number


def _field(name: str) -> Step:
    return lambda values: (value[name] for value in values if isinstance(value, dict) and name in value)


def _every(values: Values) -> Iterator[Any]:
    for value in values:
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value


def _deep(name: str) -> Step:
    def find(values: Values) -> Iterator[Any]:
        waiting = deque(islice(values, _MAX_VALUES))
        for _ in range(_MAX_VALUES):
            if not waiting:
                return
            value = waiting.popleft()
            if isinstance(value, dict):
                if name in value:
                    yield value[name]
                waiting.extend(islice(value.values(), _MAX_VALUES))
            elif isinstance(value, list):
                waiting.extend(islice(value, _MAX_VALUES))

    return find


def _filter(text: str) -> Step:
    match = _COMPARISON.fullmatch(text)
    if match is None:
        raise JSONPathError(f"cannot read the filter {text!r}")
    steps, operator = _steps(match["path"]), match["operator"]
    wanted = _literal(match["value"]) if operator else None

    def matches(item: Any) -> bool:
        found: Values = [item]
        for step in steps:
            found = step(found)
        values = list(found)
        if not operator:
            return bool(values)
        return bool(values) and _compares(_OPERATORS[operator], values[0], wanted)

    return lambda values: (item for v in values if isinstance(v, list) for item in v if matches(item))


def _compares(operator: Callable[[Any, Any], bool], value: Any, wanted: Any) -> bool:
    try:
        return type(value) is type(wanted) and operator(value, wanted)
    except TypeError:
        return False


def _literal(text: str) -> Any:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return _unescaped(text[1:-1])
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        raise JSONPathError(f"cannot read the value {text!r}") from None


def _unescaped(name: str) -> str:
    return _ESCAPE.sub(lambda escape: escape[0][1:], name)
