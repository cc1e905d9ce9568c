"""The lines just read."""

from __future__ import annotations

from io import BytesIO

from moorage.lint.recent_lines import RecentLines


def test_lines_are_known_while_they_are_recent() -> None:
    text = b"".join(b"line %d\r\n" % number for number in range(1, 101))
    lines = RecentLines(BytesIO(text))
    assert lines.line(1) == ""
    while lines.read(50):
        pass
    assert lines.line(100) == "line 100"
    assert lines.line(1) == ""
    assert lines.line(101) == ""
    assert lines.line(5_000) == ""


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    lines = RecentLines(BytesIO(b"a\n\xff\xfe" + b"x" * 20_000))
    lines.read(40_000)
    assert lines.line(2).startswith("\ufffd\ufffdx")
    assert len(lines.line(2)) == 10_000
