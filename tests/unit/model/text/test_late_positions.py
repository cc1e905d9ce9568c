"""Places of documents that were detached from their nodes: the same as before."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from moorage.model.field_error import child_path
from moorage.model.text.documents import Document, read_documents

EXAMPLES = sorted((Path(__file__).resolve().parents[4] / "examples").rglob("*.yaml"))
SMALL_LIST = b"""\
# first
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: a, labels: {"yes": b, ? on : c, 010: d}}
- apiVersion: v1
  kind: Pod
  metadata:
    name: b
    name: c
--- # second
{apiVersion: v1, kind: Node, metadata: {name: n}}
...
---
kind: Pod
apiVersion: v1
"""


def paths_of(value: Any, path: str = "") -> Iterator[str]:
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from paths_of(inner, child_path(path, name))
        yield f"{path}.missing" if path else "missing"
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from paths_of(inner, f"{path}[{number}]")
        yield f"{path}[{len(value)}]"


@pytest.mark.parametrize("text", [SMALL_LIST, b"\n---\n".join(path.read_bytes() for path in EXAMPLES)])
def test_a_detached_document_finds_the_same_places(text: bytes) -> None:
    documents = [one for one in read_documents(BytesIO(text), "x") if isinstance(one, Document)]
    assert len(documents) > 3
    before = [{path: document.location(path) for path in paths_of(document.raw)} for document in documents]
    starts = [document.start()() for document in documents]
    for document in documents:
        document.detach()
    found = [{path: document.location(path) for path in paths_of(document.raw)} for document in documents]
    assert found == before
    assert [document.start()() for document in documents] == starts
    assert len({place for places in before for place in places.values()}) > len(documents), "places differ"


def test_a_text_with_aliases_keeps_its_nodes() -> None:
    text = b"apiVersion: v1\nkind: Pod\nmetadata:\n  labels: &l {a: b}\n  annotations: *l\n"
    (document,) = read_documents(BytesIO(text), "x")
    assert isinstance(document, Document)
    document.detach()
    assert document.alias("metadata.annotations.a") == (5, 16)
