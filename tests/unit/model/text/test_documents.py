from io import BytesIO
from textwrap import indent

import pytest

from moorage.model.text import documents
from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.documents import Document, read_documents


def read(text: str | bytes) -> list[Document | DecodeError]:
    data = text.encode() if isinstance(text, str) else text
    return list(read_documents(BytesIO(data), "f.yaml"))


def only(text: str | bytes) -> Document:
    (document,) = read(text)
    assert isinstance(document, Document), document
    return document


def complaint(text: str | bytes) -> DecodeError:
    (error,) = read(text)
    assert isinstance(error, DecodeError)
    return error


POD = """\
# a comment
apiVersion: v1
kind: Pod
metadata:
  labels:
    a.b/c: x
spec:
  containers:
  - name: one
    resources:
      limits: {cpu: 1, memory: 2Gi}
  - image: two
"""
JSON_POD = """\
{
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {"labels": {"a.b/c": "x"}},
  "spec": {"containers": [
    {"name": "one", "resources": {"limits": {"cpu": 1}}},
    {"image": "two"}
  ]}
}
"""


@pytest.mark.parametrize(
    ("path", "yaml_place", "json_place"),
    [
        ("", (2, 1), (1, 1)),
        ("kind", (3, 1), (2, 23)),
        ("metadata.labels[a.b/c]", (6, 5), (3, 27)),
        ("spec.containers[0].resources.limits[cpu]", (11, 16), (5, 46)),
        ("spec.containers[1]", (12, 5), (6, 5)),
        ("spec.containers[1].name", (12, 5), (6, 5)),  # not there: the container is
        ("spec.containers[7]", (8, 3), (4, 12)),
        ("spec.tolerations[0].key", (7, 1), (4, 3)),
        ("spec.containers[0].name.x", (9, 5), (5, 6)),
    ],
)
def test_locations_of_fields_and_of_what_is_closest(
    path: str, yaml_place: tuple[int, int], json_place: tuple[int, int]
) -> None:
    assert only(POD).location(path) == yaml_place
    assert only(JSON_POD).location(path) == json_place


def test_locations_follow_merge_keys_and_the_last_of_equal_keys() -> None:
    document = only("apiVersion: v1\nkind: X\nb: &b\n  p: 1\nx:\n  <<: *b\nz: 1\nz: 2\n")
    assert document.location("x.p") == (4, 3)
    assert document.location("z") == (8, 1)


def test_documents_know_their_source_place_and_lines() -> None:
    first, second = read(POD + "---\n# nothing\n---\n" + POD)
    assert isinstance(first, Document)
    assert isinstance(second, Document)
    assert (first.source, first.index, first.line, second.index, second.line) == ("f.yaml", 0, 2, 1, 17)
    assert second.line_text(18) == "kind: Pod"
    assert second.line_text(3) == ""


def test_empty_documents_are_passed_over() -> None:
    assert read("") == []
    assert read("---\n---\n# c\n---\nnull\n---\n~\n...\n") == []


@pytest.mark.parametrize(
    ("text", "problem", "reason"),
    [
        ("[1]", Problem.NOT_AN_OBJECT, "array where an API object should be"),
        ("text", Problem.NOT_AN_OBJECT, "string where an API object should be"),
        ("a: 1", Problem.NO_KIND, "neither 'apiVersion' nor 'kind' is set: not an API object"),
        ("kind: Pod", Problem.MISSING_API_VERSION, "Object 'apiVersion' is missing"),
        ("apiVersion: v1", Problem.MISSING_KIND, "Object 'Kind' is missing"),
        (
            "apiVersion: 1\nkind: Pod",
            Problem.TYPE,
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field "
            ".apiVersion of type string",
        ),
        ('{"kind" "Pod"}', Problem.SYNTAX, "json: Expecting ':' delimiter"),
        ("{kind: Pod", Problem.SYNTAX, "yaml: did not find expected ',' or '}' while parsing a flow mapping"),
        (b'{"a": "\xff"}', Problem.UNREADABLE, "yaml: invalid leading UTF-8 octet"),
    ],
)
def test_documents_that_are_not_api_objects_are_refused(text: str | bytes, problem: Problem, reason: str) -> None:
    error = complaint(text)
    assert (error.problem, error.reason) == (problem, reason)


def test_errors_read_as_compilers_print_them() -> None:
    assert str(complaint("---\nkind: Pod")) == "f.yaml:2:1: Object 'apiVersion' is missing"


def test_an_error_does_not_stop_what_follows() -> None:
    found = read("a: [\n---\napiVersion: v1\nkind: X\n")
    assert [type(item) for item in found] == [DecodeError, Document]


def test_flow_style_is_yaml_although_it_looks_like_json() -> None:
    assert only("{apiVersion: v1, kind: Pod}").raw == {"apiVersion": "v1", "kind": "Pod"}


def test_byte_order_marks_are_no_text() -> None:
    for text in ("apiVersion: v1\nkind: X\n", '{"apiVersion": "v1", "kind": "X"}'):
        assert only(b"\xef\xbb\xbf" + text.encode()).raw == {"apiVersion": "v1", "kind": "X"}


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: X\nspec:\n  a: 1\n  a: 2\n",
        '{"apiVersion": "v1", "kind": "X", "spec":\n{\n"b": 1,"a": 1,\n  "a": 2}}',
    ],
)
def test_duplicate_fields_are_named_as_the_api_server_does(text: str) -> None:
    document = only(text)
    (duplicate,) = document.duplicates
    assert str(duplicate) == 'duplicate field "spec.a"'
    assert duplicate.location[0] == text.count("\n", 0, text.rindex("a")) + 1
    assert document.raw["spec"]["a"] == 2


LIST = """\
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  spec:
    containers: [{name: a, name: b}]
# between
- apiVersion: v1
  kind: Node
  metadata:
    annotations:
      note: |
        - not an item
- 3
kind: List
metadata: {}
"""


def test_lists_are_taken_apart_into_items_that_know_their_lines() -> None:
    pod, node, number = read(LIST)
    assert isinstance(pod, Document)
    assert isinstance(node, Document)
    assert (pod.raw["kind"], pod.line, pod.location("spec.containers[0].name")) == ("Pod", 3, (6, 28))
    assert (node.raw["kind"], node.line, node.location("metadata.annotations[note]")) == ("Node", 8, (12, 7))
    assert str(pod.duplicates[0]) == 'duplicate field "spec.containers[0].name"'
    assert str(number) == "f.yaml:14:3: number where an API object should be"


def test_items_of_typed_lists_need_not_say_what_they_are() -> None:
    text = '{"apiVersion": "v1", "kind": "PodList", "items": [\n{"spec": {}},\n {"kind": "Pod"}]}'
    pod, partial = read(text)
    assert isinstance(pod, Document)
    assert pod.raw == {"apiVersion": "v1", "kind": "Pod", "spec": {}}
    assert pod.location("spec") == (2, 2)
    assert str(partial) == "f.yaml:3:2: Object 'apiVersion' is missing"


HEAD, REST = LIST.split("items:\n")
ITEMS, TAIL = REST.split("kind: List")
INDENTED_LIST = f"{HEAD}items:\n{indent(ITEMS, '  ')}kind: List{TAIL}"


@pytest.mark.parametrize("text", [LIST, INDENTED_LIST, LIST.replace("\n", "\r\n"), "- 1\n", POD])
def test_large_lists_are_read_as_small_ones_are(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(text)
    monkeypatch.setattr(documents, "_LARGE_LIST", 1)
    in_parts = read(text)

    def shown(found: Document | DecodeError) -> object:
        if isinstance(found, DecodeError):
            return str(found)
        places = (found.line, found.location("spec.containers[0].name"), found.line_text(found.line))
        return (found.raw, found.index, found.duplicates, places)

    assert [shown(found) for found in in_parts] == [shown(found) for found in whole]


def test_an_object_larger_than_any_api_server_takes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_TEXT_BYTES", 20)
    error = complaint(POD)
    assert (error.problem, error.line) == (Problem.LIMIT, 1)
    assert "the API server stores no more than 1532 KiB" in error.reason


def test_something_large_with_items_that_is_no_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_LARGE_LIST", 1)
    error = complaint("apiVersion: v1\nkind: Basket\nitems:\n- a\n- b\n")
    assert error.problem is Problem.LIMIT
