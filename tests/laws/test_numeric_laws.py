"""Integers: the canonical ones are exactly those that Python prints the same way, within 64 bits."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.match.numeric import NumberError, canonical_int64_errors, parse_canonical_int64

_TEXTS = st.one_of(
    st.integers(-(2**65), 2**65).map(str),
    st.sampled_from([str(2**63 - 1), str(2**63), str(-(2**63)), str(-(2**63) - 1)]),
    st.text("-+0123456789", max_size=4),
    st.text(max_size=3),
)


def canonical_law(read: Callable[[str], int]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_TEXTS)
    def law(text: str) -> None:
        try:
            number = int(text)
            canonical = str(number) == text and -(2**63) <= number < 2**63
        except ValueError:
            canonical = False
        try:
            assert str(read(text)) == text
            accepted = True
        except ValueError:
            accepted = False
        assert accepted is canonical

    return law


def test_canonical_integers_are_those_that_print_the_same() -> None:
    canonical_law(parse_canonical_int64)()


def test_canonical_law_notices_a_reader_that_takes_more() -> None:
    assert_notices(canonical_law(int))


@LAW_SETTINGS
@given(_TEXTS)
def test_there_are_complaints_exactly_about_what_is_not_read(text: str) -> None:
    errors = canonical_int64_errors(text)
    try:
        parse_canonical_int64(text)
    except NumberError as error:
        first = str(error)
    else:
        first = ""
    assert (errors[0] if errors else "") == first
