"""Encodings that lack marks, and failures of standard output."""

import io

import pytest

from moorage.cli.streams import PLAIN_MARKS, CannotWrite, _Raw, set_encoding


@pytest.mark.parametrize(
    ("encoding", "written"),
    [
        ("ascii", b"Lt 5 -> Lt 16 ... 2 x 3 \\xe9 \\u65e5"),
        ("latin-1", b"Lt 5 -> Lt 16 ... 2 \xd7 3 \xe9 \\u65e5"),
        ("utf-8", "Lt 5 → Lt 16 … 2 × 3 é 日".encode()),
    ],
)
def test_marks_are_spelled_where_the_encoding_lacks_them(encoding: str, written: bytes) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    set_encoding(stream, is_text=True)
    stream.write("Lt 5 → Lt 16 … 2 × 3 é 日")
    stream.flush()
    assert raw.getvalue() == written


def test_names_that_are_no_text_are_escaped() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8")
    set_encoding(stream, is_text=True)
    stream.write("file\udcff")
    stream.flush()
    assert raw.getvalue() == b"file\\udcff"


def test_plain_marks_are_plain() -> None:
    assert all(plain.isascii() and not mark.isascii() for mark, plain in PLAIN_MARKS.items())


def test_a_failure_names_the_stream() -> None:
    with open("/dev/full", "wb", buffering=0) as full, _Raw(full.fileno(), "w", closefd=False) as raw:  # noqa: PTH123
        with pytest.raises(CannotWrite, match="No space left on device") as caught:
            raw.write(b"x")
        assert caught.value.number == full.fileno()
