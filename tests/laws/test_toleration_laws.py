"""Tolerations: compiled matching is the written rules, and an explanation is given exactly when there is no match."""

import re
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.falsify import LAW_SETTINGS, assert_notices

from moorage.match.tolerations import TolerationMatcher, compile_toleration, compile_tolerations
from moorage.model.gates import (
    SEMVER_COMPARISON_OPERATORS,
    TAINT_TOLERATION_COMPARISON_OPERATORS,
    GateSet,
    gates_from,
)
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration

_EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
_INTEGERS = st.integers(-3, 12).map(str)
_VERSIONS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "v"]),
    st.lists(st.integers(0, 3).map(str), min_size=1, max_size=3).map(".".join),
    st.sampled_from(["", "", "-rc.1", "-rc.2", "-2", "-10", "-alpha", "+build", "-rc.1+build"]),
)
_ODD = st.sampled_from(
    ["", "007", "-0", "+5", "9223372036854775807", "9223372036854775808", "1e3", "abc", "1.2.x", "1.2.3-01", "01.2.3"]
)
_VALUES = st.one_of(_INTEGERS, _VERSIONS, _ODD)
_KEYS = st.sampled_from(["a", "a", "a", "b"])  # mostly the same, so that values decide
_OPERATORS = ["", "Equal", "Exists", "Lt", "Gt", "SemverLt", "SemverGt", "SemverEq", "In"]

TAINTS = st.builds(Taint, key=_KEYS, value=_VALUES, effect=st.sampled_from(_EFFECTS))
TOLERATIONS = st.builds(
    Toleration,
    key=st.one_of(_KEYS, st.just("")),
    operator=st.sampled_from(_OPERATORS),
    value=_VALUES,
    effect=st.sampled_from(["", "", "", *_EFFECTS]),
)


@st.composite
def _pairs(draw: st.DrawFn) -> tuple[Toleration, Taint]:
    """A toleration and a taint that have to do with each other: half the time, only the comparison decides."""
    if draw(st.booleans()):
        return draw(TOLERATIONS), draw(TAINTS)
    operators, values = draw(
        st.sampled_from([(["Lt", "Gt"], _INTEGERS), (["SemverLt", "SemverGt", "SemverEq"], _VERSIONS)])
    )
    effect = draw(st.sampled_from(_EFFECTS))
    toleration = Toleration(
        "a", draw(st.sampled_from(operators)), draw(values), draw(st.sampled_from(["", effect, *_EFFECTS]))
    )
    return toleration, Taint("a", draw(values), effect)


PAIRS = _pairs()
GATES = st.builds(
    lambda numbers, versions: gates_from(
        {TAINT_TOLERATION_COMPARISON_OPERATORS.name: numbers, SEMVER_COMPARISON_OPERATORS.name: versions}
    ),
    st.booleans(),
    st.booleans(),
)


def naive_integer(text: str) -> int | None:
    if not re.fullmatch(r"0|-?[1-9][0-9]*", text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


def naive_version(text: str) -> list[Any] | None:
    """A list that compares as the version does: a release sorts above its pre-releases by its sentinel."""
    found = re.fullmatch(
        r"v?0*([0-9]+)(?:\.0*([0-9]+)(?:\.0*([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?)?)?", text.strip()
    )
    if not found:
        return None
    major, minor, patch, pre = found.groups()
    key: list[Any] = [int(major), int(minor or 0), int(patch or 0)]
    if pre is None:
        return [*key, (2,)]
    for part in pre.split("."):
        if not part or re.fullmatch(r"0[0-9]+", part):
            return None
        key.append((0, int(part)) if part.isdigit() else (1, part))
    return key


def naive_tolerates(toleration: Toleration, taint: Taint, gates: GateSet) -> bool:
    """The rules as KEP-5471 and KEP-5721 state them, one after the other, everything parsed on the spot."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    operator = toleration.operator or "Equal"
    if operator == "Equal":
        return toleration.value == taint.value
    if operator == "Exists":
        return True
    if operator in ("Lt", "Gt"):
        if not gates.enabled(TAINT_TOLERATION_COMPARISON_OPERATORS):
            return False
        number, limit = naive_integer(taint.value), naive_integer(toleration.value)
        if number is None or limit is None:
            return False
        return number < limit if operator == "Lt" else number > limit
    if operator in ("SemverLt", "SemverGt", "SemverEq"):
        if not gates.enabled(SEMVER_COMPARISON_OPERATORS):
            return False
        version, bound = naive_version(taint.value), naive_version(toleration.value)
        if version is None or bound is None:
            return False
        return {"SemverLt": version < bound, "SemverGt": version > bound, "SemverEq": version == bound}[operator]
    return False


Tolerates = Callable[[Toleration, Taint, GateSet], bool]


def compiled(toleration: Toleration, taint: Taint, gates: GateSet) -> bool:
    return compile_toleration(toleration, gates).match(taint)


def rules_law(tolerates: Tolerates) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(PAIRS, GATES)
    def law(pair: tuple[Toleration, Taint], gates: GateSet) -> None:
        toleration, taint = pair
        assert tolerates(toleration, taint, gates) is naive_tolerates(toleration, taint, gates)

    return law


def explanation_law(explain: Callable[[TolerationMatcher, Taint], str | None]) -> Callable[[], None]:
    @LAW_SETTINGS
    @given(PAIRS, GATES)
    def law(pair: tuple[Toleration, Taint], gates: GateSet) -> None:
        toleration, taint = pair
        matcher = compile_toleration(toleration, gates)
        sentence = explain(matcher, taint)
        assert matcher.match(taint) is (sentence is None)
        assert sentence is None or "\n" not in sentence

    return law


def test_compiled_matching_is_the_rules() -> None:
    rules_law(compiled)()


def test_rules_law_notices_the_inequality_the_other_way_round() -> None:
    def broken(toleration: Toleration, taint: Taint, gates: GateSet) -> bool:
        swapped = {"Lt": "Gt", "Gt": "Lt"}.get(toleration.operator, toleration.operator)
        return compiled(Toleration(toleration.key, swapped, toleration.value, toleration.effect), taint, gates)

    assert_notices(rules_law(broken))


def test_rules_law_notices_an_ignored_gate() -> None:
    everything = gates_from({"AllAlpha": True})
    assert_notices(rules_law(lambda toleration, taint, gates: compiled(toleration, taint, everything)))


def test_an_explanation_is_given_exactly_when_there_is_no_match() -> None:
    explanation_law(lambda matcher, taint: matcher.explain(taint))()


def test_explanation_law_notices_a_reason_that_ignores_the_effect() -> None:
    def broken(matcher: TolerationMatcher, taint: Taint) -> str | None:
        return matcher.explain(Taint(taint.key, taint.value, matcher.toleration.effect))

    assert_notices(explanation_law(broken))


@LAW_SETTINGS
@given(st.lists(TOLERATIONS, max_size=5), st.lists(TAINTS, max_size=5), GATES)
def test_a_set_is_its_members_in_order(tolerations: list[Toleration], taints: list[Taint], gates: GateSet) -> None:
    together = compile_tolerations(tolerations, gates)
    for taint in taints:
        first = next((i for i, one in enumerate(tolerations) if naive_tolerates(one, taint, gates)), None)
        assert together.first_matching(taint) == (None if first is None else (first, tolerations[first]))
        assert together.tolerates(taint) is (first is not None)
        assert (together.explain(taint) is None) is (first is not None)
    effects = ("NoSchedule", "NoExecute")
    assert together.untolerated(taints, effects) == [
        taint
        for taint in taints
        if taint.effect in effects and not any(naive_tolerates(one, taint, gates) for one in tolerations)
    ]
