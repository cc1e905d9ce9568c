"""Find the next value of one change whose answer is another one, while the value is moved.

Where the forecast says that a pod has to leave at another time, that is enough; where it cannot tell, because pods move
that may land elsewhere, the two values are played and compared.
"""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.dashboard.questions.changes import WantedChanges, read_changes
from moorage.dashboard.questions.tipping.levers import Levers
from moorage.dashboard.questions.tipping.rehearsals import Rehearsals
from moorage.dashboard.questions.tipping.wording import Effect
from moorage.plan.evictions.forecast import forecast_evictions
from moorage.plan.node_changes import ChangeError

_MOVABLE = ("taint", "label", "deviceTaint")
#: Who has to leave, and after how many seconds.
_Forecast = frozenset[tuple[str, int]]


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: the value, None if nothing changes any more, and the last value that was looked at.

    Arguments: `changes` as of a what-if, `at`, the index of the change whose value moves, and `direction`, 1 or -1.
    """
    changes, at, direction = (arguments.get(name) for name in ("changes", "at", "direction"))
    if not isinstance(changes, list) or not isinstance(at, int) or not 0 <= at < len(changes):
        raise BadQuestion("at: must be the index of one of the changes")
    if direction not in (1, -1):
        raise BadQuestion("direction: must be 1 or -1")
    read_changes({"changes": changes})
    ((kind, what),) = changes[at].items()
    if kind not in _MOVABLE or not isinstance(what.get("value"), str):
        raise BadQuestion(f"changes[{at}]: must be one of {', '.join(_MOVABLE)}, with a value")
    search = _Search(base, changes, at)
    value, last = search.beyond(what["value"], direction)
    yield {"part": "next", "value": value, "last": last, "complete": not search.rehearsals.ran_out, "done": True}


class _Search:
    """Compares values of one change among several."""

    def __init__(self, base: Base, changes: list[Any], at: int) -> None:
        self._base, self._changes, self._at = base, changes, at
        ((self._kind, self._what),) = changes[at].items()
        self._levers, self.rehearsals = Levers(base.simulation), Rehearsals(base)

    def beyond(self, now: str, direction: int) -> tuple[str | None, str]:
        """Return the nearest value with another answer, if there is one, and the last that was looked at."""
        here, last = self._forecast(now), now
        is_played = self._may_differ_otherwise(here)
        played = self._played(now) if is_played else None
        for value in self._levers.values(self._kind, self._what["key"]).beyond(now, direction):
            if self.rehearsals.is_over:
                self.rehearsals.ran_out = True
                if here is None:
                    break
            there = self._forecast(value)
            if there is not None and here is not None and there != here:
                return value, value
            if played is not None and not self.rehearsals.ran_out:
                effect = self._played(value)
                if effect is not None and effect.signature != played.signature:
                    return value, value
            last = value
        return None, last

    def _moved(self, value: str) -> list[Any]:
        changed = {self._kind: {**self._what, "value": value}}
        return [*self._changes[: self._at], changed, *self._changes[self._at + 1 :]]

    def _forecast(self, value: str) -> _Forecast | None:
        """Return who has to leave because of taints; None if that is not all that counts, or the value is refused."""
        asked: WantedChanges = read_changes({"changes": self._moved(value)})
        changes = asked.changes
        if self._kind != "taint" or changes.drains or changes.removes:
            return None
        try:
            evictions = forecast_evictions(self._base.simulation, changes.taints, changes.untaints).evictions
        except ChangeError:
            return None
        return frozenset((eviction.pod.uid, eviction.seconds) for eviction in evictions)

    def _may_differ_otherwise(self, here: _Forecast | None) -> bool:
        """Return whether the answer may be another one although the same pods have to leave at the same time."""
        is_settled = here is not None and not here and len(self._changes) == 1
        return not is_settled or self._levers.concerns_unsettled(self._kind, self._what["key"])

    def _played(self, value: str) -> Effect | None:
        return self.rehearsals.play(self._moved(value), "", [], "")
