"""Validate node affinity, affinity between pods, topology spread constraints, and their matchLabelKeys.

`prepare.mutate` has merged what matchLabelKeys stand for into the selector, which is how a key in both is found.
Kubernetes: ValidateNodeSelector, ValidatePreferredSchedulingTerms, validateAffinity, validatePodAffinity,
validateTopologySpreadConstraints, ValidateMatchLabelKeysAndMismatchLabelKeys, ValidateMatchLabelKeysInTopologySpread.
Differs: the operators of KEP-5721.
"""

from collections.abc import Iterable, Sequence

from moorage.admit.metadata import (
    NEEDS_VALUES,
    NOT_AN_OPERATOR,
    TAKES_NO_VALUES,
    validate_dns_label,
    validate_label_name,
    validate_label_selector,
)
from moorage.admit.options import STRICT, ValidationOptions
from moorage.match.operators import (
    BY_NAME,
    NODE_FIELD,
    NODE_SELECTOR,
    Arity,
    less_first,
    siblings,
    use_of,
)
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, duplicate, forbidden, invalid, one_of, required
from moorage.model.names import dns1123_subdomain_errors, label_value_errors
from moorage.model.types.meta import LabelSelector
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import (
    Affinity,
    NodeAffinity,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PreferredSchedulingTerm,
    TopologySpreadConstraint,
)

NEEDS_A_SELECTOR = "must not be specified when labelSelector is not set"
IN_SELECTOR_TOO = "exists in both matchLabelKeys and labelSelector"
IN_BOTH_LISTS = "exists in both matchLabelKeys and mismatchLabelKeys"


def validate_label_keys(
    match_keys: Sequence[str], mismatch_keys: Sequence[str], selector: LabelSelector | None, path: str
) -> FieldErrors:
    """Check both lists against each other and against the merged selector; `path` is that of the term."""
    if not match_keys and not mismatch_keys:
        return
    yield from _validate_names(match_keys, selector, f"{path}.matchLabelKeys")
    yield from _validate_names(mismatch_keys, selector, f"{path}.mismatchLabelKeys")
    if selector is not None:
        yield from _validate_not_in_selector(match_keys, selector, path)
    for index, key in enumerate(match_keys):
        if key in mismatch_keys:
            yield invalid(f"{path}.matchLabelKeys[{index}]", key, IN_BOTH_LISTS)


def _validate_names(keys: Sequence[str], selector: LabelSelector | None, path: str) -> list[FieldError]:
    if not keys:
        return []
    if selector is None:
        return [forbidden(path, NEEDS_A_SELECTOR)]
    return [error for index, key in enumerate(keys) for error in validate_label_name(key, f"{path}[{index}]")]


def _validate_not_in_selector(match_keys: Sequence[str], selector: LabelSelector, path: str) -> FieldErrors:
    """Find keys the merged selector names twice. The index is appended to the term's path: upstream's real, odd one."""
    position = {key: index for index, key in enumerate(match_keys)}
    seen = set(selector.matchLabels)
    for requirement in selector.matchExpressions:
        key = requirement.key
        if key in position and key in seen:
            yield invalid(f"{path}[{position[key]}]", key, IN_SELECTOR_TOO)
        seen.add(key)


def validate_unmerged_label_keys(match_keys: Sequence[str], selector: LabelSelector | None, path: str) -> FieldErrors:
    """Check a list that was not merged; `path` is that of the list."""
    if not match_keys:
        return
    selected: set[str] = set()
    if selector is None:
        yield forbidden(path, NEEDS_A_SELECTOR)
    else:
        selected.update(selector.matchLabels)
        selected.update(requirement.key for requirement in selector.matchExpressions)
    for index, key in enumerate(match_keys):
        yield from validate_label_name(key, f"{path}[{index}]")
        if key in selected:
            yield invalid(f"{path}[{index}]", key, IN_SELECTOR_TOO)


TOPOLOGY_KEY_EMPTY = "can not be empty"


def validate_pod_affinity(
    affinity: PodAffinity | PodAntiAffinity, path: str, options: ValidationOptions
) -> FieldErrors:
    for index, term in enumerate(affinity.requiredDuringSchedulingIgnoredDuringExecution):
        yield from _validate_term(term, f"{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]", options)
    for index, weighted in enumerate(affinity.preferredDuringSchedulingIgnoredDuringExecution):
        at = f"{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        if not 1 <= weighted.weight <= 100:
            yield invalid(f"{at}.weight", weighted.weight, WEIGHT_RANGE)
        yield from _validate_term(weighted.podAffinityTerm, f"{at}.podAffinityTerm", options)


def validate_term_selectors(term: PodAffinityTerm, path: str, options: ValidationOptions) -> FieldErrors:
    yield from validate_label_selector(term.labelSelector, f"{path}.labelSelector", options)
    yield from validate_label_selector(term.namespaceSelector, f"{path}.namespaceSelector", options)


def _validate_term(term: PodAffinityTerm, path: str, options: ValidationOptions) -> FieldErrors:
    yield from validate_term_selectors(term, path, options)
    for namespace in term.namespaces:
        yield from validate_dns_label(namespace, f"{path}.namespace")
    yield from validate_label_keys(term.matchLabelKeys, term.mismatchLabelKeys, term.labelSelector, path)
    if not term.topologyKey:
        yield required(f"{path}.topologyKey", TOPOLOGY_KEY_EMPTY)
    yield from validate_label_name(term.topologyKey, f"{path}.topologyKey")


MUST_BE_POSITIVE = "must be greater than zero"

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")


def validate_topology_spread_constraints(
    constraints: Sequence[TopologySpreadConstraint], path: str, options: ValidationOptions
) -> FieldErrors:
    last = {(one.topologyKey, one.whenUnsatisfiable): index for index, one in enumerate(constraints)}
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        if constraint.maxSkew <= 0:
            yield invalid(f"{at}.maxSkew", constraint.maxSkew, MUST_BE_POSITIVE)
        if not constraint.topologyKey:
            yield required(f"{at}.topologyKey", TOPOLOGY_KEY_EMPTY)
        yield from one_of(constraint.whenUnsatisfiable, _ACTIONS, f"{at}.whenUnsatisfiable")
        pair = (constraint.topologyKey, constraint.whenUnsatisfiable)
        if last[pair] != index:
            yield duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}")
        yield from _validate_min_domains(constraint, f"{at}.minDomains")
        yield from one_of(constraint.nodeAffinityPolicy, _POLICIES, f"{at}.nodeAffinityPolicy")
        yield from one_of(constraint.nodeTaintsPolicy, _POLICIES, f"{at}.nodeTaintsPolicy")
        if constraint.matchLabelKeys:
            yield from _validate_match_label_keys(constraint, at, options)
        if not options.allow_invalid_topology_spread_constraint_label_selector:
            yield from validate_label_selector(constraint.labelSelector, f"{at}.labelSelector", STRICT)


def _validate_min_domains(constraint: TopologySpreadConstraint, path: str) -> FieldErrors:
    count, action = constraint.minDomains, constraint.whenUnsatisfiable
    if count is None:
        return
    if count <= 0:
        yield invalid(path, count, MUST_BE_POSITIVE)
    if action != "DoNotSchedule":
        yield invalid(path, count, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}")


def _validate_match_label_keys(
    constraint: TopologySpreadConstraint, path: str, options: ValidationOptions
) -> FieldErrors:
    """Judge by the rule for merged selectors where they are merged, unless the old pod was made by the other rule."""
    if not options.allow_match_label_keys_in_pod_topology_spread:
        merged = False
    elif options.allow_match_label_keys_in_pod_topology_spread_selector_merge:
        merged = not options.old_pod_violates_match_label_keys_validation
    else:
        merged = options.old_pod_violates_legacy_match_label_keys_validation
    if merged:
        return validate_label_keys(constraint.matchLabelKeys, (), constraint.labelSelector, path)
    return validate_unmerged_label_keys(constraint.matchLabelKeys, constraint.labelSelector, f"{path}.matchLabelKeys")


def validate_affinity(affinity: Affinity | None, path: str, options: ValidationOptions) -> FieldErrors:
    if affinity is None:
        return
    if affinity.nodeAffinity is not None:
        yield from validate_node_affinity(affinity.nodeAffinity, f"{path}.nodeAffinity", options)
    if affinity.podAffinity is not None:
        yield from validate_pod_affinity(affinity.podAffinity, f"{path}.podAffinity", options)
    if affinity.podAntiAffinity is not None:
        yield from validate_pod_affinity(affinity.podAntiAffinity, f"{path}.podAntiAffinity", options)


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
        errors += _validate_node_term(term, f"{path}.nodeSelectorTerms[{index}]", options, check_values=check_values)
    return errors


def _validate_preferred(terms: Iterable[PreferredSchedulingTerm], path: str, options: ValidationOptions) -> FieldErrors:
    for index, term in enumerate(terms):
        if not 1 <= term.weight <= 100:
            yield invalid(f"{path}[{index}].weight", term.weight, WEIGHT_RANGE)
        # Upstream never checks the label values of a preference.
        yield from _validate_node_term(term.preference, f"{path}[{index}].preference", options, check_values=False)


def _validate_node_term(
    term: NodeSelectorTerm, path: str, options: ValidationOptions, *, check_values: bool
) -> FieldErrors:
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
    if use is None or not (requirement.attached or options.allows_operators_of(use.gate)):
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
