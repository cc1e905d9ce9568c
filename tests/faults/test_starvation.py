"""The clock of the suite: a starved cluster is waited for, one that hangs is given up."""

import os
import subprocess
import sys

import pytest
from tests.faults.rig.starvation import MOST, PatientClock, Threads, Work, slowness


@pytest.mark.parametrize(
    ("ran", "waited", "expected"),
    [
        (0.0, 0.0, 1.0),  # everything is paused, or waits for something else
        (1.0, 0.2, 1.0),
        (1.0, 0.99, 1.0),
        (1.0, 1.0, 2.0),
        (0.5, 9.5, 20.0),
        (0.0, 0.3, MOST),
        (0.001, 5.0, MOST),
    ],
)
def test_slowness_is_what_waiting_for_a_processor_adds(ran: float, waited: float, expected: float) -> None:
    assert slowness(ran, waited) == pytest.approx(expected)


def _spent(rows: list[tuple[float, float]]) -> PatientClock:
    """Return a clock after seconds in each of which threads have run and waited for so long."""
    now, ran, waited = 0.0, 0.0, 0.0
    clock = PatientClock(lambda: Work(ran, waited), lambda: now)
    for more_ran, more_waited in rows:
        now, ran, waited = now + 1.0, ran + more_ran, waited + more_waited
        clock.tick()
    return clock


def test_a_starved_cluster_has_as_many_seconds_as_a_quiet_one() -> None:
    starved, quiet = _spent([(0.1, 0.9)] * 300), _spent([(0.9, 0.1)] * 300)
    assert [starved.wall, starved.spent, starved.slowness] == pytest.approx([300.0, 30.0, 10.0])
    assert [quiet.wall, quiet.spent, quiet.slowness] == [300.0, 300.0, 1.0]


def test_a_cluster_that_hangs_is_not_waited_for() -> None:
    """Processes that wait for a lock, a timeout or a message wait for no processor."""
    assert _spent([(0.0, 0.0)] * 90).spent == 90.0
    assert _spent([(0.1, 0.9)] * 10 + [(0.0, 0.0)] * 90).spent == pytest.approx(91.0)


@pytest.mark.real_time
def test_threads_of_real_processes_are_counted() -> None:
    children = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        threads = Threads(lambda: [child.pid for child in children])
        threads.work()
        while (work := threads.work()).ran + work.waited < 1.0:
            pass
        assert work.ran > 0.0
        assert work.waited > 0.0
        ended, children = children, []
        for child in ended:
            child.kill()
            child.wait()
        assert threads.work() == work  # what has ended stays counted
    finally:
        for child in children:
            child.kill()
            child.wait()
