from io import BytesIO

import pytest

from moorage.model.text.decode_error import DecodeError, Problem
from moorage.model.text.document_chunks import Chunk, split_stream


def cut(data: bytes, limit: int = 1 << 20) -> list[tuple[bytes, int] | str]:
    return [
        (chunk.text, chunk.first_line) if isinstance(chunk, Chunk) else f"{chunk.line}: {chunk.reason}"
        for chunk in split_stream(BytesIO(data), "f", limit)
    ]


@pytest.mark.parametrize(
    ("data", "chunks"),
    [
        (b"", []),
        (b"\n \n", []),
        (b"a: 1\n", [(b"a: 1\n", 1)]),
        (b"---\na: 1\n---\nb: 2", [(b"a: 1\n", 2), (b"b: 2", 4)]),
        (b"a: 1\r\n--- # why\r\nb: 2\r\n", [(b"a: 1\r\n", 1), (b"b: 2\r\n", 3)]),
        (b"a: 1\n---", [(b"a: 1\n", 1)]),
        (b"a: |\n  x\n  ---\n  y\n", [(b"a: |\n  x\n  ---\n  y\n", 1)]),
        (b"%YAML 1.1\n---\na: 1\n", [(b"%YAML 1.1\n---\na: 1\n", 1)]),
        (b'{"a": 1}\n{"b": 2}\n', [(b'{"a": 1}\n', 1), (b'{"b": 2}\n', 2)]),
        (b'{"a": [{\n}, {\n}]}\n', [(b'{"a": [{\n}, {\n}]}\n', 1)]),
        (b'{"a": 1}\n---\n{"b": 2}', [(b'{"a": 1}\n', 1), (b'{"b": 2}', 3)]),
        (b"a: |\n  }\n  {\n", [(b"a: |\n  }\n  {\n", 1)]),
        (b"a: 1\n--- b\nc: 2\n", [(b"a: 1\n", 1), "2: invalid Yaml document separator: b", (b"c: 2\n", 3)]),
        (b"a: 1\n-----\n", [(b"a: 1\n", 1), "2: invalid Yaml document separator: --"]),
    ],
)
def test_cuts(data: bytes, chunks: list[tuple[bytes, int] | str]) -> None:
    assert cut(data) == chunks


@pytest.mark.parametrize("filler", [b"- a\n", b"a"])
def test_a_piece_that_is_too_large_is_refused_and_the_next_one_is_read(filler: bytes) -> None:
    data = b"x:\n" + filler * 100_000 + b"\n---\nb: 2\n"
    refused, following = cut(data, limit=1000)
    assert refused == "1: document larger than 0 KiB"
    assert following == (b"b: 2\n", data.count(b"\n"))


def test_separators_are_found_wherever_blocks_of_the_stream_end() -> None:
    pieces = [b"k: %s\n" % (b"x" * (17 * i % 301)) for i in range(3000)]
    chunks = cut(b"---\n".join(pieces))
    assert [chunk[0] for chunk in chunks] == pieces
    assert [chunk[1] for chunk in chunks] == list(range(1, 6000, 2))


def test_utf16_is_named_for_what_it_is() -> None:
    (error,) = split_stream(BytesIO("a: 1".encode("utf-16")), "f")
    assert isinstance(error, DecodeError)
    assert error.problem is Problem.UNREADABLE
    assert "UTF-16" in error.reason


@pytest.mark.parametrize(
    ("start", "what"),
    [
        (b"\x7fELF\x02\x01\x01\x00", "a binary file (a program)"),
        (b"\x1f\x8b\x08\x00\x00", "a gzip archive"),
        (b"PK\x03\x04\x14\xff", "a ZIP archive"),
        (b"\x89PNG\r\n", "a binary file (an image)"),
        (b"k8s\x00\n\x0c", "a binary file"),
        (b"some: text\x00", "a binary file"),
    ],
)
def test_a_binary_file_is_called_one(start: bytes, what: str) -> None:
    (error,) = split_stream(BytesIO(start + b"\xfe" * 70_000), "file.yaml")
    assert isinstance(error, DecodeError)
    assert error.problem is Problem.BINARY
    assert error.reason.startswith(f"this is {what}")
    assert error.reason.endswith("not YAML or JSON")
