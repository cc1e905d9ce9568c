"""Compile the rules of one node: programs, estimated costs, or what is wrong with them.

Kubernetes: apiextensions-apiserver, pkg/apiserver/schema/cel/compilation.go.
"""

from typing import Any, Final

import msgspec

from moorage.custom.expressions.declared_types import OLD_SELF, DeclaredType, rule_environment
from moorage.custom.expressions.field_paths import FieldPathError, resolve_field_path
from moorage.custom.structural import Structural
from moorage.match.cel import types
from moorage.match.cel.environment import Environment
from moorage.match.cel.program import NOT_INSTANTIATED, Program, compile_expression, render_issues
from moorage.model.types.extension.custom_resource_definition import ValidationRule

#: Texts longer than this are not compiled. Differs: Kubernetes has no limit but the size of a request.
MAX_EXPRESSION_LENGTH: Final = 64 * 1024


class CompiledRule(msgspec.Struct, frozen=True, eq=False):
    """A rule with its programs. Without a program it is empty, or `error` says why; likewise the message's.

    `field_path` is where errors are reported, relative to the node.
    """

    rule: ValidationRule
    program: Program | None = None
    error: str = ""
    uses_old: bool = False
    max_cost: int = 0
    max_cardinality: int = 0
    message: Program | None = None
    message_error: str = ""
    message_max_cost: int = 0
    field_path: str = ""

    @property
    def is_optional_old(self) -> bool:
        return self.rule.optionalOldSelf is True


def compile_rules(schema: Structural, declared: DeclaredType) -> tuple[CompiledRule, ...]:
    """Return the rules of a node whose type is declared. They are compiled once and kept with the node."""
    kept: dict[str, Any] = schema.__dict__
    cached: tuple[DeclaredType, tuple[CompiledRule, ...]] | None = kept.get("compiled rules")
    if cached is None or cached[0] is not declared:
        cached = kept["compiled rules"] = declared, _compile_rules(schema, declared)
    return cached[1]


def _compile_rules(schema: Structural, declared: DeclaredType) -> tuple[CompiledRule, ...]:
    environments: dict[bool, Environment] = {}
    compiled = []
    for rule in schema.rules:
        optional = rule.optionalOldSelf is True
        if optional not in environments:
            environments[optional] = rule_environment(declared, optional_old=optional)
        compiled.append(_compile_rule(schema, rule, environments[optional], declared.max_cardinality))
    return tuple(compiled)


def _compile_rule(schema: Structural, rule: ValidationRule, environment: Environment, cardinality: int) -> CompiledRule:
    if not rule.rule.strip():
        return CompiledRule(rule)
    program = _compile(rule.rule, environment)
    if isinstance(program, str):
        return CompiledRule(rule, error=program)
    if program.result_type != types.BOOL:
        return CompiledRule(rule, error="cel expression must evaluate to a bool")
    message: Program | None = None
    message_error = ""
    if rule.messageExpression:
        compiled = _compile(rule.messageExpression, environment)
        if isinstance(compiled, str):
            message_error = f"messageExpression {compiled.removeprefix('program ')}"
        elif compiled.result_type != types.STRING:
            message_error = "messageExpression must evaluate to a string"
        else:
            message = compiled
    return CompiledRule(
        rule,
        program,
        uses_old=OLD_SELF in program.variables,
        max_cost=program.estimate.max,
        max_cardinality=cardinality,
        message=message,
        message_error=message_error,
        message_max_cost=0 if message is None else message.estimate.max,
        field_path="" if message_error else _field_path(schema, rule),
    )


def _compile(text: str, environment: Environment) -> Program | str:
    if len(text) > MAX_EXPRESSION_LENGTH:
        return f"compilation failed: may not be more than {MAX_EXPRESSION_LENGTH} characters"
    program = compile_expression(text, environment)
    if isinstance(program, Program):
        return program
    rendered = render_issues(text, program)
    known = ("compilation failed: ", NOT_INSTANTIATED)
    return rendered if rendered.startswith(known) else f"compilation failed: {rendered}"


def _field_path(schema: Structural, rule: ValidationRule) -> str:
    if not rule.fieldPath:
        return ""
    try:
        return resolve_field_path(rule.fieldPath, schema).path
    except FieldPathError:
        return ""
