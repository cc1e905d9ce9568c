"""Write the page of `moorage plan --output html`: plan, map, why pods wait, what changes would do, what happened."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from moorage.dashboard.export.changes import asked_changes
from moorage.dashboard.export.forked import CopyFailed, in_fork
from moorage.dashboard.export.page import render
from moorage.dashboard.export.saved import SavedAnswers, address, state_of
from moorage.dashboard.questions.base import Base
from moorage.plan.outcome import Outcome
from moorage.plan.planner import REST_SECONDS, Planner
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes

Document = dict[str, Any]


class PlanPage:
    """The page, begun before anything is changed and finished after it. `paths` are what was read.

    Its map shows the cluster before the changes, and the view of the what-if what they do to it.
    """

    def __init__(
        self,
        planner: Planner,
        simulation: Simulation,
        changes: Changes,
        until: float | None,
        paths: Sequence[str],
        *,
        rolls_out: bool = False,
    ) -> None:
        self._planner, self._simulation, self._paths = planner, simulation, paths
        self._saved = SavedAnswers()
        self._state: Document | None = None
        self._only_rolls_out = rolls_out and not changes  # which leaves the plan as it is
        if not planner.inventory.is_live:  # the timeline of a live cluster tells what really happened
            self._saved.tell_story(Base(planner, simulation), until)
        asked = asked_changes(changes)
        if asked or self._only_rolls_out:
            # Without it the page has no what-if, and the map is that after the changes.
            with suppress(CopyFailed):
                before: Document = in_fork(lambda: self._before(asked, until))
                self._state = before["state"]
                self._saved.answers |= before["answers"]

    def _before(self, asked: list[Document] | None, until: float | None) -> Document:
        """Settle a copy of the cluster; return its rows, and what the changes do to it."""
        outcome = self._planner.plan(self._simulation, until=None if until is None else REST_SECONDS)
        base = Base(self._planner, self._simulation, outcome)
        state = state_of(base, self._paths)
        saved = SavedAnswers()
        if asked:
            saved.ask("thresholds", {}, base)
            saved.ask("what-if", {"changes": asked, "until": until}, base)
        else:
            self._describe(saved, base)
        return {"state": state, "answers": saved.answers}

    def _describe(self, saved: SavedAnswers, base: Base) -> None:
        saved.explain_pending(base)
        saved.describe_nodes(base)

    def render(self, outcome: Outcome, document: Document) -> str:
        """Return the page. `document` is what `--output json` prints of the same plan."""
        base = Base(self._planner, self._simulation, outcome)
        self._saved.put("plan", {}, [{**document, "done": True}])
        if not self._only_rolls_out:
            self._describe(self._saved, base)
        state = self._state if self._state is not None else state_of(base, self._paths)
        return render({"state": state, "answers": self._saved.answers, "view": address("plan")})
