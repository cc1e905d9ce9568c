"""Shows a story as it is played; control characters in what commands print are made visible."""

import textwrap
from collections.abc import Callable

from moorage.demo.story import Ran, Story, StoryStep
from moorage.lint.report.printable import printable

_WIDTH = 100
_BOLD, _DIM, _GREEN, _RED, _CYAN, _PLAIN = (f"\x1b[{code}m" for code in (1, 2, 32, 31, 36, 0))


class Screen:
    """Prints by `write`, which ends lines."""

    def __init__(self, write: Callable[[str], None], *, coloured: bool) -> None:
        self._write, self._coloured = write, coloured

    def opening(self, story: Story, folder: str, how: str) -> None:
        document = f" ({printable(story.document)})" if story.document else ""
        self._write(self._in(_BOLD, story.title) + document)
        self._write(self._in(_DIM, f"Commands are typed in {folder}; {how}"))

    def step(self, number: int, total: int, step: StoryStep) -> None:
        self._write("")
        for paragraph in filter(None, step.say.split("\n\n")):
            self._write(_wrapped(paragraph))
        self._write(self._in(_DIM, f"[{number}/{total}] ") + self._in(_CYAN, f"$ {step.command}"))

    def ran(self, step: StoryStep, ran: Ran) -> None:
        for line in ran.text.splitlines():
            self._write(printable(line))

    def held(self, step: StoryStep) -> None:
        for outcome in (*(["fails"] if step.fails else []), *map(str, step.sights)):
            self._write(self._in(_GREEN, f"  ✓ {outcome}"))

    def failed(self, number: int, step: StoryStep, missing: list[str]) -> None:
        for outcome in missing:
            self._write(self._in(_RED, f"  ✗ {outcome}"))
        waited = f" within {step.seconds} s" if step.only_looks else ""
        self._write(self._in(_RED, f"StoryStep {number} (line {step.line} of the story) did not come out{waited}."))

    def ending(self, story: Story) -> None:
        self._write("")
        for paragraph in filter(None, story.ending.split("\n\n")):
            self._write(_wrapped(paragraph))
        self._write(self._in(_GREEN, f"All {len(story.steps)} steps came out as they should."))

    def _in(self, colour: str, text: str) -> str:
        return f"{colour}{printable(text)}{_PLAIN}" if self._coloured else printable(text)


def _wrapped(text: str) -> str:
    return textwrap.fill(printable(text), _WIDTH, break_long_words=False, break_on_hyphens=False)
