"""Versions: the order is total and agrees with sorting, and what is printed parses back."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.match.semver import SemverError, Version, parse, parse_tolerant

_NUMBER = st.one_of(st.integers(0, 12), st.sampled_from([2**63, 2**64 - 1]))
_WORD = st.text("0129abzAZ-", min_size=1, max_size=4)
_PRE = st.one_of(_NUMBER, _WORD.filter(lambda word: not word.isdecimal()))
VERSIONS = st.builds(
    Version,
    _NUMBER,
    _NUMBER,
    _NUMBER,
    st.lists(_PRE, max_size=3).map(tuple),
    st.lists(_WORD, max_size=2).map(tuple),
)

Compare = Callable[[Version, Version], int]
Key = Callable[[Version], Any]


def precedence(a: Version, b: Version) -> int:
    """semver.org's eleventh rule, word for word and in no hurry."""
    for mine, theirs in ((a.major, b.major), (a.minor, b.minor), (a.patch, b.patch)):
        if mine != theirs:
            return -1 if mine < theirs else 1
    if not a.pre or not b.pre:
        return bool(b.pre) - bool(a.pre)
    for left, right in zip(a.pre, b.pre, strict=False):
        if left == right:
            continue
        if isinstance(left, int) and isinstance(right, int):
            return -1 if left < right else 1
        if isinstance(left, str) and isinstance(right, str):
            return -1 if left < right else 1
        return -1 if isinstance(left, int) else 1
    return (len(a.pre) > len(b.pre)) - (len(a.pre) < len(b.pre))


def order_law(compare: Compare) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(VERSIONS, VERSIONS, VERSIONS)
    def law(a: Version, b: Version, c: Version) -> None:
        assert compare(a, a) == 0
        assert compare(a, b) == -compare(b, a)
        if compare(a, b) <= 0 and compare(b, c) <= 0:
            assert compare(a, c) <= 0
        assert compare(a, b) == precedence(a, b)

    return law


def sorting_law(key: Key) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(st.lists(VERSIONS, max_size=8))
    def law(versions: list[Version]) -> None:
        ordered = sorted(versions, key=key)
        for i, low in enumerate(ordered):
            for high in ordered[i + 1 :]:
                assert precedence(low, high) <= 0

    return law


def round_trip_law(show: Callable[[Version], str]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(VERSIONS)
    def law(version: Version) -> None:
        assert parse(show(version)) == version
        assert parse_tolerant(f" v{show(version)}\t") == version

    return law


def test_order_is_total_and_is_precedence() -> None:
    order_law(Version.compare)()


def test_order_law_notices_a_release_below_its_pre_releases() -> None:
    def broken(a: Version, b: Version) -> int:
        left, right = (a.order_key[:3], a.order_key[4]), (b.order_key[:3], b.order_key[4])
        return (left > right) - (left < right)

    assert_notices(order_law(broken))


def test_sorting_agrees_with_precedence() -> None:
    sorting_law(lambda version: version.order_key)()


def test_sorting_law_notices_versions_sorted_as_text() -> None:
    assert_notices(sorting_law(str))


def test_what_is_printed_parses_back() -> None:
    round_trip_law(str)()


def test_round_trip_law_notices_lost_build_metadata() -> None:
    assert_notices(round_trip_law(lambda version: str(version).partition("+")[0]))


@LAW_SETTINGS
@given(st.one_of(st.text(max_size=20), st.text("0123v.-+ ax", max_size=12)))
def test_any_text_is_a_version_or_a_semver_error(text: str) -> None:
    try:
        version = parse_tolerant(text)
    except SemverError:
        return
    assert parse(str(version)) == version


@pytest.mark.parametrize("digits", [4_300, 5_000, 100_000])
def test_a_number_too_long_for_python_is_out_of_range(digits: int) -> None:
    with pytest.raises(SemverError, match="value out of range"):
        parse_tolerant("1" * digits)
