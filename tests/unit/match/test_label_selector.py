from itertools import product

import pytest

from moorage.match.label_selector import EVERYTHING, NOTHING, compile_label_selector, compile_label_set
from moorage.match.requirement import BINARY_OPERATORS, SelectorError, compile_requirement
from moorage.model.types.meta import LabelSelector, LabelSelectorRequirement
from moorage.model.types.view import ABSENT_LIST

#: operator → the label sets it matches with the value 5 (or without values), among the six below.
LABEL_SETS: tuple[dict[str, str], ...] = ({}, {"n": ""}, {"n": "5"}, {"n": "007"}, {"n": "-2"}, {"n": "1.2"})
MATCHES = {
    "in": [False, False, True, False, False, False],
    "notin": [True, True, False, True, True, True],
    "=": [False, False, True, False, False, False],
    "==": [False, False, True, False, False, False],
    "!=": [True, True, False, True, True, True],
    "exists": [False, True, True, True, True, True],
    "!": [True, False, False, False, False, False],
    "gt": [False, False, False, True, False, False],
    "lt": [False, False, False, False, True, False],
    "SemverGt": [False, False, False, True, False, False],
    "SemverLt": [False, False, False, False, False, True],
    "SemverEq": [False, False, True, False, False, False],
}


@pytest.mark.parametrize("operator", MATCHES)
def test_every_operator_on_every_kind_of_label(operator: str) -> None:
    requirement = compile_requirement("n", operator, () if operator in ("exists", "!") else ("5",))
    assert [requirement.match(labels) for labels in LABEL_SETS] == MATCHES[operator]
    assert [requirement.explain(labels) is None for labels in LABEL_SETS] == MATCHES[operator]


@pytest.mark.parametrize(("left", "right"), list(product(MATCHES, MATCHES)))
def test_two_operators_together_are_both(left: str, right: str) -> None:
    requirements = [
        compile_requirement("n", operator, () if operator in ("exists", "!") else ("5",)) for operator in (left, right)
    ]
    for labels, first, second in zip(LABEL_SETS, MATCHES[left], MATCHES[right], strict=True):
        assert all(requirement.match(labels) for requirement in requirements) is (first and second)


@pytest.mark.parametrize(
    ("operator", "values", "labels", "sentence"),
    [
        ("in", ("b", "a"), {"zone": "c"}, "label zone=c: c in (a,b) is false"),
        ("in", ("a",), {}, "label zone is missing, zone in (a) is required"),
        ("notin", ("a",), {"zone": "a"}, "label zone=a: a notin (a) is false"),
        ("=", ("",), {"zone": "a"}, 'label zone=a: a = "" is false'),
        ("exists", (), {}, "label zone is missing, zone is required"),
        ("!", (), {"zone": "a"}, "label zone=a: it must not be there"),
        ("gt", ("5",), {"zone": "5"}, "label zone=5: 5 > 5 is false"),
        ("gt", ("5",), {"zone": "x"}, 'label zone=x: "x" is not a 64-bit integer'),
        ("SemverGt", ("5.10.0",), {"zone": "5.4.0"}, "label zone=5.4.0: 5.4.0 > 5.10.0 is false"),
        ("SemverEq", ("5.10.0",), {}, "label zone is missing, zone SemverEq 5.10.0 is required"),
    ],
)
def test_the_sentence_has_the_inequality(
    operator: str, values: tuple[str, ...], labels: dict[str, str], sentence: str
) -> None:
    assert compile_requirement("zone", operator, values).explain(labels) == sentence


@pytest.mark.parametrize(
    ("operator", "values", "error"),
    [
        ("in", (), "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
        ("in", ABSENT_LIST, "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"),
        ("=", ("a", "b"), 'values: Invalid value: ["a","b"]: exact-match compatibility requires one single value'),
        ("exists", ("a",), 'values: Invalid value: ["a"]: values set must be empty for exists and does not exist'),
        ("gt", ("a",), "values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer"),
        ("SemverGt", ("a",), 'values[0]: Invalid value: "a": Invalid character(s) found in major number "a"'),
        (
            "SemverGt",
            ABSENT_LIST,
            "values: Invalid value: null: "
            "for 'SemverGt', 'SemverLt', 'SemverEq' operators, exactly one value is required",
        ),
        (
            "like",
            (),
            'operator: Unsupported value: "like": supported values: '
            + ", ".join(f'"{name}"' for name in (*BINARY_OPERATORS, "exists", "!")),
        ),
    ],
)
def test_errors_have_kubernetes_texts(operator: str, values: tuple[str, ...], error: str) -> None:
    with pytest.raises(SelectorError) as caught:
        compile_requirement("k", operator, values)
    assert str(caught.value) == error
    assert [str(each) for each in caught.value.errors] == [error]


def test_several_errors_are_one_text_in_brackets() -> None:
    with pytest.raises(SelectorError) as caught:
        compile_requirement("k", "gt", ("a", "b"), "spec.x[0]")
    assert str(caught.value) == (
        "[spec.x[0].values: Invalid value: [\"a\",\"b\"]: for 'Gt', 'Lt' operators, exactly one value is required, "
        "spec.x[0].values[0]: Invalid value: \"a\": for 'Gt', 'Lt' operators, the value must be an integer, "
        "spec.x[0].values[1]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer]"
    )


def test_absent_selector_matches_nothing_and_empty_selector_everything() -> None:
    assert compile_label_selector(None) is NOTHING
    assert compile_label_selector(LabelSelector()) is EVERYTHING
    for labels in LABEL_SETS:
        assert not NOTHING.match(labels)
        assert NOTHING.explain(labels)
        assert EVERYTHING.match(labels)
        assert EVERYTHING.explain(labels) is None
    assert EVERYTHING.everything
    assert not NOTHING.everything


def test_the_canonical_form_is_sorted_by_key() -> None:
    selector = compile_label_selector(
        LabelSelector(
            {"z": "1", "a": "2"},
            (
                LabelSelectorRequirement("m", "NotIn", ("y", "x")),
                LabelSelectorRequirement("b", "DoesNotExist"),
                LabelSelectorRequirement("c", "Exists"),
            ),
        )
    )
    assert str(selector) == "a=2,!b,c,m notin (x,y),z=1"


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(SelectorError, match=r'^"Gt" is not a valid label selector operator$'):
        compile_label_selector(LabelSelector(matchExpressions=(LabelSelectorRequirement("a", "Gt", ("1",)),)))


def test_a_plain_map_is_not_checked() -> None:
    selector = compile_label_set({"bad key": "bad value", "a": "b"})
    assert selector.match({"bad key": "bad value", "a": "b", "c": "d"})
    assert selector.explain({"a": "b"}) == "label bad key is missing, bad key=bad value is required"


@pytest.mark.parametrize("values", [(), ABSENT_LIST])
def test_empty_values_of_a_label_selector_are_none(values: tuple[str, ...]) -> None:
    with pytest.raises(SelectorError, match="values: Invalid value: null: "):
        compile_label_selector(LabelSelector(matchExpressions=(LabelSelectorRequirement("k", "In", values),)))
