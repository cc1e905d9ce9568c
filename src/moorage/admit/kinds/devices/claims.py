"""Validate ResourceClaims, their templates, DeviceClasses and DeviceTaintRules.

Kubernetes: ValidateResourceClaim, ValidateResourceClaimTemplate, ValidateDeviceClass, ValidateDeviceTaintRule and their
updates (pkg/apis/resource/validation), AuthorizedForAdmin (pkg/registry/resource). Differs: a template keeps the
operators it has when their gate is turned off.
"""

from collections.abc import Iterator

import msgspec

from moorage.admit.kinds.devices.claim_status import (
    authorize_claim_status,
    check_admin_label,
    validate_claim_status,
)
from moorage.admit.kinds.devices.requests import (
    MAX_CONFIGURATIONS,
    validate_claim_spec,
    validate_configuration,
    validate_selectors,
)
from moorage.admit.kinds.devices.shared import (
    validate_conditions,
    validate_device_taint,
    validate_driver_name,
    validate_list,
    validate_pool_name,
)
from moorage.admit.kinds.row import KindRow, NamespaceLabels, Rows, ungated
from moorage.admit.messages.rejections import internal_form
from moorage.admit.metadata import (
    FIELD_IS_IMMUTABLE,
    validate_dns_label,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions, options_for_create
from moorage.admit.pod.resources import is_extended_resource
from moorage.admit.pod.volumes import validate_template_metadata
from moorage.admit.prepare import devices as prepare
from moorage.admit.ratcheting import operator_gates_in_use
from moorage.model.field_error import AsJSON, FieldErrors, invalid, too_many
from moorage.model.gates import GateSet
from moorage.model.names import long_name_errors
from moorage.model.types.devices import (
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    DeviceToleration,
    ResourceClaim,
    ResourceClaimTemplate,
)
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.view import View


def validate_claim(claim: ResourceClaim, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(claim.metadata, "metadata")
    yield from validate_claim_spec(claim.spec, "spec", options)


def validate_claim_update(new: ResourceClaim, old: ResourceClaim, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(new.metadata, "metadata")
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec_kept(new.spec, old.spec)


def _validate_spec_kept(new: View, old: View) -> FieldErrors:
    if new != old:
        yield invalid("spec", AsJSON(internal_form(new)), FIELD_IS_IMMUTABLE)


def validate_template(template: ResourceClaimTemplate, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(template.metadata, "metadata")
    yield from validate_template_metadata(template.spec.metadata, "spec.metadata")
    yield from validate_claim_spec(template.spec.spec, "spec.spec", options)


def validate_template_update(
    new: ResourceClaimTemplate, old: ResourceClaimTemplate, options: ValidationOptions
) -> FieldErrors:
    yield from validate_template(new, options)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_spec_kept(new.spec, old.spec)


def _authorize_claim(claim: ResourceClaim, labels_of: NamespaceLabels) -> FieldErrors:
    return _authorize(claim.spec.devices.requests, claim.metadata.namespace, labels_of)


def _authorize_template(template: ResourceClaimTemplate, labels_of: NamespaceLabels) -> FieldErrors:
    return _authorize(template.spec.spec.devices.requests, template.metadata.namespace, labels_of)


def _authorize(requests: tuple[DeviceRequest, ...], namespace: str, labels_of: NamespaceLabels) -> FieldErrors:
    """Check that the first request for admin access, if any, is one of administrators."""
    for index, request in enumerate(requests):
        if request.exactly is not None and request.exactly.adminAccess:
            # Upstream leaves `exactly` out of the path, and `spec` of a template's.
            yield from check_admin_label(namespace, f"spec.devices.requests[{index}].adminAccess", labels_of)
            return


def tolerations_of(requests: tuple[DeviceRequest, ...]) -> Iterator[DeviceToleration]:
    """Yield the tolerations of all requests and subrequests."""
    for request in requests:
        if request.exactly is not None:
            yield from request.exactly.tolerations
        for subrequest in request.firstAvailable:
            yield from subrequest.tolerations


def _template_options(gates: GateSet, old: ResourceClaimTemplate | None) -> ValidationOptions:
    """Return the options, which allow the operators and expressions that the old template has."""
    options = options_for_create(gates)
    tolerations = [] if old is None else list(tolerations_of(old.spec.spec.devices.requests))
    in_use = operator_gates_in_use(tolerations, ())
    has_expression = any(toleration.expression for toleration in tolerations)
    if not in_use and not has_expression:
        return options
    return msgspec.structs.replace(
        options,
        operator_gates=options.operator_gates | in_use,
        allow_taint_toleration_cel=options.allow_taint_toleration_cel or has_expression,
    )


MAX_RULE_CONDITIONS = 8


def validate_device_class(device_class: DeviceClass, options: ValidationOptions) -> FieldErrors:
    yield from _validate_class_metadata(device_class.metadata)
    yield from _validate_class_spec(device_class.spec, None, options)


def validate_device_class_update(new: DeviceClass, old: DeviceClass, options: ValidationOptions) -> FieldErrors:
    yield from _validate_class_metadata(new.metadata)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_class_spec(new.spec, old.spec, options)


def _validate_class_metadata(metadata: ObjectMeta) -> FieldErrors:
    """Check metadata but for generateName, of which upstream checks for this kind only what is made of it."""
    checked = msgspec.structs.replace(metadata, generateName="") if metadata.generateName else metadata
    return validate_object_meta(checked, "metadata", namespaced=False, name_rule=long_name_errors)


def _validate_class_spec(spec: DeviceClassSpec, old: DeviceClassSpec | None, options: ValidationOptions) -> FieldErrors:
    same_selectors = old is not None and spec.selectors == old.selectors
    yield from validate_selectors(spec.selectors, "spec.selectors", options, stored=same_selectors)
    same_config = old is not None and spec.config == old.config
    yield from validate_list(
        spec.config,
        MAX_CONFIGURATIONS,
        lambda config, at: validate_configuration(config, at, stored=same_config),
        "spec.config",
    )
    name = spec.extendedResourceName
    if name is not None and not is_extended_resource(name):
        yield invalid("spec.extendedResourceName", name, "must be a valid extended resource name")


def validate_taint_rule(rule: DeviceTaintRule, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(rule.metadata, "metadata", namespaced=False)
    yield from _validate_rule_spec(rule.spec, None)


def validate_taint_rule_update(new: DeviceTaintRule, old: DeviceTaintRule, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_rule_spec(new.spec, old.spec)


def _validate_rule_spec(spec: DeviceTaintRuleSpec, old: DeviceTaintRuleSpec | None) -> FieldErrors:
    selector, path = spec.deviceSelector, "spec.deviceSelector"
    if selector is not None:
        if selector.driver is not None:
            yield from validate_driver_name(selector.driver, f"{path}.driver")
        if selector.pool is not None:
            yield from validate_pool_name(selector.pool, f"{path}.pool")
        if selector.device is not None:
            yield from validate_dns_label(selector.device, f"{path}.device")
    yield from validate_device_taint(spec.taint, "spec.taint", None if old is None else old.taint)


def validate_taint_rule_status(new: DeviceTaintRule, old: DeviceTaintRule) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    conditions, path = new.status.conditions, "status.conditions"
    yield from validate_conditions(conditions, path)
    if len(conditions) > MAX_RULE_CONDITIONS:
        yield too_many(path, len(conditions), MAX_RULE_CONDITIONS)


ROWS: Rows = {
    ResourceClaim: KindRow(
        validate_claim,
        validate_claim_update,
        prepare.default_claim,
        prepare.prepare_claim,
        validate_status=validate_claim_status,
        prepare_status=prepare.prepare_claim_status,
        default_status=prepare.default_claim_status,
        authorize=_authorize_claim,
        authorize_status=authorize_claim_status,
    ),
    ResourceClaimTemplate: KindRow(
        validate_template,
        validate_template_update,
        prepare.default_template,
        prepare.prepare_template,
        _template_options,
        authorize=_authorize_template,
    ),
    DeviceClass: KindRow(
        validate_device_class, validate_device_class_update, prepare=prepare.prepare_device_class, has_generation=True
    ),
    DeviceTaintRule: KindRow(
        validate_taint_rule,
        validate_taint_rule_update,
        prepare.default_taint_rule,
        prepare.prepare_taint_rule,
        validate_status=ungated(validate_taint_rule_status),
        has_generation=True,
        stamp=prepare.stamp_taint_rule,
    ),
}
