"""Deployments and ReplicaSets.

In: views and the options of their template. Out: field errors. Kubernetes: ValidateDeployment, ValidateReplicaSet and
their updates (pkg/apis/apps/validation).
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
    validate_always_restarts,
    validate_required_selector,
    validate_selected,
)
from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod import validate_pod_template
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required
from moorage.model.go.quoting import GoStruct
from moorage.model.types.workload import (
    Deployment,
    DeploymentSpec,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
    RollingUpdateDeployment,
)

_STRATEGIES = ("Recreate", "RollingUpdate")


def validate_deployment(deployment: Deployment, options: ValidationOptions) -> list[FieldError]:
    return validate_object_meta(deployment.metadata, "metadata") + _validate_spec(deployment.spec, options)


def validate_deployment_update(new: Deployment, old: Deployment, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    errors += _validate_spec(new.spec, options)
    return errors + _validate_selector_kept(new.spec, old.spec)


def validate_replica_set(replica_set: ReplicaSet, options: ValidationOptions) -> list[FieldError]:
    return validate_object_meta(replica_set.metadata, "metadata") + _validate_replica_set_spec(
        replica_set.spec, options
    )


def validate_replica_set_update(new: ReplicaSet, old: ReplicaSet, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    errors += _validate_replica_set_spec(new.spec, options)
    return errors + _validate_selector_kept(new.spec, old.spec)


def _validate_selector_kept(
    new: DeploymentSpec | ReplicaSetSpec, old: DeploymentSpec | ReplicaSetSpec
) -> list[FieldError]:
    return validate_immutable(new.selector, old.selector, "spec.selector", shown_label_selector(new.selector))


def _validate_spec(spec: DeploymentSpec, options: ValidationOptions) -> list[FieldError]:
    errors = validate_not_negative(spec.replicas, "spec.replicas")
    errors += _validate_selector_and_template(spec, options)
    errors += _validate_strategy(spec.strategy, "spec.strategy")
    errors += validate_not_negative(spec.minReadySeconds, "spec.minReadySeconds")
    errors += validate_not_negative(spec.revisionHistoryLimit, "spec.revisionHistoryLimit")
    deadline = spec.progressDeadlineSeconds
    errors += validate_not_negative(deadline, "spec.progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.minReadySeconds:
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors


def _validate_replica_set_spec(spec: ReplicaSetSpec, options: ValidationOptions) -> list[FieldError]:
    errors = validate_not_negative(spec.replicas, "spec.replicas")
    errors += validate_not_negative(spec.minReadySeconds, "spec.minReadySeconds")
    return errors + _validate_selector_and_template(spec, options)


def _validate_selector_and_template(
    spec: DeploymentSpec | ReplicaSetSpec, options: ValidationOptions
) -> list[FieldError]:
    """Upstream calls both kinds a deployment in the words about an empty selector."""
    errors = validate_required_selector(spec.selector, "spec.selector", "deployment")
    selector = compile_selector(spec.selector)
    if selector is None:
        errors.append(invalid("spec.selector", AsJSON(shown_label_selector(spec.selector)), "invalid label selector"))
        return errors
    if not selector.everything:
        errors += validate_selected(selector, spec.template, "spec.template")
    errors += validate_pod_template(spec.template, "spec.template", options)
    return errors + validate_always_restarts(spec.template, "spec.template", "ReplicaSet")


def _validate_strategy(strategy: DeploymentStrategy, path: str) -> list[FieldError]:
    rolling = strategy.rollingUpdate
    if strategy.type not in _STRATEGIES:
        shown = GoStruct(Type=strategy.type, RollingUpdate=None if rolling is None else _shown_rolling(rolling))
        return [not_supported(path, AsJSON(shown), _STRATEGIES)]
    if strategy.type == "Recreate":
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [forbidden(f"{path}.rollingUpdate", detail)]
    if rolling is None:
        return [required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")]
    unavailable, surge = or_zero(rolling.maxUnavailable), or_zero(rolling.maxSurge)
    errors = validate_int_or_percent(unavailable, f"{path}.rollingUpdate.maxUnavailable")
    errors += validate_int_or_percent(surge, f"{path}.rollingUpdate.maxSurge")
    if int_or_percent_value(unavailable) == 0 and int_or_percent_value(surge) == 0:
        detail = "may not be 0 when `maxSurge` is 0"
        errors.append(invalid(f"{path}.rollingUpdate.maxUnavailable", AsJSON(unavailable), detail))
    return errors + validate_at_most_100_percent(unavailable, f"{path}.rollingUpdate.maxUnavailable")


def _shown_rolling(rolling: RollingUpdateDeployment) -> GoStruct:
    return GoStruct(MaxUnavailable=or_zero(rolling.maxUnavailable), MaxSurge=or_zero(rolling.maxSurge))
