"""The exception of the library."""

from collections.abc import Iterator
from contextlib import contextmanager


class MoorageError(ValueError):
    """Something in the arguments or the input makes an answer impossible; the text says what."""


@contextmanager
def as_moorage_errors(*kinds: type[Exception]) -> Iterator[None]:
    """Raise exceptions of these kinds as MoorageError, with their text."""
    try:
        yield
    except kinds as error:
        raise MoorageError(str(error)) from error
