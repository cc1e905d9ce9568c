"""Validate what many kinds share: counts, immutable fields, percentages, selectors with their template.

Kubernetes: ValidateNonnegativeField and ValidateImmutableField (apimachinery, api/validation),
ValidatePositiveIntOrPercent and ValidatePodTemplateSpecForReplicaSet (pkg/apis/apps/validation).
"""

from collections.abc import Sequence
from typing import Any

from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import FIELD_IS_IMMUTABLE, NOT_NEGATIVE, validate_label_selector
from moorage.admit.options import STRICT, ValidationOptions
from moorage.match.label_selector import Selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required
from moorage.model.names import percent_errors
from moorage.model.types.meta import LabelSelector
from moorage.model.types.pod import PodTemplateSpec

OVER_100_PERCENT = "must not be greater than 100%"


def repeated_places(values: Sequence[str]) -> list[int]:
    """Return where a value stands that stood before."""
    first = {value: place for place, value in reversed(list(enumerate(values)))}
    return [place for place, value in enumerate(values) if first[value] != place]


def validate_not_negative(value: int | None, path: str) -> list[FieldError]:
    return [invalid(path, value, NOT_NEGATIVE)] if value is not None and value < 0 else []


def validate_immutable(new: Any, old: Any, path: str, shown: Any = None) -> list[FieldError]:
    """`shown` is what to print where the view itself is not what Go would print."""
    if new == old:
        return []
    return [invalid(path, AsJSON(new if shown is None else shown), FIELD_IS_IMMUTABLE)]


def validate_int_or_percent(value: int | str, path: str) -> list[FieldError]:
    if isinstance(value, int):
        return validate_not_negative(value, path)
    return [invalid(path, AsJSON(value), message) for message in percent_errors(value)]


def validate_at_most_100_percent(value: int | str, path: str) -> list[FieldError]:
    if isinstance(value, int) or percent_errors(value) or int_or_percent_value(value) <= 100:
        return []
    return [invalid(path, AsJSON(value), OVER_100_PERCENT)]


def or_zero(value: int | str | None) -> int | str:
    """Return what Go holds: 0 for a share that is absent, but not for one that is empty text."""
    return 0 if value is None else value


def int_or_percent_value(value: int | str) -> int:
    """The number without its percent sign; text may be a number with a sign, and 0 is what is neither, as upstream."""
    if isinstance(value, int):
        return value
    if value.endswith("%"):
        sign, digits = 1, value[:-1]
    else:
        sign, digits = (-1 if value.startswith("-") else 1), (value[1:] if value[:1] in ("+", "-") else value)
    if not digits.isascii() or not digits.isdigit():
        return 0
    # More digits than an int64 has are more than any limit here, and int() need not read them all.
    return sign * int(digits.lstrip("0")[:19] or "0")


NOT_SELECTED = "`selector` does not match template `labels`"


def compile_selector(selector: LabelSelector | None) -> Selector | None:
    """Return the selector as a matcher, or None if it cannot be one."""
    try:
        return compile_label_selector(selector)
    except SelectorError:
        return None


def validate_required_selector(selector: LabelSelector | None, path: str, kind: str) -> list[FieldError]:
    if selector is None:
        return [required(path)]
    errors = validate_label_selector(selector, path, STRICT)
    return errors + validate_selector_not_empty(selector, path, kind)


def validate_selector_not_empty(selector: LabelSelector | None, path: str, kind: str) -> list[FieldError]:
    if selector is None or selector.matchLabels or selector.matchExpressions:
        return []
    return [invalid(path, AsJSON(internal_form(selector)), f"empty selector is invalid for {kind}")]


def validate_selected(selector: Selector, template: PodTemplateSpec, path: str) -> list[FieldError]:
    labels = template.metadata.labels
    if selector.match(labels):
        return []
    return [invalid(f"{path}.metadata.labels", AsJSON(labels), NOT_SELECTED)]


def validate_always_restarts(template: PodTemplateSpec, path: str, kind: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if template.spec.restartPolicy != "Always":
        errors.append(not_supported(f"{path}.spec.restartPolicy", AsJSON(template.spec.restartPolicy), ["Always"]))
    if template.spec.activeDeadlineSeconds is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden(f"{path}.spec.activeDeadlineSeconds", detail))
    return errors


def options_for_selector(options: ValidationOptions) -> ValidationOptions:
    """The options a selector outside the template is judged with: a mistake in the old template excuses it, too."""
    return options if options.allow_invalid_label_value_in_selector else STRICT
