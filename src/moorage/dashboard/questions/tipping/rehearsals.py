"""Try changes on forks of the simulated cluster, within a bound on their number and on processor time."""

from typing import Any

import msgspec

from moorage.dashboard.questions.base import BadQuestion, Base
from moorage.dashboard.questions.changes import read_changes
from moorage.dashboard.questions.tipping.wording import Effect, effect_of
from moorage.plan.node_changes import ChangeError
from moorage.plan.simulation.forked import CopyFailed, in_fork, processor_seconds

#: How many changes are tried for one answer, and how many seconds of processor time they and one of them may take.
MAX_TRIES = 40
MAX_SECONDS = 8.0
MAX_SECONDS_EACH = 4.0


class Rehearsals:
    """Plays changes, each on a copy of its own. `ran_out` says whether not all were made that were asked for."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self._left = MAX_TRIES
        self._until = processor_seconds() + MAX_SECONDS
        self.ran_out = False

    @property
    def is_over(self) -> bool:
        return self._left <= 0 or processor_seconds() >= self._until

    def play(self, changes: list[dict[str, Any]], where: str, nodes: list[str], when: str) -> Effect | None:
        """Return what changes do; None where they cannot be made, take too long, or the bound is reached."""
        if self.is_over:
            self.ran_out = True
            return None
        self._left -= 1
        seconds = max(0.1, min(MAX_SECONDS_EACH, self._until - processor_seconds()))
        try:
            played = in_fork(lambda: self._played(changes, where, nodes, when), seconds)
        except CopyFailed:
            self.ran_out = True
            return None
        return msgspec.convert(played, Effect) if played is not None else None

    def _played(self, changes: list[dict[str, Any]], where: str, nodes: list[str], when: str) -> Any:
        base = self._base
        try:
            asked = read_changes({"changes": changes})
            _, difference, _ = base.planner.play(base.simulation, base.plan, asked.changes, asked.sources)
        except (BadQuestion, ChangeError):
            return None
        return msgspec.to_builtins(effect_of(difference, where, nodes, when))
