"""Evaluate the rules of a schema for an object and its old version, node by node, within a budget for the object.

Errors have the texts of Kubernetes. Kubernetes: Validator and validateExpressions in apiextensions-apiserver,
pkg/apiserver/schema/cel/validation.go.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from moorage.custom.expressions.declared_types import OLD_SELF, SELF, DeclaredType, declare, escape_name
from moorage.custom.expressions.rules import CompiledRule, compile_rules
from moorage.custom.expressions.values import cel_value
from moorage.custom.objects.correlation import Correlation, find_item, items_by_key
from moorage.custom.structural import Structural
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
        """Return whether a rule holds; where that cannot be decided, the error is reported and it counts as holding."""
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
            message, refusal = _evaluate_message(rule, rule.message, bindings, findings)
            if refusal:
                findings.stop(invalid(at, kind, refusal))
                return
            detail = message or detail
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


_KEPT_TREES = 256
_kept: dict[tuple[Structural, bool], "RuleTree | None"] = {}


class RuleTree(msgspec.Struct, frozen=True, eq=False):
    """The rules of a node and of those below it that have any."""

    node: NodeRules
    properties: "Mapping[str, RuleTree]" = {}
    additional: "RuleTree | None" = None
    items: "RuleTree | None" = None


def rule_tree(schema: Structural, *, is_resource_root: bool = True) -> RuleTree | None:
    """Compile the rules of a schema, once for each schema object; None for a schema without rules."""
    key = (schema, is_resource_root)
    if key not in _kept:
        tree = _tree(schema, declare(schema, is_resource_root=is_resource_root), is_resource_root)
        if len(_kept) >= _KEPT_TREES:
            del _kept[next(iter(_kept))]
        _kept[key] = tree
    return _kept[key]


def _tree(schema: Structural, declared: DeclaredType | None, is_resource_root: bool) -> RuleTree | None:
    if declared is None:
        return None
    items = additional = None
    properties: dict[str, RuleTree] = {}
    if schema.items is not None:
        items = _tree(schema.items, declared.element, schema.items.embeddedResource)
    if schema.additional is not None:
        additional = _tree(schema.additional, declared.element, schema.additional.embeddedResource)
    for name, child in schema.properties.items():
        subtree = _tree(child, _declared_property(name, child, declared), child.embeddedResource)
        if subtree is not None:
            properties[name] = subtree
    rules = compile_rules(schema, declared) if schema.rules else ()
    if not rules and items is None and additional is None and not properties:
        return None
    return RuleTree(NodeRules(schema, rules, is_resource_root), properties, additional, items)


def _declared_property(name: str, child: Structural, parent: DeclaredType) -> DeclaredType | None:
    escaped = escape_name(name)
    if escaped is None:
        return declare(child, is_resource_root=child.embeddedResource)
    return (parent.fields or {}).get(escaped)


class _Ratchet(msgspec.Struct, frozen=True, eq=False):
    """Where a value is among those that an update may have left alone: itself, and the nearest above that has one."""

    current: Correlation | None
    above: Correlation | None

    @property
    def is_unchanged(self) -> bool:
        nearest = self.above if self.current is None else self.current
        return nearest is not None and nearest.unchanged

    def at_property(self, name: str) -> "_Ratchet":
        if self.current is None:
            return self
        if self.above is None and name in ("apiVersion", "kind"):
            return _NO_RATCHET
        return _Ratchet(self.current.at_property(name), self.current)

    def at_item(self, number: int) -> "_Ratchet":
        return self if self.current is None else _Ratchet(self.current.at_item(number), self.current)


_NO_RATCHET = _Ratchet(None, None)


def check_rules(
    tree: RuleTree | None,
    value: Any,
    old: Any = None,
    correlation: Correlation | None = None,
    *,
    path: str = "",
    findings: RuleFindings | None = None,
) -> RuleFindings:
    """Evaluate all rules for an object. `old` is compared with by oldSelf, `correlation` makes failures warnings."""
    collected = RuleFindings() if findings is None else findings
    if tree is not None:
        _check(tree, value, old, _Ratchet(correlation, None), path, collected)
    return collected


def _check(tree: RuleTree, value: Any, old: Any, ratchet: _Ratchet, path: str, findings: RuleFindings) -> None:
    if value is None:
        return
    if tree.node.rules:
        tree.node.evaluate(value, old, path, findings, is_unchanged=ratchet.is_unchanged)
    if findings.is_exhausted:
        return
    if isinstance(value, list):
        _check_items(tree, value, old, ratchet, path, findings)
    elif isinstance(value, dict):
        _check_properties(tree, value, old, ratchet, path, findings)


def _check_items(
    tree: RuleTree, value: list[Any], old: Any, ratchet: _Ratchet, path: str, findings: RuleFindings
) -> None:
    if tree.items is None:
        return
    schema = tree.node.schema
    old_items = items_by_key(old, schema) if isinstance(old, list) else {}
    for number, item in enumerate(value):
        before = find_item(old_items, item, schema) if old_items else None
        _check(tree.items, item, before, ratchet.at_item(number), f"{path}[{number}]", findings)
        if findings.is_exhausted:
            return


def _check_properties(
    tree: RuleTree, value: dict[str, Any], old: Any, ratchet: _Ratchet, path: str, findings: RuleFindings
) -> None:
    before = old if isinstance(old, dict) else {}
    for name, item in value.items():
        if tree.additional is not None:
            at = f"{path}[{name}]"
            _check(tree.additional, item, before.get(name), ratchet.at_property(name), at, findings)
        child = tree.properties.get(name)
        if child is not None and not findings.is_exhausted:
            at = child_path(path, name)
            _check(child, item, before.get(name), ratchet.at_property(name), at, findings)
        if findings.is_exhausted:
            return
