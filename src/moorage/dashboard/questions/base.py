"""Say what a question is: a function over a planner and its simulation that yields parts of the answer.

A part is a JSON object. The last one has `"done": true`; where a question leaves it out, a part with nothing else
follows. An error is the part `{"error": "…", "done": true}`.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from moorage.dashboard.state.progress import Report
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner
from moorage.plan.simulation.simulation import Simulation

Part = dict[str, Any]


class Base(msgspec.Struct):
    """What questions are asked of. `outcome` is that of `planner.plan` where the simulation is settled.

    `with_all_gates` reads the same input once more, with all gates on, as an audit of gates does: what needs a gate
    that is off was refused by the planner here. An answer that takes long says with `tell` how far it is.
    """

    planner: Planner
    simulation: Simulation
    outcome: Outcome | None = None
    with_all_gates: Callable[[], Planner] | None = None
    tell: Report = lambda progress: None

    @property
    def plan(self) -> Outcome:
        """The outcome of a settled simulation. Raises BadQuestion if nothing was planned."""
        if self.outcome is None:
            raise BadQuestion("the cluster has not been planned")
        return self.outcome


Answer = Callable[[Base, dict[str, Any]], Iterator[Part]]


class Question(msgspec.Struct, frozen=True):
    """A function that may spoil its simulation, which is a copy, and whether it wants one that is settled."""

    answer: Answer
    settled: bool


class BadQuestion(Exception):
    """Arguments that make no sense: one line for the user."""


def parts_of(question: Question, base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Return the parts of an answer, the last of them done; arguments that make no sense are an error part."""
    is_done = False
    try:
        for part in question.answer(base, arguments):
            is_done = bool(part.get("done"))
            yield part
            if is_done:
                return
    except BadQuestion as error:
        yield {"error": str(error), "done": True}
        return
    yield {"done": True}
