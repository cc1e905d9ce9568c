"""YAML that is written is read back as the same value by the reader of manifests."""

from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import read_documents
from moorage.model.text.yaml_writer import write_yaml

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text("0123456789+-._eExXoObB:", min_size=1, max_size=6),
    st.text("a \n\t#-", min_size=2, max_size=8),
    st.text("yYnN~=<>|?-: #'\"\n\t%@&*![]{},", max_size=5),
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.booleans(), st.none(), st.integers(-(2**63), 2**64 - 1)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=8,
)


def read_back(text: str) -> Any:
    [document] = read_documents(BytesIO(text.encode()), "test")
    assert not isinstance(document, DecodeError), document
    return document.raw


@pytest.mark.parametrize(
    "text", ["y", "No", "1e3", "0o17", "1_000", "010", "0x1f", ".inf", "1:30", "2001-01-01", "~", "", "=", "<<", "null"]
)
def test_a_text_that_looks_like_something_else_is_quoted(text: str) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": text, text: "b"}}
    assert read_back(write_yaml(document)) == document


@given(VALUES)
def test_every_value_is_read_back(value: Any) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "data": value}
    assert read_back(write_yaml(document)) == document


def test_an_ordinary_text_is_plain_and_repeated_values_are_written_out() -> None:
    shared = {"app": "web-1", "cpu": "100m"}
    assert write_yaml([shared, shared]) == "- app: web-1\n  cpu: 100m\n" * 2
