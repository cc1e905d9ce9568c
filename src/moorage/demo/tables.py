"""Renders what `kubectl get` prints: the server's table, or custom columns.

Kubernetes: cli-runtime's table printer, kubectl's custom columns. Differs: of JSONPath there are names, `\\.` in names
and `[*]`.
"""

import re
from typing import Any

Raw = dict[str, Any]

_NONE = "<none>"
_STEP = re.compile(r"\.((?:\\.|[^.\[\\])+)|\[(\*|\d+)\]")


class BadPath(ValueError):
    """A column's path is none that is understood here."""


def render_table(table: Raw, *, wide: bool, namespaces: bool, labels: list[str]) -> str:
    """Every column the server says is for this width, with that of namespaces before and those of labels after."""
    columns = table["columnDefinitions"]
    shown = [index for index, column in enumerate(columns) if wide or not column.get("priority")]
    head = [columns[index]["name"].upper() for index in shown]
    head = [*(["NAMESPACE"] if namespaces else []), *head, *(key.rpartition("/")[2].upper() for key in labels)]
    rows = []
    for row in table.get("rows") or []:
        metadata = row["object"]["metadata"]
        cells = [_text(row["cells"][index]) for index in shown]
        before = [metadata.get("namespace", "")] if namespaces else []
        rows.append([*before, *cells, *(metadata.get("labels", {}).get(key, "") for key in labels)])
    return _aligned([head, *rows])


def render_custom_columns(objects: list[Raw], spec: str) -> str:
    """As `-o custom-columns=` has it. Raises BadPath."""
    columns = [column.partition(":")[::2] for column in spec.split(",")]
    rows = [[_at(found, path) for _, path in columns] for found in objects]
    return _aligned([[name for name, _ in columns], *rows])


def _at(found: Raw, path: str) -> str:
    values: list[Any] = [found]
    end = 0
    for step in _STEP.finditer(path):
        if step.start() != end:
            break
        end = step.end()
        name, index = step[1], step[2]
        if name is not None:
            key = re.sub(r"\\(.)", r"\1", name)
            values = [value[key] for value in values if isinstance(value, dict) and key in value]
        else:
            lists = [value for value in values if isinstance(value, list)]
            values = [item for items in lists for item in (items if index == "*" else items[int(index) :][:1])]
    if not end or end != len(path):
        raise BadPath(f"error: a column's path is not understood: {path!r}")
    return ",".join(_text(value) for value in values) or _NONE


def _text(value: Any) -> str:
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def _aligned(rows: list[list[str]]) -> str:
    """Columns three blanks apart; the last is as long as it is."""
    widths = [max(map(len, column)) + 3 for column in zip(*rows, strict=True)]
    return "".join(
        "".join(f"{cell:{width}}" for cell, width in zip(row, [*widths[:-1], 0], strict=True)).rstrip() + "\n"
        for row in rows
    )
