import pytest

from moorage.match.numeric import (
    MUST_BE_CANONICAL,
    MUST_BE_NON_EMPTY,
    NumberError,
    canonical_int64_errors,
    parse_canonical_int64,
    parse_int64,
    parse_uint64,
    why_not_canonical,
)


def _syntax(text: str) -> str:
    return f'strconv.ParseInt: parsing "{text}": invalid syntax'


def _range(text: str) -> str:
    return f'strconv.ParseInt: parsing "{text}": value out of range'


@pytest.mark.parametrize("number", [0, 5, -5, 950, 2**63 - 1, -(2**63)])
def test_canonical_integers_are_read(number: int) -> None:
    assert parse_canonical_int64(str(number)) == parse_int64(str(number)) == number
    assert canonical_int64_errors(str(number)) == []


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("", [MUST_BE_NON_EMPTY, _syntax("")]),
        ("-", [MUST_BE_CANONICAL, _syntax("-")]),
        ("-0", [MUST_BE_CANONICAL]),
        ("00", [MUST_BE_CANONICAL]),
        ("007", [MUST_BE_CANONICAL]),
        ("+5", [MUST_BE_CANONICAL]),
        ("-01", [MUST_BE_CANONICAL]),
        ("95.5", [MUST_BE_CANONICAL, _syntax("95.5")]),
        ("1e3", [MUST_BE_CANONICAL, _syntax("1e3")]),
        ("1_0", [MUST_BE_CANONICAL, _syntax("1_0")]),
        (" 5", [MUST_BE_CANONICAL, _syntax(" 5")]),
        ("٣", [MUST_BE_CANONICAL, _syntax("٣")]),
        ("9223372036854775808", [_range("9223372036854775808")]),
        ("-9223372036854775809", [_range("-9223372036854775809")]),
        ("99999999999999999999x", [MUST_BE_CANONICAL, _range("99999999999999999999x")]),
    ],
)
def test_everything_else_is_refused_in_the_api_servers_words(text: str, errors: list[str]) -> None:
    assert canonical_int64_errors(text) == errors
    with pytest.raises(NumberError) as caught:
        parse_canonical_int64(text)
    assert str(caught.value) == errors[0]


@pytest.mark.parametrize(("text", "number"), [("007", 7), ("+5", 5), ("-0", 0), ("-012", -12), ("0" * 9_000 + "1", 1)])
def test_node_affinity_reads_more_than_canonical_integers(text: str, number: int) -> None:
    assert parse_int64(text) == number


def test_unsigned_integers_have_no_sign() -> None:
    assert parse_uint64("18446744073709551615") == 2**64 - 1
    with pytest.raises(NumberError, match=r"^strconv\.ParseUint: parsing .-1.: invalid syntax"):
        parse_uint64("-1")


def test_numbers_of_any_length_are_answered() -> None:
    with pytest.raises(NumberError, match="value out of range"):
        parse_canonical_int64("9" * 100_000)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("high", "is not a 64-bit integer"),
        ("", "is not a 64-bit integer"),
        ("007", "is not a 64-bit integer in canonical form"),
        ("9" * 20, "is out of the range of 64-bit integers"),
    ],
)
def test_why_not_says_what_is_wrong(text: str, words: str) -> None:
    assert why_not_canonical(text) == words
