"""Room on Python's stack for expressions that are nested as deeply as the grammar allows.

Most expressions need nothing. For the few that do, Python's
recursion limit is raised, and never lowered again, since a program may be run at any time; by no more than the limits
of the grammar demand, and without using the machine's stack, on which Python's own frames do not live. Kubernetes: Go's
stacks grow by themselves.
"""

from __future__ import annotations

import re
import sys

# Frames that one level of an expression takes; levels that fit without ado; the most there can be.
_FRAMES_PER_LEVEL = 8
_SHALLOW = 40
_DEEPEST = 1500
_BRACKETS = re.compile(r"[()\[\]{}]")


def make_room(levels: int) -> None:
    """See to it that so many levels of an expression fit on the stack."""
    if levels > _SHALLOW:
        wanted = 1000 + min(levels, _DEEPEST) * _FRAMES_PER_LEVEL
        if sys.getrecursionlimit() < wanted:
            sys.setrecursionlimit(wanted)


def nesting(source: str) -> int:
    """Return how deeply a parser will nest, at most: brackets (those in strings count too) and ternaries."""
    depth = deepest = 0
    for bracket in _BRACKETS.findall(source):
        if bracket in "([{":
            depth += 1
            deepest = max(deepest, depth)
        else:
            depth -= 1
    return deepest + source.count("?")
