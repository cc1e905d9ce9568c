"""Find what is wrong or surprising about a rule, each at its place: what `lint` finds, and CEL's issues one by one.

The CEL expressions of a rule are compiled here: type, estimated cost against the limit, variables.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from moorage.dashboard.questions.playing.rule_text import CEL, RuleText, Steps
from moorage.dashboard.questions.playing.text_ranges import TextRange
from moorage.lint.catalogue import rules
from moorage.lint.engine import Linter
from moorage.lint.facts.custom_kinds import OwnLines
from moorage.lint.finding import Finding
from moorage.lint.hints import hint_for
from moorage.match.cel import Issue, Program, compile_expression, taint_environment
from moorage.match.cel.evaluate.steps import COST_LIMIT
from moorage.match.cel.parse.tokens import Token, tokenize
from moorage.match.cel.program import TOO_COMPLEX
from moorage.model.field_error import invalid
from moorage.model.gates import GateSet
from moorage.model.text.decode_error import DecodeError

#: More expressions of one rule are not told about one by one.
MAX_EXPRESSIONS = 100
#: What cel-go says after the name of something undeclared.
CONTAINER = " (in container '')"


class WrittenExpression(msgspec.Struct):
    """An expression of a toleration, where it is written, and what became of compiling it."""

    index: int
    source: str
    steps: Steps
    compiled: Program | list[Issue]

    @property
    def path(self) -> str:
        return f"spec.tolerations[{self.index}].expression"


def expressions_of(text: RuleText) -> list[WrittenExpression]:
    """Return the expressions of the rule's tolerations, compiled."""
    expressions: list[WrittenExpression] = []
    for index, toleration in enumerate(text.pod["spec"].get("tolerations") or ()):
        source = toleration.get("expression") if isinstance(toleration, dict) else None
        if not isinstance(source, str) or not source or len(expressions) == MAX_EXPRESSIONS:
            continue
        path = f"spec.tolerations[{index}].expression"
        steps = () if text.kind == CEL else text.steps_of(path) or ()
        expressions.append(WrittenExpression(index, source, steps, compile_expression(source, taint_environment())))
    return expressions


def expression_problems(text: RuleText, expression: WrittenExpression) -> Iterator[tuple[TextRange, str]]:
    """Yield each issue with its place; of an expression that compiles, that it costs too much."""
    if isinstance(expression.compiled, Program):
        if expression.compiled.exceeds_cost_limit:
            cost = f"estimated cost {expression.compiled.estimate.max:,}, limit {COST_LIMIT:,}"
            yield _whole(text, expression), f"{TOO_COMPLEX} ({cost})"
        return
    for issue in expression.compiled:
        message = issue.message.removesuffix(CONTAINER)
        if issue.line < 1:
            yield _whole(text, expression), message
            continue
        start, end = marked_by_issue(expression.source, issue.line, issue.column)
        yield text.expression_range(expression.steps, start, end), message


def _whole(text: RuleText, expression: WrittenExpression) -> TextRange:
    start = len(expression.source) - len(expression.source.lstrip())
    return text.expression_range(expression.steps, start, len(expression.source.rstrip()))


def marked_by_issue(source: str, line: int, column: int) -> tuple[int, int]:
    """Return which part of an expression an issue is about, as offsets: both count from 1."""
    lines = source.split("\n")
    before = sum(len(one) + 1 for one in lines[: line - 1])
    return _marked(source, tokenize(source)[0], min(before + max(column - 1, 0), len(source)))


def _marked(source: str, tokens: list[Token], at: int) -> tuple[int, int]:
    """Return what an issue at an offset is about: the token, the field after a dot, the name before a bracket."""
    for number, token in enumerate(tokens):
        if token.kind == "eof" or not token.position <= at < token.position + len(token.text):
            continue
        following = tokens[number + 1]
        if token.kind == "." and following.kind == "ident":
            return following.position, following.position + len(following.text)
        before = tokens[number - 1] if number else token
        if token.kind == "(" and before.kind == "ident":
            return before.position, before.position + len(before.text)
        return token.position, token.position + len(token.text)
    if at >= len(source.rstrip()):  # something is missing at the end: mark the last character
        return max(len(source.rstrip()) - 1, 0), len(source.rstrip())
    return at, at + 1


def expression_facts(expression: WrittenExpression) -> dict[str, Any]:
    """Return the expression's type and cost, for a bar against the limit."""
    facts: dict[str, Any] = {"index": expression.index, "expression": expression.source, "limit": COST_LIMIT}
    if isinstance(expression.compiled, list):
        return {**facts, "compiles": False, "problem": expression.compiled[0].message.removesuffix(CONTAINER)}
    program = expression.compiled
    variables = taint_environment().variables
    return {
        **facts,
        "compiles": True,
        "type": str(program.result_type),
        "cost": [program.estimate.min, program.estimate.max],
        "exceeds": program.exceeds_cost_limit,
        "variables": [{"name": name, "type": str(variables[name])} for name in sorted(program.variables)],
        "bytes": len(expression.source.encode("utf-8", "replace")),
        "maxBytes": taint_environment().max_length,
    }


#: A rule alone does not tell which labels its pods will have.
_ABOUT_PODS = frozenset({"match-label-key-absent", "pod-template-hash-absent"})
_NAMES_KEY = frozenset({"unknown-field", "duplicate-field"})
_MAX_PROBLEMS = 200
_COMPILES_NOT = ("compilation failed: ", "must evaluate to bool", "program instantiation failed: ")


class RuleProblem(msgspec.Struct, frozen=True, rename="camel"):
    """A message about a part of one line of the text; columns count characters from one."""

    line: int
    column: int
    end_column: int
    path: str
    message: str
    severity: str
    hint: str = ""
    rule: str = ""
    api_server: bool = False


def unreadable_text(text: str, error: DecodeError) -> RuleProblem:
    """Return why a text is no YAML, or no rule."""
    lines = text.split("\n")
    line = min(max(error.line, 1), len(lines))
    written = lines[line - 1]
    column = min(max(error.column, 1), len(written) + 1)
    end = max(len(written.rstrip()) + 1, column + 1)
    return RuleProblem(line, column, end, error.path, error.reason, "error", rule="unreadable")


def problems_of(text: RuleText, expressions: Iterable[WrittenExpression], gates: GateSet) -> list[RuleProblem]:
    """Return all problems in the order of the text."""
    problems = list(_problems(text, list(expressions), gates))[:_MAX_PROBLEMS]
    return sorted(problems, key=lambda problem: (problem.line, problem.column, problem.severity, problem.message))


def _problems(text: RuleText, expressions: list[WrittenExpression], gates: GateSet) -> Iterator[RuleProblem]:
    if text.others:
        message = "only the first document of the text is looked at"
        yield RuleProblem(1, 1, 2, "", message, "warning")
    if text.is_empty:
        return
    document = text.document()
    linter = Linter(gates, frozenset(rules()) - _ABOUT_PODS)
    by_path = {written.path: written for written in expressions}
    for finding in linter.lint_document(document, OwnLines(document)):
        path = finding.place.path
        if path in by_path and any(part in finding.message for part in (*_COMPILES_NOT, "too complex")):
            continue  # told in full by each of its issues
        placed = _placed(text, finding)
        if placed is not None:
            yield placed
    for path, expression in by_path.items():
        for place, message in expression_problems(text, expression):
            hint = hint_for(invalid(path, "", message), gates)
            yield _problem(place, path, message, "error", hint=hint, rule="rejected", api_server=True)


def _placed(text: RuleText, finding: Finding) -> RuleProblem | None:
    path = finding.place.path
    steps = text.steps_of(path) if path else text.rule.written
    if steps is None:
        return None
    # That an expression is not allowed at all is no matter of its text.
    names_key = finding.rule in _NAMES_KEY or (finding.rule == "rejected" and path.endswith(".expression"))
    place = text.range_of(steps, names_key=names_key)
    return _problem(
        place,
        path,
        finding.message,
        str(finding.severity),
        hint=finding.hint,
        rule=finding.rule,
        api_server=finding.api_server,
    )


def _problem(place: TextRange, path: str, message: str, severity: str, **more: Any) -> RuleProblem:
    return RuleProblem(place.line, place.column, place.end_column, path, message, severity, **more)
