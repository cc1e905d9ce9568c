"""Evaluate the rules of one node for a value: errors with the texts of Kubernetes, within a budget for the object.

Kubernetes: validateExpressions in apiextensions-apiserver, pkg/apiserver/schema/cel/validation.go.
"""

from typing import Any, Final

import msgspec

from moorage.custom.expressions.environment import OLD_SELF, SELF
from moorage.custom.expressions.rules import CompiledRule
from moorage.custom.expressions.values import cel_value
from moorage.custom.schema.structural import Structural
from moorage.match.cel.evaluate.steps import COST_EXCEEDED
from moorage.match.cel.program import Program
from moorage.match.cel.values import OPTIONAL_NONE, CelError, OptionalValue
from moorage.model.field_error import ErrorKind, FieldError, child_path, duplicate, forbidden, invalid, required
from moorage.model.go.quoting import go_quote
from moorage.model.types.extension.custom_resource_definition import ValidationRule

#: What the rules of one object may cost together.
RUNTIME_BUDGET: Final = 10_000_000
#: The path of the whole object, as Kubernetes prints an absent path.
NO_PATH: Final = "<nil>"
_MAX_MESSAGE: Final = 5 * 1024
_EXHAUSTED: Final = "validation failed due to running out of cost budget, no further validation rules will be run"


class RuleFindings:
    """Errors and warnings of an object's rules, and what is left of its budget; negative once it is used up."""

    __slots__ = ("budget", "errors", "warnings")

    def __init__(self, budget: int = RUNTIME_BUDGET) -> None:
        self.budget = budget
        self.errors: list[FieldError] = []
        self.warnings: list[str] = []

    @property
    def is_exhausted(self) -> bool:
        return self.budget < 0

    def stop(self, error: FieldError) -> None:
        self.errors.append(error)
        self.budget = -1


class NodeRules(msgspec.Struct, frozen=True, eq=False):
    """The rules of a node, and the schema of the values they are about."""

    schema: Structural
    rules: tuple[CompiledRule, ...]
    is_resource_root: bool = False

    def evaluate(self, value: Any, old: Any, path: str, findings: RuleFindings, *, is_unchanged: bool) -> None:
        """Evaluate all rules for a value other than null; failures of one that an update left alone are warnings."""
        kind, shown = self.schema.type, path or NO_PATH
        if findings.budget <= 0:
            findings.stop(invalid(shown, kind, _EXHAUSTED))
            return
        bindings: dict[str, Any] = {}
        for rule in self.rules:
            if rule.error:
                findings.errors.append(invalid(shown, kind, f"rule compile error: {rule.error}"))
                continue
            if rule.program is None or (rule.uses_old and old is None and not rule.is_optional_old):
                continue
            if not bindings:
                bindings = {SELF: self._value(value)}
            if rule.uses_old:
                bindings[OLD_SELF] = self._old(old, rule.is_optional_old)
            if not self._holds(rule, rule.program, bindings, shown, findings):
                if findings.is_exhausted:
                    return
                self._report(rule, value, bindings, path, findings, is_unchanged=is_unchanged and not rule.uses_old)
            if findings.is_exhausted:
                return

    def _value(self, value: Any) -> Any:
        """Return a value for expressions; one that is not of its type fails where it is used."""
        try:
            return cel_value(value, self.schema, is_resource_root=self.is_resource_root)
        except CelError as error:
            return error

    def _old(self, old: Any, is_optional: bool) -> Any:
        if old is None:
            return OPTIONAL_NONE
        value = self._value(old)
        return OptionalValue.of(value) if is_optional else value

    def _holds(
        self, rule: CompiledRule, program: Program, bindings: dict[str, Any], path: str, findings: RuleFindings
    ) -> bool:
        """Return whether a rule holds; where it cannot be told, the error is reported and it counts as holding."""
        kind, shown = self.schema.type, _shown(rule.rule)
        error: CelError | None = None
        answer: Any = True
        try:
            answer, cost = program.run_with_cost(bindings)
        except CelError as raised:
            error, cost = raised, raised.cost
        if cost > findings.budget:
            findings.stop(invalid(path, kind, _EXHAUSTED))
            return False
        findings.budget -= cost
        if error is None:
            return answer is True
        text = str(error)
        if text.startswith("no such overload"):
            words = "call arguments did not match a supported operator, function or macro signature for rule"
            findings.errors.append(invalid(path, kind, f"'{text}': {words}: {shown}"))
        elif text.startswith("operation cancelled"):
            words = "no further validation rules will be run due to call cost exceeds limit for rule"
            findings.stop(invalid(path, kind, f"'{text}': {words}: {shown}"))
        else:
            findings.errors.append(invalid(path, kind, f"{text} evaluating rule: {shown}"))
        return True

    def _report(
        self,
        rule: CompiledRule,
        value: Any,
        bindings: dict[str, Any],
        path: str,
        findings: RuleFindings,
        *,
        is_unchanged: bool,
    ) -> None:
        """Report a rule that does not hold."""
        kind = self.schema.type
        at = _at(path, rule.field_path)
        detail = _message_of(rule.rule)
        if rule.message is not None:
            made, refusal = _evaluate_message(rule, rule.message, bindings, findings)
            if refusal:
                findings.stop(invalid(at, kind, refusal))
                return
            detail = made or detail
        error = _failure(at, value, kind, detail, rule.rule.reason)
        if is_unchanged:
            findings.warnings.append(str(error))
        else:
            findings.errors.append(error)


def _at(path: str, below: str) -> str:
    if not below:
        return path or NO_PATH
    return f"{path}{below}" if below.startswith("[") else child_path(path, below)


def _evaluate_message(
    rule: CompiledRule, program: Program, bindings: dict[str, Any], findings: RuleFindings
) -> tuple[str, str]:
    """Return a rule's own message, or none if it fails; or why nothing more is evaluated."""
    bound = dict(bindings)
    old = bound.get(OLD_SELF)
    if isinstance(old, OptionalValue):
        # The message is evaluated with the plain value, if there is one.
        del bound[OLD_SELF]
        if old.present:
            bound[OLD_SELF] = old.value
    error: CelError | None = None
    text: Any = ""
    try:
        text, cost = program.run_with_cost(bound)
    except CelError as raised:
        error, cost = raised, raised.cost
    if cost > findings.budget:
        words = "messageExpression evaluation failed due to running out of cost budget"
        return "", f"{words}, no further validation rules will be run"
    if error is not None and str(error).startswith(COST_EXCEEDED):
        shown = go_quote(rule.rule.messageExpression)
        words = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
        return "", f"{words}: {shown}"
    findings.budget -= cost
    trimmed = text.strip() if error is None and isinstance(text, str) else ""
    if "\n" in trimmed or len(trimmed.encode("utf-8", "replace")) > _MAX_MESSAGE:
        return "", ""
    return trimmed, ""


def _shown(rule: ValidationRule) -> str:
    return rule.message.strip() if rule.message else rule.rule.strip()


def _message_of(rule: ValidationRule) -> str:
    return rule.message.strip() if rule.message else f"failed rule: {_shown(rule)}"


def _failure(path: str, value: Any, kind: str, detail: str, reason: str | None) -> FieldError:
    if reason == "FieldValueForbidden":
        return forbidden(path, detail)
    if reason == "FieldValueRequired":
        return required(path, detail)
    is_container = kind in ("object", "array")
    if reason == "FieldValueDuplicate":
        return FieldError(ErrorKind.DUPLICATE, path, None, "") if is_container else duplicate(path, value)
    return FieldError(ErrorKind.INVALID, path, None, detail) if is_container else invalid(path, value, detail)
