"""Where stories are: beside the source in a checkout, inside the package when it is installed.

In: nothing. Out: stories by name, each with its folder, in which its commands are typed.
"""

from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

import moorage
from moorage.demo.story import Story, StoryError, read_story

STORY_FILE = "story.md"


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
    """Sorted by name."""
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
