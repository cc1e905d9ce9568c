"""Register the functions that read a user's text, so that one law holds all of them to linear time.

`@reads_text(...)` above a function puts it into `READERS` and returns it unchanged. The tokens are what its language is
made of: tests/laws/test_text_reader_laws.py makes hostile texts of them (a beginning, a part that is repeated, an end),
doubles these, and counts operations. A reader is linear, or it has a bound: it refuses texts of more than `longest`
characters before it reads them. It raises nothing but what it is registered with. Kubernetes' own bounds are kept where
it has some; most of its fields have none but the size of a request.

tests/unit/model/text/test_readers.py finds functions that loop over a text, take it apart, match it or convert it to a
number and are neither registered, nor called by one that is, nor listed there with a reason.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class Reader(NamedTuple):
    """A function whose first argument is a text; `arguments` are the others, `raises` what it refuses a text with."""

    module: str
    name: str
    read: Callable[..., Any]
    tokens: tuple[str, ...]
    arguments: tuple[Any, ...]
    raises: tuple[type[Exception], ...]
    longest: int | None


#: By module and name. It is complete when all modules are imported.
READERS: dict[tuple[str, str], Reader] = {}


def reads_text(
    *tokens: str,
    arguments: tuple[Any, ...] = (),
    raises: type[Exception] | tuple[type[Exception], ...] = (),
    longest: int | None = None,
) -> Callable[[Function], Function]:
    """Register a function that reads the text in its first argument."""

    def register(function: Function) -> Function:
        refusals = raises if isinstance(raises, tuple) else (raises,)
        reader = Reader(function.__module__, function.__qualname__, function, tokens, arguments, refusals, longest)
        READERS[reader.module, reader.name] = reader
        return function

    return register
