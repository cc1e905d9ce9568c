"""Forms of a rule that claim to be exact match the same taints, from operators to CEL and back."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices
from tests.laws.test_toleration_laws import TAINTS, TOLERATIONS

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.dashboard.questions.playing.cel_form import expression_of, with_operator
from moorage.dashboard.questions.playing.forms import toleration_in_other_forms
from moorage.dashboard.questions.playing.rule_form import RuleForm
from moorage.dashboard.questions.playing.rule_text import KINDS
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import all_gates
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.plan.planner import Planner, Settings

_ALL = all_gates()
_PLANNER = Planner(Settings(_ALL))
_NO_CLUSTER = Base(_PLANNER, _PLANNER.build())
_LIMITS = st.integers(-3, 12)
_VERSIONS = st.sampled_from(["1", "1.2", "v1.2.3", "1.2.3-rc.1", "2.0.0", "0.1"])
_ORDERS = st.sampled_from(["<", "<=", ">", ">=", "=="])
_CONDITIONS = st.one_of(
    st.sampled_from(["a", "b", ""]).map(lambda key: f"taint.key == '{key}'"),
    st.sampled_from(["NoSchedule", "NoExecute", "Foo"]).map(lambda effect: f"taint.effect == '{effect}'"),
    st.sampled_from(["NoSchedule", "NoExecute"]).map(lambda effect: f"taint.effect != '{effect}'"),
    st.sampled_from(["5", "1.2", "abc", ""]).map(lambda value: f"taint.value == '{value}'"),
    st.just("taint.key in ['a', 'b']"),
    st.builds("int(taint.value) {} {}".format, _ORDERS, _LIMITS),
    st.builds("{1} {0} int(taint.value)".format, _ORDERS, _LIMITS),
    st.builds("semver(taint.value, true).compareTo(semver('{1}', true)) {0} 0".format, _ORDERS, _VERSIONS),
    st.builds("!semver(taint.value, true).isLessThan(semver('{}', true))".format, _VERSIONS),
    st.builds("semver('{}', true).isGreaterThan(semver(taint.value, true))".format, _VERSIONS),
    st.sampled_from(["isSemver(taint.value, true)", "taint.value.matches('^(0|-?[1-9][0-9]*)$')", "true"]),
)
_EXPRESSIONS = st.recursive(
    _CONDITIONS, lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from(["&&", "||"]), inner), max_leaves=5
)


def tolerates(toleration: object, taint: Taint) -> bool:
    return isinstance(toleration, Toleration) and compile_tolerations((toleration,), _ALL).tolerates(taint)


def check_forms(toleration: Toleration, taint: Taint, forms: Iterable[RuleForm]) -> None:
    """Check that a form without differences agrees on every taint, and that a missing form has a reason."""
    for form in forms:
        assert (form.item is not None) != bool(form.why_not)
        if form.item is not None and not form.differs:
            assert tolerates(toleration, taint) == tolerates(form.item, taint), form


@LAW_SETTINGS
@given(TOLERATIONS, TAINTS)
def test_a_toleration_and_its_exact_forms_match_the_same_taints(toleration: Toleration, taint: Taint) -> None:
    check_forms(toleration, taint, toleration_in_other_forms(toleration))


@LAW_SETTINGS
@given(_EXPRESSIONS, TAINTS)
def test_an_expression_and_its_operator_match_the_same_taints(expression: str, taint: Taint) -> None:
    check_forms(Toleration(expression=expression), taint, [with_operator(expression)])


@LAW_SETTINGS
@given(TOLERATIONS, TAINTS)
def test_an_operator_written_as_an_expression_is_recognized(toleration: Toleration, taint: Taint) -> None:
    expression = expression_of(toleration)
    if expression is None or (not toleration.key and toleration.operator != "Exists"):
        return
    back = with_operator(expression)
    assert not back.differs
    assert tolerates(toleration, taint) == tolerates(back.item, taint)


_PIECES = st.sampled_from(
    [
        *(
            "- ",
            "key: ",
            "operator: ",
            "Lt",
            "SemverGt",
            "value: ",
            '"5"',
            "effect: NoExecute\n",
            "\n",
            "  ",
            "values: ",
        ),
        *("expression: ", "|\n", "    taint.key == 'a'", "&& ", "taint.value", "[", "]", "{", "}", ": ", ",", "'", '"'),
        *("&a ", "*a", "<<: ", "!!int ", "tolerationSeconds: ", "5", "null", "\t", "ü", "😀", "\u2028", "\x85", "\x00"),
        *("nodeAffinity:\n", "nodeSelectorTerms:\n", "matchExpressions:\n", "podAffinity:\n", "topologyKey: a\n"),
        *("spec:\n", "template:\n", "metadata: ", "---\n", "apiVersion: v1\n", "tolerations: ", "semver(", "taint."),
    ]
)
_TEXTS = st.lists(_PIECES, max_size=14).map("".join)


@LAW_SETTINGS
@given(st.sampled_from(KINDS), _TEXTS, st.integers(1, 5), st.integers(1, 30))
def test_any_text_is_answered_with_places_that_are_in_it(kind: str, text: str, line: int, column: int) -> None:
    lines = text.split("\n")
    rule = {"kind": kind, "text": text, "taints": "n1 a=5:NoSchedule\nn2 disk=ssd"}
    for part in parts_of(QUESTIONS["playground"], _NO_CLUSTER, rule):
        assert "error" not in part
        for problem in part.get("errors", ()):
            assert 1 <= problem["line"] <= len(lines)
            assert 1 <= problem["column"] <= len(lines[problem["line"] - 1]) + 1
            assert problem["endColumn"] > problem["column"]
    (part,) = parts_of(QUESTIONS["complete"], _NO_CLUSTER, {**rule, "line": line, "column": column})
    assert 1 <= part["column"] <= part["endColumn"]


def test_the_law_notices_a_form_that_is_not_exact() -> None:
    @given(TOLERATIONS, TAINTS)
    def law(toleration: Toleration, taint: Taint) -> None:
        wrong = [RuleForm(one.form, one.item, one.why_not) for one in toleration_in_other_forms(toleration)]
        check_forms(toleration, taint, wrong)

    assert_notices(law)
