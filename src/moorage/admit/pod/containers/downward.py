"""References from environment variables and files to the pod's own fields and resources.

In: an `ObjectFieldSelector` or `ResourceFieldSelector`, its path, which fields may be named. Out: field errors.
Kubernetes: validateObjectFieldSelector, validateContainerResourceFieldSelector, ConvertDownwardAPIFieldLabel.
"""

from moorage.admit.scheduling.label_selectors import validate_label_name
from moorage.model.field_error import FieldError, invalid, not_supported, required
from moorage.model.types.container import ObjectFieldSelector, ResourceFieldSelector

FIELDS_FOR_ENVIRONMENT = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
FIELDS_FOR_FILES = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_KNOWN_FIELDS = frozenset(
    {*FIELDS_FOR_ENVIRONMENT, *FIELDS_FOR_FILES, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
)
_RENAMED_FIELDS = {"spec.host": "spec.nodeName"}
_SUBSCRIPTED_FIELDS = ("metadata.annotations", "metadata.labels")

_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTE_DIVISORS = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_BYTE_RESOURCE_WORDS = {
    "limits.memory": "memory",
    "requests.memory": "memory",
    "limits.ephemeral-storage": "local ephemeral storage",
    "requests.ephemeral-storage": "local ephemeral storage",
}


def split_subscript(field_path: str) -> tuple[str, str, bool]:
    """`metadata.labels['x']` as (`metadata.labels`, `x`, True); anything else as it is, with False."""
    if field_path.endswith("']"):
        head, bracket, subscript = field_path.removesuffix("']").partition("['")
        if bracket and head:
            return head, subscript, True
    return field_path, "", False


def _internal_field(selector: ObjectFieldSelector) -> tuple[str, str]:
    """The field's path in the pod and "", or "" and what is wrong with it."""
    if selector.apiVersion != "v1":
        return "", f"unsupported pod version: {selector.apiVersion}"
    field_path = selector.fieldPath
    field, _, subscripted = split_subscript(field_path)
    if subscripted:
        known = field in _SUBSCRIPTED_FIELDS
        return (field_path, "") if known else ("", f"field label does not support subscript: {field_path}")
    if field in _KNOWN_FIELDS:
        return field, ""
    renamed = _RENAMED_FIELDS.get(field, "")
    return renamed, "" if renamed else f"field label not supported: {field_path}"


def validate_field_selector(selector: ObjectFieldSelector, path: str, fields: tuple[str, ...]) -> list[FieldError]:
    if not selector.apiVersion:
        return [required(f"{path}.apiVersion")]
    if not selector.fieldPath:
        return [required(f"{path}.fieldPath")]
    internal, complaint = _internal_field(selector)
    if complaint:
        return [invalid(f"{path}.fieldPath", selector.fieldPath, f"error converting fieldPath: {complaint}")]
    field, subscript, subscripted = split_subscript(internal)
    if subscripted:
        # Annotation keys are label keys but for their case.
        return validate_label_name(subscript.lower() if field == "metadata.annotations" else subscript, path)
    return [] if field in fields else [not_supported(f"{path}.fieldPath", field, fields)]


def validate_resource_selector(selector: ResourceFieldSelector, path: str, *, in_volume: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    if in_volume and not selector.containerName:
        errors.append(required(f"{path}.containerName"))
    elif not selector.resource:
        errors.append(required(f"{path}.resource"))
    elif selector.resource not in _RESOURCES and not selector.resource.startswith(_HUGE_PAGES):
        errors.append(not_supported(f"{path}.resource", selector.resource, _RESOURCES))
    if not selector.divisor.is_zero():
        errors += _validate_divisor(selector, f"{path}.divisor")
    return errors


def _validate_divisor(selector: ResourceFieldSelector, path: str) -> list[FieldError]:
    resource, divisor = selector.resource, str(selector.divisor)
    if resource in ("limits.cpu", "requests.cpu"):
        detail = "only divisor's values 1m and 1 are supported with the cpu resource"
        return [] if divisor in ("1m", "1") else [invalid(path, resource, detail)]
    words = "hugepages" if resource.startswith(_HUGE_PAGES) else _BYTE_RESOURCE_WORDS.get(resource)
    if words is None or divisor in _BYTE_DIVISORS:
        return []
    detail = f"only divisor's values {', '.join(_BYTE_DIVISORS)} are supported with the {words} resource"
    return [invalid(path, resource, detail)]
