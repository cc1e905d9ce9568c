"""The screen, the log, and the keys."""

import pytest
from click.testing import CliRunner
from tests.unit.watch.test_happenings import NOW, UNSCHEDULABLE, node, pod, watched

from moorage.cli.commands.watch import command
from moorage.client.informer import Delta
from moorage.lint.report.printable import visible_length
from moorage.watch.state import Watched
from moorage.watch.terminal import meanings
from moorage.watch.view import WatchText, cropped


def busy() -> Watched:
    state = watched(node("n1"), node("n2", {"key": "a", "effect": "NoSchedule"}, ready="False"))
    state.pods_changed([Delta(pod(f"p{number}"), pod(f"p{number}", "n1")) for number in range(9)], NOW)
    state.pods_changed([Delta(None, pod(f"q{number}", conditions=[UNSCHEDULABLE])) for number in range(6)], NOW)
    return state


def test_a_screen_tells_what_waits_what_happened_and_how_full_nodes_are() -> None:
    view = WatchText("https://example", colour=False, width=120)
    text = "\n".join([view.title(busy(), NOW), *view.body(busy(), 40)])
    assert "moorage watch  6 Pending  9 placed  2 nodes" in text
    assert "  Deployment default/web  6 pods: q0, q1, q2, q3 and 2 more\n    Unschedulable: 0/1 nodes" in text
    assert "placed     9 pods of Deployment default/web (p0, p1, p2, p3 and 5 more) on n1" in text
    assert "n1  CPU [##########] 225 %" in text
    assert "pods 0/10  nvidia.com/gpu 0/4  not ready  a:NoSchedule" in text


@pytest.mark.parametrize("width", [40, 60, 100])
def test_prose_fits_the_terminal(width: int) -> None:
    lines = WatchText("https://example", colour=True, width=width).body(busy(), 24)
    prose = [line for line in lines if "CPU" not in line and "nvidia" not in line]
    assert all(visible_length(line) <= width for line in prose)


def test_a_low_terminal_gets_the_newest() -> None:
    state = busy()
    state.nodes_changed([Delta(node("n2"), None)], NOW + 1)
    lately = WatchText("s", colour=False, width=200).body(state, 6)
    start = lately.index("Lately")
    assert "n2 is gone" in lately[start + 1]


def test_the_log_has_a_line_for_each_thing() -> None:
    state = busy()
    lines = list(WatchText("s", colour=False, width=10_000).log(list(state.happenings)))
    assert len(lines) == 2
    few = list(WatchText("s", colour=False, width=10_000).log(list(state.happenings)[:2]))
    assert [line.split("  ", 1)[1] for line in few] == ["placed     default/p0 on n1", "placed     default/p1 on n1"]


def test_the_footer_says_what_is_wrong() -> None:
    view, state = WatchText("s", colour=False, width=80), watched()
    assert view.footer(state, 0, 0) == "q quits, arrows scroll"
    assert view.footer(state, 2, 3) == "2 above  3 lines below  q quits, arrows scroll"
    state.refusals = {"nodes": "forbidden"}
    assert view.footer(state, 0, 0) == "nodes cannot be watched: forbidden"
    state.server_changed("refused", NOW)
    assert view.footer(state, 0, 0) == "The API server cannot be reached, trying again: refused"


@pytest.mark.parametrize(
    ("line", "width", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc"),
        ("\x1b[31mabcd\x1b[0m", 3, "\x1b[31mabc\x1b[0m"),
        ("a\x1b[1mb\x1b[0mcd", 3, "a\x1b[1mb\x1b[0mc\x1b[0m"),
    ],
)
def test_lines_are_cut_beside_their_colours(line: str, width: int, shown: str) -> None:
    assert cropped(line, width) == shown


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("q", ["quit"]),
        ("\x1b[A\x1b[B", ["up", "down"]),
        ("\x1bOA\x1b[5~\x1b[6~", ["up", "page up", "page down"]),
        ("x\x1b[1;5C\x1b[24~zjq", ["down", "quit"]),
        ("\x1b", []),
        ("", []),
    ],
)
def test_keys(typed: str, keys: list[str]) -> None:
    assert meanings(typed) == keys


def test_a_rate_that_is_no_number_is_refused() -> None:
    ran = CliRunner().invoke(command, ["--rate", "nan"])
    assert ran.exit_code == 2
    assert "Invalid value for '--rate': must be a number" in ran.output
