"""The table of a custom kind: its printer columns, or its age.

Kubernetes: apiextensions-apiserver, pkg/registry/customresource/tableconvertor.
"""

from collections.abc import Callable
from typing import Any

from moorage.model.go.quoting import go_json
from moorage.serve.custom.json_path import JSONPathError, compile_path
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
        found = find(row.raw)
        return show(found[0], row) if found else None

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
