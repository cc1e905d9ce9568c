"""Plays a story: runs each command, repeats it while it only looks, until its outcomes hold or time is up."""

import time
from collections.abc import Callable
from typing import Protocol

from moorage.demo.screen import Screen
from moorage.demo.story import Ran, Story, StoryStep

_FIRST_PAUSE, _MAX_PAUSE_LENGTH = 0.1, 0.8


class Runs(Protocol):
    """Runs what follows `kubectl`."""

    def run(self, words: list[str]) -> Ran: ...


def play(
    story: Story, kubectl: Runs, screen: Screen, check_alive: Callable[[], None], pause: Callable[[], None]
) -> bool:
    """Return whether all outcomes hold; the first that does not ends the story."""
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


def _take(step: StoryStep, kubectl: Runs, check_alive: Callable[[], None]) -> tuple[Ran, list[str]]:
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


def what_is_missing(step: StoryStep, ran: Ran) -> list[str]:
    """Return the outcomes that do not hold, in the words of the story."""
    missing = []
    if step.fails and ran.status == 0:
        missing.append("fails, but it succeeded")
    if not step.fails and ran.status != 0:
        missing.append(f"succeeds, but its exit status is {ran.status}")
    lines = ran.text.splitlines()
    for sight in step.sights:
        seen = sum(1 for line in lines if sight.pattern.search(line))
        if seen != sight.times if sight.times is not None else not seen:
            missing.append(f"{sight}, but {seen or 'no'} line{'' if seen == 1 else 's'} did")
    return missing
