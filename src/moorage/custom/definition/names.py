"""Validate names, group, scope and approval of a definition.

Kubernetes: apiextensions-apiserver, validation/validation.go.
"""

from collections.abc import Mapping
from typing import Final, Literal

from moorage.match.cel.libraries.url_value import URLError, parse_request_uri
from moorage.model.field_error import FieldError, FieldErrors, invalid, not_supported, required
from moorage.model.names import dns1035_label_errors, dns1123_subdomain_errors
from moorage.model.types.extension.custom_resource_definition import CustomResourceDefinitionNames
from moorage.model.well_known.annotations import API_APPROVED

_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"
_MUST: Final = f'protected groups must have approval annotation "{API_APPROVED}"'

ApprovalState = Literal["invalid", "approved", "bypassed", "missing"]


def validate_group(group: str, path: str) -> list[FieldError]:
    if not group:
        return [required(path)]
    errors = dns1123_subdomain_errors(group)
    if errors:
        return [invalid(path, group, ",".join(errors))]
    return [] if "." in group else [invalid(path, group, "should be a domain with at least one dot")]


def validate_choice(value: str, accepted: tuple[str, ...], path: str) -> list[FieldError]:
    if value in accepted:
        return []
    return [not_supported(path, value, accepted)] if value else [required(path)]


def validate_names(names: CustomResourceDefinitionNames, path: str) -> FieldErrors:
    yield from _label(names.plural, f"{path}.plural")
    yield from _label(names.singular, f"{path}.singular")
    yield from _kind(names.kind, f"{path}.kind")
    yield from _kind(names.listKind, f"{path}.listKind")
    for number, name in enumerate(names.shortNames):
        yield from _label(name, f"{path}.shortNames[{number}]", is_needed=True)
    if names.kind and names.kind == names.listKind:
        yield invalid(f"{path}.listKind", names.listKind, "kind and listKind may not be the same")
    for number, name in enumerate(names.categories):
        yield from _label(name, f"{path}.categories[{number}]", is_needed=True)


def _label(name: str, path: str, *, is_needed: bool = False) -> FieldErrors:
    errors = dns1035_label_errors(name) if name or is_needed else []
    if errors:
        yield invalid(path, name, ",".join(errors))


def _kind(name: str, path: str) -> FieldErrors:
    errors = dns1035_label_errors(name.lower()) if name else []
    if errors:
        yield invalid(path, name, f"may have mixed case, but should otherwise match: {','.join(errors)}")


def is_protected_group(group: str) -> bool:
    """Return whether a group belongs to the Kubernetes community, whose kinds need an approval."""
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def approval_state(annotations: Mapping[str, str]) -> ApprovalState:
    value = annotations.get(API_APPROVED, "")
    if not value:
        return "missing"
    if value.startswith("unapproved"):
        return "bypassed"
    try:
        url = parse_request_uri(value)
    except URLError:
        return "invalid"
    return "approved" if url.host and url.scheme else "invalid"


def approval_message(annotations: Mapping[str, str]) -> str:
    """Return what there is to say of a group's approval, as the condition of a definition has it."""
    value = annotations.get(API_APPROVED, "")
    state = approval_state(annotations)
    if state == "bypassed":
        return f'not approved: "{value}"'
    if state == "approved":
        return f"approved in {value}"
    if state == "missing":
        return f"{_MUST}, {_SEE}"
    return f'{_MUST} with either a URL or a reason starting with "unapproved", {_SEE}'


def validate_approval(
    group: str, annotations: Mapping[str, str], old: Mapping[str, str] | None = None
) -> list[FieldError]:
    """Check the annotation of a protected group. What an update leaves as it was is accepted."""
    state = approval_state(annotations)
    if not is_protected_group(group) or (old is not None and approval_state(old) == state):
        return []
    path = f"metadata.annotations[{API_APPROVED}]"
    if state == "missing":
        return [required(path, approval_message(annotations))]
    if state == "invalid":
        return [invalid(path, annotations[API_APPROVED], approval_message(annotations))]
    return []
