"""Bodies in every form: objects, pages, lines of a watch, YAML, and warnings as headers."""

import json
from typing import Any

import pytest
import yaml

from moorage.client.protocol import EventType, WatchEvent
from moorage.model.kinds import KINDS
from moorage.serve.http.messages import Response
from moorage.serve.requests.rendering import (
    As,
    Form,
    Renderer,
    as_yaml,
    error_event,
    json_response,
    negotiate,
    warning_headers,
)
from moorage.serve.resources.objects import encode, object_of
from moorage.serve.verbs.reading import Page
from moorage.serve.verbs.watching import _bookmark
from moorage.store.protocol import Stored

METADATA = {"name": "one", "namespace": "default"}
STORED = Stored(
    "/configmaps/default/one",
    b'{"metadata":{"name":"one","namespace":"default"},"data":{"a":"1"},"apiVersion":"v1","kind":"ConfigMap"}',
    7,
    7,
)
OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"resourceVersion": "7", **METADATA},
    "data": {"a": "1"},
}
PARTIAL = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": OBJECT["metadata"]}


def renderer(form: Form, include: Any = "Metadata") -> Renderer:
    return Renderer(KINDS.CONFIG_MAP, form, include, 0.0)


def test_an_object_is_what_was_stored_and_its_revision() -> None:
    assert json.loads(renderer(Form()).object(STORED)) == OBJECT
    unstored = json.loads(renderer(Form()).object(STORED._replace(revision=0)))
    assert unstored["metadata"] == METADATA


@pytest.mark.parametrize("shows", [As.METADATA, As.METADATA_LIST])
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_metadata_only(shows: As, version: str) -> None:
    api_version = f"meta.k8s.io/{version}"
    wanted = {**PARTIAL, "apiVersion": api_version}
    assert json.loads(renderer(Form(shows, version=version)).object(STORED)) == wanted
    page = json.loads(renderer(Form(shows, version=version)).page(Page([STORED], 9)))
    assert (page["kind"], page["apiVersion"]) == ("PartialObjectMetadataList", api_version)
    assert (page["metadata"], page["items"]) == ({"resourceVersion": "9"}, [wanted])


def test_lists_of_metadata_for_clients_that_prefer_protobuf_have_no_types_in_their_items() -> None:
    """As lists in protobuf; a client of client-go compares what it lists with what it gets."""
    kind = "PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    form = negotiate(f"application/vnd.kubernetes.protobuf;as={kind},application/json;as={kind},application/json")
    page = Page([STORED], 9)
    assert json.loads(renderer(form).page(page))["items"] == [{"metadata": OBJECT["metadata"]}]
    assert json.loads(renderer(form).entries()(STORED)) == {"metadata": OBJECT["metadata"]}
    plain = negotiate(f"application/json;as={kind}")
    assert json.loads(renderer(plain).page(page))["items"] == [PARTIAL]
    assert json.loads(renderer(form).object(STORED)) == PARTIAL


INCLUDED = [("Metadata", PARTIAL), ("Object", OBJECT), ("None", None)]


@pytest.mark.parametrize(("include", "row"), INCLUDED)
def test_tables(include: str, row: Any) -> None:
    table = json.loads(renderer(Form(As.TABLE), include).object(STORED))
    assert (table["kind"], table["apiVersion"], table["metadata"]) == (
        "Table",
        "meta.k8s.io/v1",
        {"resourceVersion": "7"},
    )
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Data", "Age"]
    assert (table["rows"][0]["cells"][:2], table["rows"][0]["object"]) == (["one", 1], row)


def test_tables_of_v1beta1_have_their_own_api_version() -> None:
    table = json.loads(renderer(Form(As.TABLE, version="v1beta1")).page(Page([STORED], 9)))
    assert table["apiVersion"] == table["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


PAGES: list[tuple[Page, dict[str, Any]]] = [
    (Page([STORED], 9), {"resourceVersion": "9"}),
    (Page([STORED], 9, "more"), {"resourceVersion": "9", "continue": "more"}),
    (Page([STORED], 9, "more", 3), {"resourceVersion": "9", "continue": "more", "remainingItemCount": 3}),
    (Page([STORED], 9, "", 3), {"resourceVersion": "9"}),
]


@pytest.mark.parametrize(("page", "metadata"), PAGES)
@pytest.mark.parametrize("shows", [As.OBJECT, As.TABLE, As.METADATA])
def test_rendered_pages_have_revision_and_continue_token(page: Page, metadata: dict[str, Any], shows: As) -> None:
    body = json.loads(renderer(Form(shows)).page(page))
    assert body["metadata"] == metadata
    assert len(body["rows"] if shows is As.TABLE else body["items"]) == 1


ITEM = {name: value for name, value in OBJECT.items() if name not in ("apiVersion", "kind")}
#: As earlier versions wrote it, and as kube-apiserver's order of fields leaves it.
IN_OTHER_ORDERS = [
    b'{"metadata":{"name":"one","namespace":"default"},"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1"}}',
    b'{"metadata":{"name":"one","namespace":"default"},"data":{"a":"1"},"kind":"ConfigMap","apiVersion":"v1"}',
]


@pytest.mark.parametrize("value", [STORED.value, *IN_OTHER_ORDERS])
def test_items_of_a_list_have_no_type(value: bytes) -> None:
    stored = STORED._replace(value=value)
    listed = renderer(Form())
    assert json.loads(listed.page(Page([stored], 9)))["items"] == [ITEM]
    assert json.loads(listed.entries()(stored)) == ITEM
    assert json.loads(listed.object(stored)) == OBJECT


def test_what_is_stored_ends_with_its_type_whatever_the_order_of_fields() -> None:
    raw = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "one", "resourceVersion": "5"}, "data": {}}
    assert (
        encode(KINDS.CONFIG_MAP, raw) == b'{"metadata":{"name":"one"},"data":{},"apiVersion":"v1","kind":"ConfigMap"}'
    )


def test_items_of_the_events_group_have_no_type_either() -> None:
    raw = {"kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "e", "namespace": "d"}, "note": "x"}
    kind = KINDS.REPORTED_EVENT
    stored = Stored("/events/d/e", encode(kind, raw), 7, 7)
    (item,) = json.loads(Renderer(kind, Form(), "Metadata", 0.0).page(Page([stored], 9)))["items"]
    assert (item["note"], "kind" in item, "apiVersion" in item) == ("x", False, False)


def test_an_empty_list_has_items() -> None:
    body = json.loads(renderer(Form()).page(Page([], 9)))
    assert (body["kind"], body["apiVersion"], body["items"]) == ("ConfigMapList", "v1", [])


def test_events_show_the_object_at_their_own_revision() -> None:
    line = renderer(Form()).event(WatchEvent(EventType.DELETED, object_of(KINDS.CONFIG_MAP, STORED, 8)))
    assert line.endswith(b"}\n")
    event = json.loads(line)
    assert event["type"] == "DELETED"
    assert event["object"] == {**OBJECT, "metadata": {**METADATA, "resourceVersion": "8"}}


def test_only_the_first_event_of_a_watch_has_headers() -> None:
    table = renderer(Form(As.TABLE))
    added = WatchEvent(EventType.ADDED, object_of(KINDS.CONFIG_MAP, STORED, 7))
    events = [json.loads(table.event(added))["object"] for _ in range(2)]
    assert [bool(event["columnDefinitions"]) for event in events] == [True, False]


END = {"k8s.io/initial-events-end": "true"}


@pytest.mark.parametrize("is_end", [False, True])
def test_bookmarks(is_end: bool) -> None:
    bookmark = _bookmark(KINDS.CONFIG_MAP, 12, END if is_end else None)
    metadata = {"resourceVersion": "12", **({"annotations": END} if is_end else {})}
    plain = json.loads(renderer(Form()).event(bookmark))
    assert plain == {"type": "BOOKMARK", "object": {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}}
    partial = json.loads(renderer(Form(As.METADATA, version="v1beta1")).event(bookmark))["object"]
    assert partial == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1beta1",
        "metadata": metadata,
    }
    table = json.loads(renderer(Form(As.TABLE)).event(bookmark))["object"]
    assert (table["kind"], table["metadata"], table["columnDefinitions"]) == ("Table", {"resourceVersion": "12"}, None)
    assert table["rows"] == [{"cells": [], "object": plain["object"]}]


def test_errors_and_other_documents() -> None:
    assert json.loads(error_event({"code": 410})) == {"type": "ERROR", "object": {"code": 410}}
    answer = json_response({"a": 1}, 201, (("X", "y"),))
    assert (answer.status, answer.body, answer.headers) == (201, b'{"a":1}', (("X", "y"),))


def test_yaml_says_the_same() -> None:
    answer = as_yaml(Response(201, b'{"a":"1","b":[true,null]}', headers=(("X", "y"),)))
    assert (answer.status, answer.content_type, answer.headers) == (201, "application/yaml", (("X", "y"),))
    assert yaml.safe_load(answer.body) == {"a": "1", "b": [True, None]}


WARNINGS: list[tuple[list[str], list[str]]] = [
    ([], []),
    (["a", "b", "a"], ['299 - "a"', '299 - "b"']),
    (['say "x\\y"'], [r'299 - "say \"x\\y\""']),
    (["", "  spaced  ", "tab\there", "\x00", "\x85", "caf\u00e9"], ['299 - "  spaced  "', '299 - "caf\u00e9"']),
    (["x" * 4096], [f'299 - "{"x" * 4096}"']),
    (["x" * 4097], [f'299 - "{"x" * 256}"']),
    (["x" * 4000, "y" * 96, "z"], [f'299 - "{"x" * 256}"', f'299 - "{"y" * 96}"', '299 - "z"']),
    ([f"{n:02}{'x' * 300}" for n in range(40)], [f'299 - "{n:02}{"x" * 254}"' for n in range(16)]),
    ([f"{n:02}{'x' * 98}" for n in range(60)], [f'299 - "{n:02}{"x" * 98}"' for n in range(41)]),
]


@pytest.mark.parametrize(("said", "headers"), WARNINGS)
def test_warnings(said: list[str], headers: list[str]) -> None:
    assert warning_headers(said) == tuple(("Warning", value) for value in headers)
