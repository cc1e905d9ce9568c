"""Validate environment variables, and references to the pod's own fields and resources.

Kubernetes: ValidateEnv, ValidateEnvFrom, with relaxed names and files (RelaxedEnvironmentVariableValidation, EnvFiles)
on as in 1.36; validateObjectFieldSelector, validateContainerResourceFieldSelector, ConvertDownwardAPIFieldLabel.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from moorage.admit.metadata import (
    mask_trailing_dash,
    remember,
    subdomain_errors,
    validate_dns_label,
    validate_dns_subdomain,
    validate_label_name,
)
from moorage.admit.pod.shared import all_containers, containers_with_paths, validate_no_backsteps
from moorage.model.field_error import FieldError, FieldErrors, invalid, not_found, not_supported, required
from moorage.model.names import config_key_errors, relaxed_environment_name_errors
from moorage.model.types import container as views
from moorage.model.types.pod import PodSpec

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


def _internal_field(selector: views.ObjectFieldSelector) -> tuple[str, str]:
    """Return the field's path in the pod and "", or "" and what is wrong with it."""
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


def validate_field_selector(selector: views.ObjectFieldSelector, path: str, fields: tuple[str, ...]) -> FieldErrors:
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


def validate_resource_selector(selector: views.ResourceFieldSelector, path: str, *, in_volume: bool) -> FieldErrors:
    if in_volume and not selector.containerName:
        yield required(f"{path}.containerName")
    elif not selector.resource:
        yield required(f"{path}.resource")
    elif selector.resource not in _RESOURCES and not selector.resource.startswith(_HUGE_PAGES):
        yield not_supported(f"{path}.resource", selector.resource, _RESOURCES)
    if not selector.divisor.is_zero():
        yield from _validate_divisor(selector, f"{path}.divisor")


def _validate_divisor(selector: views.ResourceFieldSelector, path: str) -> list[FieldError]:
    resource, divisor = selector.resource, str(selector.divisor)
    if resource in ("limits.cpu", "requests.cpu"):
        detail = "only divisor's values 1m and 1 are supported with the cpu resource"
        return [] if divisor in ("1m", "1") else [invalid(path, resource, detail)]
    words = "hugepages" if resource.startswith(_HUGE_PAGES) else _BYTE_RESOURCE_WORDS.get(resource)
    if words is None or divisor in _BYTE_DIVISORS:
        return []
    detail = f"only divisor's values {', '.join(_BYTE_DIVISORS)} are supported with the {words} resource"
    return [invalid(path, resource, detail)]


_NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_NO_WHOLE_SOURCE = "must specify one of: `configMapRef` or `secretRef`"
_VALUE_TOO = "may not be specified when `value` is not empty"
_SEVERAL = "may not have more than one field specified at a time"
_NOT_AN_EMPTY_DIR = "referenced volume must be of type emptyDir"


_variable_name_errors = remember(relaxed_environment_name_errors)
_config_key_errors = remember(config_key_errors)


def validate_environment(variables: tuple[views.EnvVar, ...], path: str) -> FieldErrors:
    for index, variable in enumerate(variables):
        if not variable.name:
            yield required(f"{path}[{index}].name")
        elif messages := _variable_name_errors(variable.name):
            yield from [invalid(f"{path}[{index}].name", variable.name, message) for message in messages]
        if variable.valueFrom is not None:
            yield from _validate_value_source(variable.valueFrom, f"{path}[{index}].valueFrom", variable.value)


def _validate_value_source(source: views.EnvVarSource, path: str, value: str) -> FieldErrors:
    given = [name for name in _VALUE_SOURCES if getattr(source, name) is not None]
    for name in given:
        yield from _VALUE_SOURCES[name](getattr(source, name), f"{path}.{name}")
    if not given:
        yield invalid(path, "", _NO_SOURCE)
    elif value:
        yield invalid(path, "", _VALUE_TOO)
    elif len(given) > 1:
        yield invalid(path, "", _SEVERAL)


def _validate_key_selector(selector: views.ConfigMapKeySelector | views.SecretKeySelector, path: str) -> FieldErrors:
    yield from validate_dns_subdomain(selector.name, f"{path}.name")
    if not selector.key:
        yield required(f"{path}.key")
    else:
        yield from [invalid(f"{path}.key", selector.key, message) for message in _config_key_errors(selector.key)]


def _validate_file_selector(selector: views.FileKeySelector, path: str) -> FieldErrors:
    if not selector.key:
        yield required(f"{path}.key")
    else:
        yield from [invalid(f"{path}.key", selector.key, message) for message in _variable_name_errors(selector.key)]
    if not selector.volumeName:
        yield required(f"{path}.volumeName")
    else:
        yield from validate_dns_label(selector.volumeName, f"{path}.volumeName")
    if not selector.path:
        yield required(f"{path}.path")
    else:
        yield from validate_no_backsteps(selector.path, f"{path}.path")


_VALUE_SOURCES: Mapping[str, Callable[[Any, str], FieldErrors]] = {
    "fieldRef": partial(validate_field_selector, fields=FIELDS_FOR_ENVIRONMENT),
    "resourceFieldRef": partial(validate_resource_selector, in_volume=False),
    "configMapKeyRef": _validate_key_selector,
    "secretKeyRef": _validate_key_selector,
    "fileKeyRef": _validate_file_selector,
}


def validate_environment_sources(sources: tuple[views.EnvFromSource, ...], path: str) -> FieldErrors:
    """Check `envFrom`; upstream reports a missing or doubled source at the list's path, without its index."""
    for index, source in enumerate(sources):
        at = f"{path}[{index}]"
        if source.prefix:
            for message in _variable_name_errors(source.prefix):
                yield invalid(f"{at}.prefix", source.prefix, message)
        if source.configMapRef is not None:
            yield from _validate_whole_source(source.configMapRef, f"{at}.configMapRef")
        if source.secretRef is not None:
            yield from _validate_whole_source(source.secretRef, f"{at}.secretRef")
        if source.configMapRef is None and source.secretRef is None:
            yield invalid(path, "", _NO_WHOLE_SOURCE)
        elif source.configMapRef is not None and source.secretRef is not None:
            yield invalid(path, "", _SEVERAL)


def _validate_whole_source(source: views.ConfigMapEnvSource | views.SecretEnvSource, path: str) -> list[FieldError]:
    if not source.name:
        return [required(f"{path}.name")]
    # Upstream checks these two as if they were the beginning of a generated name.
    messages = subdomain_errors(mask_trailing_dash(source.name))
    return [invalid(f"{path}.name", source.name, message) for message in messages]


def validate_files_of_variables(spec: PodSpec, path: str) -> FieldErrors:
    """Check that a variable from a file names an emptyDir volume of the pod."""
    is_empty_dir = {volume.name: volume.emptyDir is not None for volume in spec.volumes}
    for container, at in containers_with_paths(spec, path):
        for index, variable in enumerate(container.env):
            if variable.valueFrom is None or variable.valueFrom.fileKeyRef is None:
                continue
            name = variable.valueFrom.fileKeyRef.volumeName
            name_path = f"{at}.env[{index}].valueFrom.fileKeyRef.volumeName"
            if name not in is_empty_dir:
                yield not_found(name_path, name)
            elif not is_empty_dir[name]:
                yield invalid(name_path, name, _NOT_AN_EMPTY_DIR)


def any_reads_a_file(spec: PodSpec) -> bool:
    for container in all_containers(spec):
        for variable in container.env:
            if variable.valueFrom is not None and variable.valueFrom.fileKeyRef is not None:
                return True
    return False
