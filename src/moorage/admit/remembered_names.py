"""Name checks that remember their answers, because manifests repeat the same few names.

In: a rule of `model.names`. Out: the same rule, which answers from memory for names of ordinary length; long text is
checked anew each time, so that what is remembered stays small whatever is read.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

_REMEMBERED = 4096
_ORDINARY_LENGTH = 256


def remember(rule: Callable[[str], Iterable[str]]) -> Callable[[str], Sequence[str]]:
    @lru_cache(maxsize=_REMEMBERED)
    def remembered(name: str) -> tuple[str, ...]:
        return tuple(rule(name))

    def check(name: str) -> tuple[str, ...]:
        return remembered(name) if len(name) <= _ORDINARY_LENGTH else tuple(rule(name))

    return check
