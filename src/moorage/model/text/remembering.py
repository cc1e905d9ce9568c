"""Remember what a function answered to short texts.

A plain `lru_cache` keeps its arguments: a few hundred requests with megabytes in one value would fill the memory.
Texts of more than `LONGEST` characters are therefore read again each time.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

LONGEST = 512

Answer = TypeVar("Answer")


def remember_short(maxsize: int) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
    """Remember the answers to the last `maxsize` calls with short texts."""

    def decorate(function: Callable[..., Answer]) -> Callable[..., Answer]:
        remembered = lru_cache(maxsize)(function)

        @wraps(function)
        def answer(text: Any, *others: Any, **named: Any) -> Answer:
            if text is not None and len(text) > LONGEST:
                return function(text, *others, **named)
            return remembered(text, *others, **named)

        return answer

    return decorate
