"""Rules that many kinds share: counts that must not be negative, fields that must not change, percentages.

In: values and paths. Out: field errors. Kubernetes: ValidateNonnegativeField and ValidateImmutableField
(apimachinery, api/validation), ValidatePositiveIntOrPercent (pkg/apis/apps/validation).
"""

from typing import Any

from moorage.admit.metadata import FIELD_IS_IMMUTABLE, NOT_NEGATIVE
from moorage.model.field_error import AsJSON, FieldError, invalid
from moorage.model.go.quoting import GoStruct
from moorage.model.names import percent_errors
from moorage.model.types.meta import LabelSelector, LabelSelectorRequirement

OVER_100_PERCENT = "must not be greater than 100%"


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
    """What Go holds: 0 for a share that is absent, but not for one that is empty text."""
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


def shown_label_selector(selector: LabelSelector | None) -> GoStruct | None:
    """A selector as Go prints it: its JSON names, and without what is empty."""
    if selector is None:
        return None
    shown = GoStruct()
    if selector.matchLabels:
        shown["matchLabels"] = selector.matchLabels
    if selector.matchExpressions:
        shown["matchExpressions"] = [_shown_requirement(one) for one in selector.matchExpressions]
    return shown


def _shown_requirement(requirement: LabelSelectorRequirement) -> GoStruct:
    shown = GoStruct(key=requirement.key, operator=requirement.operator)
    if requirement.values:
        shown["values"] = list(requirement.values)
    return shown
