"""The progress bar: nothing at first, then a line that is redrawn and removed."""

from __future__ import annotations

from io import StringIO

from moorage.cli.shared import Progress


def test_short_runs_have_none() -> None:
    out = StringIO()
    progress = Progress(10, out, lambda: 0.0)
    for _ in range(10):
        progress.tick()
    progress.clear()
    assert out.getvalue() == ""


def test_long_runs_have_one_that_goes_away() -> None:
    now = [0.0]
    out = StringIO()
    progress = Progress(4, out, lambda: now[0])
    for _ in range(4):
        now[0] += 0.6
        progress.tick()
    lines = out.getvalue().split("\r")
    assert lines[0] == ""
    assert lines[1].startswith("[###############---------------] 2/4 files")
    assert lines[-1] == "[##############################] 4/4 files"
    progress.clear()
    assert out.getvalue().endswith("\r" + " " * len(lines[-1]) + "\r")
    progress.clear()


def test_more_files_than_expected_do_no_harm() -> None:
    now = [0.0]
    out = StringIO()
    progress = Progress(0, out, lambda: now[0])
    now[0] = 5.0
    progress.tick()
    assert "1/0 files" in out.getvalue()
