"""Plays a story: each command is typed, and repeated while it only looks, until its outcomes hold or time is up.

In: a `Story`, something that runs kubectl's command lines, a `Screen` to show it on. Out: whether all outcomes hold;
the first that does not ends the story. Kubernetes: nothing like it.
"""

import time
from collections.abc import Callable
from typing import Protocol

from moorage.demo.outcome import Ran, what_is_missing
from moorage.demo.story import Step, Story

_FIRST_PAUSE, _MAX_PAUSE_LENGTH = 0.1, 0.8


class Runs(Protocol):
    """Runs what follows `kubectl`."""

    def run(self, words: list[str]) -> Ran: ...


class Shows(Protocol):
    """Where a story is told."""

    def step(self, number: int, total: int, step: Step) -> None: ...

    def ran(self, step: Step, ran: Ran) -> None: ...

    def held(self, step: Step) -> None: ...

    def failed(self, number: int, step: Step, missing: list[str]) -> None: ...


def play(
    story: Story, kubectl: Runs, screen: Shows, check_alive: Callable[[], None], pause: Callable[[], None]
) -> bool:
    """Whether all outcomes held. What `check_alive` and `pause` raise ends the story."""
    for number, step in enumerate(story.steps, 1):
        screen.step(number, len(story.steps), step)
        ran, missing = _take(step, kubectl, check_alive)
        screen.ran(step, ran)
        if missing:
            screen.failed(number, step, missing)
            return False
        screen.held(step)
        if number < len(story.steps):
            pause()
    return True


def _take(step: Step, kubectl: Runs, check_alive: Callable[[], None]) -> tuple[Ran, list[str]]:
    deadline = time.monotonic() + step.seconds
    wait = _FIRST_PAUSE
    while True:
        ran = kubectl.run(step.words)
        missing = what_is_missing(step, ran)
        if missing:
            check_alive()
        if not missing or not step.only_looks or time.monotonic() > deadline:
            return ran, missing
        time.sleep(wait)
        wait = min(wait * 1.5, _MAX_PAUSE_LENGTH)
