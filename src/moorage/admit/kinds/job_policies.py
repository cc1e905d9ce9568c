"""Validate a job's policies about failed, succeeded and replaced pods.

Kubernetes: validatePodFailurePolicy, validateSuccessPolicy, validatePodReplacementPolicy (pkg/apis/batch/validation).
"""

from itertools import pairwise

from moorage.admit.kinds.fields import validate_not_negative
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import validate_label_name
from moorage.match.numeric import NumberError, parse_int64
from moorage.match.operators import EXIT_CODES, names_in
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, ErrorKind, FieldError, FieldErrors
from moorage.model.go.quoting import go_quote
from moorage.model.names import byte_length
from moorage.model.text.readers import reads_text
from moorage.model.types.workload import (
    JobSpec,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
    SuccessPolicyRule,
)

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = names_in(EXIT_CODES)
_STATUSES = ("False", "True", "Unknown")
_REPLACEMENTS = ("Failed", "TerminatingOrFailed")
_MAX_RULES = _MAX_CONDITIONS = 20
_MAX_EXIT_CODES = 255
_MAX_INDEXES_LENGTH = 64 * 1024


def _invalid_without_value(path: str, detail: str) -> FieldError:
    return FieldError(ErrorKind.INVALID, path, None, detail)


def _validate_choice(value: str, supported: tuple[str, ...], path: str) -> list[FieldError]:
    names = " ".join(go_quote(name) for name in supported)
    return field.required_one_of(value, supported, path, f"valid values: [{names}]")


def validate_failure_policy(spec: JobSpec, path: str) -> FieldErrors:
    rules = spec.podFailurePolicy.rules if spec.podFailurePolicy is not None else ()
    if len(rules) > _MAX_RULES:
        yield field.too_many(f"{path}.rules", len(rules), _MAX_RULES)
    pod = spec.template.spec
    containers = frozenset(container.name for container in (*pod.containers, *pod.initContainers))
    for index, rule in enumerate(rules):
        yield from _validate_rule(rule, f"{path}.rules[{index}]", spec, containers)


def _validate_rule(rule: PodFailurePolicyRule, path: str, spec: JobSpec, containers: frozenset[str]) -> FieldErrors:
    yield from _validate_choice(rule.action, _ACTIONS, f"{path}.action")
    if rule.action == "FailIndex" and spec.backoffLimitPerIndex is None:
        yield field.invalid(f"{path}.action", AsJSON(rule.action), "requires the backoffLimitPerIndex to be set")
    if rule.onExitCodes is not None:
        yield from _validate_exit_codes(rule.onExitCodes, f"{path}.onExitCodes", containers)
    if rule.onPodConditions:
        yield from _validate_conditions(rule.onPodConditions, f"{path}.onPodConditions")
    if rule.onExitCodes is not None and rule.onPodConditions:
        yield _invalid_without_value(path, "specifying both OnExitCodes and OnPodConditions is not supported")
    if rule.onExitCodes is None and not rule.onPodConditions:
        yield _invalid_without_value(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _validate_exit_codes(
    codes: PodFailurePolicyOnExitCodesRequirement, path: str, containers: frozenset[str]
) -> FieldErrors:
    yield from _validate_choice(codes.operator, _OPERATORS, f"{path}.operator")
    if codes.containerName is not None and codes.containerName not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        yield field.invalid(f"{path}.containerName", codes.containerName, detail)
    values = codes.values
    if not values:
        yield field.invalid(f"{path}.values", None, "at least one value is required")
    elif len(values) > _MAX_EXIT_CODES:
        yield field.too_many(f"{path}.values", len(values), _MAX_EXIT_CODES)
    seen: set[int] = set()
    for index, value in enumerate(values):
        if codes.operator == "In" and value == 0:
            yield field.invalid(f"{path}.values[{index}]", value, "must not be 0 for the In operator")
        if value in seen:
            yield field.duplicate(f"{path}.values[{index}]", value)
        seen.add(value)
    if any(before > after for before, after in pairwise(values)):
        yield field.invalid(f"{path}.values", AsJSON(values), "must be ordered")


def _validate_conditions(patterns: tuple[PodFailurePolicyOnPodConditionsPattern, ...], path: str) -> FieldErrors:
    if len(patterns) > _MAX_CONDITIONS:
        yield field.too_many(path, len(patterns), _MAX_CONDITIONS)
    for index, pattern in enumerate(patterns):
        yield from validate_label_name(pattern.type, f"{path}[{index}].type")
        yield from _validate_choice(pattern.status, _STATUSES, f"{path}[{index}].status")


def validate_replacement_policy(spec: JobSpec, path: str) -> list[FieldError]:
    allowed = _REPLACEMENTS if spec.podFailurePolicy is None else ("Failed",)
    return field.one_of(spec.podReplacementPolicy, allowed, path)


def validate_success_policy(spec: JobSpec, path: str) -> FieldErrors:
    rules = spec.successPolicy.rules if spec.successPolicy is not None else ()
    if spec.completionMode != "Indexed":
        yield field.invalid(path, AsJSON(internal_form(spec.successPolicy)), "requires indexed completion mode")
        return
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        yield field.required(f"{path}.rules", detail)
    if len(rules) > _MAX_RULES:
        yield field.too_many(f"{path}.rules", len(rules), _MAX_RULES)
    for index, rule in enumerate(rules):
        yield from _validate_success_rule(rule, f"{path}.rules[{index}]", spec.completions or 0)


def _validate_success_rule(rule: SuccessPolicyRule, path: str, completions: int) -> FieldErrors:
    indexes, count = rule.succeededIndexes, rule.succeededCount
    if count is None and indexes is None:
        yield field.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if indexes is not None:
        if byte_length(indexes) > _MAX_INDEXES_LENGTH:
            yield field.too_long(f"{path}.succeededIndexes", _MAX_INDEXES_LENGTH)
        try:
            total = _count_indexes(indexes, completions)
        except NumberError as error:
            yield field.invalid(f"{path}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if count is not None:
        yield from validate_not_negative(count, f"{path}.succeededCount")
        if count > completions:
            detail = f"must be less than or equal to {completions} (the number of specified completions)"
            yield field.invalid(f"{path}.succeededCount", count, detail)
        if indexes is not None and count > total:
            detail = f"must be less than or equal to {total} (the number of indexes in the specified "
            yield field.invalid(f"{path}.succeededCount", count, f"{detail}succeededIndexes field)")


@reads_text("1", "2", "-", ",", "x", arguments=(1 << 31,), raises=NumberError)
def _count_indexes(text: str, completions: int) -> int:
    """Return how many indexes `1,3-5` names; NumberError says what is wrong with it."""
    total, previous = 0, None
    for interval in text.split(",") if text else ():
        parts = interval.split("-")
        if len(parts) > 2:
            detail = "violates the requirement that an index interval can have at most two parts separated by '-'"
            raise NumberError(f"the fragment {go_quote(interval)} {detail}")
        first, last = _index(parts[0], completions), _index(parts[-1], completions)
        if len(parts) == 2 and first >= last:
            raise NumberError(f"non-increasing order, previous: {first}, current: {last}")
        if previous is not None and previous >= first:
            raise NumberError(f"non-increasing order, previous: {previous}, current: {first}")
        total += last - first + 1
        previous = last
    return total


def _index(text: str, completions: int) -> int:
    try:
        value = parse_int64(text)
    except NumberError:
        raise NumberError(f"cannot convert string to integer for index: {go_quote(text)}") from None
    if value >= completions:
        raise NumberError(f"too large index: {go_quote(text)}")
    return value
