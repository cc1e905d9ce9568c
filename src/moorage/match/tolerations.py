"""Compile a pod's tolerations: which taints they tolerate, and why not the others.

In: `Toleration` views and the component's gates. Out: a `TolerationMatcher` each, or a `TolerationSet` of all; matching
cannot fail, everything is parsed here and once. Kubernetes: api/core/v1/toleration.go (ToleratesTaint) and
component-helpers' TolerationsTolerateTaint.
Differs: `expression` (KEP-5500) is looked at first; where its gate is off that toleration matches nothing, and so does
one that fails, which a callback hears of; an expensive one is evaluated within a budget, and where that happens in
another process, matching raises `Undecided` until the answer is there. There are the semver operators of KEP-5721. A
taint whose value cannot be compared can be named (`unreadable`), it never matches.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from moorage.match.comparison import (
    EXPRESSION,
    TAINT_VALUE,
    Unreadable,
    cut_error,
    false_inequality,
    shown,
    true_inequality,
    unreadable_value,
)
from moorage.match.evaluation.accounts import BUDGET, SHORT, Account, Evaluations, Undecided
from moorage.match.evaluation.taint_expressions import (
    NOT_ASKED,
    EvaluationFailed,
    ExpressionQuestions,
    ask_expression,
    not_compiled,
)
from moorage.match.operators import EQUAL, EXISTS, TOLERATION, comparison_of, needed_gate, use_of
from moorage.match.taint_messages import describe_taint, describe_toleration
from moorage.model.gates import TAINT_TOLERATION_CEL, GateSet
from moorage.model.go.quoting import go_quote
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration

if TYPE_CHECKING:
    from moorage.match.cel import Issue, Program

DEFAULT_CAPACITY = 1024
_ASKED_AT_A_TIME = 16


class ProgramCache:
    """Compiled expressions by text, with counters. CEL, which is large, is imported by the first expression.

    `evaluations` evaluates expensive ones, `patiently` if it is worth to wait for another budget.
    """

    def __init__(
        self, capacity: int = DEFAULT_CAPACITY, evaluations: Evaluations | None = None, *, patiently: bool = False
    ) -> None:
        if capacity < 1:
            raise ValueError("a cache holds at least one program")
        self.capacity = capacity
        self.evaluations = evaluations or Evaluations()
        self.patiently = patiently
        self.expensive: dict[tuple[tuple[Toleration, ...], GateSet, str], TolerationSet] = {}
        self.hits = 0
        self.misses = 0
        self.evictions = 0
        self._programs: OrderedDict[str, Program | list[Issue]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._programs)

    def get(self, source: str) -> "Program | list[Issue]":
        with self._lock:
            program = self._programs.get(source)
            if program is not None:
                self._programs.move_to_end(source)
                self.hits += 1
                return program
            self.misses += 1
        from moorage.match.cel import compile_expression, taint_environment

        compiled = compile_expression(source, taint_environment())
        with self._lock:
            self._programs[source] = compiled
            self._programs.move_to_end(source)
            if len(self._programs) > self.capacity:
                self._programs.popitem(last=False)
                self.evictions += 1
        return compiled


class TolerationMatcher:
    """One toleration, compiled.

    `match(taint)` answers. `never` says why no taint at all can match, if that is so: a gate that is off, a value or
    expression that cannot be compiled, an unknown operator. `is_expensive`: to match may take long, or raise Undecided.
    """

    __slots__ = ("_why_false", "failure", "gave_up", "is_expensive", "match", "never", "toleration")

    def __init__(
        self,
        toleration: Toleration,
        match: Callable[[Taint], bool],
        why_false: Callable[[Taint], str | None],
        never: str | None = None,
        asked: ExpressionQuestions = NOT_ASKED,
    ) -> None:
        self.toleration = toleration
        self.is_expensive = asked.is_expensive
        self.match = match
        self.never = never
        self._why_false = why_false
        #: Return why the expression was not evaluated for a taint; None if it was.
        self.gave_up = asked.gave_up
        #: Return the error that the expression ended with for a taint; None if it did not fail.
        self.failure = asked.failure

    @property
    def is_keyed(self) -> bool:
        """Whether only taints of its key and effect are asked about; expressions are asked about every taint."""
        return not self.toleration.expression

    def concerns(self, taint: Taint) -> bool:
        """Whether key and effect are the taint's, so that only the value decides."""
        toleration = self.toleration
        if not self.is_keyed:
            return True
        return toleration.effect in ("", taint.effect) and toleration.key in ("", taint.key)

    def reason(self, taint: Taint) -> str | None:
        """Return why the taint is not tolerated, as the part of a sentence; None exactly when `match` is true."""
        toleration = self.toleration
        if self.is_keyed:
            if toleration.effect not in ("", taint.effect):
                return f"its effect is {shown(taint.effect)}, the toleration's is {shown(toleration.effect)}"
            if toleration.key not in ("", taint.key):
                return f"its key is {shown(taint.key)}, the toleration's is {shown(toleration.key)}"
        why = self.why_false(taint)
        return f"{why} ({describe_toleration(toleration)})" if why else None

    def why_false(self, taint: Taint) -> str | None:
        """Return what is false of a taint that this toleration concerns, such as `30 < 5 is false`."""
        return self.never or self._why_false(taint)

    def why_true(self, taint: Taint) -> str | None:
        """Return what is true of a taint that this toleration matches, such as `3 < 5 is true`; None of others."""
        if not self.match(taint):
            return None
        toleration = self.toleration
        if toleration.expression:
            return "the expression is true"
        if toleration.operator == EXISTS:
            return "any value" if toleration.key else "any taint"
        comparison = comparison_of(toleration.operator, TOLERATION)
        return true_inequality(taint.value, comparison.symbol if comparison is not None else "=", toleration.value)

    def explain(self, taint: Taint) -> str | None:
        """One sentence with the inequality that does not hold; None exactly when `match` is true."""
        why = self.reason(taint)
        return f"{_NOT_TOLERATED.format(describe_taint(taint))}{why}" if why else None

    def unreadable(self, taint: Taint) -> Unreadable | None:
        """Describe a value that this toleration would compare and cannot, or for which its expression has failed."""
        toleration = self.toleration
        if self.never or not self.concerns(taint):
            return None
        if toleration.expression:
            error = self.failure(taint)
            return Unreadable(TAINT_VALUE, taint.key, taint.value, EXPRESSION, error) if error else None
        comparison = comparison_of(toleration.operator, TOLERATION)
        if comparison is None:
            return None
        return unreadable_value(TAINT_VALUE, taint.key, taint.value, toleration.operator, comparison.kind)

    def obstacle(self, taint: Taint) -> str | None:
        """Return why this toleration, which is for the taint's key and effect, does not even compare the values."""
        if self.never is not None:
            return cut_error(self.never) if self.concerns(taint) else None
        unreadable = self.unreadable(taint)
        return unreadable.obstacle if unreadable is not None else self.gave_up(taint)


class KeyedExpression(TolerationMatcher):
    """An expression that is asked about taints of its toleration's key and effect only, and matches no others."""

    __slots__ = ()

    def __init__(self, expression: TolerationMatcher) -> None:
        """`expression` is the matcher of a toleration with an expression, a key and perhaps an effect."""
        gave_up = expression.gave_up
        super().__init__(
            expression.toleration,
            lambda taint: self.concerns(taint) and expression.match(taint),
            expression.why_false,
            expression.never,
            NOT_ASKED._replace(
                gave_up=lambda taint: gave_up(taint) if self.concerns(taint) else None,
                failure=expression.failure,
                is_expensive=expression.is_expensive,
            ),
        )

    @property
    def is_keyed(self) -> bool:
        return True


class TolerationSet:
    """All tolerations of a pod, in the pod's order."""

    __slots__ = ("_known_false", "_matches", "account", "is_expensive", "matchers")

    def __init__(self, matchers: Iterable[TolerationMatcher], account: Account | None = None) -> None:
        """`account` is that of the expressions, if there are any."""
        self.account = account
        self.matchers = tuple(matchers)
        self._matches = tuple(matcher.match for matcher in self.matchers)
        #: Of expensive ones, how many of the first do not match a taint.
        self._known_false: dict[tuple[str, str, str], int] = {}
        self.is_expensive = account is not None and any(matcher.is_expensive for matcher in self.matchers)

    def tolerates(self, taint: Taint) -> bool:
        if self.is_expensive:
            return self._tolerates_at_last(taint)
        for match in self._matches:  # noqa: SIM110 (a generator inside any() costs more than the comparison itself)
            if match(taint):
                return True
        return False

    def _tolerates_at_last(self, taint: Taint) -> bool:
        """Return whether one matches; those without an expression are asked first, and any may match first."""
        if any(matcher.match(taint) for matcher in self.matchers if not matcher.toleration.expression):
            return True
        return self._first_at_last(taint, in_order=False) is not None

    def _first_at_last(self, taint: Taint, *, in_order: bool) -> int | None:
        """Return the first that matches. Ask about some that are undecided at a time, then raise Undecided.

        Those that are known not to match are not asked again; when the budget is used up, no more are asked.
        """
        place = (taint.key, taint.value, taint.effect)
        undecided: list[Undecided] = []
        for index in range(self._known_false.get(place, 0), len(self._matches)):
            try:
                if self._matches[index](taint) and not (in_order and undecided):
                    return index
            except Undecided as waiting:
                undecided.append(waiting)
                if len(undecided) == _ASKED_AT_A_TIME:
                    break
                continue
            if self.account is not None and self.account.spent >= BUDGET and self.matchers[index].gave_up(taint):
                break
            if not undecided:
                self._known_false[place] = index + 1
        if undecided:
            raise undecided[0]
        return None

    def first_matching(self, taint: Taint) -> tuple[int, Toleration] | None:
        """Return the first toleration in the pod's order that matches, with its index: the one whose seconds count."""
        if self.is_expensive:
            first = self._first_at_last(taint, in_order=True)
            return None if first is None else (first, self.matchers[first].toleration)
        for index, match in enumerate(self._matches):
            if match(taint):
                return index, self.matchers[index].toleration
        return None

    def untolerated(self, taints: Iterable[Taint], effects: Collection[str]) -> list[Taint]:
        """Return the taints with one of these effects that nothing tolerates, in the node's order."""
        return [taint for taint in taints if taint.effect in effects and not self.tolerates(taint)]

    def explain(self, taint: Taint) -> str | None:
        """One sentence that goes through the tolerations for this taint's key; None exactly when it is tolerated."""
        reasons: list[str] = []
        for matcher in self.matchers:
            why = matcher.reason(taint)
            if why is None:
                return None
            if matcher.concerns(taint) or matcher.toleration.key == taint.key:
                reasons.append(why)
        return _NOT_TOLERATED.format(describe_taint(taint)) + ("; ".join(reasons) or NO_TOLERATION)

    def unreadable(self, taint: Taint) -> Unreadable | None:
        """Describe the taint's value for the first toleration that cannot read it; None if all can."""
        return next((found for matcher in self.matchers if (found := matcher.unreadable(taint))), None)

    def obstacle(self, taint: Taint) -> str | None:
        """Return the first reason why a toleration for this taint is not compared: a gate, or an unreadable value."""
        return next((why for matcher in self.matchers if (why := matcher.obstacle(taint))), None)

    def gave_up(self, taint: Taint) -> str | None:
        """Return why an expression was not evaluated for this taint; None if all were."""
        if self.account is None:
            return None
        return next((why for matcher in self.matchers if (why := matcher.gave_up(taint))), None)


_NOT_TOLERATED = "taint {} is not tolerated: "
NO_TOLERATION = "no toleration is for its key and effect"


def compile_toleration(
    toleration: Toleration,
    gates: GateSet,
    programs: ProgramCache | None = None,
    on_evaluation_failed: EvaluationFailed | None = None,
    component: str = "",
) -> TolerationMatcher:
    """Compile one toleration. `programs` keeps compiled expressions; the callback hears of every failed evaluation.

    `component`, such as `the scheduler`, is named where one of its gates is off.
    """
    if toleration.expression:
        programs = ProgramCache(1) if programs is None else programs
        account = programs.evaluations.account((toleration.expression,))
        return _compile_expression(toleration, gates, programs, account, on_evaluation_failed, component)
    return _compile_comparison(toleration, gates, component)


def _compile_comparison(toleration: Toleration, gates: GateSet, component: str) -> TolerationMatcher:
    operator = toleration.operator
    if operator in ("", EQUAL):
        return TolerationMatcher(toleration, _equal(toleration), _why_not_equal(toleration.value))
    if operator == EXISTS:
        return TolerationMatcher(toleration, _keyed(toleration, None), lambda taint: None)
    use = use_of(operator, TOLERATION)
    if use is None or use.comparison is None:
        return _never(toleration, f"there is no operator {go_quote(operator)}")
    if use.gate is not None and not toleration.attached and not gates.enabled(use.gate):
        return _never(toleration, f"operator {operator} needs {needed_gate(use.gate, component)}")
    comparison = use.comparison
    if complaint := comparison.unreadable(toleration.value):
        return _never(toleration, f"toleration value {complaint}")
    compares = comparison.compile(toleration.value)

    def why_false(taint: Taint) -> str | None:
        if complaint := comparison.unreadable(taint.value):
            return f"taint value {complaint}"
        if compares(taint.value):
            return None
        return false_inequality(taint.value, comparison.symbol, toleration.value)

    return TolerationMatcher(toleration, _keyed(toleration, compares), why_false)


def compile_tolerations(
    tolerations: Sequence[Toleration],
    gates: GateSet,
    programs: ProgramCache | None = None,
    on_evaluation_failed: EvaluationFailed | None = None,
    component: str = "",
) -> TolerationSet:
    """Compile a pod's tolerations, whose expressions share one account."""
    expressions = tuple(toleration.expression for toleration in tolerations if toleration.expression)
    if not any(map(partial(_is_asked, gates), tolerations)):
        return TolerationSet(
            compile_toleration(toleration, gates, programs, on_evaluation_failed, component)
            for toleration in tolerations
        )
    programs = ProgramCache(len(expressions)) if programs is None else programs
    # Expensive ones are kept: pods that wait for their answers are compiled again and again.
    if programs.expensive and on_evaluation_failed is None:
        kept = programs.expensive.get((tuple(tolerations), gates, component))
        if kept is not None:
            return kept
    account = programs.evaluations.account(expressions)
    matchers = (
        _compile_expression(toleration, gates, programs, account, on_evaluation_failed, component)
        if toleration.expression
        else _compile_comparison(toleration, gates, component)
        for toleration in tolerations
    )
    compiled = TolerationSet(matchers, account)
    if compiled.is_expensive and on_evaluation_failed is None:
        if len(programs.expensive) >= programs.capacity:
            programs.expensive.clear()
        programs.expensive[tuple(tolerations), gates, component] = compiled
    return compiled


def _never(toleration: Toleration, why: str) -> TolerationMatcher:
    return TolerationMatcher(toleration, lambda taint: False, lambda taint: why, never=why)


def _equal(toleration: Toleration) -> Callable[[Taint], bool]:
    """Return the commonest operator, and so the one that must cost least: whatever is fixed is compared in one step."""
    if toleration.key and toleration.effect:
        identity = (toleration.key, toleration.value, toleration.effect)
        return lambda taint: (taint.key, taint.value, taint.effect) == identity
    if toleration.key:
        key_and_value = (toleration.key, toleration.value)
        return lambda taint: (taint.key, taint.value) == key_and_value
    value = toleration.value
    return _keyed(toleration, lambda text: text == value)


def _why_not_equal(value: str) -> Callable[[Taint], str | None]:
    return lambda taint: None if taint.value == value else false_inequality(taint.value, "=", value)


def _keyed(toleration: Toleration, value_matches: Callable[[str], bool] | None) -> Callable[[Taint], bool]:
    """Match effect, then key, then value; an empty effect or key is any, and so is the value without a predicate."""
    key, effect = toleration.key, toleration.effect
    if value_matches is None:
        return lambda taint: effect in ("", taint.effect) and key in ("", taint.key)
    return lambda taint: effect in ("", taint.effect) and key in ("", taint.key) and value_matches(taint.value)


def _compile_expression(
    toleration: Toleration,
    gates: GateSet,
    programs: ProgramCache,
    account: Account,
    on_evaluation_failed: EvaluationFailed | None,
    component: str,
) -> TolerationMatcher:
    if not _is_asked(gates, toleration):
        return _never(toleration, f"an expression needs {needed_gate(TAINT_TOLERATION_CEL, component)}")
    source, evaluations = toleration.expression, programs.evaluations
    program: Program | None = None
    if account.size <= SHORT or evaluations.compiles_long:
        compiled = programs.get(source)
        if isinstance(compiled, list):
            return _never(toleration, not_compiled(compiled))
        program = compiled
    asked = ask_expression(source, program, account, evaluations, on_evaluation_failed, patiently=programs.patiently)
    matcher = TolerationMatcher(toleration, asked.match, asked.why_false, asked=asked)
    return KeyedExpression(matcher) if toleration.attached else matcher


def _is_asked(gates: GateSet, toleration: Toleration) -> bool:
    """Whether a toleration has an expression that is evaluated: by the gate, or because attach has read it back."""
    return bool(toleration.expression) and (bool(toleration.attached) or gates.enabled(TAINT_TOLERATION_CEL))
