import io
import json

import pytest

from moorage.model.text import document_chunks
from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.documents import Document, read_documents
from moorage.model.text.large_lists import split_json_list, split_yaml_list, without_dash

TEXT = b"""\
apiVersion: v1
items: # of a cluster
# first
- kind: Pod
  note: |
    - text

- kind: Node
-
  kind: Job
kind: List
"""


def test_items_keep_their_lines_and_the_rest_keeps_its_own() -> None:
    cut = split_yaml_list(TEXT)
    assert cut is not None
    assert [(text.split(b"\n")[0], line) for text, line in cut.items] == [
        (b"- kind: Pod", 3),
        (b"- kind: Node", 7),
        (b"-", 8),
    ]
    assert cut.frame.split(b"\n")[10] == b"kind: List"
    assert cut.frame.strip() == b"apiVersion: v1" + b"\n" * 10 + b"kind: List"


def test_items_may_be_indented() -> None:
    cut = split_yaml_list(b"items:\n  - a: 1\n    b: 2\n  - a: 3\nkind: List\n")
    assert cut is not None
    assert [text for text, _ in cut.items] == [b"  - a: 1\n    b: 2\n", b"  - a: 3\n"]
    assert without_dash(b"  - a: 1-2") == b"    a: 1-2"


@pytest.mark.parametrize("text", [b"", b"a: 1\n", b"items: []\n", b"spec:\n  items:\n  - a\n", b"items:\n  a: 1\n"])
def test_what_is_not_laid_out_as_a_list_is_not_cut(text: bytes) -> None:
    assert split_yaml_list(text) is None


PODS = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{n}", "labels": {}}, "x": [n]} for n in range(40)]
LIST = {"apiVersion": "v1", "items": PODS, "kind": "List", "metadata": {"resourceVersion": ""}}
JSON = json.dumps(LIST, indent=4) + "\n"
YAML = (
    "apiVersion: v1\nitems:\n"
    + "".join(f"- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p{n}\n  text: |\n    - {n}\n" for n in range(40))
    + 'kind: List\nmetadata:\n  resourceVersion: ""\n'
)
AFTER = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n}\n"


def test_items_of_a_json_list_keep_their_lines() -> None:
    cut = split_json_list(JSON.encode())
    assert cut is not None
    assert [json.loads(text) for text, _ in cut.items] == PODS
    lines = JSON.encode().split(b"\n")
    assert all(lines[before : before + 2] == text.split(b"\n")[:2] for text, before in cut.items)
    assert json.loads(cut.frame) == {**LIST, "items": []}


@pytest.mark.parametrize("text", ["", "{}", json.dumps(LIST), JSON.replace("        }", "       }", 3), "{\n"])
def test_json_in_another_layout_is_not_cut(text: str) -> None:
    assert split_json_list(text.encode()) is None


def read(text: str, limit: int) -> list[object]:
    found = read_documents(io.BytesIO(text.encode()), "s", limit)
    return [
        (one.raw, one.index, one.line, one.location("metadata.name"), one.line_text(one.line))
        if isinstance(one, Document)
        else (one.problem, one.line)
        for one in found
    ]


@pytest.mark.parametrize("text", [JSON, YAML, YAML + AFTER, AFTER + "---\n" + JSON, "# first\n" + YAML, JSON + AFTER])
@pytest.mark.parametrize("limit", [300, 1000, 4000])
@pytest.mark.parametrize("block", [50, 333, 64 * 1024])
def test_a_list_larger_than_a_document_may_be_is_read_as_a_small_one_is(
    text: str, limit: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read(text, 10**9)
    monkeypatch.setattr(document_chunks, "_BLOCK", block)
    monkeypatch.setattr(document_chunks, "_LIST_BLOCK", block)
    assert read(text, limit) == whole


@pytest.mark.parametrize("text", [YAML.replace("kind: List", "kind: Basket"), YAML.replace("kind: List\n", "")])
def test_what_only_looks_like_a_list_is_refused_at_its_end(text: str) -> None:
    assert read(text, 300)[-1] == (Problem.LIMIT, 1)


def test_what_is_too_large_and_no_list_is_refused_and_the_next_document_is_read() -> None:
    text = "apiVersion: v1\nkind: Pod\n" + "a: 1\n" * 20_000 + AFTER
    [refused, node] = read_documents(io.BytesIO(text.encode()), "s", 300)
    assert isinstance(refused, DecodeError)
    assert "document larger than" in refused.reason
    assert isinstance(node, Document)


def test_one_item_larger_than_a_document_may_be_is_refused() -> None:
    text = YAML.replace("name: p20\n", "name: p20\n" + "    a: b\n" * 20_000)
    found = list(read_documents(io.BytesIO(text.encode()), "s", 300))
    assert [one.reason for one in found if isinstance(one, DecodeError)] == ["document larger than 0 KiB"]
