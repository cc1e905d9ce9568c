"""Let a cluster go on without the changes of a what-if, to the same time, so that the two ends can be compared.

A copy of the cluster is made before the changes: a fork of the process, or, where threads or the platform do not allow
that, the same input planned once more. It goes on only if something was still to happen. The changes cannot influence
it, and it is gone afterwards.
"""

import os
import threading
from collections.abc import Callable
from typing import Protocol

import msgspec

from moorage.plan.departures import EvictionLoop
from moorage.plan.outcome import FailedLine, Outcome
from moorage.plan.pod_lines import PodLine
from moorage.plan.simulation.forked import Copy, CopyFailed

_NEVER = float("inf")


class Alone(msgspec.Struct):
    """What became of a cluster that went on by itself, and when that was in virtual time."""

    end: float
    pods: list[PodLine]
    failed: list[FailedLine]
    loops: list[EvictionLoop]

    def outcome(self, before: Outcome) -> Outcome:
        return msgspec.structs.replace(before, pods=self.pods, failed=self.failed, loops=self.loops)


class GoesOn(Protocol):
    """A cluster as it is before changes, which can go on without them."""

    def go_on_alone(self, before: Outcome, until: float | None, end: float) -> Alone: ...


class Counterfactual:
    """A copy of a cluster that goes on without changes, when it is asked to.

    `due` is when something happens in it next; infinite if never, and then there is no copy.
    """

    def __init__(
        self,
        cluster: GoesOn,
        before: Outcome,
        until: float | None,
        rebuild: Callable[[], GoesOn] | None,
        due: float,
    ) -> None:
        self._before, self._until, self._rebuild, self._due = before, until, rebuild, due
        self._copy: Copy | None = None
        if due < _NEVER and (rebuild is None or _can_fork()):
            try:
                self._copy = Copy(lambda end: cluster.go_on_alone(before, until, end))
            except CopyFailed:
                if rebuild is None:
                    raise

    def at(self, end: float) -> Alone | None:
        """Return what becomes of the cluster by that time, or later if it comes to rest later; None if it stays.

        Raises CopyFailed.
        """
        if self._due > end:
            return None
        if self._copy is not None:
            try:
                return msgspec.convert(self._copy.ask(end), Alone)
            except CopyFailed:
                if self._rebuild is None:
                    raise
        assert self._rebuild is not None
        return self._rebuild().go_on_alone(self._before, self._until, end)

    def close(self) -> None:
        if self._copy is not None:
            self._copy.close()


def _can_fork() -> bool:
    """Return whether this process is its only thread, so that a copy of it can do everything that it can."""
    return hasattr(os, "fork") and threading.active_count() == 1
