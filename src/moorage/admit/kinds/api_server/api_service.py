"""Validate APIServices: local ones, and registrations of other API servers, to which no request is passed on.

In: views. Out: field errors. Kubernetes: ValidateAPIService and its updates. Differs: a service is never available,
and a warning says why.
"""

from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.messages.warnings import NOT_PASSED_ON
from moorage.admit.metadata import (
    path_segment_errors,
    validate_dns_subdomain,
    validate_object_meta,
    validate_object_meta_update,
)
from moorage.admit.options import ValidationOptions
from moorage.admit.prepare import kind_defaults as defaults
from moorage.admit.raw import Raw, part
from moorage.model import field_error as field
from moorage.model.field_error import AsJSON, FieldErrors
from moorage.model.gates import GateSet
from moorage.model.go.pem_blocks import decode_base64
from moorage.model.go.quoting import go_quote
from moorage.model.names import dns1035_label_errors, port_number_errors
from moorage.model.types.extension.api_server import APIService, APIServiceSpec

LOCAL = {"type": "Available", "status": "True", "reason": "Local", "message": "Local APIServices are always available"}
_ELSEWHERE = {"type": "Available", "status": "False", "reason": "NotPassedOn", "message": NOT_PASSED_ON}
_STATUSES = ("True", "False", "Unknown")


def validate_api_service(service: APIService, options: ValidationOptions) -> FieldErrors:
    spec, needed = service.spec, f"{service.spec.version}.{service.spec.group}"

    def name_errors(name: str) -> list[str]:
        if wrong := path_segment_errors(name):
            return wrong
        return [] if name == needed else [f'must be `spec.version+"."+spec.group`: {go_quote(needed)}']

    yield from validate_object_meta(
        service.metadata, "metadata", namespaced=False, name_rule=name_errors, any_finalizer=True
    )
    if spec.group:
        yield from validate_dns_subdomain(spec.group, "spec.group")
    elif spec.version != "v1":
        yield field.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    messages = dns1035_label_errors(spec.version)
    yield from (field.invalid("spec.version", spec.version, message) for message in messages)
    for name, limit in (("groupPriorityMinimum", 20_000), ("versionPriority", 1000)):
        value = getattr(spec, name)
        if not 0 < value <= limit:
            yield field.invalid(f"spec.{name}", value, f"must be positive and less than {limit}")
    yield from _validate_local(spec) if spec.service is None else _validate_remote(spec)


def _validate_local(spec: APIServiceSpec) -> FieldErrors:
    bundle = decode_base64(spec.caBundle)
    if bundle:
        yield field.invalid("spec.caBundle", f"{len(bundle)} bytes", "local APIServices may not have a caBundle")
    if spec.insecureSkipTLSVerify:
        detail = "local APIServices may not have insecureSkipTLSVerify"
        yield field.invalid("spec.insecureSkipTLSVerify", True, detail)


def _validate_remote(spec: APIServiceSpec) -> FieldErrors:
    assert spec.service is not None
    for name in ("namespace", "name"):
        if not getattr(spec.service, name):
            yield field.required(f"spec.service.{name}")
    port = spec.service.port or 0
    if messages := port_number_errors(port):
        yield field.invalid("spec.service.port", port, f"port is not valid: {', '.join(messages)}")
    if spec.insecureSkipTLSVerify and spec.caBundle:
        yield field.invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present")


def validate_api_service_update(new: APIService, old: APIService, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata", any_finalizer=True)
    yield from validate_api_service(new, options)


def _validate_status(new: APIService, old: APIService, gates: GateSet) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata", any_finalizer=True)
    for index, condition in enumerate(new.status.conditions):
        if condition.status not in _STATUSES:
            path = f"status.conditions[{index}].status"
            yield field.not_supported(path, AsJSON(condition.status), _STATUSES)


def _begin_status(new: Raw, old: Raw | None, timestamp: str) -> None:
    """Say whether requests to the API are answered here."""
    if old is not None:
        new["status"] = old.get("status") or {}
        return
    condition = LOCAL if part(new, "spec").get("service") is None else _ELSEWHERE
    new["status"] = {"conditions": [{**condition, "lastTransitionTime": timestamp}]}


ROWS: Rows = {
    APIService: KindRow(
        validate_api_service,
        validate_api_service_update,
        defaults.default_api_service,
        validate_status=_validate_status,
        stamp=_begin_status,
        warnings=lambda service: [] if service.spec.service is None else [NOT_PASSED_ON],
    ),
}
