"""kubectl's command lines, taken apart.

In: words. Out: a `Line`: plain words and options, short names made long. Kubernetes: kubectl's flags. Differs: only
those that stories use are known; another is an error.
"""

from typing import NamedTuple

#: Options that take a value, and those that do not.
_VALUES = {
    "-f": "filename",
    "-n": "namespace",
    "-o": "output",
    "-l": "selector",
    "-L": "label-columns",
    "--filename": "filename",
    "--namespace": "namespace",
    "--output": "output",
    "--selector": "selector",
    "--label-columns": "label-columns",
    "--field-selector": "field-selector",
    "--grace-period": "grace-period",
    "--replicas": "replicas",
    "--from": "from",
    "--wait": "wait",
}
_FLAGS = {"-A": "all-namespaces", "--all-namespaces": "all-namespaces", "--overwrite": "overwrite", "--all": "all"}


class NotUnderstood(ValueError):
    """A command line that the real kubectl may know, and the stand-in does not."""


class Line(NamedTuple):
    """See the module."""

    words: list[str]
    options: dict[str, str]

    def option(self, name: str) -> str:
        return self.options.get(name, "")


def parse(words: list[str]) -> Line:
    """Raises NotUnderstood."""
    plain: list[str] = []
    options: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        name, has_value, value = word.partition("=")
        if not word.startswith("-"):
            plain.append(word)
        elif word in _FLAGS:
            options[_FLAGS[word]] = "true"
        elif name in _VALUES:
            given = value if has_value else next(rest, None)
            if given is None:
                raise NotUnderstood(f"error: flag needs an argument: {word}")
            options[_VALUES[name]] = given
        else:
            raise NotUnderstood(f"error: without kubectl there is no option {word}")
    return Line(plain, options)
