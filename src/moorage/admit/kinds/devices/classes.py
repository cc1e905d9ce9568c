"""Validate DeviceClasses and DeviceTaintRules.

Kubernetes: ValidateDeviceClass, ValidateDeviceTaintRule and their updates (pkg/apis/resource/validation).
"""

import msgspec

from moorage.admit.kinds.devices.requests import MAX_CONFIGURATIONS, validate_configuration, validate_selectors
from moorage.admit.kinds.devices.shared import (
    validate_conditions,
    validate_device_taint,
    validate_driver_name,
    validate_list,
    validate_pool_name,
)
from moorage.admit.kinds.row import KindRow, Rows, ungated
from moorage.admit.metadata import validate_dns_label, validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.resources import is_extended_resource
from moorage.admit.prepare import devices as prepare
from moorage.model.field_error import FieldErrors, invalid, too_many
from moorage.model.types.devices import DeviceClass, DeviceClassSpec, DeviceTaintRule, DeviceTaintRuleSpec
from moorage.model.types.meta import ObjectMeta

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
    return validate_object_meta(checked, "metadata", namespaced=False)


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
