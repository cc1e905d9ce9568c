"""PodDisruptionBudgets.

In: views. Out: field errors. Kubernetes: ValidatePodDisruptionBudget (pkg/apis/policy/validation), with the checks of
metadata that the generic registry makes.
"""

import msgspec

from moorage.admit.kinds.fields import shown_label_selector, validate_at_most_100_percent, validate_int_or_percent
from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.scheduling.label_selectors import has_invalid_label_value, validate_label_selector
from moorage.model.field_error import AsJSON, FieldError, invalid, not_supported
from moorage.model.go.quoting import GoStruct
from moorage.model.types.policy import PodDisruptionBudget, PodDisruptionBudgetSpec

BOTH_SET = "minAvailable and maxUnavailable cannot be both set"
_EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")


def validate_disruption_budget(budget: PodDisruptionBudget, options: ValidationOptions) -> list[FieldError]:
    """The generic registry checks the metadata, and only of what is otherwise valid."""
    errors = _validate_spec(budget.spec, STRICT)
    return errors or validate_object_meta(budget.metadata, "metadata", name_rule=path_segment_errors)


def path_segment_errors(name: str) -> list[str]:
    """A name that can stand in a URL: the rule for kinds that have none of their own."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]


def validate_disruption_budget_update(
    new: PodDisruptionBudget, old: PodDisruptionBudget, options: ValidationOptions
) -> list[FieldError]:
    selector_options = STRICT
    if has_invalid_label_value(old.spec.selector):
        selector_options = msgspec.structs.replace(STRICT, allow_invalid_label_value_in_selector=True)
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    return errors + _validate_spec(new.spec, selector_options)


def _validate_spec(spec: PodDisruptionBudgetSpec, options: ValidationOptions) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.minAvailable is not None and spec.maxUnavailable is not None:
        errors.append(invalid("spec", AsJSON(_shown(spec)), BOTH_SET))
    for name, value in (("minAvailable", spec.minAvailable), ("maxUnavailable", spec.maxUnavailable)):
        if value is not None:
            errors += validate_int_or_percent(value, f"spec.{name}")
            errors += validate_at_most_100_percent(value, f"spec.{name}")
    errors += validate_label_selector(spec.selector, "spec.selector", options)
    policy = spec.unhealthyPodEvictionPolicy
    if policy is not None and policy not in _EVICTION_POLICIES:
        errors.append(not_supported("spec.unhealthyPodEvictionPolicy", AsJSON(policy), _EVICTION_POLICIES))
    return errors


def _shown(spec: PodDisruptionBudgetSpec) -> GoStruct:
    return GoStruct(
        MinAvailable=spec.minAvailable,
        Selector=shown_label_selector(spec.selector),
        MaxUnavailable=spec.maxUnavailable,
        UnhealthyPodEvictionPolicy=spec.unhealthyPodEvictionPolicy,
    )
