"""The screen, the log, and the keys."""

from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.watch.test_happenings import NOW, UNSCHEDULABLE, node, pod, target, watched

from moorage.cli.commands.watch import command
from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.lint.report.printable import visible_length
from moorage.model.go.times import time_text
from moorage.watch.happenings import HappeningKind
from moorage.watch.state import Watched
from moorage.watch.terminal import meanings
from moorage.watch.view import WatchText, cropped


def busy() -> Watched:
    state = watched(node("n1"), node("n2", {"key": "a", "effect": "NoSchedule"}, ready="False"))
    state.pods_changed([Delta(pod(f"p{number}"), pod(f"p{number}", "n1")) for number in range(9)], NOW)
    state.pods_changed([Delta(None, pod(f"q{number}", conditions=[UNSCHEDULABLE])) for number in range(6)], NOW)
    return state


def tolerating(name: str, node_name: str = "", **fields: Any) -> Object:
    found = {"key": "fp", "operator": "Lt", "value": "5", "effect": "NoExecute", "tolerationSeconds": 30}
    return pod(name, node_name, tolerations=[found], **fields)


def turn(state: Watched, name: str, now: float) -> None:
    """Let a pod be evicted."""
    going = tolerating(name, "n1", going=True, conditions=[target("DeletionByTaintManager")])
    state.pods_changed([Delta(tolerating(name, "n1"), going), Delta(going, None)], now)


def place(state: Watched, name: str, now: float) -> None:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time_text(now)}
    placed = tolerating(name, "n1", conditions=[scheduled])
    state.pods_changed([Delta(None, tolerating(name)), Delta(tolerating(name), placed)], now)


def looping() -> Watched:
    """A workload whose pods are evicted again and again from the node that takes them."""
    state = watched(node("n1", {"key": "fp", "value": "3", "effect": "NoExecute"}))
    for number, name in enumerate("abc"):
        place(state, name, NOW + 30 * number)
        if name != "c":
            turn(state, name, NOW + 30 * number + 30)
    return state


def test_a_screen_tells_what_waits_what_happened_and_how_full_nodes_are() -> None:
    view = WatchText("https://example", colour=False, width=120)
    text = "\n".join([view.title(busy(), NOW), *view.body(busy(), 40, NOW)])
    assert "moorage watch  6 Pending  9 placed  2 nodes" in text
    assert "  Deployment default/web  6 pods: q0, q1, q2, q3 and 2 more\n    Unschedulable: 0/1 nodes" in text
    assert "placed     9 pods of Deployment default/web (p0, p1, p2, p3 and 5 more) on n1" in text
    assert "n1  CPU [##########] 225 %" in text
    assert "pods 0/10  nvidia.com/gpu 0/4  not ready  a:NoSchedule" in text


@pytest.mark.parametrize("width", [40, 60, 100])
def test_prose_fits_the_terminal(width: int) -> None:
    lines = WatchText("https://example", colour=True, width=width).body(busy(), 24, NOW)
    prose = [line for line in lines if "CPU" not in line and "nvidia" not in line]
    assert all(visible_length(line) <= width for line in prose)


def test_a_low_terminal_gets_the_newest() -> None:
    state = busy()
    state.nodes_changed([Delta(node("n2"), None)], NOW + 1)
    lately = WatchText("s", colour=False, width=200).body(state, 6, NOW)
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


def test_pods_that_have_to_leave_are_shown_with_their_time_and_loops_once() -> None:
    state = looping()
    view = WatchText("s", colour=False, width=200)
    why = "fp=3 is tolerated for 30 s"
    for seconds, left in ((0, 30), (7, 23)):
        now = NOW + 60 + seconds
        text = "\n".join(view.body(state, 40, now))
        shown = (
            f"To be evicted\n  Deployment default/web  evicted again every 30 s\n    {why}\n"
            f"  Deployment default/web  1 pod: c on n1\n    leaves in {left} s: {why}\n\n"
        )
        assert shown in text
        assert shown in "\n".join(view.snapshot(state, now))
        assert "1 to be evicted" in view.title(state, now)
    assert "evicted again" not in "\n".join(view.snapshot(state, NOW + 200))


def test_the_log_tells_deadlines_evictions_and_a_loop_once() -> None:
    state = looping()
    lines = [line.split("  ", 1)[1] for line in WatchText("s", colour=False, width=10_000).log(list(state.happenings))]
    why = "fp=3 is tolerated for 30 s"
    evicted = f"from n1 by taint fp=3:NoExecute: {why}"
    assert lines == [
        "placed     default/a on n1",
        f"leaving    default/a on n1 leaves in 30 s: {why}",
        f"evicted    default/a {evicted}",
        "placed     default/b on n1 again, instead of a",
        f"leaving    default/b on n1 leaves in 30 s: {why}",
        f"evicted    default/b {evicted}",
        f"loop       Deployment default/web evicted again every 30 s: {why}",
        "placed     default/c on n1 again, instead of b",
        f"leaving    default/c on n1 leaves in 30 s: {why}",
    ]
    (loop,) = state.loops(NOW + 60)
    assert (loop.every_seconds, loop.evictions) == (30, 2)
    turn(state, "c", NOW + 90)
    assert [one.kind for one in state.happenings].count(HappeningKind.LOOP) == 1
    assert state.loops(NOW + 90)[0].evictions == 3
