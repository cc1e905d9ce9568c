"""Quantities: what is printed parses back, the order agrees with exact fractions, and sums are sums."""

from collections.abc import Callable
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.model.quantity import Quantity, parse_quantity

_SUFFIXES = ("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-6", "e+12")
TEXTS = st.builds(
    lambda sign, whole, fraction, suffix: f"{sign}{whole}{fraction}{suffix}",
    st.sampled_from(["", "-", "+"]),
    st.one_of(st.integers(0, 2000), st.integers(0, 10**20)),
    st.one_of(st.just(""), st.integers(0, 10**11).map(lambda digits: f".{digits}")),
    st.sampled_from(_SUFFIXES),
)

Print = Callable[[Quantity], str]
Compare = Callable[[Quantity, Quantity], int]
Add = Callable[[Quantity, Quantity], Quantity]


def exact(quantity: Quantity) -> Fraction:
    return quantity.mantissa * Fraction(10) ** quantity.exponent


def has_a_suffix(quantity: Quantity) -> bool:
    """Beyond exa, and exbi, there is no letter: upstream then prints the number without one."""
    return abs(exact(quantity)) < 10**18


def round_trip_law(show: Print) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(TEXTS)
    def law(text: str) -> None:
        quantity = parse_quantity(text)
        if has_a_suffix(quantity):
            again = parse_quantity(show(quantity))
            assert again == quantity
            assert hash(again) == hash(quantity)
            assert show(again.add(parse_quantity("0"))) == show(quantity.add(parse_quantity("0")))

    return law


def order_law(compare: Compare) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(TEXTS, TEXTS)
    def law(a: str, b: str) -> None:
        x, y = parse_quantity(a), parse_quantity(b)
        assert compare(x, y) == (exact(x) > exact(y)) - (exact(x) < exact(y))

    return law


def sum_law(add: Add) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(TEXTS, TEXTS)
    def law(a: str, b: str) -> None:
        x, y = parse_quantity(a), parse_quantity(b)
        assert exact(add(x, y)) == exact(x) + exact(y)
        assert add(x, y).sub(y) == x

    return law


def test_what_is_printed_parses_back() -> None:
    round_trip_law(str)()


def test_printing_that_loses_the_sign_is_noticed() -> None:
    assert_notices(round_trip_law(lambda quantity: str(quantity).lstrip("-")))


def test_the_order_is_that_of_fractions() -> None:
    order_law(Quantity.compare)()


def test_comparing_rounded_values_is_noticed() -> None:
    assert_notices(order_law(lambda a, b: (a.value() > b.value()) - (a.value() < b.value())))


def test_sums_are_exact() -> None:
    sum_law(Quantity.add)()


def test_adding_in_floats_is_noticed() -> None:
    def in_floats(a: Quantity, b: Quantity) -> Quantity:
        return parse_quantity(f"{a.as_approximate_float() + b.as_approximate_float():.3f}")

    assert_notices(sum_law(in_floats))
