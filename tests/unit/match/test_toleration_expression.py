from collections.abc import Callable
from typing import Any

from moorage.match.cel import CelError, Issue
from moorage.match.cel.functions import Interval
from moorage.match.comparison import Unreadable
from moorage.match.evaluation.taint_expressions import NOT_TRUE
from moorage.match.tolerations import ProgramCache, compile_toleration, compile_tolerations
from moorage.model.gates import gates_from
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration

ON = gates_from({"AllAlpha": True})
SPOT = Taint("spot", "yes", "NoSchedule")


class _Scripted:
    """A program that does as the test says."""

    def __init__(self, evaluate: Callable[[Taint], bool]) -> None:
        self._evaluate = evaluate

        self.estimate = Interval(1, 1)

    def evaluate_with_cost(self, taint: Taint) -> tuple[bool, int]:
        return self._evaluate(taint), 1


class _Programs(ProgramCache):
    """A cache with one answer, which remembers what it was asked for."""

    def __init__(self, answer: _Scripted | list[Issue]) -> None:
        super().__init__()
        self.asked: list[str] = []
        self._answer = answer

    def get(self, source: str) -> Any:
        self.asked.append(source)
        return self._answer


def _failing(taint: Taint) -> bool:
    raise CelError("no such key: 1")


def test_an_expression_is_compiled_once_and_decides_alone() -> None:
    programs = _Programs(_Scripted(lambda taint: taint.key == "spot"))
    matcher = compile_toleration(Toleration(expression="taint.key == 'spot'", tolerationSeconds=5), ON, programs)
    assert matcher.match(SPOT)
    assert matcher.explain(SPOT) is None
    other = Taint("other", "", "NoExecute")
    assert not matcher.match(other)
    assert matcher.explain(other) == (
        f"taint other is not tolerated: {NOT_TRUE} (toleration expression \"taint.key == 'spot'\")"
    )
    assert matcher.unreadable(other) is None
    assert programs.asked == ["taint.key == 'spot'"]


def test_an_expression_is_looked_at_before_the_operator() -> None:
    programs = _Programs(_Scripted(lambda taint: False))
    matcher = compile_toleration(Toleration(operator="Exists", expression="false"), ON, programs)
    assert not matcher.match(SPOT)


def test_a_failed_evaluation_does_not_match_and_is_reported_once() -> None:
    failures: list[tuple[str, Taint, str]] = []
    together = compile_tolerations(
        (Toleration(expression="x"),),
        ON,
        _Programs(_Scripted(_failing)),
        lambda source, taint, error: failures.append((source, taint, error)),
    )
    assert not together.tolerates(SPOT)
    assert failures == [("x", SPOT, "no such key: 1")]
    assert together.unreadable(SPOT) == Unreadable("taint", "spot", SPOT.value, "expression", "no such key: 1")
    assert together.obstacle(SPOT) == "the expression failed: no such key: 1"
    assert "the expression failed: no such key: 1" in (together.explain(SPOT) or "")
    assert len(failures) == 1


def test_without_a_callback_a_failure_is_just_no_match() -> None:
    matcher = compile_toleration(Toleration(expression="x"), ON, _Programs(_Scripted(_failing)))
    assert not matcher.match(SPOT)


def test_expressions_that_do_not_compile_never_match() -> None:
    issue = Issue(1, 7, "undefined field 'foo'")
    matcher = compile_toleration(Toleration(expression="taint.foo"), ON, _Programs([issue]))
    assert not matcher.match(SPOT)
    assert matcher.never == "the expression does not compile: 1:7: undefined field 'foo'"
    assert matcher.never in (matcher.explain(SPOT) or "")


def test_real_expressions_with_and_without_a_cache() -> None:
    programs = ProgramCache()
    toleration = Toleration(expression="taint.key == 'spot' && taint.value.matches('^y')")
    for matcher in (compile_toleration(toleration, ON), *(compile_toleration(toleration, ON, programs) for _ in "ab")):
        assert matcher.match(SPOT)
        assert not matcher.match(Taint("spot", "no", "NoSchedule"))
        assert not matcher.match(Taint("other", "yes", "NoSchedule"))
    assert (programs.misses, programs.hits) == (1, 1)


def test_real_expressions_that_fail_or_do_not_compile() -> None:
    failures: list[str] = []
    failing = compile_toleration(
        Toleration(expression="int(taint.value) > 5"), ON, None, lambda source, taint, error: failures.append(error)
    )
    assert failing.match(Taint("a", "7", "NoSchedule"))
    assert not failing.match(SPOT)
    assert len(failures) == 1
    assert (compile_toleration(Toleration(expression="taint.foo == ''"), ON).never or "").endswith(
        "1:6: undefined field 'foo'"
    )
    assert "bool" in (compile_toleration(Toleration(expression="taint.key"), ON).never or "")
    assert compile_toleration(Toleration(expression="true || " * 5_000 + "true"), ON).never


def test_expensive_tolerations_are_compiled_once_for_pods_that_wait() -> None:
    programs = ProgramCache()
    expensive = (Toleration(expression="lists.range(9000).all(x, x >= 0) && taint.key == 'spot'"),)
    first = compile_tolerations(expensive, ON, programs)
    assert first.is_expensive
    assert compile_tolerations(expensive, ON, programs) is first
    assert first.tolerates(SPOT)
    assert first.first_matching(SPOT) == (0, expensive[0])
    assert first.first_matching(Taint("other", "", "NoSchedule")) is None
    cheap = (Toleration(expression="taint.key == 'spot'"),)
    assert compile_tolerations(cheap, ON, programs) is not compile_tolerations(cheap, ON, programs)
