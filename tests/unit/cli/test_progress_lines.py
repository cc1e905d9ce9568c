"""Progress on standard error: quiet at first, one changing line on a terminal, few plain lines elsewhere."""

import io

import pytest

from moorage.cli.progress_lines import ProgressLines
from moorage.dashboard.state.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(stream: io.StringIO, steps: list[tuple[float, Progress | None]]) -> str:
    now = [0.0]
    lines = ProgressLines(stream, lambda: now[0])
    for at, progress in steps:
        now[0] = at
        lines.show(progress)
    return stream.getvalue()


def pods(done: int) -> Progress:
    return Progress("Listing pods", done, 50_000)


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_what_is_quick_is_not_told(stream: io.StringIO) -> None:
    assert printed(stream, [(0, pods(500)), (0.9, pods(50_000)), (0.95, None)]) == ""


def test_a_line_now_and_then_where_there_is_no_terminal() -> None:
    steps = [(0, pods(500)), (1.5, pods(1_000)), (3, pods(2_000)), (12, pods(12_000)), (12.1, Progress("Simulating"))]
    assert printed(io.StringIO(), [*steps, (13, None)]) == (
        "Listing pods: 1,000 of 50,000 …\nListing pods: 12,000 of 50,000 …\nSimulating …\n"
    )


def test_one_line_that_changes_and_goes_on_a_terminal() -> None:
    text = printed(Terminal(), [(0, pods(500)), (1.5, pods(1_000)), (1.6, pods(1_500)), (2, pods(2_000)), (3, None)])
    lines = text.split("\r")
    assert [line.strip() for line in lines] == [
        "", "Listing pods: 1,000 of 50,000 …", "Listing pods: 2,000 of 50,000 …", "", "",
    ]  # fmt: skip
