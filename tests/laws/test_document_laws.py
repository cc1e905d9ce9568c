"""Decoding: reads what a reference wrote, finds what it read, cuts streams where they were joined, never raises."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import Document, read_documents
from moorage.model.text.yaml_text import json_number

_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=8)
_KEYS = st.one_of(_TEXT, st.sampled_from(["name", "spec", "on", "1", "null", "a.b/c", "-", "<<", "items"]))
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    _TEXT,
    st.sampled_from(["yes", "0x1f", "1e3", "~", "2001-01-01", "---", "010", "a: b", "- c", "line\nline\n", "\t"]),
)
VALUES = st.recursive(
    _SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(_KEYS, below, max_size=3), max_leaves=12
)
OBJECTS = st.dictionaries(_KEYS, VALUES, max_size=4).map(lambda extra: {**extra, "apiVersion": "v1", "kind": "Thing"})

Read = Callable[[bytes], list[Document | DecodeError]]
Write = Callable[[Any], bytes]


def read(data: bytes) -> list[Document | DecodeError]:
    return list(read_documents(BytesIO(data), "f"))


class Dumper(yaml.SafeDumper):
    """Quotes all text that could be anything else: PyYAML knows fewer numbers and booleans than Kubernetes does."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if len(text) > 5 and text.isalpha() else "|" if text.endswith("\n") else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


Dumper.add_representer(str, _represent_text)


def in_yaml(value: Any) -> bytes:
    return str(yaml.dump(value, Dumper=Dumper, allow_unicode=True, default_flow_style=None)).encode()


def in_block_yaml(value: Any) -> bytes:
    return str(yaml.dump(value, Dumper=Dumper, default_flow_style=False, width=20)).encode()


def in_json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"


def as_json(value: Any) -> Any:
    """A value as JSON has it: a float without a fraction is an integer."""
    if isinstance(value, dict):
        return {key: as_json(below) for key, below in value.items()}
    if isinstance(value, list):
        return [as_json(below) for below in value]
    return json_number(value) if isinstance(value, float) else value


def written_law(reader: Read, write: Write) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(OBJECTS)
    def law(value: dict[str, Any]) -> None:
        (document,) = reader(write(value))
        assert isinstance(document, Document)
        assert as_json(document.raw) == as_json(value)

    return law


def joined_law(reader: Read) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(st.lists(st.tuples(OBJECTS, st.sampled_from([in_yaml, in_block_yaml, in_json])), min_size=1, max_size=4))
    def law(values: list[tuple[dict[str, Any], Write]]) -> None:
        stream = b"---\n".join(write(value) for value, write in values)
        found = reader(stream)
        assert [as_json(item.raw) for item in found if isinstance(item, Document)] == [
            as_json(value) for value, _ in values
        ]

    return law


def found_law(locate: Callable[[Document, str], int]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(OBJECTS, st.sampled_from([in_block_yaml, in_json]))
    def law(value: dict[str, Any], write: Write) -> None:
        marked = {**value, "spec": {"marks": [{}, {"the mark": 1}]}}
        text = write(marked)
        (document,) = read(text)
        assert isinstance(document, Document)
        line = locate(document, "spec.marks[1][the mark]")
        assert "the mark" in document.line_text(line)

    return law


def never_raises_law(reader: Read, inputs: st.SearchStrategy[bytes]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(inputs)
    def law(data: bytes) -> None:
        try:
            found = reader(data)
        except Exception as error:
            raise AssertionError(f"{error!r} on {data!r}") from error
        for item in found:
            if isinstance(item, Document):
                assert item.location("spec.containers[0].name").line >= 1
            else:
                assert item.line >= 1
                assert item.reason

    return law


BYTES = st.one_of(
    st.binary(max_size=60),
    st.lists(st.sampled_from(list("{}[]:,-&*!|>'\"%@`#? \n\t\\ab1<~.e")), max_size=40).map(
        lambda c: "".join(c).encode()
    ),
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A valid document with a few bytes changed, inserted or taken out."""
    data = bytearray(draw(st.sampled_from([in_yaml, in_block_yaml, in_json]))(draw(OBJECTS)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        data[at : at + draw(st.integers(0, 2))] = draw(st.binary(max_size=2))
    return bytes(data)


def test_yaml_in_flow_style_is_read_as_it_was_written() -> None:
    written_law(read, in_yaml)()


def test_yaml_in_block_style_is_read_as_it_was_written() -> None:
    written_law(read, in_block_yaml)()


def test_json_is_read_as_it_was_written() -> None:
    written_law(read, in_json)()


def test_a_reader_that_drops_empty_values_is_noticed() -> None:
    def forgetful(data: bytes) -> list[Document | DecodeError]:
        found = read(data)
        for document in found:
            if isinstance(document, Document):
                document.raw = {key: value for key, value in document.raw.items() if value}
        return found

    assert_notices(written_law(forgetful, in_yaml))


def test_streams_are_cut_where_they_were_joined() -> None:
    joined_law(read)()


def test_cutting_inside_of_text_is_noticed() -> None:
    assert_notices(joined_law(lambda data: read(data.replace(b"---\n", b"", 1))))


def test_fields_are_found_in_the_line_they_stand_in() -> None:
    found_law(lambda document, path: document.location(path).line)()


def test_lines_that_are_off_by_one_are_noticed() -> None:
    assert_notices(found_law(lambda document, path: document.location(path).line + 1))


def test_arbitrary_bytes_never_raise() -> None:
    never_raises_law(read, BYTES)()


def test_mutated_documents_never_raise() -> None:
    never_raises_law(read, mutated())()


def test_a_reader_that_raises_is_noticed() -> None:
    def fragile(data: bytes) -> list[Document | DecodeError]:
        data.decode("ascii")
        return []

    assert_notices(never_raises_law(fragile, BYTES))
