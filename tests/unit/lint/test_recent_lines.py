"""The lines just read."""

from __future__ import annotations

from io import BytesIO

import pytest

from moorage.lint import finding
from moorage.lint.finding import RecentLines


def test_lines_are_known_while_they_are_recent() -> None:
    text = b"".join(b"line %d\r\n" % number for number in range(1, 101))
    for size in (1, 3, 50, 10_000):
        lines = RecentLines(BytesIO(text))
        assert lines.line(1) == ""
        while lines.read(size):
            pass
        assert [lines.line(number) for number in range(1, 101)] == [f"line {number}" for number in range(1, 101)]
        assert lines.line(0) == ""
        assert lines.line(101) == ""
        assert lines.line(5_000) == ""


def test_lines_that_have_gone_by_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "_MAX_BYTES", 100)
    lines = RecentLines(BytesIO(b"".join(b"line %d\n" % number for number in range(1, 101))))
    while lines.read(30):
        pass
    assert lines.line(1) == ""
    assert lines.line(100) == "line 100"


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    lines = RecentLines(BytesIO(b"a\n\xff\xfe" + b"x" * 20_000))
    lines.read(40_000)
    assert lines.line(2).startswith("\ufffd\ufffdx")


def test_very_long_lines_are_not_looked_at() -> None:
    lines = RecentLines(BytesIO(b"x" * 1_000_000 + b"\nshort"))
    while lines.read(100_000):
        pass
    assert lines.line(1) == ""
    assert lines.line(2) == "short"
