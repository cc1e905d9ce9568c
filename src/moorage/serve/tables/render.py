"""Render objects as Tables and PartialObjectMetadata, the two other forms in which clients may ask for objects.

A kind without a table of its own gets name and age. Tables share parts with the objects: they are to be encoded
and dropped. An object that admission would refuse still gets a row.
Kubernetes: apiserver's endpoints/handlers/response.go, AddHandlers in pkg/printers/internalversion.
"""

from collections.abc import Iterable
from typing import Literal

from moorage.model.kinds import Kind
from moorage.serve.custom.columns import table_of_custom
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.tables import network_and_access, plain, usage, workloads
from moorage.serve.tables.columns import NAME_AND_AGE, UNKNOWN, Ages, Cells, Raw, Table, Tables

TABLES: Tables = {
    **plain.TABLES,
    **workloads.TABLES,
    **network_and_access.TABLES,
    **usage.TABLES,
}


def table_of(kind: Kind) -> Table:
    if type(kind) is ServedKind:
        return table_of_custom(kind)
    return TABLES.get((kind.api_version, kind.name), NAME_AND_AGE)


META_API_VERSION = "meta.k8s.io/v1"

#: What comes with a row: nothing, the object's metadata, or all of it (`?includeObject=`).
IncludeObject = Literal["None", "Metadata", "Object"]

_ODD = (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError)


def _cells(table: Table, raw: Raw, ages: Ages) -> Cells:
    try:
        return table.cells(raw, ages)
    except _ODD:
        metadata = raw.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        shown = name if isinstance(name, str) else UNKNOWN
        return [shown if column["format"] == "name" else UNKNOWN for column in table.columns]


def render_table(
    kind: Kind,
    objects: Iterable[Raw],
    now: float,
    include_object: IncludeObject = "Metadata",
    metadata: Raw | None = None,
    *,
    headers: bool = True,
    api_version: str = META_API_VERSION,
) -> Raw:
    """Return a Table. Watches send the headers with their first event only."""
    table, ages = table_of(kind), Ages(now)
    rows = [render_row(table, raw, ages, include_object, api_version) for raw in objects]
    return {
        "kind": "Table",
        "apiVersion": api_version,
        "metadata": metadata or {},
        "columnDefinitions": list(table.columns) if headers else None,
        "rows": rows,
    }


def render_row(table: Table, raw: Raw, ages: Ages, include_object: IncludeObject, api_version: str) -> Raw:
    row: Raw = {"cells": _cells(table, raw, ages)}
    if table.conditions is not None and (conditions := _conditions(table, raw)):
        row["conditions"] = conditions
    if include_object == "Metadata":
        row["object"] = render_partial_metadata(raw, api_version)
    elif include_object == "Object":
        row["object"] = raw
    else:
        row["object"] = None
    return row


def _conditions(table: Table, raw: Raw) -> list[Raw] | None:
    try:
        return table.conditions(raw) if table.conditions is not None else None
    except _ODD:
        return None


def render_partial_metadata(raw: Raw, api_version: str = META_API_VERSION) -> Raw:
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": raw.get("metadata") or {}}
