"""Find CEL tolerations that compile but do not do what was meant.

The syntax tree tells which fields an expression reads; a few dozen taints, made from its constants and from taints that
every cluster has, tell what it answers. `AskedExpressions` also evaluates them on the taints of the input. Kubernetes:
checks type and cost, nothing else.
"""

from __future__ import annotations

import time
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import msgspec

from moorage.lint.catalogue import WARNING, Facts, Rule, Theme, check_tolerations, collector
from moorage.lint.rules.compared_values import DEVICE_TAINT, NODE_TAINT, ComparedValues, NodeValue, placed
from moorage.lint.subject import Complaint, TolerationList, toleration_lists
from moorage.match.evaluation.accounts import CHEAP
from moorage.match.semver import version_or_none
from moorage.model.names import label_key_errors, label_value_errors
from moorage.model.types.node import Taint
from moorage.model.well_known.labels import CONTROL_PLANE
from moorage.model.well_known.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    NOT_READY,
    OUT_OF_SERVICE,
    PREFER_NO_SCHEDULE,
    UNREACHABLE,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moorage.lint.finding import SourcePlace
    from moorage.lint.subject import PlacedComplaint, Subject
    from moorage.match.cel.parse.syntax import Node
    from moorage.match.cel.program import Program
    from moorage.model.gates import GateSet

COST_LIMIT = 1_000_000
_NEAR_THE_LIMIT = COST_LIMIT // 4
_LONGEST = 10 * 1024

#: Taints that every cluster has or gets one day, and one that no cluster has.
_COMMON_KEYS = (
    CONTROL_PLANE,
    NOT_READY,
    UNREACHABLE,
    OUT_OF_SERVICE,
    "dedicated",
    "zz9.example.net/plural-z.alpha",
)
_COMMON_VALUES = ("", "true", "950", "5.15.0", "gpu", "10.0.0.1", "1Gi", "1h", "a.b-c_d", "2026-01-01", "a-b-c-d")
_EFFECTS = (NO_SCHEDULE, NO_EXECUTE, PREFER_NO_SCHEDULE)
_MAX_TEXTS = 6
#: Bounds on evaluating one expression; when one is exceeded, no conclusion is drawn about all taints.
_MAX_COST = 200_000
_MAX_SECONDS = 0.5
#: Failures that another value need not cause: a text with more parts has an element there.
_DEPENDS_ON_THE_VALUE = ("index", "no such key", "out of range")
#: Bounds on evaluating the expressions of all pods on the taints of all nodes.
_MAX_EXPRESSIONS = 200
_MAX_TRIALS = 300
_MAX_ASKING_SECONDS = 2.0


class _Verdict(msgspec.Struct, frozen=True):
    rule: str
    message: str
    hint: str = ""


class TriedExpressions:
    """The expensive expressions that a run tries on taints: the first few hundred, which takes some ten seconds."""

    def __init__(self) -> None:
        self._tried: set[str] = set()

    def allows(self, expression: str) -> bool:
        if expression in self._tried or not _is_expensive(expression):
            return True
        if len(self._tried) >= _MAX_TRIALS:
            return False
        self._tried.add(expression)
        return True


@check_tolerations(
    Theme.CEL,
    Rule("cel-constant", WARNING, "The expression has the same answer for every taint."),
    Rule("cel-tolerates-everything", WARNING, "The expression tolerates every taint that was tried."),
    Rule("cel-ignores-key", WARNING, "The expression does not look at the taint's key."),
    Rule(
        "cel-always-fails", WARNING, "The expression fails whatever the value of the taint, and so tolerates nothing."
    ),
    Rule("cel-expensive", WARNING, "The expression's estimated cost is close to the limit."),
    Rule("cel-compares-text", WARNING, "The expression compares a number or version as text."),
)
def check_expressions(listed: TolerationList, subject: Subject, facts: Facts) -> Iterator[Complaint]:
    for index, toleration in enumerate(listed.tolerations):
        if toleration.expression:
            path = f"{listed.path}[{index}].expression"
            tries = facts.of(AskedExpressions).trials.allows(toleration.expression)
            for verdict in _verdicts(toleration.expression, listed.of_devices, tries):
                if toleration.attached and verdict.rule in _ABOUT_ALL_KEYS:
                    continue  # it is asked about the taints of its key only
                if toleration.attached and verdict.rule == "cel-constant":
                    verdict = _of_one_key(verdict, toleration.key)
                yield Complaint(verdict.rule, path, verdict.message, verdict.hint)


_ABOUT_ALL_KEYS = ("cel-tolerates-everything", "cel-ignores-key")


def _of_one_key(verdict: _Verdict, key: str) -> _Verdict:
    message = verdict.message.replace("every taint", f"every taint with the key {key}")
    return _Verdict(verdict.rule, message, "write operator: Exists with this key, or compare taint.value")


def readable_program(expression: str) -> Program | None:
    """Return the compiled expression if it compiles and reads the taint's key."""
    from moorage.lint.facts.expression_reading import fields_read

    compiled = compiled_expression(expression)
    return compiled[0] if compiled is not None and "key" in fields_read(compiled[1]) else None


@lru_cache(maxsize=64)
def compiled_expression(expression: str) -> tuple[Program, Node] | None:
    """Return the program and its syntax tree, None if the API server refuses the expression."""
    # Few pods have expressions: CEL is imported when the first one occurs.
    from moorage.match.cel import compile_expression, taint_environment
    from moorage.match.cel.parse.parser import parse
    from moorage.match.cel.parse.syntax import Source

    if len(expression) > _LONGEST:
        return None
    program = compile_expression(expression, taint_environment())
    root = [] if isinstance(program, list) else parse(Source(expression))
    if isinstance(program, list) or isinstance(root, list) or program.exceeds_cost_limit:
        return None
    return program, root


@lru_cache(maxsize=512)
def _is_expensive(expression: str) -> bool:
    compiled = compiled_expression(expression)
    return compiled is not None and compiled[0].estimate.max > CHEAP


@lru_cache(maxsize=512)
def _verdicts(expression: str, of_devices: bool, tries: bool) -> tuple[_Verdict, ...]:
    from moorage.lint.facts.expression_reading import fields_read, impossible_part, texts_in

    compiled = compiled_expression(expression)
    if compiled is None:
        return ()
    program, root = compiled
    fields = fields_read(root)
    verdicts = [*_expensive(program), *_texts_compared(root)]
    if not tries and program.estimate.max > CHEAP:
        message = f"not tried on any taint, because {_MAX_TRIALS} expensive expressions before it were"
        return (*verdicts, _Verdict("cel-expensive", message, "check fewer files with expensive expressions at a time"))
    if not fields:
        return (*_constant(program, of_devices), *verdicts)
    if why := impossible_part(root):
        verdicts.append(_Verdict("toleration-never-matches", f"no taint can match the expression: {why}"))
        return tuple(verdicts)
    answers = _Answers(program, texts_in(root))
    if answers.always_true:
        verdicts.append(_everything(f"it was true for all {answers.tried} taints tried", of_devices))
    elif answers.always_failed:
        verdicts.append(
            _Verdict(
                "cel-always-fails",
                f"the evaluation fails whatever the taint's value is, so nothing is tolerated: {answers.first_failure} "
                f"(for the taint {answers.first_failed_taint}; none of {answers.tried} taints tried was tolerated)",
                "guard it, for instance with isSemver(taint.value) && …, and see that constants parse: "
                "semver('v1.2') fails, semver('v1.2', true) does not",
            )
        )
    elif "key" not in fields and "taint" not in fields:
        example = f", such as {answers.first_true}" if answers.first_true else ""
        verdicts.append(
            _Verdict(
                "cel-ignores-key",
                f"the expression does not look at taint.key, so it tolerates taints of any key{example}",
                f"begin with taint.key == '…' && ({_shortened(expression)})",
            )
        )
    return tuple(verdicts)


def _expensive(program: Program) -> Iterator[_Verdict]:
    cost = program.estimate.max
    if _NEAR_THE_LIMIT <= cost <= COST_LIMIT:
        yield _Verdict(
            "cel-expensive",
            f"the estimated cost is {cost:,} of at most {COST_LIMIT:,}: a little more, and the API server refuses it",
            "compare taint.key first and with ==, and avoid comprehensions over split() and findAll()",
        )


def _texts_compared(root: Node) -> Iterator[_Verdict]:
    from moorage.lint.facts.expression_comparisons import text_comparisons

    for compared in dict.fromkeys(text_comparisons(root)):
        if noun := compared.noun:
            written = f"taint.value {compared.symbol} '{compared.text}'"
            example = f": {surprise}" if (surprise := compared.surprise) else ""
            message = f"{written} compares texts, character by character, where a {noun} seems to be meant{example}"
            yield _Verdict("cel-compares-text", message, f"write {compared.instead}")


def _constant(program: Program, of_devices: bool) -> Iterator[_Verdict]:
    answer, failure, _ = evaluated(program, Taint("dedicated", "", NO_SCHEDULE))
    if failure is not None:
        message = f"the expression does not look at the taint, and fails every time: {failure}"
        yield _Verdict("cel-constant", message, "it tolerates nothing: compare taint.key and taint.value")
        return
    effect = "tolerates every taint" if answer else "tolerates nothing"
    message = f"the expression does not look at the taint: it is always {'true' if answer else 'false'} and {effect}"
    hint = "write operator: Exists without a key if every taint is meant" if answer else "remove the toleration"
    yield _Verdict("cel-constant", message, hint)
    if answer:
        yield _everything("it is always true", of_devices)


def _everything(why: str, of_devices: bool) -> _Verdict:
    also = (
        "also those of broken devices: its pods get such devices, and are never evicted from them"
        if of_devices
        else "also node.kubernetes.io/unreachable:NoExecute: such a pod is never evicted from a dead node"
    )
    return _Verdict(
        "cel-tolerates-everything",
        f"the expression tolerates every taint ({why}), {also}",
        "say which keys are meant, or write operator: Exists without a key, which says plainly that all are",
    )


def evaluated(program: Program, taint: Taint) -> tuple[bool, str | None, int]:
    """Return the answer, the failure message if there is one, and the cost."""
    from moorage.match.cel.values import CelError

    try:
        answer, cost = program.evaluate_with_cost(taint)
    except CelError as error:
        return False, str(error), error.cost
    return answer, None, cost


class _Answers:
    """A program's answers to taints that tell most expressions apart; stops once both true and false occurred."""

    def __init__(self, program: Program, texts: list[str]) -> None:
        self.tried = 0
        self.first_true = ""
        self.first_failure = ""
        self.first_failed_taint = ""
        trues = spent = 0
        #: Key and effect, and whether every value so far made it fail.
        hopeless: dict[tuple[str, str], bool] = {}
        until = time.monotonic() + _MAX_SECONDS
        for taint in _taints_around(texts):
            answer, failure, cost = evaluated(program, taint)
            self.tried += 1
            spent += cost
            asked = (taint.key, taint.effect)
            failed = failure is not None and not any(text in failure for text in _DEPENDS_ON_THE_VALUE)
            hopeless[asked] = failed and hopeless.get(asked, True)
            if failure is not None:
                # The failure for a value that looks like a version tells more than the one for an empty value.
                if not self.first_failure or taint.value == "5.15.0":
                    self.first_failure, self.first_failed_taint = failure, _shown(taint)
            elif answer:
                trues += 1
                self.first_true = self.first_true or _shown(taint)
            if (trues and trues < self.tried) or spent > _MAX_COST or time.monotonic() > until:
                break
        else:
            self.always_true = trues == self.tried
            self.always_failed = not trues and any(hopeless.values())
            return
        self.always_true = self.always_failed = False


def _taints_around(texts: list[str]) -> Iterator[Taint]:
    known = texts[:_MAX_TEXTS]
    keys = [text for text in known if not label_key_errors(text)]
    keys += [longer for text in known if not label_key_errors(longer := f"{text}x")]
    values = [text for text in known if not label_value_errors(text)]
    yield Taint(_COMMON_KEYS[0], "", NO_SCHEDULE)
    for key, effect, value in product([*keys, *_COMMON_KEYS], _EFFECTS, [*values, *_COMMON_VALUES]):
        yield Taint(key, value, effect)


def _shown(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _shortened(expression: str) -> str:
    return expression if len(expression) <= 80 and "\n" not in expression else "…"


@collector(Theme.CEL)
class AskedExpressions:
    """The distinct expressions of the input, each with the first place that has it.

    Expressions that do not read the key are left out: they are not about any taint in particular.
    """

    def __init__(self, gates: GateSet) -> None:
        self.trials = TriedExpressions()
        self._places: dict[tuple[bool, str], SourcePlace] = {}  # those for devices apart

    def add(self, subject: Subject) -> None:
        for listed in toleration_lists(subject):
            for index, toleration in enumerate(listed.tolerations):
                key = listed.of_devices, toleration.expression
                if (
                    toleration.expression
                    and not toleration.attached
                    and key not in self._places
                    and len(self._places) < _MAX_EXPRESSIONS
                ):
                    self._places[key] = subject.place(f"{listed.path}[{index}].expression")

    def complaints(self, facts: Facts) -> Iterator[PlacedComplaint]:
        compared = facts.of(ComparedValues)
        yield from self._failing(compared.taints(NODE_TAINT), of_devices=False)
        yield from self._failing(compared.taints(DEVICE_TAINT), of_devices=True)

    def _failing(self, taints: Iterable[tuple[str, NodeValue]], *, of_devices: bool) -> Iterator[PlacedComplaint]:
        """Evaluate every expression on every taint; of several that fail for one taint, name the first."""
        places = ((text, place) for (for_devices, text), place in self._places.items() if for_devices is of_devices)
        programs = [(program, place) for text, place in places if (program := readable_program(text))]
        until = time.monotonic() + _MAX_ASKING_SECONDS
        for key, fact in taints if programs else ():
            for program, place in programs:
                if time.monotonic() > until:
                    return
                _, failure, _ = evaluated(program, Taint(key, fact.value, fact.effect))
                if failure is not None:
                    message = f"the expression of {place.described} fails for this taint, and so never matches"
                    advice = _advice(fact.value, program.source)
                    yield placed("taint-not-comparable", fact, f"{message}: {failure}", advice)
                    break


def _advice(value: str, expression: str) -> str:
    if "semver(" in expression:
        if version_or_none(value) is None:
            return "give it a value that is a version"
        return "semver(taint.value) is strict; semver(taint.value, true) also reads v1.2 and 1.2"
    return "give it a value the expression can read"
