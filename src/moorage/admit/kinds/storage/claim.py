"""PersistentVolumeClaims.

In: views. Out: field errors. Kubernetes: ValidatePersistentVolumeClaim, ValidatePersistentVolumeClaimUpdate.
"""

from typing import Any

import msgspec

from moorage.admit.kinds.fields import validate_immutable
from moorage.admit.messages.plain import difference
from moorage.admit.metadata import FIELD_IS_IMMUTABLE, validate_object_meta, validate_object_meta_update
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.pod.volumes.volume_claims import validate_claim_spec
from moorage.admit.scheduling.label_selectors import validate_label_selector
from moorage.model.field_error import FieldError, forbidden, invalid
from moorage.model.quantity import ZERO
from moorage.model.types.storage import PersistentVolumeClaim

SPEC_CHANGED = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)
SMALLER_THAN_IT_IS = "field can not be less than status.capacity"
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def validate_claim(claim: PersistentVolumeClaim, options: ValidationOptions) -> list[FieldError]:
    return validate_object_meta(claim.metadata, "metadata") + validate_claim_spec(claim.spec, "spec", STRICT)


def validate_claim_update(
    new: PersistentVolumeClaim, old: PersistentVolumeClaim, options: ValidationOptions
) -> list[FieldError]:
    selector_options = STRICT
    if validate_label_selector(old.spec.selector, "", STRICT):
        selector_options = msgspec.structs.replace(STRICT, allow_invalid_label_value_in_selector=True)
    errors = validate_object_meta_update(new.metadata, old.metadata, "metadata")
    errors += validate_object_meta(new.metadata, "metadata")
    sources = (old.spec.dataSource, old.spec.dataSourceRef)
    had_group = any(source is not None and source.apiGroup is not None for source in sources)
    errors += validate_claim_spec(new.spec, "spec", selector_options, allow_invalid_api_group=had_group)
    errors += _validate_spec_kept(new, old)
    before, after = (claim.spec.resources.requests.get("storage", ZERO) for claim in (old, new))
    if after < before and after <= old.status.capacity.get("storage", ZERO):
        errors.append(forbidden("spec.resources.requests.storage", SMALLER_THAN_IT_IS))
    errors += validate_immutable(new.spec.volumeMode, old.spec.volumeMode, "volumeMode")
    return errors + _validate_attributes_class_kept(new, old)


def _validate_spec_kept(new: PersistentVolumeClaim, old: PersistentVolumeClaim) -> list[FieldError]:
    """Put the old values where change is allowed; what differs then may not."""
    errors: list[FieldError] = []
    kept: dict[str, Any] = {}
    if not old.spec.volumeName:
        kept["volumeName"] = ""
    before, after = (claim.metadata.annotations.get(CLASS_ANNOTATION) for claim in (old, new))
    name = new.spec.storageClassName
    gains_class = old.spec.storageClassName is None and name is not None
    if gains_class and before is not None and name == before and after in (None, before):
        kept["storageClassName"] = None
    else:
        if (before or "") != (after or ""):
            path = f"metadata.annotations.{CLASS_ANNOTATION}"
            errors.append(invalid(path, after or "", FIELD_IS_IMMUTABLE))
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
        errors.append(forbidden("spec", f"{SPEC_CHANGED}\n{difference(old.spec, munged)}"))
    return errors


def _validate_attributes_class_kept(new: PersistentVolumeClaim, old: PersistentVolumeClaim) -> list[FieldError]:
    name = new.spec.volumeAttributesClassName
    if name == old.spec.volumeAttributesClassName or old.status.currentVolumeAttributesClassName is None or name:
        return []
    to = "nil" if name is None else "empty string"
    detail = f"update to {to} is forbidden when status.currentVolumeAttributesClassName is not nil"
    return [forbidden("spec.volumeAttributesClassName", detail)]
