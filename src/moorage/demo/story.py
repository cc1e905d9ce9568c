"""Find and read the stories of `moorage demo`: text, commands that are typed, and the output that must follow.

A `story.md` is Markdown that reads well by itself:

    # Title

    Document: KEP-5471, story 1
    Gates: `TaintTolerationComparisonOperators=true`

    A paragraph says what happens next.

    ```console
    $ kubectl get pods -o wide
    ```

    - shows `^web-1 .* Running`
    - shows `Running` 2 times, or once
    - does not show `Pending`
    - fails
    - within 20 s

The list is what must become true of the command's output; patterns are looked for in each line. A command that only
looks (`kubectl get`) is repeated until it is, any other runs once. `$ python webhook.py &` starts a program of the
story's folder, which runs until the story ends; what it prints is its output.
"""

import re
import shlex
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import moorage

DEFAULT_SECONDS = 15
STORY_FILE = "story.md"
_MAX_SECONDS = 600
_HEADER = re.compile(r"(Document|Gates): *(.*)")
_SHOWS = re.compile(r"(shows|does not show) `([^`]+)`(?: (once|\d+ times))?")
_WITHIN = re.compile(r"within (\d+) s")
_FENCE, _END_OF_FENCE, _PROMPT = "```console", "```", "$ "
_KUBECTL, _PYTHON, _IN_BACKGROUND = "kubectl", "python", "&"


class KubectlResult(NamedTuple):
    """What one kubectl command printed, and its exit status."""

    status: int
    out: str
    err: str = ""

    @property
    def text(self) -> str:
        """All it printed, as a terminal shows it."""
        return self.out + self.err

    @property
    def json(self) -> Any:
        """The output of a command with `-o json`, decoded."""
        return msgspec.json.decode(self.out)


class StoryError(ValueError):
    """The text is not a story; the message has file and line."""


class Sight(NamedTuple):
    """A pattern that lines of the output match: at least once, or exactly `times`, which may be 0."""

    pattern: re.Pattern[str]
    times: int | None


class StoryStep(NamedTuple):
    """One command, and what must come of it."""

    say: str
    command: str  # as it is typed, with `kubectl` or `python` in front
    line: int
    sights: tuple[Sight, ...] = ()
    fails: bool = False
    seconds: int = DEFAULT_SECONDS

    @property
    def words(self) -> list[str]:
        """What follows `kubectl`, or `python` up to `&`."""
        words = shlex.split(self.command)
        return words[1:-1] if self.starts_program else words[1:]

    @property
    def starts_program(self) -> bool:
        return _starts_program(shlex.split(self.command))

    @property
    def only_looks(self) -> bool:
        return not self.starts_program and self.words[0] == "get"

    @property
    def waits(self) -> bool:
        """Whether its outcomes may take time: a command that can be repeated, or a program that goes on."""
        return self.only_looks or self.starts_program


def _starts_program(words: list[str]) -> bool:
    return len(words) > 2 and words[0] == _PYTHON and words[-1] == _IN_BACKGROUND


class Story(NamedTuple):
    """A story as its file has it. `gates` is the value of --feature-gates."""

    name: str
    title: str
    document: str
    gates: str
    steps: tuple[StoryStep, ...]
    ending: str  # the text after the last step


def read_story(name: str, text: str, source: str) -> Story:
    """Raises StoryError."""
    return _Reader(name, text, source).read()


class _Reader:
    """Goes through the lines once; what belongs to the next step is gathered until its list ends."""

    def __init__(self, name: str, text: str, source: str) -> None:
        self._name, self._source = name, source
        self._lines = text.splitlines()
        self._at = 0
        self._header = {"Document": "", "Gates": ""}
        self._said: list[str] = []
        self._steps: list[StoryStep] = []

    def _error(self, why: str, line: int | None = None) -> StoryError:
        return StoryError(f"{self._source}:{self._at if line is None else line}: {why}")

    def _next(self) -> str | None:
        if self._at == len(self._lines):
            return None
        self._at += 1
        return self._lines[self._at - 1].rstrip()

    def read(self) -> Story:
        title = self._next() or ""
        if not title.startswith("# "):
            raise self._error("a story begins with a title, `# …`", 1)
        while (line := self._next()) is not None:
            if line == _FENCE:
                self._read_step()
            elif line.startswith("- ") and self._steps and not any(self._said):
                self._add_outcome(line[2:])
            elif not self._steps and not any(self._said) and (header_line := _HEADER.fullmatch(line)):
                self._header[header_line[1]] = (
                    header_line[2].replace("`", "").replace(" ", "" if header_line[1] == "Gates" else " ")
                )
            elif line.startswith(("```", "- ", "#")):
                raise self._error(f"a story has paragraphs, {_FENCE} and lists of outcomes only, not {line!r}")
            else:
                self._said.append(line)
        if not self._steps:
            raise self._error("there is nothing to play: no step begins with ```console")
        if self._steps[-1].sights == () and not self._steps[-1].fails:
            raise self._error("the last step must say what comes of it", self._steps[-1].line)
        header = self._header
        return Story(
            self._name, title[2:], header["Document"], header["Gates"], tuple(self._steps), _paragraphs(self._said)
        )

    def _read_step(self) -> None:
        command = self._next() or ""
        if not command.startswith(_PROMPT):
            raise self._error("a command is written `$ kubectl …`")
        step = StoryStep(_paragraphs(self._said), command.removeprefix(_PROMPT).strip(), self._at)
        try:
            words = shlex.split(step.command)
        except ValueError as error:
            raise self._error(f"{step.command}: {error}") from None
        if (len(words) < 2 or words[0] != _KUBECTL) and not _starts_program(words):
            raise self._error("only kubectl is run, and programs beside it: `$ kubectl …`, `$ python FILE &`")
        if self._next() != _END_OF_FENCE:
            raise self._error("there is one command to a step, in one line")
        self._said = []
        self._steps.append(step)

    def _add_outcome(self, text: str) -> None:
        step = self._steps[-1]
        if text == "fails":
            self._steps[-1] = step._replace(fails=True)
        elif outcome := _WITHIN.fullmatch(text):
            if not 0 < int(outcome[1]) <= _MAX_SECONDS:
                raise self._error(f"seconds must be between 1 and {_MAX_SECONDS}")
            self._steps[-1] = step._replace(seconds=int(outcome[1]))
        elif outcome := _SHOWS.fullmatch(text):
            negated = outcome[1] == "does not show"
            if negated and outcome[3]:
                raise self._error("what is not shown is not shown any number of times")
            times = (
                0
                if negated
                else None
                if outcome[3] is None
                else 1
                if outcome[3] == "once"
                else int(outcome[3].split()[0])
            )
            self._steps[-1] = step._replace(sights=(*step.sights, Sight(self._compile(outcome[2]), times)))
        else:
            known = "shows `…`, shows `…` once, shows `…` N times, does not show `…`, fails, within N s"
            raise self._error(f"not an outcome: {text!r}; there are: {known}")

    def _compile(self, pattern: str) -> re.Pattern[str]:
        try:
            return re.compile(pattern)
        except re.error as error:
            raise self._error(f"`{pattern}` is not a regular expression: {error}") from None


def _paragraphs(lines: list[str]) -> str:
    """Paragraphs, each in one line, without what is Markdown only."""
    blocks = "\n".join(lines).strip().split("\n\n")
    return "\n\n".join(" ".join(block.split()) for block in blocks if block.strip())


class NoSuchStory(ValueError):
    """No story has that name; the message has those that come close."""


class OnShelf(NamedTuple):
    """A story and where it is."""

    story: Story
    folder: Path


def default_shelf() -> Path:
    """The folder of all stories. Raises NoSuchStory if the installation has none."""
    package = Path(moorage.__file__).resolve().parent
    for place in (package / "examples", package.parents[1] / "examples"):
        if place.is_dir():
            return place
    raise NoSuchStory("this installation of moorage came without examples, so there are no stories to play")


def story_names(shelf: Path) -> list[str]:
    return sorted(file.parent.name for file in shelf.glob(f"*/{STORY_FILE}"))


def all_stories(shelf: Path) -> list[OnShelf]:
    """Raises StoryError."""
    return [_take(shelf / name) for name in story_names(shelf)]


def find_story(shelf: Path, wanted: str) -> OnShelf:
    """A story by its name, or a folder that has one. Raises NoSuchStory, StoryError."""
    names = story_names(shelf)
    if wanted in names:
        return _take(shelf / wanted)
    if "/" in wanted or wanted == ".":
        folder = Path(wanted)
        if (folder / STORY_FILE).is_file():
            return _take(folder.resolve())
        raise NoSuchStory(f"{wanted}: there is no {STORY_FILE} in it")
    close = get_close_matches(wanted, names, n=3, cutoff=0.5) or [name for name in names if wanted.lower() in name]
    hint = f" Did you mean {_either(close)}?" if close else " `moorage demo` lists them."
    raise NoSuchStory(f"there is no story {wanted!r}.{hint}")


def _take(folder: Path) -> OnShelf:
    file = folder / STORY_FILE
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoryError(f"{file}: cannot be read: {error}") from None
    return OnShelf(read_story(folder.name, text, str(file)), folder)


def _either(names: list[str]) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}" if first else last
