"""The scale of a slider: its stops, its thresholds, and on which side of them each stop and each value is."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from moorage.match.operators import NODE_SELECTOR, TOLERATION, OperatorPlace
from moorage.match.tolerations import compile_toleration
from moorage.model.gates import all_gates
from moorage.model.names import label_value_errors
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.plan.values.value_scale import MAX_DENSE, NamedValue, scale_of

Named = list[tuple[str, str]]


def scale(
    values: list[str], named: Named, value: str | None = None, place: OperatorPlace = TOLERATION
) -> dict[str, Any]:
    counts = {text: values.count(text) for text in values}
    return scale_of(place, counts, [NamedValue(*one, pods=1) for one in named], value)


@pytest.mark.parametrize(
    ("values", "named", "form", "ends"),
    [
        (["3", "7"], [("Gt", "-5")], "number", ("2", "8")),
        ([], [("Lt", "-5")], "number", ("0", "12")),
        (["3", "red"], [("Lt", "5")], "number", ("2", "6")),
        (["9223372036854775806"], [("Lt", "9223372036854775807")], "number", (str(2**63 - 3), str(2**63 - 1))),
        (["9223372036854775808"], [], "text", None),
        (["1.2.3-rc.1"], [("SemverLt", "1.2.3")], "version", ("1.2.3-rc.1", "1.2.3")),
        (["1.32-rc1"], [("SemverGt", "1.30.0")], "version", ("1.30.0", "1.30.1")),
        (["v1.2", "v1.10"], [], "version", ("v1.2", "v1.10")),
        (["red"], [("Equal", "blue")], "text", None),
        (["1", "2"], [("Equal", "3")], "number", ("0", "4")),
        ([], [], "text", None),
    ],
)
def test_what_a_slider_moves_over(values: list[str], named: Named, form: str, ends: tuple[str, str] | None) -> None:
    found = scale(values, named)
    assert found["form"] == form
    assert (found["stops"][0], found["stops"][-1]) == ends if ends else found["stops"] == []


SCALES: list[tuple[list[str], Named]] = [
    (["3", "15", "red"], [("Lt", "5"), ("Lt", "20"), ("Gt", "7"), ("Equal", "15")]),
    (["1", "1000000"], [("Lt", "500000"), ("Gt", "-3")]),
    ([str(2**53), str(2**53 + 1)], [("Gt", str(2**53)), ("Lt", "100")]),
    (["5.15.0-91-generic", "5.4.0", "1.32-rc1"], [("SemverGt", "v5.15.0"), ("SemverLt", "5.4.0"), ("SemverEq", "6")]),
    (["5", "7.0.0"], [("SemverGt", "6.1"), ("Lt", "5"), ("Equal", "7.0.0")]),
]


@pytest.mark.parametrize(("values", "named"), SCALES)
def test_every_stop_is_on_the_side_of_a_threshold_on_which_tolerations_see_it(values: list[str], named: Named) -> None:
    found = scale(values, named)
    for tick, (at, stop) in product(found["ticks"], enumerate(found["stops"])):
        holds = any(start <= at < end for start, end in tick["holds"])
        matcher = compile_toleration(Toleration("k", tick["operator"], tick["value"]), all_gates())
        assert matcher.match(Taint("k", stop, "NoExecute")) == holds, (tick["rule"], stop)


@pytest.mark.parametrize(("values", "named"), SCALES)
def test_turns_are_where_what_pods_tolerate_changes(values: list[str], named: Named) -> None:
    found = scale(values, named)
    matchers = [compile_toleration(Toleration("k", operator, value), all_gates()) for operator, value in named]
    sides = [[one.match(Taint("k", stop, "NoExecute")) for one in matchers] for stop in found["stops"]]
    assert found["turns"] == [at for at in range(1, len(sides)) if sides[at] != sides[at - 1]]


@pytest.mark.parametrize(("values", "named"), SCALES[:-1])  # not where both numbers and versions are compared
def test_both_sides_of_each_threshold_can_be_reached(values: list[str], named: Named) -> None:
    found = scale(values, named)
    for tick in found["ticks"]:
        reached = sum(end - start for start, end in tick["holds"])
        is_all = tick["operator"] == "Gt" and tick["value"].startswith("-")
        assert reached > 0
        assert is_all or reached < len(found["stops"])


@pytest.mark.parametrize(("values", "named"), SCALES)
def test_stops_are_label_values_in_order(values: list[str], named: Named) -> None:
    found = scale(values, named)
    assert len(found["stops"]) == len(set(found["stops"]))
    assert not any(label_value_errors(stop) for stop in found["stops"])
    assert len(found["stops"]) <= MAX_DENSE + 1


def test_a_value_that_is_not_a_version_stands_nowhere_and_matches_nothing() -> None:
    placed = scale(["1.32-rc1"], [("SemverGt", "1.30.0")], "1.32-rc1")["value"]
    assert placed == {
        "text": "1.32-rc1",
        "stop": None,
        "holds": [False],
        "unreadable": '"1.32-rc1" is not a semantic version: Short version cannot contain PreRelease/Build meta data',
    }


def test_a_value_that_is_typed_becomes_a_stop() -> None:
    found = scale(["1", "1000000"], [("Lt", "500000")], "123457")
    assert found["stops"][found["value"]["stop"]] == "123457"
    assert found["value"]["holds"] == [True]
    found = scale(["v1.2.3"], [("SemverLt", "v1.2.3")], "1.2.3-rc.1")
    assert found["stops"] == ["1.2.3-rc.1", "v1.2.3"]


def test_neighbours_beyond_the_exact_range_of_floats_are_two_stops() -> None:
    found = scale([str(2**53), str(2**53 + 1)], [("Gt", str(2**53))])
    low, high = found["stops"].index(str(2**53)), found["stops"].index(str(2**53 + 1))
    assert high == low + 1
    assert found["turns"] == [high]


def test_labels_are_read_as_node_affinity_reads_them() -> None:
    found = scale(["007"], [("Gt", "5")], place=NODE_SELECTOR)
    assert [found["stops"][at] for at in found["now"]] == ["7"]


def test_ticks_are_written_as_inequalities() -> None:
    found = scale(["3"], [("Lt", "5"), ("Gt", "1"), ("SemverEq", "7")])
    assert [tick["rule"] for tick in found["ticks"]] == ["< 5", "> 1", "= 7"]
