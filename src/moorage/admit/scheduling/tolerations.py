"""Tolerations of a pod: key, operator and value, effect, or a CEL expression instead of them.

In: tolerations, their path, the options that say which operators exist. Out: field errors, all of them, in upstream's
order. Kubernetes: ValidateTolerations. Differs: the operators of KEP-5721 and `expression` of KEP-5500;
of a toleration with an expression nothing else is checked.
"""

from collections.abc import Iterable

from moorage.admit.options import ValidationOptions
from moorage.admit.scheduling.expressions import validate_expression
from moorage.admit.scheduling.label_selectors import validate_label_name
from moorage.admit.scheduling.taints import validate_taint_effect
from moorage.match.operators import TOLERATION, less_first, names_in, siblings, use_of
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported
from moorage.model.gates import TAINT_TOLERATION_COMPARISON_OPERATORS, GateSet
from moorage.model.names import label_value_errors
from moorage.model.types.pod import Toleration

EMPTY_KEY_NEEDS_EXISTS = (
    'operator must be Exists when `key` is empty, which means "match all values and all keys"'  # ends in a quotation
)
SECONDS_NEED_NO_EXECUTE = "effect must be 'NoExecute' when `tolerationSeconds` is set"
EXISTS_TAKES_NO_VALUE = "value must be empty when `operator` is 'Exists'"
EXPRESSION_STANDS_ALONE = "expression cannot be used with key, value, operator, or effect fields"
EXPRESSION_GATE_IS_OFF = "may not be set when the TaintTolerationCEL feature gate is disabled"

_ALWAYS_SUPPORTED = names_in(TOLERATION, GateSet(frozenset()))


def validate_tolerations(tolerations: Iterable[Toleration], path: str, options: ValidationOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, toleration in enumerate(tolerations):
        if toleration.expression:
            errors += _validate_with_expression(toleration, f"{path}[{index}]", options)
        else:
            errors += _validate_without_expression(toleration, f"{path}[{index}]", options)
    return errors


def _validate_without_expression(toleration: Toleration, path: str, options: ValidationOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if toleration.key:
        errors += validate_label_name(toleration.key, f"{path}.key")
    elif toleration.operator != "Exists":
        errors.append(invalid(f"{path}.operator", AsJSON(toleration.operator), EMPTY_KEY_NEEDS_EXISTS))
    if toleration.tolerationSeconds is not None and toleration.effect != "NoExecute":
        errors.append(invalid(f"{path}.effect", AsJSON(toleration.effect), SECONDS_NEED_NO_EXECUTE))
    errors += _validate_operator_and_value(toleration, path, options)
    if toleration.effect:
        errors += validate_taint_effect(toleration.effect, f"{path}.effect")
    return errors


def _validate_operator_and_value(toleration: Toleration, path: str, options: ValidationOptions) -> list[FieldError]:
    value = toleration.value
    match toleration.operator:
        case "" | "Equal":
            if messages := label_value_errors(value):
                return [invalid(f"{path}.operator", value, ";".join(messages))]
            return []
        case "Exists":
            return [invalid(f"{path}.operator", value, EXISTS_TAKES_NO_VALUE)] if value else []
        case name:
            use = use_of(name, TOLERATION)
            if use is not None and use.comparison is not None and options.allows_operators_of(use.gate):
                return [invalid(f"{path}.value", value, message) for message in use.comparison.kind.errors(value)]
            supported = [*_ALWAYS_SUPPORTED]
            if use is not None and use.gate is TAINT_TOLERATION_COMPARISON_OPERATORS:
                supported += less_first(siblings(name, TOLERATION))  # upstream lists them although they are refused
            return [not_supported(f"{path}.operator", AsJSON(name), supported)]


def _validate_with_expression(toleration: Toleration, path: str, options: ValidationOptions) -> list[FieldError]:
    if not options.allow_taint_toleration_cel:
        return [forbidden(f"{path}.expression", EXPRESSION_GATE_IS_OFF)]
    errors: list[FieldError] = []
    if toleration.key or toleration.operator or toleration.value or toleration.effect:
        errors.append(invalid(f"{path}.expression", toleration.expression, EXPRESSION_STANDS_ALONE))
    return errors + validate_expression(toleration.expression, f"{path}.expression")
