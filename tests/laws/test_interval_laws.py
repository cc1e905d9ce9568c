"""Intervals: the algebra agrees with asking the operators value by value, and the nearest value is the nearest."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.match.comparison import Comparison, ValueKind
from moorage.match.intervals import Interval, Intervals, cells
from moorage.match.operators import (
    NODE_SELECTOR,
    OPERATORS,
    TOLERATION,
    AcceptedValues,
    OperatorPlace,
    accepted_values,
)
from moorage.match.requirement import compile_requirement
from moorage.match.tolerations import compile_toleration
from moorage.model.gates import all_gates
from moorage.model.names import label_value_errors
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration

GATES = all_gates()
MAX = 2**63 - 1
NUMBERS = st.one_of(st.integers(-3, 12), st.sampled_from([2**53, 2**53 + 1, MAX - 1, MAX, -MAX - 1])).map(str)
_PART = st.one_of(st.integers(0, 3), st.sampled_from([99, 100, 2**64 - 1]))
_RELEASES = st.tuples(_PART, _PART, _PART).map(lambda parts: ".".join(map(str, parts)))
_PRE = st.sampled_from(["", "", "-0", "-0.0", "-1", "-rc", "-rc.0", "-rc.1", "-91-generic", "+build"])
VERSIONS = st.one_of(
    st.builds(lambda v, release, pre: v + release + pre, st.sampled_from(["", "v"]), _RELEASES, _PRE),
    st.sampled_from(["1", "1.2", "v2", "1.02.3"]),
)
UNREADABLE = st.sampled_from(["", "word", "1.32-rc1", "1.2.x", "-0", "1e3", str(2**63), "v"])
TEXTS = st.one_of(NUMBERS, VERSIONS, UNREADABLE)
COMPARISONS = sorted(
    ((row.name, place) for row in OPERATORS for place, use in row.places.items() if use.comparison is not None),
    key=str,
)
ROWS = sorted(
    ((row.name, place) for row in OPERATORS for place in row.places if place in (TOLERATION, NODE_SELECTOR)), key=str
)
Algebra = Callable[[Intervals, Intervals], Intervals]


def comparison_of(name: str, place: OperatorPlace) -> Comparison:
    comparison = next(row for row in OPERATORS if row.name == name).places[place].comparison
    assert comparison is not None
    return comparison


def values_of(kind: ValueKind) -> st.SearchStrategy[str]:
    return VERSIONS if kind.noun == "version" else NUMBERS


@st.composite
def atoms(draw: st.DrawFn, kind: ValueKind) -> tuple[Intervals, Callable[[str], bool]]:
    """A set, and the same as the real comparison of an operator."""
    names = [at for at in COMPARISONS if comparison_of(*at).kind is kind]
    comparison, value = comparison_of(*draw(st.sampled_from(names))), draw(values_of(kind))
    return comparison.accepted(value), comparison.compile(value)


@st.composite
def sets(draw: st.DrawFn, kind: ValueKind) -> tuple[Intervals, Callable[[str], bool]]:
    """A set built of several, and the same by asking each comparison."""
    values, member = draw(atoms(kind))
    for _ in range(draw(st.integers(0, 3))):
        more, also = draw(atoms(kind))
        how = draw(st.sampled_from("&|-"))
        values, member = combined(how, values, more), joined(how, member, also)
    return values, member


def combined(how: str, one: Intervals, other: Intervals) -> Intervals:
    return one & other if how == "&" else one | other if how == "|" else one - other


def joined(how: str, one: Callable[[str], bool], other: Callable[[str], bool]) -> Callable[[str], bool]:
    if how == "&":
        return lambda text: one(text) and other(text)
    if how == "|":
        return lambda text: one(text) or other(text)
    return lambda text: one(text) and not other(text)


KINDS = st.sampled_from(sorted({comparison_of(*at).kind for at in COMPARISONS}, key=lambda kind: kind.complaint("x")))


def membership_law(change: Callable[[Intervals], Intervals]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(st.data(), KINDS)
    def law(data: st.DataObject, kind: ValueKind) -> None:
        values, member = data.draw(sets(kind))
        values = change(values)
        for text in data.draw(st.lists(TEXTS, min_size=1, max_size=6)):
            assert kind.contains(values, text) == member(text)
            assert kind.contains(~values, text) == (kind.value_of(text) is not None and not member(text))
        assert normalized(values)
        assert ~~values == values
        assert (values & ~values).is_empty
        assert (values | ~values).parts == (Interval(kind.scale.lowest),)

    return law


def normalized(values: Intervals) -> bool:
    """Whether no part is empty, and no two overlap or touch."""
    ends = [bound for part in values.parts for bound in (part.low, part.high)]
    if None in ends[:-1]:
        return False
    known = [bound for bound in ends if bound is not None]
    return all(low < high for low, high in pairwise(known))


def nearest_law(nearest: Callable[[Intervals, Any], Any]) -> Callable[[], None]:
    """The nearest value is inside, and none that people write (no part of a version above 99) is nearer."""

    @LAW_SETTINGS
    @given(st.data(), KINDS)
    def law(data: st.DataObject, kind: ValueKind) -> None:
        values, _ = data.draw(sets(kind))
        now = kind.value_of(data.draw(values_of(kind)))
        if now is None:
            return
        found = nearest(values, now)
        assert (found is None) == values.is_empty
        if found is None:
            return
        assert values.contains(found)
        assert kind.read(kind.scale.write(found, "v")) == found if kind.noun == "version" else True
        for text in data.draw(st.lists(values_of(kind), max_size=8)):
            other = kind.value_of(text)
            is_written = kind.noun != "version" or max(other[:3]) <= 99
            if other is not None and is_written and values.contains(other):
                assert kind.scale.distance(now, found) <= kind.scale.distance(now, other)

    return law


def threshold_law(threshold: Callable[[Comparison, str, str], str | None]) -> Callable[[], None]:
    """A threshold that was moved for a value matches it, by the real operator."""

    @LAW_SETTINGS
    @given(st.data(), st.sampled_from(COMPARISONS), TEXTS)
    def law(data: st.DataObject, at: tuple[str, OperatorPlace], now: str) -> None:
        comparison = comparison_of(*at)
        actual = data.draw(values_of(comparison.kind))
        moved = threshold(comparison, actual, now)
        if moved is not None:
            assert comparison.compile(moved)(actual)

    return law


def cell_law(cut: Callable[[Any, list[Intervals]], list[Interval]]) -> Callable[[], None]:
    """Cells cover all values once, and no set divides one."""

    @LAW_SETTINGS
    @given(st.data(), KINDS)
    def law(data: st.DataObject, kind: ValueKind) -> None:
        drawn = [values for values, _ in data.draw(st.lists(sets(kind), max_size=4))]
        found = cut(kind.scale, drawn)
        assert found[0].low == kind.scale.lowest
        assert found[-1].high is None
        assert [cell.high for cell in found[:-1]] == [cell.low for cell in found[1:]]
        for values in drawn:
            for cell in found:
                whole = Intervals(kind.scale, (cell,))
                assert (values & whole) in (whole, Intervals(kind.scale))

    return law


def operator_law(accepts: Callable[[str, OperatorPlace, tuple[str, ...]], AcceptedValues | None]) -> Callable[[], None]:
    """What a row accepts is what the compiled toleration or requirement matches."""

    @LAW_SETTINGS
    @given(st.data(), st.sampled_from(ROWS), TEXTS)
    def law(data: st.DataObject, at: tuple[str, OperatorPlace], text: str) -> None:
        name, place = at
        row = next(row for row in OPERATORS if row.name == name)
        use = row.places[place]
        kind = use.comparison.kind if use.comparison is not None else None
        value = data.draw(values_of(kind) if kind is not None else TEXTS)
        values = () if name in ("Exists", "DoesNotExist") else (value,)
        if label_value_errors(text) or (place is NODE_SELECTOR and any(map(label_value_errors, values))):
            return
        accepted = accepts(name, place, values)
        assert accepted is not None
        if place is TOLERATION:
            matcher = compile_toleration(Toleration("k", name, "".join(values)), GATES)
            assert matcher.match(Taint("k", text, "NoSchedule")) == accepted.contains(text)
        else:
            requirement = compile_requirement("k", row.selection, values)
            assert requirement.match({"k": text}) == accepted.contains(text)
            assert requirement.match({}) == accepted.absent
        if (example := accepted.example()) is not None:
            assert accepted.contains(example)
        else:
            assert not accepted.contains(text)

    return law


def test_the_algebra_agrees_with_the_operators() -> None:
    membership_law(lambda values: values)()


def test_the_law_notices_a_lost_interval() -> None:
    assert_notices(membership_law(lambda values: Intervals(values.scale, values.parts[:1])))


def test_the_law_notices_intervals_that_were_not_merged() -> None:
    def unmerged(values: Intervals) -> Intervals:
        return Intervals(values.scale, (*values.parts, *values.parts[-1:]))

    assert_notices(membership_law(unmerged))


def test_nearest_is_inside_and_none_is_nearer() -> None:
    nearest_law(Intervals.nearest)()


def test_the_law_notices_a_value_that_is_not_the_nearest() -> None:
    assert_notices(nearest_law(lambda values, now: next(iter(values.candidates()), None)))


def test_the_law_notices_a_value_outside() -> None:
    assert_notices(nearest_law(lambda values, now: None if values.is_empty else now))


def test_moved_thresholds_match() -> None:
    threshold_law(Comparison.threshold_for)()


def test_the_law_notices_a_threshold_that_does_not_match() -> None:
    assert_notices(threshold_law(lambda comparison, actual, now: actual))


def test_cells_divide_the_values() -> None:
    cell_law(cells)()


def test_the_law_notices_cells_that_are_too_large() -> None:
    assert_notices(cell_law(lambda scale, drawn: cells(scale, drawn[1:])))


def test_every_operator_accepts_what_it_matches() -> None:
    operator_law(accepted_values)()


def test_the_law_notices_an_operator_with_the_values_of_another() -> None:
    assert_notices(operator_law(lambda name, place, values: accepted_values("Exists", place, ())))
