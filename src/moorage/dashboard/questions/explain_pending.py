"""Explain a pod that stays Pending, at once: it is as Pending once everything has settled.

The answer is that of `explain`, which would first have to place all pods before it. For a pod that gets a node, which
has to be asked about before it does, the only part is `{"ask": "explain"}`.
"""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions import explain
from moorage.dashboard.questions.base import Base, Part
from moorage.plan.outcome import State


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield the parts of `explain`, or the one that says to ask it."""
    waits = any(pod.key == arguments.get("pod") and pod.state is State.PENDING for pod in base.plan.pods)
    if waits and not arguments.get("alone"):
        yield from explain.answer(base, arguments)
    else:
        yield {"ask": "explain", "done": True}
