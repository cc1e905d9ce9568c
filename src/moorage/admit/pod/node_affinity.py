"""Node selectors with operators: node affinity of pods and of volumes.

Kubernetes: ValidateNodeSelector and ValidatePreferredSchedulingTerms. Differs: the operators of KEP-5721.
"""

from collections.abc import Iterable

from moorage.admit.options import ValidationOptions
from moorage.admit.pod.label_selectors import NEEDS_VALUES, NOT_AN_OPERATOR, TAKES_NO_VALUES, validate_label_name
from moorage.match.operators import BY_NAME, NODE_FIELD, NODE_SELECTOR, Arity, less_first, siblings, use_of
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid, required
from moorage.model.names import dns1123_subdomain_errors, label_value_errors
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import NodeAffinity, PreferredSchedulingTerm

FIELD_NEEDS_ONE_VALUE = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
NOT_A_FIELD = "not a valid field selector key"
NEEDS_A_TERM = "must have at least one node selector term"
WEIGHT_RANGE = "must be in the range 1-100"

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def validate_node_affinity(affinity: NodeAffinity, path: str, options: ValidationOptions) -> FieldErrors:
    if affinity.requiredDuringSchedulingIgnoredDuringExecution is not None:
        needed = affinity.requiredDuringSchedulingIgnoredDuringExecution
        yield from validate_node_selector(needed, f"{path}.{_REQUIRED}", options)
    preferred = affinity.preferredDuringSchedulingIgnoredDuringExecution
    yield from _validate_preferred(preferred, f"{path}.{_PREFERRED}", options)


def validate_node_selector(selector: NodeSelector, path: str, options: ValidationOptions) -> list[FieldError]:
    if not selector.nodeSelectorTerms:
        return [required(f"{path}.nodeSelectorTerms", NEEDS_A_TERM)]
    check_values = not options.allow_invalid_label_value_in_required_node_affinity
    errors: list[FieldError] = []
    for index, term in enumerate(selector.nodeSelectorTerms):
        errors += _validate_term(term, f"{path}.nodeSelectorTerms[{index}]", options, check_values=check_values)
    return errors


def _validate_preferred(terms: Iterable[PreferredSchedulingTerm], path: str, options: ValidationOptions) -> FieldErrors:
    for index, term in enumerate(terms):
        if not 1 <= term.weight <= 100:
            yield invalid(f"{path}[{index}].weight", term.weight, WEIGHT_RANGE)
        # Upstream never checks the label values of a preference.
        yield from _validate_term(term.preference, f"{path}[{index}].preference", options, check_values=False)


def _validate_term(term: NodeSelectorTerm, path: str, options: ValidationOptions, *, check_values: bool) -> FieldErrors:
    for index, requirement in enumerate(term.matchExpressions):
        at = f"{path}.matchExpressions[{index}]"
        yield from _validate_values_for_operator(requirement, at, options)
        yield from validate_label_name(requirement.key, f"{at}.key")
        if check_values:
            for position, value in enumerate(requirement.values):
                messages = label_value_errors(value)
                yield from [invalid(f"{at}.values[{position}]", value, message) for message in messages]
    for index, requirement in enumerate(term.matchFields):
        yield from _validate_field_requirement(requirement, f"{path}.matchFields[{index}]")


def _validate_values_for_operator(
    requirement: NodeSelectorRequirement, path: str, options: ValidationOptions
) -> list[FieldError]:
    use, values = use_of(requirement.operator, NODE_SELECTOR), requirement.values
    if use is None or not options.allows_operators_of(use.gate):
        return [invalid(f"{path}.operator", AsJSON(requirement.operator), NOT_AN_OPERATOR)]
    if use.comparison is not None:
        errors = [] if len(values) == 1 else [required(f"{path}.values", needs_one_value(requirement.operator))]
        complaints = [message for value in values for message in use.comparison.kind.errors(value)]
        return errors + [invalid(f"{path}.values", AsJSON(values), message) for message in complaints]
    if BY_NAME[requirement.operator].arity is Arity.NONE:
        return [forbidden(f"{path}.values", TAKES_NO_VALUES)] if values else []
    return [] if values else [required(f"{path}.values", NEEDS_VALUES)]


def needs_one_value(operator: str) -> str:
    """Return upstream's message for a comparing operator with no or several values."""
    names = " or ".join(f"'{name}'" for name in less_first(siblings(operator, NODE_SELECTOR)))
    return f"must be specified single value when `operator` is {names}"


def _validate_field_requirement(requirement: NodeSelectorRequirement, path: str) -> FieldErrors:
    if use_of(requirement.operator, NODE_FIELD) is None:
        yield invalid(f"{path}.operator", AsJSON(requirement.operator), NOT_AN_OPERATOR)
    elif len(requirement.values) != 1:
        yield required(f"{path}.values", FIELD_NEEDS_ONE_VALUE)
    if requirement.key != "metadata.name":
        yield invalid(f"{path}.key", requirement.key, NOT_A_FIELD)
        return
    for index, value in enumerate(requirement.values):
        yield from [invalid(f"{path}.values[{index}]", value, message) for message in dns1123_subdomain_errors(value)]
