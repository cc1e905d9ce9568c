"""Compile the CEL expressions of a rule: type, estimated cost against the limit, variables, issues at their place."""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.dashboard.questions.playing.rule_text import CEL, RuleText, Steps, TextRange
from moorage.match.cel import Issue, Program, compile_expression, taint_environment
from moorage.match.cel.evaluate.steps import COST_LIMIT
from moorage.match.cel.parse.tokens import Token, tokenize
from moorage.match.cel.program import TOO_COMPLEX

#: More expressions of one rule are not told about one by one.
MAX_EXPRESSIONS = 100
#: What cel-go says after the name of something undeclared.
_CONTAINER = " (in container '')"


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
    found: list[WrittenExpression] = []
    for index, toleration in enumerate(text.pod["spec"].get("tolerations") or ()):
        source = toleration.get("expression") if isinstance(toleration, dict) else None
        if not isinstance(source, str) or not source or len(found) == MAX_EXPRESSIONS:
            continue
        path = f"spec.tolerations[{index}].expression"
        steps = () if text.kind == CEL else text.steps_of(path) or ()
        found.append(WrittenExpression(index, source, steps, compile_expression(source, taint_environment())))
    return found


def expression_problems(text: RuleText, found: WrittenExpression) -> Iterator[tuple[TextRange, str]]:
    """Yield each issue with its place; of an expression that compiles, that it costs too much."""
    if isinstance(found.compiled, Program):
        if found.compiled.exceeds_cost_limit:
            cost = f"estimated cost {found.compiled.estimate.max:,}, limit {COST_LIMIT:,}"
            yield _whole(text, found), f"{TOO_COMPLEX} ({cost})"
        return
    tokens = tokenize(found.source)[0]
    for issue in found.compiled:
        message = issue.message.removesuffix(_CONTAINER)
        if issue.line < 1:
            yield _whole(text, found), message
            continue
        start, end = _marked(found.source, tokens, _offset(found.source, issue))
        yield text.expression_range(found.steps, start, end), message


def _whole(text: RuleText, found: WrittenExpression) -> TextRange:
    start = len(found.source) - len(found.source.lstrip())
    return text.expression_range(found.steps, start, len(found.source.rstrip()))


def _offset(source: str, issue: Issue) -> int:
    lines = source.split("\n")
    before = sum(len(line) + 1 for line in lines[: issue.line - 1])
    return min(before + max(issue.column - 1, 0), len(source))


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


def expression_facts(found: WrittenExpression) -> dict[str, Any]:
    """Return the expression's type and cost, for a bar against the limit."""
    facts: dict[str, Any] = {"index": found.index, "expression": found.source, "limit": COST_LIMIT}
    if isinstance(found.compiled, list):
        return {**facts, "compiles": False, "problem": found.compiled[0].message.removesuffix(_CONTAINER)}
    program = found.compiled
    variables = taint_environment().variables
    return {
        **facts,
        "compiles": True,
        "type": str(program.result_type),
        "cost": [program.estimate.min, program.estimate.max],
        "exceeds": program.exceeds_cost_limit,
        "variables": [{"name": name, "type": str(variables[name])} for name in sorted(program.variables)],
        "bytes": len(found.source.encode("utf-8", "replace")),
        "maxBytes": taint_environment().max_length,
    }
