from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.pools.label_values import ANYTHING, NOTHING, LabelValues, only, values_of

_UNIVERSE = ("", "a", "b", "-1", "0", "1", "2", "3", "007", "9223372036854775807", "9223372036854775808")
_some = st.lists(st.sampled_from(_UNIVERSE), min_size=1, max_size=3)
_bound = st.sampled_from(("0", "1", "2", "9223372036854775807")).map(lambda value: [value])
_sets = st.one_of(
    st.tuples(st.sampled_from(("In", "NotIn")), _some),
    st.tuples(st.sampled_from(("Gt", "Lt", "Gte", "Lte")), _bound),
    st.tuples(st.sampled_from(("Exists", "DoesNotExist")), st.just([])),
).map(lambda requirement: values_of(*requirement))


def _agree(intersect: object, one: LabelValues, other: LabelValues) -> bool:
    assert callable(intersect)
    both = intersect(one, other)
    return all(both.has(value) == (one.has(value) and other.has(value)) for value in _UNIVERSE)


@given(_sets, _sets, _sets)
def test_an_intersection_has_what_all_have(one: LabelValues, other: LabelValues, third: LabelValues) -> None:
    assert _agree(lambda a, b: a & b, one, other)
    assert _agree(lambda a, b: a & b & third, one & third, other)


def test_the_law_fails_for_an_intersection_that_forgets_bounds() -> None:
    def forgetful(one: LabelValues, other: LabelValues) -> LabelValues:
        both = one & other
        return LabelValues(both.values, both.excludes)

    requirements = [values_of("Gt", ["1"]), values_of("Lt", ["3"]), ANYTHING]
    assert not all(_agree(forgetful, one, other) for one, other in product(requirements, repeat=2))


@pytest.mark.parametrize(
    ("operator", "values", "yes", "no"),
    [
        ("In", ["a", "b"], ["a"], ["c", ""]),
        ("NotIn", ["a"], ["b", ""], ["a"]),
        ("Gt", ["5"], ["6"], ["5", "x", ""]),
        ("Lt", ["5"], ["4", "-1"], ["5", "x"]),
        ("Gte", ["5"], ["5"], ["4"]),
        ("Lte", ["5"], ["5"], ["6"]),
        ("Exists", [], ["", "x"], []),
        ("DoesNotExist", [], [], ["", "x"]),
    ],
)
def test_what_an_operator_means(operator: str, values: list[str], yes: list[str], no: list[str]) -> None:
    meant = values_of(operator, values)
    assert [meant.has(value) for value in (*yes, *no)] == [True] * len(yes) + [False] * len(no)


def test_bounds_that_cross_leave_nothing() -> None:
    assert values_of("Gt", ["5"]) & values_of("Lt", ["6"]) == NOTHING


@pytest.mark.parametrize(
    ("values", "text"),
    [(only("b", "a"), "in a, b"), (NOTHING, "absent"), (ANYTHING, "any"), (values_of("Gt", ["5"]), ">= 6")],
)
def test_how_a_set_is_shown(values: LabelValues, text: str) -> None:
    assert str(values) == text
