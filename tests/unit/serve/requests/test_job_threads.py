"""Threads beside the event loop: when garbage is collected while they work."""

import gc
import weakref

import pytest

from moorage.serve.requests import job_threads
from moorage.serve.requests.job_threads import _Pace


class _Cycle:
    def __init__(self) -> None:
        self.itself = self


def _garbage() -> "weakref.ref[_Cycle]":
    return weakref.ref(_Cycle())


def test_garbage_is_collected_again_when_no_thread_works() -> None:
    pace = _Pace()
    pace.begin()
    assert not gc.isenabled()
    pace.end()
    assert gc.isenabled()


@pytest.mark.parametrize(("many", "collects"), [(0, True), (10**9, False)])
def test_garbage_is_collected_while_threads_work_without_a_pause(
    many: int, collects: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_threads, "_MANY_OBJECTS", many)
    pace = _Pace()
    pace.begin()
    pace.begin()
    try:
        garbage = _garbage()
        pace.end()
        assert (garbage() is None) is collects
    finally:
        pace.end()
