"""Search for devices in slices, so that a claim with many combinations does not stall other pods.

A search is a deep recursion, so it has a thread of its own; but that runs only while `work` waits for it: nothing
changes under a search except between two of its slices, and then it looks whether its answer is still wanted.
Kubernetes: a goroutine with a time-out for each node.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any, Generic, TypeVar

from moorage.match.evaluation.accounts import Account, Undecided

Result = TypeVar("Result")
Pause = Callable[[], None]

_ACTIVE = 8  # searches that have begun and take turns; others wait for one of these to end
WAITING = "waiting for a search for devices among many combinations"


class OutdatedSearch(Exception):
    """What was searched in has changed."""


class SlicedCall(Generic[Result]):
    """A call that pauses where it calls `pause`. `is_current` tells whether its result is still wanted."""

    def __init__(self, call: Callable[[Pause], Result], is_current: Callable[[], bool]) -> None:
        self._call, self._is_current = call, is_current
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._thread: threading.Thread | None = None
        self._until = 0.0
        self._is_cancelled = False
        self._failure: BaseException | None = None
        self._result: list[Result] = []
        self.is_done = False
        self.account = Account(())

    def resume(self, seconds: float) -> None:
        """Carry on for so long, or until it is done; the caller waits meanwhile."""
        self._until = perf_counter() + seconds
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="moorage-devices", daemon=True)
            self._thread.start()
        self._go.release()
        self._back.acquire()

    def cancel(self) -> None:
        """End at the next pause."""
        self._is_cancelled = True

    @property
    def is_outdated(self) -> bool:
        return isinstance(self._failure, OutdatedSearch)

    def result(self) -> Result:
        """Return what the call returned, or raise what it raised."""
        if self._failure is not None:
            raise self._failure
        return self._result[0]

    # What follows runs in the thread.

    def _run(self) -> None:
        self._go.acquire()
        try:
            if self._is_cancelled:
                raise OutdatedSearch
            self._result.append(self._call(self._pause))
        except BaseException as error:
            self._failure = error
        self.is_done = True
        self._back.release()

    def _pause(self) -> None:
        if perf_counter() < self._until:
            return
        self._back.release()
        self._go.acquire()
        if self._is_cancelled or not self._is_current():
            raise OutdatedSearch


class SlicedSearches:
    """All searches of a scheduler that are not done; a few of them take turns. `wake` is called when one begins."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._wake = wake
        self._active: deque[SlicedCall[Any]] = deque()
        self._waiting: deque[SlicedCall[Any]] = deque()

    def __len__(self) -> int:
        return len(self._active) + len(self._waiting)

    def begin(self, call: SlicedCall[Any]) -> None:
        self._waiting.append(call)
        self._wake()

    def work(self, seconds: float) -> bool:
        """Carry on with the search whose turn it is; return whether there is more to do."""
        while self._waiting and len(self._active) < _ACTIVE:
            self._active.append(self._waiting.popleft())
        if not self._active:
            return False
        call = self._active.popleft()
        if call.account.waiters and not call.account.is_waited_for and not call.is_done:
            call.cancel()
        call.resume(seconds)
        if call.is_done:
            call.account.call_waiters()
        else:
            self._active.append(call)
        return bool(self)


def undecided(call: SlicedCall[Any]) -> Undecided:
    return Undecided((call.account,), WAITING)
