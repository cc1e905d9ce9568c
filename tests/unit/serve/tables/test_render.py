import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.model.kinds import KINDS, Kind
from moorage.model.types.view import View
from moorage.serve.tables.render import (
    TABLES,
    IncludeObject,
    render_partial_metadata,
    render_table,
    table_of,
)

OBJECT = {"metadata": {"name": "s", "labels": {"a": "b"}}, "type": "Opaque", "data": {"k": "dg=="}}


@pytest.mark.parametrize(
    ("include", "object_of_row"),
    [
        ("None", None),
        ("Object", OBJECT),
        (
            "Metadata",
            {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": OBJECT["metadata"]},
        ),
    ],
)
def test_what_comes_with_a_row(include: IncludeObject, object_of_row: Any) -> None:
    table = render_table(KINDS.SECRET, [OBJECT], 0.0, include, {"resourceVersion": "7", "continue": "x"})
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"] == {"resourceVersion": "7", "continue": "x"}
    assert table["rows"] == [{"cells": ["s", "Opaque", 1, "<unknown>"], "object": object_of_row}]
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Type", "Data", "Age"]


def test_later_events_of_a_watch_have_no_headers() -> None:
    assert render_table(KINDS.SECRET, [OBJECT], 0.0, headers=False)["columnDefinitions"] is None


def test_metadata_alone() -> None:
    kind, version = "PartialObjectMetadata", "meta.k8s.io/v1"
    assert render_partial_metadata(OBJECT) == {"kind": kind, "apiVersion": version, "metadata": OBJECT["metadata"]}


def test_every_kind_has_a_table_of_its_own() -> None:
    assert {(kind.api_version, kind.name) for kind in KINDS.values()} <= set(TABLES)


def test_a_kind_without_one_gets_name_and_age() -> None:
    kind = Kind("example.com/v1", "boats", View)
    assert [column["name"] for column in table_of(kind).columns] == ["Name", "Age"]
    assert render_table(kind, [{"metadata": {"name": "b"}}], 0.0)["rows"][0]["cells"] == ["b", "<unknown>"]


MEMBERS = [
    "metadata",
    "name",
    "spec",
    "status",
    "labels",
    "annotations",
    "creationTimestamp",
    "conditions",
    "type",
    "containers",
    "containerStatuses",
    "state",
    "ports",
    "capacity",
    "storage",
    "selector",
    "template",
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(MEMBERS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["metadata", "spec", "status", "type", "series", "capacity"]), JSON, max_size=5))
def test_no_object_is_too_odd_for_a_row(raw: dict[str, Any]) -> None:
    for kind in KINDS.values():
        table = render_table(kind, [raw], 1e9, metadata={})
        assert len(table["rows"][0]["cells"]) == len(table["columnDefinitions"])
        json.loads(msgspec.json.encode(table))
