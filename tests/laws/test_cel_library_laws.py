"""CEL's libraries: addresses and URLs survive printing, joining undoes splitting, sorting agrees with isSorted."""

import ipaddress
from collections.abc import Callable
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.unit.match.cel.libraries.calls import call

from moorage.match.cel.libraries import lists, strings
from moorage.match.cel.libraries.ip_address import Address, parse_address
from moorage.match.cel.libraries.url_value import URLError, parse_url

# Groups of zeros in all places, since `::` is where the difficulties are.
_GROUPS = st.lists(st.sampled_from([0, 0, 0, 1, 0xABCD, 0xFFFF]), min_size=8, max_size=8)
_URL_TEXT = st.text(st.sampled_from("ab:/?#[]@%25 é=&+.;1"), max_size=12).map(lambda rest: f"http://h{rest}")
_TEXT = st.text(st.sampled_from("ab.é"), max_size=12)
_ITEMS = st.lists(st.one_of(st.integers(-3, 3), st.floats(-3, 3)).map(float), max_size=9)


def _addresses_round_trip(write: Callable[[Address], str]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_GROUPS)
    def law(groups: list[int]) -> None:
        number = 0
        for group in groups:
            number = number << 16 | group
        address = Address(128, number)
        assume(not address.is_4_in_6)
        assert parse_address(write(address)) == address
        assert write(address) == str(ipaddress.IPv6Address(number))

    return law


def test_addresses_round_trip() -> None:
    _addresses_round_trip(str)()
    assert_notices(_addresses_round_trip(lambda address: str(address).upper()))


def _urls_are_stable(write: Callable[[str], str]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_URL_TEXT)
    def law(text: str) -> None:
        try:
            once = write(text)
        except URLError:
            assume(False)
        assert write(once) == once

    return law


def test_writing_a_url_again_changes_nothing_more() -> None:
    _urls_are_stable(lambda text: str(parse_url(text)))()
    assert_notices(_urls_are_stable(lambda text: str(parse_url(text)).replace("h", "hh", 1).replace("httttp", "http")))


def _joining_undoes_splitting(split: Callable[[str, str], list[str]]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_TEXT, st.sampled_from([".", "ab", "é", "a"]))
    def law(text: str, separator: str) -> None:
        assert call(strings.FUNCTIONS, "list_join_string", split(text, separator), separator) == text

    return law


def test_joining_undoes_splitting() -> None:
    _joining_undoes_splitting(lambda text, by: list(call(strings.FUNCTIONS, "string_split_string", text, by)))()
    assert_notices(_joining_undoes_splitting(lambda text, by: [part for part in text.split(by) if part]))


def _sorting_sorts(sort: Callable[[list[Any]], list[Any]]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(_ITEMS)
    def law(items: list[Any]) -> None:
        result = sort(items)
        assert call(lists.FUNCTIONS, "list_double_is_sorted_bool", result)
        assert sorted(result) == sorted(items)
        if items:
            assert result[0] == call(lists.FUNCTIONS, "list_double_min_double", items)
            assert result[-1] == call(lists.FUNCTIONS, "list_double_max_double", items)

    return law


def test_sorting_sorts() -> None:
    _sorting_sorts(lambda items: list(call(lists.FUNCTIONS, "list_double_sort", items)))()
    assert_notices(_sorting_sorts(lambda items: sorted(set(items))))
