"""Label selectors: are their keys, operators and values well formed?

In: a `LabelSelector` or None, its path. Out: field errors. Kubernetes: apimachinery, apis/meta/v1/validation.
"""

from collections.abc import Mapping

from moorage.admit.options import STRICT, ValidationOptions
from moorage.match.operators import BY_NAME, LABEL_SELECTOR, Arity, use_of
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid, required
from moorage.model.names import label_key_errors, label_value_errors
from moorage.model.types.meta import LabelSelector, LabelSelectorRequirement

NEEDS_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
TAKES_NO_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
NOT_AN_OPERATOR = "not a valid selector operator"


def validate_label_name(name: str, path: str) -> list[FieldError]:
    messages = label_key_errors(name)
    return [invalid(path, name, message) for message in messages] if messages else []


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Check keys and values; both are reported at the map's own path, as upstream does.

    Go visits maps in random order; here it is the order of the document.
    """
    errors: list[FieldError] = []
    for key, value in labels.items():
        errors += validate_label_name(key, path)
        errors += [invalid(path, value, message) for message in label_value_errors(value)]
    return errors


def validate_label_selector(
    selector: LabelSelector | None, path: str, options: ValidationOptions = STRICT
) -> list[FieldError]:
    if selector is None:
        return []
    errors = validate_labels(selector.matchLabels, f"{path}.matchLabels") if selector.matchLabels else []
    for index, requirement in enumerate(selector.matchExpressions):
        errors += _validate_requirement(requirement, f"{path}.matchExpressions[{index}]", options)
    return errors


def _validate_requirement(requirement: LabelSelectorRequirement, path: str, options: ValidationOptions) -> FieldErrors:
    errors: list[FieldError] = []
    if use_of(requirement.operator, LABEL_SELECTOR) is None:
        errors.append(invalid(f"{path}.operator", AsJSON(requirement.operator), NOT_AN_OPERATOR))
    elif BY_NAME[requirement.operator].arity is Arity.SOME:
        if not requirement.values:
            errors.append(required(f"{path}.values", NEEDS_VALUES))
    elif requirement.values:
        errors.append(forbidden(f"{path}.values", TAKES_NO_VALUES))
    errors += validate_label_name(requirement.key, f"{path}.key")
    if not options.allow_invalid_label_value_in_selector:
        for index, value in enumerate(requirement.values):
            errors += [invalid(f"{path}.values[{index}]", value, message) for message in label_value_errors(value)]
    return errors


def has_invalid_label_value(selector: LabelSelector | None) -> bool:
    """True if an expression of the selector holds what is no label value; updates of such an object may keep it."""
    return selector is not None and any(
        label_value_errors(value) for requirement in selector.matchExpressions for value in requirement.values
    )
