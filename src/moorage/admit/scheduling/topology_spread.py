"""Topology spread constraints.

In: `spec.topologySpreadConstraints`, their path, the options. Out: field errors. Kubernetes:
validateTopologySpreadConstraints.
"""

from collections.abc import Sequence

from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.scheduling.label_keys import validate_label_keys, validate_unmerged_label_keys
from moorage.admit.scheduling.label_selectors import validate_label_selector
from moorage.admit.scheduling.pod_affinity import TOPOLOGY_KEY_EMPTY
from moorage.model.field_error import AsJSON, FieldError, duplicate, invalid, not_supported, required
from moorage.model.types.pod import TopologySpreadConstraint

MUST_BE_POSITIVE = "must be greater than zero"

_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")


def validate_topology_spread_constraints(
    constraints: Sequence[TopologySpreadConstraint], path: str, options: ValidationOptions
) -> list[FieldError]:
    errors: list[FieldError] = []
    last = {(one.topologyKey, one.whenUnsatisfiable): index for index, one in enumerate(constraints)}
    for index, constraint in enumerate(constraints):
        at = f"{path}[{index}]"
        if constraint.maxSkew <= 0:
            errors.append(invalid(f"{at}.maxSkew", constraint.maxSkew, MUST_BE_POSITIVE))
        if not constraint.topologyKey:
            errors.append(required(f"{at}.topologyKey", TOPOLOGY_KEY_EMPTY))
        if constraint.whenUnsatisfiable not in _ACTIONS:
            shown = AsJSON(constraint.whenUnsatisfiable)
            errors.append(not_supported(f"{at}.whenUnsatisfiable", shown, _ACTIONS))
        pair = (constraint.topologyKey, constraint.whenUnsatisfiable)
        if last[pair] != index:
            errors.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{pair[0]}, {pair[1]}}}"))
        errors += _validate_min_domains(constraint, f"{at}.minDomains")
        errors += _validate_policy(constraint.nodeAffinityPolicy, f"{at}.nodeAffinityPolicy")
        errors += _validate_policy(constraint.nodeTaintsPolicy, f"{at}.nodeTaintsPolicy")
        if constraint.matchLabelKeys:
            errors += _validate_match_label_keys(constraint, at, options)
        if not options.allow_invalid_topology_spread_constraint_label_selector:
            errors += validate_label_selector(constraint.labelSelector, f"{at}.labelSelector", STRICT)
    return errors


def _validate_min_domains(constraint: TopologySpreadConstraint, path: str) -> list[FieldError]:
    count, action = constraint.minDomains, constraint.whenUnsatisfiable
    if count is None:
        return []
    errors = [] if count > 0 else [invalid(path, count, MUST_BE_POSITIVE)]
    if action != "DoNotSchedule":
        words = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(path, count, words))
    return errors


def _validate_policy(policy: str | None, path: str) -> list[FieldError]:
    if policy is None or policy in _POLICIES:
        return []
    return [not_supported(path, AsJSON(policy), _POLICIES)]


def _validate_match_label_keys(
    constraint: TopologySpreadConstraint, path: str, options: ValidationOptions
) -> list[FieldError]:
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
