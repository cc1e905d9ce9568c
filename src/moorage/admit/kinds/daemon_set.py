"""DaemonSets.

In: views and the options of their template. Out: field errors. Kubernetes: ValidateDaemonSet, ValidateDaemonSetUpdate
(pkg/apis/apps/validation). Differs: templateGeneration, which clients cannot set in apps/v1, is not checked.
"""

from moorage.admit.kinds.fields import (
    int_or_percent_value,
    or_zero,
    shown_label_selector,
    validate_at_most_100_percent,
    validate_immutable,
    validate_int_or_percent,
    validate_not_negative,
)
from moorage.admit.kinds.templates import (
    compile_selector,
    options_for_selector,
    validate_always_restarts,
    validate_selected,
    validate_selector_not_empty,
)
from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod import validate_pod_template
from moorage.admit.scheduling.label_selectors import validate_label_selector
from moorage.model.field_error import AsJSON, FieldError, invalid, not_supported, required
from moorage.model.go.quoting import GoStruct
from moorage.model.types.workload import DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet

_STRATEGIES = ("RollingUpdate", "OnDelete")


def validate_daemon_set(daemon_set: DaemonSet, options: ValidationOptions) -> list[FieldError]:
    return validate_object_meta(daemon_set.metadata, "metadata") + _validate_spec(daemon_set.spec, options)


def validate_daemon_set_update(new: DaemonSet, old: DaemonSet, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    shown = shown_label_selector(new.spec.selector)
    errors += validate_immutable(new.spec.selector, old.spec.selector, "spec.selector", shown)
    return errors + _validate_spec(new.spec, options)


def _validate_spec(spec: DaemonSetSpec, options: ValidationOptions) -> list[FieldError]:
    errors = validate_label_selector(spec.selector, "spec.selector", options_for_selector(options))
    selector = compile_selector(spec.selector)
    if selector is not None:
        errors += validate_selected(selector, spec.template, "spec.template")
    errors += validate_selector_not_empty(spec.selector, "spec.selector", "daemonset")
    errors += validate_pod_template(spec.template, "spec.template", options)
    errors += validate_always_restarts(spec.template, "spec.template", "DaemonSet")
    errors += validate_not_negative(spec.minReadySeconds, "spec.minReadySeconds")
    errors += _validate_strategy(spec.updateStrategy, "spec.updateStrategy")
    return errors + validate_not_negative(spec.revisionHistoryLimit, "spec.revisionHistoryLimit")


def _validate_strategy(strategy: DaemonSetUpdateStrategy, path: str) -> list[FieldError]:
    rolling = strategy.rollingUpdate
    if strategy.type == "OnDelete":
        return []
    if strategy.type != "RollingUpdate":
        shown = GoStruct(Type=strategy.type, RollingUpdate=None if rolling is None else _shown_rolling(rolling))
        return [not_supported(path, AsJSON(shown), _STRATEGIES)]
    if rolling is None:
        return [required(f"{path}.rollingUpdate")]
    path = f"{path}.rollingUpdate"
    unavailable, surge = or_zero(rolling.maxUnavailable), or_zero(rolling.maxSurge)
    errors = validate_int_or_percent(unavailable, f"{path}.maxUnavailable")
    errors += validate_int_or_percent(surge, f"{path}.maxSurge")
    errors += validate_at_most_100_percent(unavailable, f"{path}.maxUnavailable")
    errors += validate_at_most_100_percent(surge, f"{path}.maxSurge")
    if int_or_percent_value(unavailable) and int_or_percent_value(surge):
        errors.append(invalid(f"{path}.maxSurge", AsJSON(surge), "may not be set when maxUnavailable is non-zero"))
    elif not int_or_percent_value(unavailable) and not int_or_percent_value(surge):
        errors.append(required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


def _shown_rolling(rolling: RollingUpdateDaemonSet) -> GoStruct:
    return GoStruct(MaxUnavailable=or_zero(rolling.maxUnavailable), MaxSurge=or_zero(rolling.maxSurge))
