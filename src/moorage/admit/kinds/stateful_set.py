"""StatefulSets.

In: views and the options of their template. Out: field errors. Kubernetes: ValidateStatefulSet,
ValidateStatefulSetUpdate (pkg/apis/apps/validation).
"""

import msgspec

from moorage.admit.dns_names import validate_dns_label
from moorage.admit.kinds.fields import (
    int_or_percent_value,
    shown_label_selector,
    validate_at_most_100_percent,
    validate_int_or_percent,
    validate_not_negative,
)
from moorage.admit.kinds.templates import (
    compile_selector,
    validate_always_restarts,
    validate_required_selector,
    validate_selected,
)
from moorage.admit.metadata import validate_annotations, validate_object_meta, validate_object_meta_update
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.pod import validate_pod_template
from moorage.admit.pod.annotations import validate_pod_annotations
from moorage.admit.pod.volumes.volume_claims import validate_claim_spec
from moorage.admit.scheduling.label_selectors import validate_labels
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required
from moorage.model.go.quoting import GoStruct
from moorage.model.names import dns1123_label_errors
from moorage.model.types.pod import PodTemplateSpec
from moorage.model.types.storage import PersistentVolumeClaimVolumeSource, Volume
from moorage.model.types.workload import RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetSpec

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


def validate_stateful_set(stateful_set: StatefulSet, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta(stateful_set.metadata, "metadata", name_rule=dns1123_label_errors)
    return errors + _validate_spec(stateful_set.spec, options, _Leniency())


def validate_stateful_set_update(new: StatefulSet, old: StatefulSet, options: ValidationOptions) -> list[FieldError]:
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    leniency = _Leniency(service_name=True, claim_templates=True)
    if _validate_spec(old.spec, options, leniency):
        leniency = _Leniency(service_name=True, claim_templates=True, template=True)
    errors += _validate_spec(new.spec, options, leniency)
    kept = {name: getattr(old.spec, name) for name in _CHANGEABLE}
    if msgspec.structs.replace(new.spec, **kept) != old.spec:
        errors.append(forbidden("spec", MAY_NOT_CHANGE))
    return errors


def _validate_spec(spec: StatefulSetSpec, options: ValidationOptions, leniency: _Leniency) -> list[FieldError]:
    errors = _validate_policies(spec)
    if not leniency.claim_templates:
        for index, claim in enumerate(spec.volumeClaimTemplates):
            errors += validate_claim_spec(claim.spec, f"spec.volumeClaimTemplates[{index}].spec", STRICT)
    errors += validate_not_negative(spec.replicas, "spec.replicas")
    errors += validate_not_negative(spec.minReadySeconds, "spec.minReadySeconds")
    if spec.ordinals is not None:
        errors += validate_not_negative(spec.ordinals.start, "spec.ordinals.start")
    if spec.serviceName and not leniency.service_name:
        errors += validate_dns_label(spec.serviceName, "spec.serviceName")
    errors += validate_required_selector(spec.selector, "spec.selector", "statefulset")
    selector = compile_selector(spec.selector)
    if selector is None:
        errors.append(invalid("spec.selector", AsJSON(shown_label_selector(spec.selector)), ""))
    else:
        template = _template_with_claims(spec)
        if not selector.everything:
            errors += validate_selected(selector, template, "spec.template")
        errors += _validate_template(template, "spec.template", options, leniency)
    return errors + validate_always_restarts(spec.template, "spec.template", "StatefulSet")


def _validate_template(
    template: PodTemplateSpec, path: str, options: ValidationOptions, leniency: _Leniency
) -> list[FieldError]:
    """Upstream checks labels and annotations a second time here, and reports them twice."""
    errors = [] if leniency.template else validate_pod_template(template, path, options)
    meta = template.metadata
    errors += validate_labels(meta.labels, f"{path}.labels")
    errors += validate_annotations(meta.annotations, f"{path}.annotations")
    return errors + validate_pod_annotations(meta.annotations, template.spec, f"{path}.annotations", options)


def _template_with_claims(spec: StatefulSetSpec) -> PodTemplateSpec:
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


def _validate_policies(spec: StatefulSetSpec) -> list[FieldError]:
    errors: list[FieldError] = []
    if not spec.podManagementPolicy:
        errors.append(required("spec.podManagementPolicy"))
    elif spec.podManagementPolicy not in ("OrderedReady", "Parallel"):
        shown = AsJSON(spec.podManagementPolicy)
        errors.append(invalid("spec.podManagementPolicy", shown, "must be 'OrderedReady' or 'Parallel'"))
    errors += _validate_strategy(spec, "spec.updateStrategy")
    retention = spec.persistentVolumeClaimRetentionPolicy
    if retention is not None:
        for name, policy in (("whenDeleted", retention.whenDeleted), ("whenScaled", retention.whenScaled)):
            if policy not in _RETENTION:
                path = f"spec.persistentVolumeClaimRetentionPolicy.{name}"
                errors.append(not_supported(path, AsJSON(policy), _RETENTION))
    return errors


def _validate_strategy(spec: StatefulSetSpec, path: str) -> list[FieldError]:
    strategy = spec.updateStrategy
    rolling = strategy.rollingUpdate
    match strategy.type:
        case "":
            return [required(path)]
        case "OnDelete":
            if rolling is None:
                return []
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            return [invalid(f"{path}.rollingUpdate", AsJSON(_shown_rolling(rolling)), detail)]
        case "RollingUpdate":
            return [] if rolling is None else _validate_rolling(rolling, f"{path}.rollingUpdate")
        case other:
            shown = GoStruct(Type=other, RollingUpdate=None if rolling is None else _shown_rolling(rolling))
            return [invalid(path, AsJSON(shown), "must be 'RollingUpdate' or 'OnDelete'")]


def _validate_rolling(rolling: RollingUpdateStatefulSetStrategy, path: str) -> list[FieldError]:
    errors = validate_not_negative(rolling.partition, f"{path}.partition")
    unavailable = rolling.maxUnavailable
    if unavailable is not None:
        errors += validate_int_or_percent(unavailable, f"{path}.maxUnavailable")
        if int_or_percent_value(unavailable) == 0:
            errors.append(invalid(f"{path}.maxUnavailable", AsJSON(unavailable), "cannot be 0"))
        errors += validate_at_most_100_percent(unavailable, f"{path}.maxUnavailable")
    return errors


def _shown_rolling(rolling: RollingUpdateStatefulSetStrategy) -> GoStruct:
    return GoStruct(Partition=rolling.partition or 0, MaxUnavailable=rolling.maxUnavailable)
