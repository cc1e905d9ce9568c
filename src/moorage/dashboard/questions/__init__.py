"""Answer questions about a simulated cluster: one file for each question, named after it.

The file of question `what-if` is `what_if.py`, and its function is `answer`. A file is imported when its question is
first asked.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from moorage.dashboard.questions.base import BadQuestion, Base, Part, Question

__all__ = ["QUESTIONS", "BadQuestion", "Base", "Question", "preload"]

_BUILT, _SETTLED = False, True

_TABLE = {
    "audit": _BUILT,
    "complete": _BUILT,
    "details": _SETTLED,
    "explain": _BUILT,
    "explain-pending": _SETTLED,
    "node": _BUILT,
    "pending": _SETTLED,
    "plan": _SETTLED,
    "playground": _BUILT,
    "rollout": _SETTLED,
    "rows": _SETTLED,
    "story": _BUILT,
    "thresholds": _SETTLED,
    "what-if": _SETTLED,
}


def _question(name: str, *, settled: bool) -> Question:
    def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
        found: Iterator[Part] = import_module(module_of(name)).answer(base, arguments)
        return found

    return Question(answer, settled)


def module_of(name: str) -> str:
    """Return the module that answers a question."""
    return f"{__name__}.{name.replace('-', '_')}"


def preload() -> None:
    """Import all questions, so that no forked process has to."""
    for name in QUESTIONS:
        import_module(module_of(name))


QUESTIONS: dict[str, Question] = {name: _question(name, settled=settled) for name, settled in _TABLE.items()}
