"""Play a story on a screen: run each command, and repeat those that only look until their outcomes hold."""

import textwrap
import time
from collections.abc import Callable
from typing import Protocol

from moorage.demo.expectation import expectations, in_words
from moorage.demo.story import KubectlResult, Story, StoryStep
from moorage.lint.report.printable import printable

_FIRST_PAUSE, _MAX_PAUSE_LENGTH = 0.1, 0.8
_WIDTH = 100
_BOLD, _DIM, _GREEN, _RED, _CYAN, _PLAIN = (f"\x1b[{code}m" for code in (1, 2, 32, 31, 36, 0))


class Runs(Protocol):
    """Runs what follows `kubectl`."""

    def run(self, words: list[str]) -> KubectlResult: ...


class Screen:
    """Prints by `write`, which ends lines."""

    def __init__(self, write: Callable[[str], None], *, coloured: bool) -> None:
        self._write, self._coloured = write, coloured

    def opening(self, story: Story, folder: str, how: str) -> None:
        document = f" ({printable(story.document)})" if story.document else ""
        self._write(self._in(_BOLD, story.title) + document)
        gates = f"Feature gates: {story.gates.replace(',', ', ')}." if story.gates else "No feature gate is needed."
        self._write(self._in(_DIM, gates))
        self._write(self._in(_DIM, f"Commands are typed in {folder}; {how}"))

    def step(self, number: int, total: int, step: StoryStep) -> None:
        self._paragraphs(step.say)
        self._write(self._in(_DIM, f"[{number}/{total}] ") + self._in(_CYAN, f"$ {step.command}"))

    def expect(self, step: StoryStep) -> None:
        for outcome in expectations(step):
            self._write(self._in(_DIM, f"  expect: {outcome}"))

    def ran(self, step: StoryStep, ran: KubectlResult) -> None:
        for line in ran.text.splitlines():
            self._write(printable(line))

    def held(self, step: StoryStep) -> None:
        for outcome in expectations(step):
            self._write(self._in(_GREEN, f"  ✓ {outcome}"))

    def failed(self, number: int, step: StoryStep, missing: list[str]) -> None:
        for outcome in missing:
            self._write(self._in(_RED, f"  ✗ {outcome}"))
        waited = f" within {step.seconds} s" if step.only_looks else ""
        self._write(self._in(_RED, f"Step {number} (line {step.line} of the story) did not come out{waited}."))

    def ending(self, story: Story) -> None:
        self._paragraphs(story.ending)
        self._write(self._in(_GREEN, f"All {len(story.steps)} steps came out as they should."))

    def _paragraphs(self, text: str) -> None:
        self._write("")
        for paragraph in filter(None, text.split("\n\n")):
            self._write(textwrap.fill(printable(paragraph), _WIDTH, break_long_words=False, break_on_hyphens=False))

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{printable(text)}{_PLAIN}" if self._coloured else printable(text)


def play(
    story: Story,
    kubectl: Runs,
    screen: Screen,
    check_alive: Callable[[], None],
    pause: Callable[[], None] | None = None,
) -> bool:
    """Return whether all outcomes hold; the first that does not ends the story. Pauses before each command."""
    for number, step in enumerate(story.steps, 1):
        screen.step(number, len(story.steps), step)
        if pause is not None:
            screen.expect(step)
            pause()
        ran, missing = _take(step, kubectl, check_alive)
        screen.ran(step, ran)
        if missing:
            screen.failed(number, step, missing)
            return False
        screen.held(step)
    return True


def _take(step: StoryStep, kubectl: Runs, check_alive: Callable[[], None]) -> tuple[KubectlResult, list[str]]:
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


def what_is_missing(step: StoryStep, ran: KubectlResult) -> list[str]:
    """Return the outcomes that do not hold, in the words of the story."""
    missing = []
    if step.fails and ran.status == 0:
        missing.append("the command fails, but it succeeded")
    if not step.fails and ran.status != 0:
        missing.append(f"the command succeeds, but its exit status is {ran.status}")
    lines = ran.text.splitlines()
    for sight in step.sights:
        seen = sum(1 for line in lines if sight.pattern.search(line))
        if seen != sight.times if sight.times is not None else not seen:
            lines_seen = f"{seen or 'no'} line{'' if seen == 1 else 's'}"
            missing.append(f"{in_words(sight)}, but {lines_seen} matched `{sight.pattern.pattern}`")
    return missing
