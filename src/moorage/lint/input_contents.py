"""Find input without any Kubernetes object: a failed `helm template … | moorage lint -` must not look like success.

The whole input has to hold an object, and standard input has to hold one of its own, whatever else is read: an empty
pipe is the output of a command that failed. A named file without objects beside others that have some is only
mentioned. A List without items counts as empty: kubectl prints one for a wrong namespace, too. Kubernetes: kubectl
apply ends with "no objects passed to apply".
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from moorage.lint.sources import STDIN_NAME, Source
from moorage.model.text.decode_error import DecodeError, Problem

_NO_OBJECT = frozenset({Problem.NOT_AN_OBJECT, Problem.NOT_AN_ITEM, Problem.NO_KIND})
ALLOW_EMPTY = "--allow-empty accepts it"


class EmptySource(NamedTuple):
    """A file, directory or stream without objects, and what it has instead."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


class ContentCount:
    """How many objects a source has, and how many documents or items that are no Kubernetes objects."""

    __slots__ = ("objects", "others")

    def __init__(self) -> None:
        self.objects = self.others = 0

    def add_error(self, error: DecodeError) -> None:
        """Count a document that cannot be used: one that looks like an object, or cannot be read, may be one."""
        if error.problem in _NO_OBJECT:
            self.others += 1
        else:
            self.objects += 1


class InputContents:
    """Keeps which sources have no objects, as they are read."""

    def __init__(self) -> None:
        self._objects = self._others = self._files = 0
        self._empty: list[EmptySource] = []
        self._has_failed = False
        #: Objects of a cluster are there, too.
        self.is_live = False

    def add(self, source: Source, count: ContentCount) -> None:
        self._files += 1
        self._objects += count.objects
        self._others += count.others
        if not count.objects and source.explicit:
            self._empty.append(EmptySource(source.name, _reason(source.name, count.others)))

    def fail(self) -> None:
        """Note that something could not be read, which is reported by itself: it may have held objects."""
        self._has_failed = True

    @property
    def has_objects(self) -> bool:
        return bool(self._objects) or self._has_failed or self.is_live

    def faults(self, paths: Sequence[str] = ()) -> Iterator[EmptySource]:
        """Yield the sources that should have had objects; `paths` are what the user named.

        A program that passes an empty list of manifests knows that it is empty.
        """
        if self.has_objects:
            yield from (empty for empty in self._empty if empty.name == STDIN_NAME)
            return
        yield from self._empty
        if not self._empty and (self._files or paths):
            name = ", ".join(paths) or "the input"
            if self._files:
                files = "the one file has" if self._files == 1 else f"{self._files:,} files have"
                yield EmptySource(name, f"no Kubernetes object: {files} {_instead(self._others)}")
            else:
                yield EmptySource(name, "no *.yaml, *.yml or *.json files")

    def mentions(self) -> Iterator[EmptySource]:
        """Yield the named sources without objects that are no fault, because others have some."""
        if self.has_objects:
            yield from (empty for empty in self._empty if empty.name != STDIN_NAME)


def _reason(name: str, others: int) -> str:
    pipe = "; did the command before the pipe fail?" if name == STDIN_NAME and not others else ""
    return f"no Kubernetes object: it has {_instead(others)}{pipe}"


def _instead(others: int) -> str:
    if not others:
        return "nothing, or only comments and empty Lists"
    return f"{others:,} other YAML document{'' if others == 1 else 's'}, without apiVersion and kind"
