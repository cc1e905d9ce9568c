"""Explain a pod at once, from the cluster in which everything has settled.

The answer is that of `explain`, which lets the cluster settle first, too, unless it is about a pod that gets a node
meanwhile: that one is to be asked about before it does, and the only part here is `{"ask": "explain"}`.
"""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions import explain
from moorage.dashboard.questions.base import Base, Part
from moorage.plan.outcome import State


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield the parts of `explain`, or the one that says to ask it."""
    name = str(arguments.get("pod")).rpartition("/")[2]
    is_placed = any(pod.name == name for pod in base.plan.of_state(State.PLACED))
    if is_placed or arguments.get("alone"):
        yield {"ask": "explain", "done": True}
    else:
        yield from explain.answer(base, arguments)
