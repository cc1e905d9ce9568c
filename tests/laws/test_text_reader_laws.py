"""Reading a text takes operations in proportion to its length, or the text is refused for its length."""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices, examples
from tests.laws.metered_text import metered, operations

import moorage
from moorage.model.text.readers import READERS, Reader

_APPLICATIONS = ("__main__", "cli", "demo", "testing")
for _module in pkgutil.walk_packages(moorage.__path__, "moorage."):
    if _module.name.split(".")[1] not in _APPLICATIONS:
        importlib.import_module(_module.name)

#: Beside a reader's own: what is special to most languages.
_TOKENS = ("0", "a", "é", " ", "\n", "\ud800")
_CHARACTERS = 1_500
_SHORT = (1, 50, 100, 240)
#: Twice the text is at most this many times the operations, and these for what is done once.
_RATIO, _ONCE = 2.6, 3_000
#: The most that a text of a reader's bound may take: some ten milliseconds.
_AT_BOUND = 2_000_000
_SETTINGS = settings(LAW_SETTINGS, max_examples=examples(16))


def hostile(tokens: tuple[str, ...]) -> st.SearchStrategy[tuple[str, str, str]]:
    """Return beginnings, parts to repeat, and ends."""
    token = st.sampled_from((*tokens, *_TOKENS))
    few = st.lists(token, max_size=2).map("".join)
    return st.tuples(few, st.lists(token, min_size=1, max_size=3).map("".join), few)


def law_of(reader: Reader) -> Callable[[], None]:
    @_SETTINGS
    @given(hostile(reader.tokens))
    def law(parts: tuple[str, str, str]) -> None:
        check(reader, *parts)

    return law


def check(reader: Reader, begin: str, repeated: str, end: str) -> None:
    """Count the operations for a text and one of twice its length; short ones raise only what is registered."""
    for size in _SHORT:
        with suppress(*reader.raises):
            _exhaust(
                reader.read(_given(reader, begin + repeated * (size // len(repeated) + 1) + end), *reader.arguments)
            )
    short = max(_CHARACTERS, (reader.longest or 0) + 1)
    once, twice = (cost(reader, begin + repeated * (size // len(repeated) + 1) + end) for size in (short, 2 * short))
    shown = f"{reader.module}.{reader.name}: {begin!r} + {repeated!r} * n + {end!r}"
    assert twice <= _RATIO * once + _ONCE, f"{shown}: {once} operations, and {twice} for twice the text"
    if reader.longest is not None:
        at_bound = (begin + repeated * reader.longest)[: reader.longest - len(end)] + end
        assert cost(reader, at_bound) <= _AT_BOUND, f"{shown}: too many operations for {reader.longest} characters"


def cost(reader: Reader, text: str) -> int:
    given = metered(_given(reader, text))
    return operations(lambda: _exhaust(reader.read(given, *reader.arguments)), reader.raises)


def _given(reader: Reader, text: str) -> str | bytes:
    first = next(iter(reader.read.__annotations__.values()))
    return text.encode("utf-8", "surrogatepass") if first in (bytes, "bytes") else text


def _exhaust(answer: object) -> None:
    if isinstance(answer, Iterator):
        for _ in answer:
            pass


def _readers() -> Iterable[Reader]:
    return READERS.values()


@pytest.mark.parametrize("reader", _readers(), ids=lambda reader: f"{reader.module[8:]}.{reader.name}")
def test_operations_are_in_proportion_to_the_text(reader: Reader) -> None:
    for token in (*reader.tokens, *_TOKENS):
        check(reader, "", token, "")
    law_of(reader)()


# -- what is broken on purpose ----------------------------------------------------------------------------------------


def _reads_the_rest_again(text: str) -> int:
    """Cut off one character at a time, as a parser does that keeps what is left."""
    count = 0
    while text:
        text, count = text[1:], count + 1
    return count


def _looks_for_an_end_again(text: str) -> int:
    return sum(1 for place, letter in enumerate(text) if letter == "(" and text.find(")", place) > 0)


def _reads_all_digits(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _refuses_long_ones_too_late(text: str) -> int:
    return _reads_the_rest_again(text) if len(text) < 100_000 else 0


@pytest.mark.parametrize(
    "read",
    [_reads_the_rest_again, _looks_for_an_end_again, _reads_all_digits, _refuses_long_ones_too_late],
    ids=lambda read: str(read.__name__),
)
def test_the_law_notices_readers_that_are_not_linear(read: Callable[[str], int]) -> None:
    assert_notices(law_of(Reader("tests", read.__name__, read, ("(", "1"), (), (), None)))


def test_the_law_notices_an_exception_that_is_not_a_refusal() -> None:
    def read(text: str) -> int:
        return int(text[:5000])

    with pytest.raises(ValueError, match="Exceeds the limit"):
        check(Reader("tests", "read", read, (), (), (), 4_301), "", "1", "")
