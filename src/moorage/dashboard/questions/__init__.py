"""Answer questions about a simulated cluster: a table of questions, each a function `(base, arguments) → parts`.

The module of a question is imported when it is first asked.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from moorage.dashboard.questions.base import Answer, BadQuestion, Base, Part, Question

__all__ = ["QUESTIONS", "BadQuestion", "Base", "Question", "preload"]

_BUILT, _SETTLED = False, True

#: Each question: its module, with the function in it unless that is `answer`, and the simulation that it wants.
_TABLE = {
    "audit": ("audit", _BUILT),
    "autoscaling": ("capacity.autoscaling", _BUILT),
    "budgets": ("budgets", _SETTLED),
    "complete": ("complete", _BUILT),
    "curve": ("capacity.curve", _SETTLED),
    "details": ("rows:details", _SETTLED),
    "explain": ("explain:pod", _BUILT),
    "explain-pending": ("explain:settled_pod", _SETTLED),
    "horizontal": ("capacity.horizontal", _BUILT),
    "move": ("looking.pod:move", _SETTLED),
    "next-value": ("tipping.next_value", _SETTLED),
    "node": ("explain:node", _BUILT),
    "pending": ("pending:pending", _SETTLED),
    "placement": ("looking.pod:placement", _BUILT),
    "places": ("places", _BUILT),
    "plan": ("pending:plan", _SETTLED),
    "playground": ("playground", _BUILT),
    "policies": ("policies.answer", _BUILT),
    "policies-known": ("policies.known", _BUILT),
    "pools": ("capacity.pools", _SETTLED),
    "rollout": ("rollout", _SETTLED),
    "room": ("looking.node:room", _SETTLED),
    "rows": ("rows:all_rows", _SETTLED),
    "story": ("story", _BUILT),
    "thresholds": ("thresholds", _SETTLED),
    "tipping": ("tipping.answer:tips", _SETTLED),
    "tolerations": ("looking.pod:tolerations", _SETTLED),
    "waiting": ("looking.pod:waiting", _SETTLED),
    "what-if": ("what_if", _SETTLED),
}


def _question(name: str, *, settled: bool) -> Question:
    def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
        return function_of(name)(base, arguments)

    return Question(answer, settled)


def function_of(name: str) -> Answer:
    """Import the function that answers a question."""
    module, _, function = _TABLE[name][0].partition(":")
    answer: Answer = getattr(import_module(f"{__name__}.{module}"), function or "answer")
    return answer


def preload() -> None:
    """Import all questions, so that no forked process has to."""
    for name in _TABLE:
        function_of(name)


QUESTIONS: dict[str, Question] = {name: _question(name, settled=settled) for name, (_, settled) in _TABLE.items()}
