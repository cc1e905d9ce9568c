"""Validate the rules of a schema's nodes: that they compile, and what they may cost together.

Kubernetes: apiextensions-apiserver, validation/validation.go and cel_validation.go.
"""

from typing import Final

import msgspec

from moorage.custom.definition.internal_spec import DefinitionOptions
from moorage.custom.definition.written_forms import go_form
from moorage.custom.expressions.declared_types import declare
from moorage.custom.expressions.rules import CompiledRule, compile_rules
from moorage.custom.structural import Structural
from moorage.match.cel.functions import MAX_COST
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, internal_error, invalid
from moorage.model.types.extension.custom_resource_definition import JSONSchemaProps

RULE_LIMIT: Final = 10_000_000
DEFINITION_LIMIT: Final = 100_000_000
_HINT: Final = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared"
)
_MAX_NAMED: Final = 4


class TotalCost:
    """The estimated cost of all rules of a schema, and the dearest of them."""

    def __init__(self) -> None:
        self.total = 0
        self.dearest: list[tuple[int, str]] = []

    def add(self, path: str, cost: int) -> None:
        self.total = min(self.total + cost, MAX_COST)
        if cost >= DEFINITION_LIMIT // 100:
            self.dearest = sorted([*self.dearest, (cost, path)], key=lambda priced: -priced[0])[:_MAX_NAMED]

    def errors(self, path: str) -> FieldErrors:
        if self.total <= DEFINITION_LIMIT:
            return
        words = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        for _, where in self.dearest:
            yield forbidden(where, words)
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield forbidden(path, _too_dear(name, self.total, DEFINITION_LIMIT))


class RuleContext(msgspec.Struct, frozen=True):
    """A node's place for its rules: how many such values an object may have, None if the schema sets no bound."""

    total: TotalCost
    #: The node, compiled.
    node: Structural
    cardinality: int | None = 1
    is_root: bool = True

    def child(self, schema: JSONSchemaProps, node: Structural | None) -> "RuleContext | None":
        if node is None:
            return None
        most = _max_elements(schema)
        unbounded = self.cardinality is None or most is None
        cardinality = None if unbounded else _product(self.cardinality or 0, most or 0)
        return RuleContext(self.total, node, cardinality, is_root=False)


def _max_elements(schema: JSONSchemaProps) -> int | None:
    """Return by how much a node multiplies the number of values below it, None if without a bound."""
    if schema.type == "object" and schema.additionalProperties is not None:
        return None if schema.maxProperties is None else max(schema.maxProperties, 0)
    if schema.type == "array":
        return None if schema.maxItems is None else max(schema.maxItems, 0)
    return 1


def _product(cost: int, factor: int) -> int:
    return min(cost * factor, MAX_COST)


def check_rules_of_node(
    schema: JSONSchemaProps, path: str, uncorrelated: str, options: DefinitionOptions, context: RuleContext
) -> list[FieldError]:
    """Compile the rules of a node and add up their costs."""
    structural = context.node
    declared = declare(structural, is_resource_root=context.is_root or schema.XEmbeddedResource)
    path = f"{path}.x-kubernetes-validations"
    if declared is None:
        words = "failed to construct type information for x-kubernetes-validations rules"
        reason = "unable to convert structural schema to CEL declarations"
        return [internal_error(path, f"internal error: {words}: {reason}")]
    errors: list[FieldError] = []
    for number, rule in enumerate(compile_rules(structural, declared)):
        errors += _check_rule(rule, f"{path}[{number}]", uncorrelated, options, context)
    return errors


def _check_rule(
    rule: CompiledRule, path: str, uncorrelated: str, options: DefinitionOptions, context: RuleContext
) -> FieldErrors:
    times = rule.max_cardinality if context.cardinality is None else context.cardinality
    cost = _product(rule.max_cost, times)
    if options.limits_rule_costs and cost > RULE_LIMIT:
        yield forbidden(f"{path}.rule", _too_dear("estimated rule cost", cost, RULE_LIMIT))
    context.total.add(f"{path}.rule", cost)
    if rule.error:
        yield invalid(f"{path}.rule", AsJSON(go_form(rule.rule)), rule.error)
    if rule.message_error:
        yield invalid(f"{path}.messageExpression", AsJSON(go_form(rule.rule)), rule.message_error)
    elif rule.message is not None:
        message_cost = rule.message_max_cost
        if options.limits_rule_costs and message_cost > RULE_LIMIT:
            words = _too_dear("estimated messageExpression cost", message_cost, RULE_LIMIT)
            yield forbidden(f"{path}.messageExpression", words)
        context.total.add(f"{path}.messageExpression", message_cost)
    if rule.uses_old and uncorrelated:
        words = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
        yield invalid(f"{path}.rule", rule.rule.rule, words)
    elif not rule.uses_old and rule.rule.optionalOldSelf is not None:
        words = "may not be set if oldSelf is not used in rule"
        yield invalid(f"{path}.optionalOldSelf", rule.rule.optionalOldSelf, words)


def _too_dear(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {'more than 100x' if factor > 100 else shown} ({_HINT})"
