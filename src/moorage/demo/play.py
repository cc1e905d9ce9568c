"""Play a story on a screen: run each command, and repeat those that only look until their outcomes hold.

Outcomes are printed in words: the pattern `^web-.* Running .* node-[12] ` is "a pod of web runs on node-1 or node-2".
"""

import re
import textwrap
import time
from collections.abc import Callable
from functools import partial
from itertools import product

from moorage.demo.story import KubectlResult, Sight, Story, StoryStep
from moorage.lint.report.printable import printable

#: A row of `kubectl get pods -o wide`: a pod, or with `-.*` one of a workload; its phase, and perhaps its node.
_POD = re.compile(
    r"(?:\^(?P<name>[^ *+]+?)(?P<many>-\.\*)?)?(?:(?<!\*) \.\*)? (?P<phase>Running|Pending)"
    r"(?: \.\* (?P<node>[^ *+]+))? ?"
)
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)|\[([^\]-]+)\]")
#: What stands for any text: character classes with ranges, groups, escapes such as \w, each perhaps repeated.
_ANY = re.compile(r"\(?\[[^\]]*\][+*]?\)?|\\[wdS1-9][+*]?|\.\*")
_GAP, _OR = "…", " or "
_MAX_CHOICES = 4


def in_words(sight: Sight) -> str:
    """Return what must be seen, or not, in a sentence."""
    pattern, times = sight.pattern.pattern, sight.times
    pod = _POD.fullmatch(pattern)
    if pod is not None:
        return _pods(pod, times)
    quoted = f'"{_text(pattern)}"'
    if times == 0:
        return f"{quoted} is not there"
    if times is None:
        return f"it says {quoted}"
    return f"it says {quoted} once" if times == 1 else f"it says {quoted} {times} times"


def expectations(step: StoryStep) -> list[str]:
    """Return all that must come of a command, in sentences."""
    return [*(["the command fails"] if step.fails else []), *map(in_words, step.sights)]


def _pods(pod: re.Match[str], times: int | None) -> str:
    name, node = _text(pod["name"] or ""), _text(pod["node"] or "")
    waits = pod["phase"] == "Pending"
    number = {None: "a", 0: "no", 1: "one"}.get(times, str(times))
    is_plural = times is not None and times > 1
    choices = name.split(_OR)
    if name and not pod["many"] and times in (None, len(choices)):
        subject = name if not is_plural else f"{', '.join(choices[:-1])} and {choices[-1]}"
    else:
        subject = f"{number} pod{'s' if is_plural else ''}{f' of {name}' if name else ''}"
    verb = ("wait" if waits else "run") if is_plural else ("waits" if waits else "runs")
    return f"{subject} {verb}{' for a node' if waits else ''}{f' on {node}' if node else ''}"


def _text(pattern: str) -> str:
    """Return the text that a pattern stands for, with a few choices spelled out and all else as a gap."""
    words = pattern.removeprefix("^").removesuffix("$")
    choices = list(_CHOICE.finditer(words))
    options = [match[1].split("|") if match[1] is not None else list(match[2]) for match in choices]
    count = 1
    for option in options:
        count *= len(option)
    if choices and count <= _MAX_CHOICES:
        template = _CHOICE.sub("\0", words)
        filled = [_fill(template, choice) for choice in product(*options)]
        return _OR.join(_plain(text) for text in filled)
    return _plain(words)


def _fill(template: str, choice: tuple[str, ...]) -> str:
    parts = template.split("\0")
    return parts[0] + "".join(chosen + part for chosen, part in zip(choice, parts[1:], strict=True))


def _plain(pattern: str) -> str:
    text = _ANY.sub(_GAP, re.sub(r" [+*]", " ", pattern))
    text = re.sub(r"\\(.)", r"\1", text.replace("|", _OR))
    return re.sub(rf"\s*{_GAP}(?:\s*{_GAP})*\s*", f" {_GAP} ", text).strip()


#: Runs what follows `kubectl` on a command line.
RunKubectl = Callable[[list[str]], KubectlResult]
#: Starts the program that follows `python`; what is returned tells what it has printed so far.
StartProgram = Callable[[list[str]], Callable[[], KubectlResult]]

_FIRST_PAUSE, _MAX_PAUSE_LENGTH = 0.1, 0.8
_WIDTH = 100
_BOLD, _DIM, _GREEN, _RED, _CYAN, _PLAIN = (f"\x1b[{code}m" for code in (1, 2, 32, 31, 36, 0))


class Screen:
    """Prints by `write`, which ends lines."""

    def __init__(self, write: Callable[[str], None], *, coloured: bool) -> None:
        self._write, self._coloured = write, coloured

    def opening(self, story: Story, folder: str, program: str) -> None:
        document = f" ({printable(story.document)})" if story.document else ""
        self._write(self._in(_BOLD, story.title) + document)
        gates = f"Feature gates: {story.gates.replace(',', ', ')}." if story.gates else "No feature gate is needed."
        self._write(self._in(_DIM, gates))
        self._write(self._in(_DIM, f"Commands are typed in {folder}; kubectl is {program}."))

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
        waited = f" within {step.seconds} s" if step.waits else ""
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
    kubectl: RunKubectl,
    start: StartProgram,
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
        look = start(step.words) if step.starts_program else partial(kubectl, step.words)
        ran, missing = _take(step, look, check_alive)
        screen.ran(step, ran)
        if missing:
            screen.failed(number, step, missing)
            return False
        screen.held(step)
    return True


def _take(
    step: StoryStep, look: Callable[[], KubectlResult], check_alive: Callable[[], None]
) -> tuple[KubectlResult, list[str]]:
    deadline = time.monotonic() + step.seconds
    wait = _FIRST_PAUSE
    while True:
        ran = look()
        missing = what_is_missing(step, ran)
        if missing:
            check_alive()
        if not missing or not step.waits or time.monotonic() > deadline:
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
