"""Generic ephemeral volumes, and the claim they are made from.

In: an `EphemeralVolumeSource`, or the spec of any PersistentVolumeClaim. Out: field errors. Kubernetes:
validateEphemeralVolumeSource, ValidatePersistentVolumeClaimTemplate, ValidatePersistentVolumeClaimSpec.
"""

from moorage.admit.dns_names import validate_dns_label, validate_dns_subdomain
from moorage.admit.metadata import validate_annotations
from moorage.admit.options import STRICT, ValidationOptions
from moorage.admit.scheduling.label_selectors import validate_label_selector, validate_labels
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required
from moorage.model.go.quoting import GoStruct
from moorage.model.types.meta import ObjectMeta, TypedLocalObjectReference, TypedObjectReference
from moorage.model.types.storage import EphemeralVolumeSource, PersistentVolumeClaimSpec

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")
_ONLY_CLAIMS = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
# Upstream lists all fields but labels and annotations by reflection, and lowers only the first letter of their names.
_FORBIDDEN_METADATA = (
    ("name", "name"),
    ("generateName", "generateName"),
    ("namespace", "namespace"),
    ("selfLink", "selfLink"),
    ("uid", "uID"),
    ("resourceVersion", "resourceVersion"),
    ("generation", "generation"),
    ("creationTimestamp", "creationTimestamp"),
    ("deletionTimestamp", "deletionTimestamp"),
    ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
    ("ownerReferences", "ownerReferences"),
    ("finalizers", "finalizers"),
    ("managedFields", "managedFields"),
)


def validate_ephemeral(source: EphemeralVolumeSource, path: str, _: ValidationOptions) -> list[FieldError]:
    template = source.volumeClaimTemplate
    at = f"{path}.volumeClaimTemplate"
    if template is None:
        return [required(at)]
    errors = _validate_template_metadata(template.metadata, f"{at}.metadata")
    return errors + validate_claim_spec(template.spec, f"{at}.spec", STRICT)


def _validate_template_metadata(metadata: ObjectMeta, path: str) -> list[FieldError]:
    errors = validate_annotations(metadata.annotations, f"{path}.annotations")
    errors += validate_labels(metadata.labels, f"{path}.labels")
    for field, reported in _FORBIDDEN_METADATA:
        if getattr(metadata, field) not in (None, "", 0, ()):
            errors.append(forbidden(f"{path}.{reported}", "cannot be set"))
    return errors


def validate_claim_spec(
    spec: PersistentVolumeClaimSpec, path: str, options: ValidationOptions, *, allow_invalid_api_group: bool = False
) -> list[FieldError]:
    errors: list[FieldError] = []
    if not spec.accessModes:
        errors.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    errors += validate_label_selector(spec.selector, f"{path}.selector", options)
    errors += _validate_access_modes(spec.accessModes, f"{path}.accessModes")
    errors += _validate_storage(spec, f"{path}.resources[storage]")
    if spec.storageClassName:
        errors += validate_dns_subdomain(spec.storageClassName, f"{path}.storageClassName")
    if spec.volumeMode is not None and spec.volumeMode not in _VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", AsJSON(spec.volumeMode), _VOLUME_MODES))
    errors += _validate_data_sources(spec, path, allow_invalid_api_group)
    if spec.volumeAttributesClassName:
        errors += validate_dns_subdomain(spec.volumeAttributesClassName, f"{path}.volumeAttributesClassName")
    return errors


def _validate_access_modes(modes: tuple[str, ...], path: str) -> list[FieldError]:
    errors = [not_supported(path, AsJSON(mode), _ACCESS_MODES) for mode in modes if mode not in _ACCESS_MODES]
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        errors.append(forbidden(path, "may not use ReadWriteOncePod with other access modes"))
    return errors


def _validate_storage(spec: PersistentVolumeClaimSpec, path: str) -> list[FieldError]:
    storage = spec.resources.requests.get("storage")
    if storage is None:
        return [required(path)]
    if storage.sign() <= 0:
        return [invalid(path, str(storage), "must be greater than zero")]
    return []


def _validate_data_sources(
    spec: PersistentVolumeClaimSpec, path: str, allow_invalid_api_group: bool
) -> list[FieldError]:
    source, reference = spec.dataSource, spec.dataSourceRef
    errors: list[FieldError] = []
    if source is not None:
        errors += _validate_data_source(source, f"{path}.dataSource", allow_invalid_api_group)
    if reference is None:
        return errors
    errors += _validate_data_source(reference, f"{path}.dataSourceRef", allow_invalid_api_group)
    if reference.namespace:
        errors += validate_dns_label(reference.namespace, f"{path}.dataSourceRef.namespace")
    if source is None:
        return errors
    # The value upstream shows for these two is a path object, which has no visible fields.
    shown = AsJSON(GoStruct())
    if reference.namespace:
        detail = "may not be specified when dataSourceRef.namespace is specified"
        errors.append(invalid(path, shown, detail))
    elif (source.apiGroup, source.kind, source.name) != (reference.apiGroup, reference.kind, reference.name):
        errors.append(invalid(path, shown, "must match dataSourceRef"))
    return errors


def _validate_data_source(
    source: TypedLocalObjectReference | TypedObjectReference, path: str, allow_invalid_api_group: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    if not source.name:
        errors.append(required(f"{path}.name"))
    if not source.kind:
        errors.append(required(f"{path}.kind"))
    if not source.apiGroup and source.kind != "PersistentVolumeClaim":
        errors.append(invalid(path, source.kind, _ONLY_CLAIMS))
    if source.apiGroup and not allow_invalid_api_group:
        errors += validate_dns_subdomain(source.apiGroup, f"{path}.apiGroup")
    return errors
