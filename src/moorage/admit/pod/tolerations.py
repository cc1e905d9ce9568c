"""Validate tolerations of pods and devices, and taints of nodes.

Kubernetes: ValidateTolerations, validateNodeTaints; for CEL the words of device selectors
(pkg/apis/resource/validation). Differs: the operators of KEP-5721 and `expression` of KEP-5500; of a toleration with an
expression nothing else is checked. Each distinct expression is compiled once for as long as it is in use.
"""

from collections.abc import Iterable
from functools import lru_cache

from moorage.admit.metadata import validate_label_name
from moorage.admit.options import ValidationOptions
from moorage.match.operators import TOLERATION, less_first, names_in, siblings, use_of
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, ErrorKind, FieldError, FieldErrors
from moorage.model.gates import TAINT_TOLERATION_COMPARISON_OPERATORS, Gate, GateSet
from moorage.model.go.quoting import GoStruct, go_json
from moorage.model.go.times import in_utc
from moorage.model.names import byte_length, label_value_errors
from moorage.model.types.devices import DeviceToleration
from moorage.model.types.node import Taint
from moorage.model.types.pod import Toleration
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE

MAX_EXPRESSION_BYTES = 10 * 1024
_KEPT = 512


def validate_expression(expression: str, path: str) -> list[FieldError]:
    if byte_length(expression) > MAX_EXPRESSION_BYTES:
        return [field.too_long(path, MAX_EXPRESSION_BYTES)]
    complaints = _judge(expression)
    if complaints is None:
        return []
    kind, message = complaints
    if kind is ErrorKind.FORBIDDEN:
        return [field.forbidden(path, message)]
    return [
        field.internal_error(path, message) if kind is ErrorKind.INTERNAL else field.invalid(path, expression, message)
    ]


@lru_cache(maxsize=_KEPT)
def _judge(expression: str) -> tuple[ErrorKind, str] | None:
    from moorage.match.cel import Program, compile_expression, render_issues, taint_environment
    from moorage.match.cel.program import NOT_INSTANTIATED, TOO_COMPLEX

    program = compile_expression(expression, taint_environment())
    if isinstance(program, Program):
        return (ErrorKind.FORBIDDEN, TOO_COMPLEX) if program.exceeds_cost_limit else None
    message = render_issues(expression, program)
    return (ErrorKind.INTERNAL if message.startswith(NOT_INSTANTIATED) else ErrorKind.INVALID, message)


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
        if toleration.expression and toleration.attached:
            errors += validate_keyed_expression(toleration, f"{path}[{index}]", "expression")
        elif toleration.expression:
            errors += validate_toleration_with_expression(toleration, f"{path}[{index}]", options)
        else:
            errors += _validate_without_expression(toleration, f"{path}[{index}]", options)
    return errors


def _validate_without_expression(toleration: Toleration, path: str, options: ValidationOptions) -> FieldErrors:
    yield from validate_comparing_toleration(toleration, path, options)
    if toleration.effect:
        yield from validate_taint_effect(toleration.effect, f"{path}.effect")


def validate_comparing_toleration(
    toleration: Toleration | DeviceToleration, path: str, options: ValidationOptions
) -> FieldErrors:
    """Check all of a toleration without an expression but the name of its effect."""
    if toleration.key:
        yield from validate_label_name(toleration.key, f"{path}.key")
    elif toleration.operator != "Exists":
        yield field.invalid(f"{path}.operator", AsJSON(toleration.operator), EMPTY_KEY_NEEDS_EXISTS)
    if toleration.tolerationSeconds is not None and toleration.effect != NO_EXECUTE:
        yield field.invalid(f"{path}.effect", AsJSON(toleration.effect), SECONDS_NEED_NO_EXECUTE)
    yield from _validate_operator_and_value(toleration, path, options)


def _validate_operator_and_value(
    toleration: Toleration | DeviceToleration, path: str, options: ValidationOptions
) -> list[FieldError]:
    value = toleration.value
    match toleration.operator:
        case "" | "Equal":
            if messages := label_value_errors(value):
                return [field.invalid(f"{path}.operator", value, ";".join(messages))]
            return []
        case "Exists":
            return [field.invalid(f"{path}.operator", value, EXISTS_TAKES_NO_VALUE)] if value else []
        case name:
            use = use_of(name, TOLERATION)
            is_allowed = use is not None and (is_attached(toleration) or options.allows_operators_of(use.gate))
            if use is not None and use.comparison is not None and is_allowed:
                return [field.invalid(f"{path}.value", value, message) for message in use.comparison.kind.errors(value)]
            supported = [*_ALWAYS_SUPPORTED]
            if use is not None and use.gate is TAINT_TOLERATION_COMPARISON_OPERATORS and _is_known(use.gate, options):
                supported += less_first(siblings(name, TOLERATION))  # upstream lists them although they are refused
            return [field.not_supported(f"{path}.operator", AsJSON(name), supported)]


def is_attached(toleration: Toleration | DeviceToleration) -> bool:
    return isinstance(toleration, Toleration) and bool(toleration.attached)


def _is_known(gate: Gate, options: ValidationOptions) -> bool:
    """Return whether the release that is asked about has the gate, on or off."""
    release = options.gates.release
    return release is None or gate.in_release(release) is not None


def validate_toleration_with_expression(
    toleration: Toleration | DeviceToleration, path: str, options: ValidationOptions
) -> FieldErrors:
    if not options.allow_taint_toleration_cel:
        yield field.forbidden(f"{path}.expression", EXPRESSION_GATE_IS_OFF)
        return
    if toleration.key or toleration.operator or toleration.value or toleration.effect:
        yield field.invalid(f"{path}.expression", toleration.expression, EXPRESSION_STANDS_ALONE)
    yield from validate_expression(toleration.expression, f"{path}.expression")


def validate_keyed_expression(toleration: Toleration, path: str, name: str, *, compiles: bool = True) -> FieldErrors:
    """Check an expression about the taints of a key, which attach lowers. `name` is that of the expression's field."""
    if toleration.key:
        yield from validate_label_name(toleration.key, f"{path}.key")
    else:
        yield field.invalid(f"{path}.operator", AsJSON(toleration.operator), EMPTY_KEY_NEEDS_EXISTS)
    if toleration.tolerationSeconds is not None and toleration.effect != NO_EXECUTE:
        yield field.invalid(f"{path}.effect", AsJSON(toleration.effect), SECONDS_NEED_NO_EXECUTE)
    if compiles:
        yield from validate_expression(toleration.expression or toleration.value, f"{path}.{name}")
    if toleration.effect:
        yield from validate_taint_effect(toleration.effect, f"{path}.effect")


TAINT_EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
MUST_BE_UNIQUE = "taints must be unique by key and effect pair"


def validate_taint_effect(effect: str, path: str) -> list[FieldError]:
    return field.one_of(effect, TAINT_EFFECTS, path)


def validate_taints(taints: Iterable[Taint], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at = f"{path}[{index}]"
        errors += validate_label_name(taint.key, f"{at}.key")
        if messages := label_value_errors(taint.value):
            errors.append(field.invalid(f"{at}.value", taint.value, ";".join(messages)))
        errors += (
            validate_taint_effect(taint.effect, f"{at}.effect") if taint.effect else [field.required(f"{at}.effect")]
        )
        if (taint.key, taint.effect) in seen:
            added = None if taint.timeAdded is None else in_utc(taint.timeAdded)
            shown = GoStruct(Key=taint.key, Value=taint.value, Effect=taint.effect, TimeAdded=added)
            errors.append(FieldError(ErrorKind.DUPLICATE, at, go_json(shown), MUST_BE_UNIQUE))
        seen.add((taint.key, taint.effect))
    return errors
