"""Node selectors with operators: node affinity of pods and of volumes.

In: a `NodeSelector` or `NodeAffinity`, its path, the options. Out: field errors. Kubernetes: ValidateNodeSelector and
ValidatePreferredSchedulingTerms; the Semver operators follow their document.
"""

from collections.abc import Iterable

from moorage.admit.options import ValidationOptions
from moorage.admit.scheduling.label_selectors import (
    NEEDS_VALUES,
    NOT_AN_OPERATOR,
    TAKES_NO_VALUES,
    validate_label_name,
)
from moorage.match.semver import SemverError, parse_tolerant
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, required
from moorage.model.names import dns1123_subdomain_errors, label_value_errors
from moorage.model.types.scheduling import (
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
)

NUMBER_NEEDS_ONE_VALUE = "must be specified single value when `operator` is 'Lt' or 'Gt'"
SEMVER_NEEDS_ONE_VALUE = "must be specified single value when `operator` is 'SemverLt' or 'SemverGt' or 'SemverEq'"
FIELD_NEEDS_ONE_VALUE = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
NOT_A_FIELD = "not a valid field selector key"
NEEDS_A_TERM = "must have at least one node selector term"
WEIGHT_RANGE = "must be in the range 1-100"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_node_affinity(affinity: NodeAffinity, path: str, options: ValidationOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if affinity.requiredDuringSchedulingIgnoredDuringExecution is not None:
        needed = affinity.requiredDuringSchedulingIgnoredDuringExecution
        errors += validate_node_selector(needed, f"{path}.{_REQUIRED}", options)
    preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution
    return errors + _validate_preferred(preferred, f"{path}.{_PREFERRED}", options)


def validate_node_selector(selector: NodeSelector, path: str, options: ValidationOptions) -> list[FieldError]:
    if not selector.nodeSelectorTerms:
        return [required(f"{path}.nodeSelectorTerms", NEEDS_A_TERM)]
    check_values = not options.allow_invalid_label_value_in_required_node_affinity
    errors: list[FieldError] = []
    for index, term in enumerate(selector.nodeSelectorTerms):
        errors += _validate_term(term, f"{path}.nodeSelectorTerms[{index}]", options, check_values=check_values)
    return errors


def _validate_preferred(
    terms: Iterable[PreferredSchedulingTerm], path: str, options: ValidationOptions
) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, term in enumerate(terms):
        if not 1 <= term.weight <= 100:
            errors.append(invalid(f"{path}[{index}].weight", term.weight, WEIGHT_RANGE))
        # Upstream never checks the label values of a preference.
        errors += _validate_term(term.preference, f"{path}[{index}].preference", options, check_values=False)
    return errors


def _validate_term(
    term: NodeSelectorTerm, path: str, options: ValidationOptions, *, check_values: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, requirement in enumerate(term.matchExpressions):
        at = f"{path}.matchExpressions[{index}]"
        errors += _validate_values_for_operator(requirement, at, options)
        errors += validate_label_name(requirement.key, f"{at}.key")
        if check_values:
            for position, value in enumerate(requirement.values):
                messages = label_value_errors(value)
                errors += [invalid(f"{at}.values[{position}]", value, message) for message in messages]
    for index, requirement in enumerate(term.matchFields):
        errors += _validate_field_requirement(requirement, f"{path}.matchFields[{index}]")
    return errors


def _validate_values_for_operator(
    requirement: NodeSelectorRequirement, path: str, options: ValidationOptions
) -> list[FieldError]:
    values = requirement.values
    match requirement.operator:
        case "In" | "NotIn":
            return [] if values else [required(f"{path}.values", NEEDS_VALUES)]
        case "Exists" | "DoesNotExist":
            return [forbidden(f"{path}.values", TAKES_NO_VALUES)] if values else []
        case "Gt" | "Lt":
            return [] if len(values) == 1 else [required(f"{path}.values", NUMBER_NEEDS_ONE_VALUE)]
        case "SemverLt" | "SemverGt" | "SemverEq" if options.allow_semver_comparison_operators:
            return _validate_versions(values, f"{path}.values")
        case unknown:
            return [invalid(f"{path}.operator", AsJSON(unknown), NOT_AN_OPERATOR)]


def _validate_versions(values: tuple[str, ...], path: str) -> list[FieldError]:
    errors = [] if len(values) == 1 else [required(path, SEMVER_NEEDS_ONE_VALUE)]
    for value in values:
        try:
            parse_tolerant(value)
        except SemverError as error:
            errors.append(invalid(path, AsJSON(values), str(error)))
    return errors


def _validate_field_requirement(requirement: NodeSelectorRequirement, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    match requirement.operator:
        case "In" | "NotIn":
            if len(requirement.values) != 1:
                errors.append(required(f"{path}.values", FIELD_NEEDS_ONE_VALUE))
        case unknown:
            errors.append(invalid(f"{path}.operator", AsJSON(unknown), NOT_AN_OPERATOR))
    if requirement.key != "metadata.name":
        errors.append(invalid(f"{path}.key", requirement.key, NOT_A_FIELD))
        return errors
    for index, value in enumerate(requirement.values):
        errors += [invalid(f"{path}.values[{index}]", value, message) for message in dns1123_subdomain_errors(value)]
    return errors
