"""Tell what is wrong or surprising about a rule, each at its place: what `lint` finds, and CEL's issues one by one."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from moorage.dashboard.questions.playing.expressions import WrittenExpression, expression_problems
from moorage.dashboard.questions.playing.rule_text import RuleText, TextRange
from moorage.lint.catalogue import BY_NAME, SITE
from moorage.lint.engine import Linter
from moorage.lint.facts.custom_kinds import OwnLines
from moorage.lint.finding import Finding
from moorage.lint.hints import hint_for
from moorage.model.field_error import invalid
from moorage.model.gates import GateSet
from moorage.model.text.decode_error import DecodeError

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
    page: str = ""
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
    found = list(_problems(text, list(expressions), gates))[:_MAX_PROBLEMS]
    return sorted(found, key=lambda one: (one.line, one.column, one.severity, one.message))


def _problems(text: RuleText, expressions: list[WrittenExpression], gates: GateSet) -> Iterator[RuleProblem]:
    if text.others:
        message = "only the first document of the text is looked at"
        yield RuleProblem(1, 1, 2, "", message, "warning")
    if text.is_empty:
        return
    document = text.document()
    linter = Linter(gates, frozenset(BY_NAME) - _ABOUT_PODS)
    by_path = {one.path: one for one in expressions}
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
    page = f"{SITE}/findings/{finding.rule}/" if finding.rule in BY_NAME else ""
    return _problem(
        place,
        path,
        finding.message,
        str(finding.severity),
        hint=finding.hint,
        rule=finding.rule,
        page=page,
        api_server=finding.api_server,
    )


def _problem(place: TextRange, path: str, message: str, severity: str, **more: Any) -> RuleProblem:
    return RuleProblem(place.line, place.column, place.end_column, path, message, severity, **more)
