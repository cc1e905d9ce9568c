from itertools import product

import pytest

from moorage.match.comparison import Unreadable
from moorage.match.operators import TOLERATION, names_in
from moorage.match.taint_messages import describe_toleration
from moorage.match.tolerations import (
    NO_TOLERATION,
    compile_toleration,
    compile_tolerations,
)
from moorage.model.gates import default_gates, gates_from
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration

ON, OFF = gates_from({"AllAlpha": True}), default_gates()
OPERATORS = ("", *names_in(TOLERATION), "In", "lt")

#: For each pair of (taint value, toleration value), the operators that match with all gates on.
MATRIX = {
    ("5", "5"): {"", "Equal", "Exists", "SemverEq"},
    ("3", "5"): {"Exists", "Lt", "SemverLt"},
    ("10", "5"): {"Exists", "Gt", "SemverGt"},
    ("-3", "5"): {"Exists", "Lt"},
    ("05", "5"): {"Exists", "SemverEq"},
    ("v5.0", "5"): {"Exists", "SemverEq"},
    ("5.0.0-rc.1", "5"): {"Exists", "SemverLt"},
    ("5.0.0+build", "5"): {"Exists", "SemverEq"},
    ("1.30.0", "1.4"): {"Exists", "SemverGt"},
    ("high", "5"): {"Exists"},
    ("", "5"): {"Exists"},
    ("", ""): {"", "Equal", "Exists"},
    ("3", "high"): {"Exists"},
    ("9223372036854775808", "5"): {"Exists", "SemverGt"},
}


@pytest.mark.parametrize(("values", "operator"), list(product(MATRIX, OPERATORS)))
def test_every_operator_on_every_kind_of_value(values: tuple[str, str], operator: str) -> None:
    taint_value, toleration_value = values
    taint = Taint("k", taint_value, "NoSchedule")
    toleration = Toleration("k", operator, toleration_value)
    matcher = compile_toleration(toleration, ON)
    assert matcher.match(taint) is (operator in MATRIX[values])
    assert (matcher.explain(taint) is None) is matcher.match(taint)

    off = compile_toleration(toleration, OFF)
    assert off.match(taint) is (operator in MATRIX[values] and operator in ("", *names_in(TOLERATION, OFF)))
    assert (off.explain(taint) is None) is off.match(taint)


@pytest.mark.parametrize(
    ("key", "effect", "operator"), list(product(["", "k", "other"], ["", "NoSchedule", "NoExecute"], OPERATORS))
)
def test_key_and_effect_come_before_the_operator(key: str, effect: str, operator: str) -> None:
    matches = {"": "5", "Equal": "5", "Exists": "", "Lt": "9", "Gt": "1", "SemverLt": "9", "SemverGt": "1"}
    value = matches.get(operator, "5")
    taint = Taint("k", "5", "NoSchedule")
    applies = key != "other" and effect != "NoExecute"
    matcher = compile_toleration(Toleration(key, operator, value, effect), ON)
    assert matcher.match(taint) is (applies and operator not in ("In", "lt"))
    assert matcher.concerns(taint) is applies
    assert (matcher.explain(taint) is None) is matcher.match(taint)


@pytest.mark.parametrize(
    ("toleration", "taint", "sentence"),
    [
        (
            Toleration("failure-probability", "Lt", "5"),
            Taint("failure-probability", "15", "NoSchedule"),
            "taint failure-probability=15 is not tolerated: 15 < 5 is false (toleration Lt 5)",
        ),
        (
            Toleration("sla", "Gt", "95"),
            Taint("sla", "95", "NoSchedule"),
            "taint sla=95 is not tolerated: 95 > 95 is false (toleration Gt 95)",
        ),
        (
            Toleration("kubelet", "SemverGt", "v1.28.0"),
            Taint("kubelet", "1.28.0-rc.1", "NoSchedule"),
            "taint kubelet=1.28.0-rc.1 is not tolerated: 1.28.0-rc.1 > v1.28.0 is false (toleration SemverGt v1.28.0)",
        ),
        (
            Toleration("sla", "Gt", "95"),
            Taint("sla", "high", "NoSchedule"),
            'taint sla=high is not tolerated: taint value "high" is not a 64-bit integer (toleration Gt 95)',
        ),
        (
            Toleration("sla", "Gt", "high"),
            Taint("sla", "97", "NoSchedule"),
            'taint sla=97 is not tolerated: toleration value "high" is not a 64-bit integer (toleration Gt high)',
        ),
        (
            Toleration("a", "", "x"),
            Taint("a", "", "NoSchedule"),
            'taint a is not tolerated: "" = x is false (toleration Equal x)',
        ),
        (
            Toleration("a", "In", "x"),
            Taint("a", "x", "NoSchedule"),
            'taint a=x is not tolerated: there is no operator "In" (toleration In x)',
        ),
        (
            Toleration("a", "Exists", "", "NoExecute"),
            Taint("a", "x", "NoSchedule"),
            "taint a=x is not tolerated: its effect is NoSchedule, the toleration's is NoExecute",
        ),
        (
            Toleration("b", "Exists"),
            Taint("a", "x", "NoSchedule"),
            "taint a=x is not tolerated: its key is a, the toleration's is b",
        ),
    ],
)
def test_the_sentence_has_the_inequality(toleration: Toleration, taint: Taint, sentence: str) -> None:
    assert compile_toleration(toleration, ON).explain(taint) == sentence


def test_a_gate_that_is_off_is_named() -> None:
    matcher = compile_toleration(Toleration("a", "SemverGt", "1.2"), OFF)
    taint = Taint("a", "2.0", "NoSchedule")
    gate = "TaintTolerationNodeAffinitySemverComparisonOperators"
    assert matcher.never == f"operator SemverGt needs the feature gate {gate}"
    assert matcher.explain(taint) == f"taint a=2.0 is not tolerated: {matcher.never} (toleration SemverGt 1.2)"
    assert matcher.unreadable(taint) is None


def test_an_expression_without_its_gate_matches_nothing_at_all() -> None:
    matcher = compile_toleration(Toleration(expression="true"), OFF)
    for taint in (Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule"), Taint("a", "b", "NoExecute")):
        assert not matcher.match(taint)
        assert "an expression needs the feature gate TaintTolerationCEL" in (matcher.explain(taint) or "")


def test_an_unreadable_taint_is_reported_only_by_what_would_compare_it() -> None:
    taint = Taint("a", "high", "NoSchedule")
    less = compile_toleration(Toleration("a", "Lt", "5"), ON)
    assert less.unreadable(taint) == Unreadable("taint", "a", "high", "Lt", "is not a 64-bit integer")
    assert compile_toleration(Toleration("a", "SemverLt", "5"), ON).unreadable(taint) == Unreadable(
        "taint",
        "a",
        "high",
        "SemverLt",
        "is not a semantic version",
    )
    for other in (
        Toleration("b", "Lt", "5"),
        Toleration("a", "Lt", "5", "NoExecute"),
        Toleration("a", "Exists"),
        Toleration("a", "Equal", "5"),
        Toleration("a", "Lt", "low"),
    ):
        assert compile_toleration(other, ON).unreadable(taint) is None
    assert compile_toleration(Toleration("a", "Lt", "5"), ON).unreadable(Taint("a", "7", "NoSchedule")) is None


def test_a_set_finds_the_first_match_in_the_pods_order() -> None:
    tolerations = (
        Toleration("a", "Lt", "5", "NoExecute", 30),
        Toleration("a", "Lt", "50", "NoExecute", 300),
        Toleration("", "Exists", "", "NoExecute", 3000),
    )
    together = compile_tolerations(tolerations, ON)
    assert together.first_matching(Taint("a", "3", "NoExecute")) == (0, tolerations[0])
    assert together.first_matching(Taint("a", "30", "NoExecute")) == (1, tolerations[1])
    assert together.first_matching(Taint("a", "high", "NoExecute")) == (2, tolerations[2])
    assert together.first_matching(Taint("a", "3", "NoSchedule")) is None


def test_untolerated_taints_keep_their_order_and_skip_other_effects() -> None:
    taints = (
        Taint("a", "1", "NoSchedule"),
        Taint("b", "1", "PreferNoSchedule"),
        Taint("c", "1", "NoExecute"),
        Taint("d", "1", "NoSchedule"),
    )
    together = compile_tolerations((Toleration("c", "Exists"),), ON)
    assert together.untolerated(taints, ("NoSchedule", "NoExecute")) == [taints[0], taints[3]]
    assert together.untolerated(taints, ("PreferNoSchedule",)) == [taints[1]]


def test_a_set_explains_every_toleration_for_the_key_in_one_sentence() -> None:
    together = compile_tolerations(
        (Toleration("a", "Equal", "5"), Toleration("b", "Exists"), Toleration("a", "Gt", "5")), ON
    )
    assert together.explain(Taint("a", "4", "NoSchedule")) == (
        "taint a=4 is not tolerated: 4 = 5 is false (toleration Equal 5); 4 > 5 is false (toleration Gt 5)"
    )
    assert together.explain(Taint("c", "4", "NoSchedule")) == f"taint c=4 is not tolerated: {NO_TOLERATION}"
    assert together.explain(Taint("a", "6", "NoSchedule")) is None
    unreadable = together.unreadable(Taint("a", "x", "NoSchedule"))
    assert unreadable is not None
    assert unreadable.obstacle == "{a: x} is not a 64-bit integer"
    assert unreadable.sentence == "taint a=x is not a 64-bit integer"


def test_a_line_break_does_not_break_the_sentence() -> None:
    matcher = compile_toleration(Toleration("a\n", "Equal", "b\n"), ON)
    assert matcher.explain(Taint("a\n", "\x1b[31m", "NoSchedule")) == (
        'taint "a\\n"="\\x1b[31m" is not tolerated: "\\x1b[31m" = "b\\n" is false (toleration Equal "b\\n")'
    )


def test_a_long_expression_is_cut_in_descriptions() -> None:
    assert describe_toleration(Toleration(expression="a" * 200)).endswith('aaa..."')
    assert describe_toleration(Toleration("a", "Exists")) == "toleration Exists"
