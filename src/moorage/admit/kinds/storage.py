"""Validate PersistentVolumeClaims, CSIDrivers, CSINodes, CSIStorageCapacities and VolumeAttachments.

Kubernetes: ValidatePersistentVolumeClaim and its update, pkg/apis/storage/validation. Differs: the volume that an
attachment spells out itself, for migrated plugins, is not looked into.
"""

from typing import Any

import msgspec

from moorage.admit.kinds.fields import repeated_places, validate_immutable, validate_not_negative
from moorage.admit.kinds.row import KindRow, Rows, ungated, validate_only_metadata
from moorage.admit.messages.rejections import as_manifest, difference, internal_form
from moorage.admit.metadata import (
    FIELD_IS_IMMUTABLE,
    subdomain_errors,
    validate_dns_subdomain,
    validate_label_name,
    validate_label_selector,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.pod.projections import validate_token_seconds
from moorage.admit.pod.resources import validate_quantity
from moorage.admit.pod.volume_backends import validate_csi_driver_name
from moorage.admit.pod.volumes import validate_claim_spec
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.prepare import strategies
from moorage.admit.subresources import statuses
from moorage.model import field_error as field
from moorage.model.field_error import FieldErrors
from moorage.model.gates import GateSet
from moorage.model.go.integers import INT32_MAX
from moorage.model.names import byte_length
from moorage.model.quantity import ZERO
from moorage.model.types import storage as views
from moorage.model.well_known.annotations import BETA_STORAGE_CLASS

SPEC_CHANGED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
SMALLER_THAN_IT_IS = "field can not be less than status.capacity"


def validate_claim(claim: views.PersistentVolumeClaim, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(claim.metadata, "metadata")
    yield from validate_claim_spec(claim.spec, "spec", STRICT)


def validate_claim_update(
    new: views.PersistentVolumeClaim, old: views.PersistentVolumeClaim, options: ValidationOptions
) -> FieldErrors:
    selector_options = STRICT
    if validate_label_selector(old.spec.selector, "", STRICT):
        selector_options = msgspec.structs.replace(STRICT, allow_invalid_label_value_in_selector=True)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_object_meta(new.metadata, "metadata")
    sources = (old.spec.dataSource, old.spec.dataSourceRef)
    had_group = any(source is not None and source.apiGroup is not None for source in sources)
    yield from validate_claim_spec(new.spec, "spec", selector_options, allow_invalid_api_group=had_group)
    yield from _validate_spec_kept(new, old)
    before, after = (claim.spec.resources.requests.get("storage", ZERO) for claim in (old, new))
    if after < before and after <= old.status.capacity.get("storage", ZERO):
        yield field.forbidden("spec.resources.requests.storage", SMALLER_THAN_IT_IS)
    yield from validate_immutable(new.spec.volumeMode, old.spec.volumeMode, "volumeMode")
    yield from _validate_attributes_class_kept(new, old)


def _validate_spec_kept(new: views.PersistentVolumeClaim, old: views.PersistentVolumeClaim) -> FieldErrors:
    """Put the old values where change is allowed; what differs then may not."""
    kept: dict[str, Any] = {}
    if not old.spec.volumeName:
        kept["volumeName"] = ""
    before, after = (claim.metadata.annotations.get(BETA_STORAGE_CLASS) for claim in (old, new))
    name = new.spec.storageClassName
    gains_class = old.spec.storageClassName is None and name is not None
    if gains_class and before is not None and name == before and after in (None, before):
        kept["storageClassName"] = None
    else:
        if (before or "") != (after or ""):
            path = f"metadata.annotations.{BETA_STORAGE_CLASS}"
            yield field.invalid(path, after or "", FIELD_IS_IMMUTABLE)
        if gains_class and before in (None, name):
            kept["storageClassName"] = None
    if new.status.phase == "Bound":
        kept["volumeAttributesClassName"] = old.spec.volumeAttributesClassName
        requests = dict(new.spec.resources.requests)
        if requests:
            requests["storage"] = old.spec.resources.requests.get("storage", ZERO)
        kept["resources"] = msgspec.structs.replace(new.spec.resources, requests=requests)
    munged = msgspec.structs.replace(new.spec, **kept)
    if munged != old.spec:
        yield field.forbidden("spec", f"{SPEC_CHANGED}\n{difference(old.spec, munged)}")


def _validate_attributes_class_kept(new: views.PersistentVolumeClaim, old: views.PersistentVolumeClaim) -> FieldErrors:
    name = new.spec.volumeAttributesClassName
    if name == old.spec.volumeAttributesClassName or old.status.currentVolumeAttributesClassName is None or name:
        return []
    to = "nil" if name is None else "empty string"
    detail = f"update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil"
    return [field.forbidden("spec.volumeAttributesClassName", detail)]


ONE_SOURCE = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_MAX_NODE_ID_LENGTH = 192
_LARGEST_METADATA = 256 * 1024
_MAX_ERROR_LENGTH = 1024
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLES = ("Persistent", "Ephemeral")
_TOKENS_MAY_BE_LOGGED = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def validate_csi_driver(driver: views.CSIDriver, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(driver.metadata, "metadata", namespaced=False)
    yield from _validate_driver_spec(driver.spec)


def validate_csi_driver_update(new: views.CSIDriver, old: views.CSIDriver, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from _validate_driver_spec(new.spec)
    yield from validate_immutable(new.spec.attachRequired, old.spec.attachRequired, "spec.attachedRequired")
    modes, before = new.spec.volumeLifecycleModes, old.spec.volumeLifecycleModes
    yield from validate_immutable(modes, before, "spec.volumeLifecycleModes")


def _driver_warnings(new: views.CSIDriver, old: views.CSIDriver | None) -> list[str]:
    requests = new.spec.tokenRequests
    if not requests or new.spec.serviceAccountTokenInSecrets is not None:
        return []
    return [_TOKENS_MAY_BE_LOGGED] if old is None or requests != old.spec.tokenRequests else []


def _validate_driver_spec(spec: views.CSIDriverSpec) -> FieldErrors:
    yield from field.one_of(spec.fsGroupPolicy, _GROUP_POLICIES, "spec.fsGroupPolicy")
    yield from _validate_token_requests(spec.tokenRequests, "spec.tokenRequests")
    for mode in spec.volumeLifecycleModes:
        yield from field.one_of(mode, _LIFECYCLES, "spec.volumeLifecycleModes")
    period = spec.nodeAllocatableUpdatePeriodSeconds
    if period is not None and period < 10:
        path = "spec.nodeAllocatableUpdatePeriodSeconds"
        yield field.invalid(path, period, "must be greater than or equal to 10 seconds")
    if spec.serviceAccountTokenInSecrets is not None and not spec.tokenRequests:
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield field.invalid("spec.serviceAccountTokenInSecrets", spec.serviceAccountTokenInSecrets, detail)


def _validate_token_requests(requests: tuple[views.TokenRequest, ...], path: str) -> FieldErrors:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        if request.audience in seen:
            yield field.duplicate(f"{path}[{index}].audience", request.audience)
            continue
        seen.add(request.audience)
        if request.expirationSeconds is not None:
            yield from validate_token_seconds(request.expirationSeconds, f"{path}[{index}].expirationSeconds")


def validate_csi_node(node: views.CSINode, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(node.metadata, "metadata", namespaced=False)
    seen: set[str] = set()
    for index, driver in enumerate(node.spec.drivers):
        yield from _validate_node_driver(driver, seen, f"spec.drivers[{index}]")
        seen.add(driver.name)


def _validate_node_driver(driver: views.CSINodeDriver, seen: set[str], path: str) -> FieldErrors:
    yield from validate_csi_driver_name(driver.name, f"{path}.name")
    if not driver.nodeID:
        yield field.required(f"{path}.nodeID")
    if byte_length(driver.nodeID) > _MAX_NODE_ID_LENGTH:
        yield field.invalid(f"{path}.nodeID", driver.nodeID, f"must be {_MAX_NODE_ID_LENGTH} characters or less")
    if driver.allocatable is not None:
        yield from validate_not_negative(driver.allocatable.count, f"{path}.allocatable.count")
    if driver.name in seen:
        yield field.duplicate(f"{path}.name", driver.name)
    repeated = set(repeated_places(driver.topologyKeys))
    for index, key in enumerate(driver.topologyKeys):
        if not key:
            yield field.required(path)
        if index in repeated:
            yield field.duplicate(path, key)
        yield from validate_label_name(key, path)


def validate_csi_node_update(new: views.CSINode, old: views.CSINode, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_csi_node(new, options)
    for before in old.spec.drivers:
        for after in new.spec.drivers:
            if after.name == before.name:
                plain, earlier = (msgspec.structs.replace(one, allocatable=None) for one in (after, before))
                yield from validate_immutable(plain, earlier, "spec.drivers", internal_form(plain))


def validate_storage_capacity(capacity: views.CSIStorageCapacity, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(capacity.metadata, "metadata")
    yield from validate_label_selector(capacity.nodeTopology, "nodeTopology", options)
    name = capacity.storageClassName
    yield from validate_dns_subdomain(name, "storageClassName")
    if capacity.capacity is not None:
        yield from validate_quantity(capacity.capacity, "capacity", is_whole=False)


def validate_storage_capacity_update(
    new: views.CSIStorageCapacity, old: views.CSIStorageCapacity, options: ValidationOptions
) -> FieldErrors:
    if validate_label_selector(old.nodeTopology, "", STRICT):
        options = msgspec.structs.replace(STRICT, allow_invalid_label_value_in_selector=True)
    yield from validate_storage_capacity(new, options)
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_immutable(new.nodeTopology, old.nodeTopology, "nodeTopology", internal_form(new.nodeTopology))
    if new.storageClassName != old.storageClassName:
        yield field.invalid("storageClassName", new.storageClassName, FIELD_IS_IMMUTABLE)


def validate_volume_attachment(attachment: views.VolumeAttachment, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(attachment.metadata, "metadata", namespaced=False)
    yield from validate_csi_driver_name(attachment.spec.attacher, "spec.attacher")
    source = attachment.spec.source
    name = source.persistentVolumeName
    if source.inlineVolumeSpec is None and name is None:
        yield field.required("spec.source", ONE_SOURCE)
    elif source.inlineVolumeSpec is not None and name is not None:
        yield field.forbidden("spec.source", ONE_SOURCE)
    elif name == "":
        yield field.required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    node = attachment.spec.nodeName
    yield from validate_dns_subdomain(node, "spec.nodeName")
    yield from validate_attachment_status(attachment.status)
    if name is not None:
        for message in subdomain_errors(name):
            yield field.invalid("spec.source.persistentVolumeName", name, message)


def validate_attachment_status(status: views.VolumeAttachmentStatus) -> FieldErrors:
    if sum(byte_length(key) + byte_length(text) for key, text in status.attachmentMetadata.items()) > _LARGEST_METADATA:
        yield field.too_long("status.attachmentMetadata", _LARGEST_METADATA)
    yield from _validate_volume_error(status.attachError, "status.attachError")
    yield from _validate_volume_error(status.detachError, "status.detachError")


def _validate_volume_error(error: views.VolumeError | None, path: str) -> FieldErrors:
    if error is None:
        return
    if byte_length(error.message) > _MAX_ERROR_LENGTH:
        yield field.too_long(f"{path}.message", _LARGEST_METADATA)
    if error.errorCode is not None and error.errorCode < 0:
        yield field.invalid(f"{path}.errorCode", error.errorCode, f"must be between 0 and {INT32_MAX}, inclusive")


def validate_volume_attachment_update(
    new: views.VolumeAttachment, old: views.VolumeAttachment, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")
    yield from validate_volume_attachment(new, options)
    yield from validate_immutable(new.spec, old.spec, "spec", as_manifest(new.spec))


def _validate_attachment_status(
    new: views.VolumeAttachment, old: views.VolumeAttachment, gates: GateSet
) -> FieldErrors:
    yield from validate_only_metadata(new, old)
    yield from validate_attachment_status(new.status)


ROWS: Rows = {
    views.PersistentVolumeClaim: KindRow(
        validate_claim,
        validate_claim_update,
        defaults.default_claim,
        strategies.prepare_claim,
        validate_status=ungated(statuses.validate_claim_status),
    ),
    views.CSIDriver: KindRow(
        validate_csi_driver,
        validate_csi_driver_update,
        defaults.default_csi_driver,
        strategies.prepare_csi_driver,
        has_generation=True,
        warnings_of_change=_driver_warnings,
    ),
    views.CSINode: KindRow(validate_csi_node, validate_csi_node_update),
    views.CSIStorageCapacity: KindRow(validate_storage_capacity, validate_storage_capacity_update),
    views.VolumeAttachment: KindRow(
        validate_volume_attachment,
        validate_volume_attachment_update,
        prepare=strategies.prepare_volume_attachment,
        validate_status=_validate_attachment_status,
    ),
}
