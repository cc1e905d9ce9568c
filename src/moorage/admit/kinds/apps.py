"""Validate Deployments, ReplicaSets, DaemonSets, StatefulSets and ControllerRevisions.

Kubernetes: pkg/apis/apps/validation. Differs: templateGeneration, which clients cannot set in apps/v1, is not checked.
"""

from collections.abc import Callable
from itertools import chain
from typing import Any

import msgspec

from moorage.admit.kinds.fields import (
    compile_selector,
    int_or_percent_value,
    options_for_selector,
    or_zero,
    validate_always_restarts,
    validate_at_most_100_percent,
    validate_immutable,
    validate_int_or_percent,
    validate_not_negative,
    validate_required_selector,
    validate_selected,
    validate_selector_not_empty,
)
from moorage.admit.kinds.row import KindRow, Rows, Validate, ValidateUpdate, selector_options, workload
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import (
    validate_annotations,
    validate_dns_label,
    validate_label_selector,
    validate_labels,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.pod.pod import validate_pod_annotations, validate_pod_template
from moorage.admit.pod.volumes import validate_claim_spec
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.admit.subresources import statuses
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldError, FieldErrors
from moorage.model.go.quoting import GoStruct
from moorage.model.names import dns1123_label_errors
from moorage.model.types import workload as views
from moorage.model.types.meta import LabelSelector
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.types.storage import PersistentVolumeClaimVolumeSource, Volume

_DEPLOYMENT_STRATEGIES = ("Recreate", "RollingUpdate")
ValidateSpec = Callable[[Any, ValidationOptions], FieldErrors]


def _of_spec(validate_spec: ValidateSpec) -> Validate:
    """Return the check of a new object: its metadata, then its spec."""
    return lambda new, options: chain(validate_object_meta(new.metadata, "metadata"), validate_spec(new.spec, options))


def _of_spec_update(validate_spec: ValidateSpec) -> ValidateUpdate:
    """Return the check of an update, which must leave the selector as it is."""
    return lambda new, old, options: chain(
        validate_object_meta_update(new.metadata, old.metadata, "metadata"),
        validate_spec(new.spec, options),
        _validate_selector_kept(new.spec.selector, old.spec.selector),
    )


def _validate_selector_kept(new: LabelSelector | None, old: LabelSelector | None) -> list[FieldError]:
    return validate_immutable(new, old, "spec.selector", internal_form(new))


def _validate_deployment_spec(spec: views.DeploymentSpec, options: ValidationOptions) -> FieldErrors:
    yield from validate_not_negative(spec.replicas, "spec.replicas")
    yield from _validate_selector_and_template(spec, options)
    yield from _validate_deployment_strategy(spec.strategy, "spec.strategy")
    yield from validate_not_negative(spec.minReadySeconds, "spec.minReadySeconds")
    yield from validate_not_negative(spec.revisionHistoryLimit, "spec.revisionHistoryLimit")
    deadline = spec.progressDeadlineSeconds
    yield from validate_not_negative(deadline, "spec.progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.minReadySeconds:
        yield field.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _validate_replica_set_spec(spec: views.ReplicaSetSpec, options: ValidationOptions) -> FieldErrors:
    yield from validate_not_negative(spec.replicas, "spec.replicas")
    yield from validate_not_negative(spec.minReadySeconds, "spec.minReadySeconds")
    yield from _validate_selector_and_template(spec, options)


def _validate_selector_and_template(
    spec: views.DeploymentSpec | views.ReplicaSetSpec, options: ValidationOptions
) -> FieldErrors:
    """Check both; upstream's text about an empty selector says deployment for both kinds."""
    yield from validate_required_selector(spec.selector, "spec.selector", "deployment")
    selector = compile_selector(spec.selector)
    if selector is None:
        yield field.invalid("spec.selector", AsJSON(internal_form(spec.selector)), "invalid label selector")
        return
    if not selector.everything:
        yield from validate_selected(selector, spec.template, "spec.template")
    yield from validate_pod_template(spec.template, "spec.template", options)
    yield from validate_always_restarts(spec.template, "spec.template", "ReplicaSet")


def _validate_deployment_strategy(strategy: views.DeploymentStrategy, path: str) -> list[FieldError]:
    rolling = strategy.rollingUpdate
    if strategy.type not in _DEPLOYMENT_STRATEGIES:
        shown = GoStruct(Type=strategy.type, RollingUpdate=None if rolling is None else _shown_rolling(rolling))
        return [field.not_supported(path, AsJSON(shown), _DEPLOYMENT_STRATEGIES)]
    if strategy.type == "Recreate":
        detail = "may not be specified when strategy `type` is 'Recreate'"
        return [] if rolling is None else [field.forbidden(f"{path}.rollingUpdate", detail)]
    if rolling is None:
        return [field.required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")]
    unavailable, surge = or_zero(rolling.maxUnavailable), or_zero(rolling.maxSurge)
    errors = validate_int_or_percent(unavailable, f"{path}.rollingUpdate.maxUnavailable")
    errors += validate_int_or_percent(surge, f"{path}.rollingUpdate.maxSurge")
    if int_or_percent_value(unavailable) == 0 and int_or_percent_value(surge) == 0:
        detail = "may not be 0 when `maxSurge` is 0"
        errors.append(field.invalid(f"{path}.rollingUpdate.maxUnavailable", AsJSON(unavailable), detail))
    return errors + validate_at_most_100_percent(unavailable, f"{path}.rollingUpdate.maxUnavailable")


def _shown_rolling(rolling: views.RollingUpdateDeployment | views.RollingUpdateDaemonSet) -> GoStruct:
    return GoStruct(MaxUnavailable=or_zero(rolling.maxUnavailable), MaxSurge=or_zero(rolling.maxSurge))


_DAEMON_SET_STRATEGIES = ("RollingUpdate", "OnDelete")


def validate_daemon_set_update(new: views.DaemonSet, old: views.DaemonSet, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_selector_kept(new.spec.selector, old.spec.selector)
    yield from _validate_daemon_set_spec(new.spec, options)


def _validate_daemon_set_spec(spec: views.DaemonSetSpec, options: ValidationOptions) -> FieldErrors:
    yield from validate_label_selector(spec.selector, "spec.selector", options_for_selector(options))
    selector = compile_selector(spec.selector)
    if selector is not None:
        yield from validate_selected(selector, spec.template, "spec.template")
    yield from validate_selector_not_empty(spec.selector, "spec.selector", "daemonset")
    yield from validate_pod_template(spec.template, "spec.template", options)
    yield from validate_always_restarts(spec.template, "spec.template", "DaemonSet")
    yield from validate_not_negative(spec.minReadySeconds, "spec.minReadySeconds")
    yield from _validate_daemon_set_strategy(spec.updateStrategy, "spec.updateStrategy")
    yield from validate_not_negative(spec.revisionHistoryLimit, "spec.revisionHistoryLimit")


def _validate_daemon_set_strategy(strategy: views.DaemonSetUpdateStrategy, path: str) -> list[FieldError]:
    rolling = strategy.rollingUpdate
    if strategy.type == "OnDelete":
        return []
    if strategy.type != "RollingUpdate":
        shown = GoStruct(Type=strategy.type, RollingUpdate=None if rolling is None else _shown_rolling(rolling))
        return [field.not_supported(path, AsJSON(shown), _DAEMON_SET_STRATEGIES)]
    if rolling is None:
        return [field.required(f"{path}.rollingUpdate")]
    path = f"{path}.rollingUpdate"
    unavailable, surge = or_zero(rolling.maxUnavailable), or_zero(rolling.maxSurge)
    errors = validate_int_or_percent(unavailable, f"{path}.maxUnavailable")
    errors += validate_int_or_percent(surge, f"{path}.maxSurge")
    errors += validate_at_most_100_percent(unavailable, f"{path}.maxUnavailable")
    errors += validate_at_most_100_percent(surge, f"{path}.maxSurge")
    if int_or_percent_value(unavailable) and int_or_percent_value(surge):
        errors.append(
            field.invalid(f"{path}.maxSurge", AsJSON(surge), "may not be set when maxUnavailable is non-zero")
        )
    elif not int_or_percent_value(unavailable) and not int_or_percent_value(surge):
        errors.append(field.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    return errors


MAY_NOT_CHANGE = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_CHANGEABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_RETENTION = ("Retain", "Delete")


class _Leniency(msgspec.Struct, frozen=True):
    """What an update does not check again, because it cannot have changed or was wrong before."""

    service_name: bool = False
    claim_templates: bool = False
    template: bool = False


def validate_stateful_set(stateful_set: views.StatefulSet, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(stateful_set.metadata, "metadata", name_rule=dns1123_label_errors)
    yield from _validate_stateful_set_spec(stateful_set.spec, options, _Leniency())


def validate_stateful_set_update(
    new: views.StatefulSet, old: views.StatefulSet, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    leniency = _Leniency(service_name=True, claim_templates=True)
    if any(_validate_stateful_set_spec(old.spec, options, leniency)):
        leniency = _Leniency(service_name=True, claim_templates=True, template=True)
    yield from _validate_stateful_set_spec(new.spec, options, leniency)
    kept = {name: getattr(old.spec, name) for name in _CHANGEABLE}
    if msgspec.structs.replace(new.spec, **kept) != old.spec:
        yield field.forbidden("spec", MAY_NOT_CHANGE)


def _validate_stateful_set_spec(
    spec: views.StatefulSetSpec, options: ValidationOptions, leniency: _Leniency
) -> FieldErrors:
    yield from _validate_policies(spec)
    if not leniency.claim_templates:
        for index, claim in enumerate(spec.volumeClaimTemplates):
            yield from validate_claim_spec(claim.spec, f"spec.volumeClaimTemplates[{index}].spec", STRICT)
    yield from validate_not_negative(spec.replicas, "spec.replicas")
    yield from validate_not_negative(spec.minReadySeconds, "spec.minReadySeconds")
    if spec.ordinals is not None:
        yield from validate_not_negative(spec.ordinals.start, "spec.ordinals.start")
    if spec.serviceName and not leniency.service_name:
        yield from validate_dns_label(spec.serviceName, "spec.serviceName")
    yield from validate_required_selector(spec.selector, "spec.selector", "statefulset")
    selector = compile_selector(spec.selector)
    if selector is None:
        yield field.invalid("spec.selector", AsJSON(internal_form(spec.selector)), "")
    else:
        template = _template_with_claims(spec)
        if not selector.everything:
            yield from validate_selected(selector, template, "spec.template")
        yield from _validate_template(template, "spec.template", options, leniency)
    yield from validate_always_restarts(spec.template, "spec.template", "StatefulSet")


def _validate_template(
    template: PodTemplateSpec, path: str, options: ValidationOptions, leniency: _Leniency
) -> FieldErrors:
    """Upstream checks labels and annotations a second time here, and reports them twice."""
    if not leniency.template:
        yield from validate_pod_template(template, path, options)
    meta = template.metadata
    yield from validate_labels(meta.labels, f"{path}.labels")
    yield from validate_annotations(meta.annotations, f"{path}.annotations")
    yield from validate_pod_annotations(meta.annotations, template.spec, f"{path}.annotations", options)


def _template_with_claims(spec: views.StatefulSetSpec) -> PodTemplateSpec:
    """The template as its pods will be: volumes for the claims, and host names that the controller sets itself."""
    template, claims = spec.template, spec.volumeClaimTemplates
    if not (claims or template.spec.hostname or template.spec.subdomain):
        return template
    names = {claim.metadata.name for claim in claims}
    volumes = [
        Volume(name=name, persistentVolumeClaim=PersistentVolumeClaimVolumeSource(claimName=name))
        for name in dict.fromkeys(claim.metadata.name for claim in claims)
    ]
    volumes += [volume for volume in template.spec.volumes if volume.name not in names]
    pod_spec = msgspec.structs.replace(template.spec, hostname="", subdomain="", volumes=tuple(volumes))
    return msgspec.structs.replace(template, spec=pod_spec)


def _validate_policies(spec: views.StatefulSetSpec) -> FieldErrors:
    if not spec.podManagementPolicy:
        yield field.required("spec.podManagementPolicy")
    elif spec.podManagementPolicy not in ("OrderedReady", "Parallel"):
        shown = AsJSON(spec.podManagementPolicy)
        yield field.invalid("spec.podManagementPolicy", shown, "must be 'OrderedReady' or 'Parallel'")
    yield from _validate_stateful_set_strategy(spec, "spec.updateStrategy")
    retention = spec.persistentVolumeClaimRetentionPolicy
    if retention is not None:
        for name in ("whenDeleted", "whenScaled"):
            path = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
            yield from field.one_of(getattr(retention, name), _RETENTION, path)


def _validate_stateful_set_strategy(spec: views.StatefulSetSpec, path: str) -> FieldErrors:
    strategy = spec.updateStrategy
    rolling = strategy.rollingUpdate
    match strategy.type:
        case "":
            return [field.required(path)]
        case "OnDelete":
            if rolling is None:
                return []
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            return [field.invalid(f"{path}.rollingUpdate", AsJSON(_shown_partition(rolling)), detail)]
        case "RollingUpdate":
            return [] if rolling is None else _validate_rolling(rolling, f"{path}.rollingUpdate")
        case other:
            shown = GoStruct(Type=other, RollingUpdate=None if rolling is None else _shown_partition(rolling))
            return [field.invalid(path, AsJSON(shown), "must be 'RollingUpdate' or 'OnDelete'")]


def _validate_rolling(rolling: views.RollingUpdateStatefulSetStrategy, path: str) -> FieldErrors:
    yield from validate_not_negative(rolling.partition, f"{path}.partition")
    unavailable = rolling.maxUnavailable
    if unavailable is not None:
        yield from validate_int_or_percent(unavailable, f"{path}.maxUnavailable")
        if int_or_percent_value(unavailable) == 0:
            yield field.invalid(f"{path}.maxUnavailable", AsJSON(unavailable), "cannot be 0")
        yield from validate_at_most_100_percent(unavailable, f"{path}.maxUnavailable")


def _shown_partition(rolling: views.RollingUpdateStatefulSetStrategy) -> GoStruct:
    return GoStruct(Partition=rolling.partition or 0, MaxUnavailable=rolling.maxUnavailable)


def validate_controller_revision(revision: views.ControllerRevision, options: ValidationOptions) -> FieldErrors:
    yield from _validate_revision(revision)
    if revision.data is None:
        yield field.required("data", "data is mandatory")
    elif not isinstance(revision.data, dict):
        yield field.required("data", "data must be a valid JSON object")


def validate_controller_revision_update(
    new: views.ControllerRevision, old: views.ControllerRevision, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_revision(new)
    yield from validate_immutable(new.data, old.data, "data")


def _validate_revision(revision: views.ControllerRevision) -> FieldErrors:
    yield from validate_object_meta(revision.metadata, "metadata")
    yield from validate_not_negative(revision.revision, "revision")


def _history_warnings(stateful_set: views.StatefulSet) -> list[str]:
    limit = stateful_set.spec.revisionHistoryLimit
    if limit is None or limit >= 0:
        return []
    advice = "a negative value retains all historical revisions; a value >= 0 is recommended"
    return [f"spec.revisionHistoryLimit: {advice}"]


validate_deployment = _of_spec(_validate_deployment_spec)
validate_daemon_set = _of_spec(_validate_daemon_set_spec)

ROWS: Rows = {
    views.Deployment: workload(
        validate_deployment,
        _of_spec_update(_validate_deployment_spec),
        defaults.default_deployment,
        statuses.validate_deployment_status,
        counts_annotations=True,
    ),
    views.ReplicaSet: workload(
        _of_spec(_validate_replica_set_spec),
        _of_spec_update(_validate_replica_set_spec),
        defaults.default_replica_set,
        statuses.validate_replica_set_status,
    ),
    views.StatefulSet: workload(
        validate_stateful_set,
        validate_stateful_set_update,
        defaults.default_stateful_set,
        statuses.validate_stateful_set_status,
        strategies.prepare_stateful_set,
        warnings=_history_warnings,
    ),
    views.DaemonSet: workload(
        validate_daemon_set,
        validate_daemon_set_update,
        defaults.default_daemon_set,
        statuses.validate_daemon_set_status,
        strategies.prepare_daemon_set,
        selector_options,
    ),
    views.ControllerRevision: KindRow(validate_controller_revision, validate_controller_revision_update),
}
