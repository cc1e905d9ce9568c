"""Shorten lists of node names in prose: a few names in full, or how many nodes there are and two examples."""

import re
from collections.abc import Sequence

#: Up to this many names are printed.
MAX_NAMED = 6
_EXAMPLES = 2
_NUMBERS = re.compile(r"(\d{1,18})", re.ASCII)


def natural(text: str) -> list[tuple[int, str]]:
    """Return a key that sorts as people count: node-9 before node-10, 1.9 before 1.10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBERS.split(text) if part]


def shown_nodes(names: Sequence[str], everything: bool = False) -> str:
    """Return `a, b, c`, or `30 nodes, such as a, b` if there are many and not `everything` is printed.

    Never a range: names between the first and the last one may belong to other nodes.
    """
    if everything or len(names) <= MAX_NAMED:
        return ", ".join(names)
    return f"{len(names):,} nodes, such as {', '.join(names[:_EXAMPLES])}"
