"""Validate CertificateSigningRequests: the request, its approval, and the issued certificate.

Kubernetes: pkg/apis/certificates/validation, the strategies of certificatesigningrequests.
"""

import base64
import binascii
from typing import TYPE_CHECKING

from moorage.admit.kinds.row import KindRow, Rows
from moorage.admit.metadata import validate_object_meta, validate_object_meta_update
from moorage.admit.options import ValidationOptions
from moorage.admit.pod.projections import validate_signer_name
from moorage.admit.raw import Raw
from moorage.model import field_error as field
from moorage.model.field_error import FieldErrors
from moorage.model.gates import GateSet
from moorage.model.go.pem_blocks import UnreadableRequest, check_signature, pem_blocks, read_request
from moorage.model.go.quoting import go_quote
from moorage.model.types.request import (
    CertificateSigningRequest,
    CertificateSigningRequestCondition,
    CertificateSigningRequestSpec,
)

if TYPE_CHECKING:
    from cryptography import x509

APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"
CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"
_MASTERS = "system:masters"
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
_MIN_SECONDS = 600
_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)


def prepare_request(raw: Raw, old: Raw | None, gates: GateSet) -> None:
    """Begin without a status; afterwards spec and status are changed by subresources only."""
    if old is None:
        raw["status"] = {}
        return
    for name in ("spec", "status"):
        if name in old:
            raw[name] = old[name]
        else:
            raw.pop(name, None)


def stamp_conditions(raw: Raw, old: Raw | None, now: str) -> None:
    """Give conditions their times; one that had its status before keeps the time of its transition."""
    before = ((old or {}).get("status") or {}).get("conditions") or ()
    since = {(one.get("type"), one.get("status")): one.get("lastTransitionTime") for one in before}
    for condition in (raw.get("status") or {}).get("conditions") or ():
        condition["lastUpdateTime"] = condition.get("lastUpdateTime") or now
        key = (condition.get("type"), condition.get("status"))
        condition["lastTransitionTime"] = condition.get("lastTransitionTime") or since.get(key) or now


def prepare_status(raw: Raw, old: Raw, gates: GateSet) -> None:
    """Keep the conditions that approval has set, unless some were added or removed, which validation refuses."""
    conditions = (raw.get("status") or {}).get("conditions") or []
    before = (old.get("status") or {}).get("conditions") or []
    for type_ in (APPROVED, DENIED):
        kept = [one for one in before if one.get("type") == type_]
        places = [place for place, condition in enumerate(conditions) if condition.get("type") == type_]
        if len(kept) == len(places):
            for place, one in zip(places, kept, strict=True):
                conditions[place] = dict(one)


def _any_name(name: str, *, prefix: bool = False) -> list[str]:
    return []


def validate_request(csr: CertificateSigningRequest, options: ValidationOptions) -> FieldErrors:
    yield from validate_object_meta(csr.metadata, "metadata", namespaced=False, name_rule=_any_name)
    yield from _validate_spec(csr)
    yield from _validate_conditions(csr.status.conditions)
    yield from _validate_certificate(csr.status.certificate)


def validate_request_update(
    new: CertificateSigningRequest, old: CertificateSigningRequest, options: ValidationOptions
) -> FieldErrors:
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")


def validate_status(new: CertificateSigningRequest, old: CertificateSigningRequest, gates: GateSet) -> FieldErrors:
    yield from _validate_change(new, old)
    for type_ in (APPROVED, DENIED):
        before, after = _of_type(old, type_), _of_type(new, type_)
        if len(after) > len(before):
            yield field.forbidden("status.conditions", f'updates may not add a condition of type "{type_}"')
        elif len(after) == len(before) and after != before:
            yield field.forbidden("status.conditions", f'updates may not modify a condition of type "{type_}"')
    if old.status.certificate and new.status.certificate != old.status.certificate:
        yield field.forbidden("status.certificate", "updates may not modify existing certificate content")


def validate_approval(new: CertificateSigningRequest, old: CertificateSigningRequest) -> FieldErrors:
    yield from _validate_change(new, old)


def _validate_change(new: CertificateSigningRequest, old: CertificateSigningRequest) -> FieldErrors:
    yield from _validate_conditions(new.status.conditions)
    yield from _validate_certificate(new.status.certificate)
    for type_ in (APPROVED, DENIED, FAILED):
        if len(_of_type(new, type_)) < len(_of_type(old, type_)):
            yield field.forbidden("status.conditions", f'updates may not remove a condition of type "{type_}"')
    yield from validate_object_meta_update(new.metadata, old.metadata, "metadata")


def _validate_spec(csr: CertificateSigningRequest) -> FieldErrors:
    spec = csr.spec
    if complaint := _request_complaint(spec.request):
        yield field.invalid("spec.request", spec.request, complaint)
    if not spec.usages:
        yield field.required("spec.usages")
    for place, usage in enumerate(spec.usages):
        if usage not in _USAGES:
            yield field.not_supported(f"spec.usages[{place}]", usage, _USAGES)
    for place, usage in enumerate(spec.usages):
        if usage in spec.usages[:place]:
            yield field.duplicate(f"spec.usages[{place}]", usage)
    if spec.signerName == _LEGACY_SIGNER:
        why = "the legacy signerName is not allowed via this API version"
        yield field.invalid("spec.signerName", spec.signerName, why)
    else:
        yield from validate_signer_name(spec.signerName, "spec.signerName")
    if spec.expirationSeconds is not None and spec.expirationSeconds < _MIN_SECONDS:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        yield field.invalid("spec.expirationSeconds", spec.expirationSeconds, why)


def _validate_conditions(conditions: tuple[CertificateSigningRequestCondition, ...]) -> FieldErrors:
    path = "status.conditions"
    seen: list[str] = []
    for place, condition in enumerate(conditions):
        if not condition.type:
            yield field.required(f"{path}[{place}].type")
        allowed = ("True",) if condition.type in (APPROVED, DENIED, FAILED) else ("False", "True", "Unknown")
        if not condition.status:
            yield field.required(f"{path}[{place}].status")
        elif condition.status not in allowed:
            yield field.not_supported(f"{path}[{place}].status", condition.status, allowed)
        opposite = {APPROVED: DENIED, DENIED: APPROVED}.get(condition.type)
        if opposite in seen:
            yield field.invalid(path, condition.type, "Approved and Denied conditions are mutually exclusive")
        if condition.type in seen:
            yield field.duplicate(f"{path}[{place}].type", condition.type)
        seen.append(condition.type)


def _of_type(csr: CertificateSigningRequest, type_: str) -> list[CertificateSigningRequestCondition]:
    return [condition for condition in csr.status.conditions if condition.type == type_]


def _request_complaint(encoded: str) -> str:
    """Return what is wrong with a PKCS#10 request in PEM, or an empty text."""
    try:
        check_signature(read_request(decoded(encoded)))
    except UnreadableRequest as error:
        return str(error)
    return ""


def subject_complaint(spec: CertificateSigningRequestSpec) -> str:
    """Return why the subject of a valid request is refused. Kubernetes: the plugin CertificateSubjectRestriction."""
    if spec.signerName != CLIENT_SIGNER:
        return ""
    from cryptography.x509.oid import NameOID

    subject = read_request(decoded(spec.request)).subject
    if any(group.value == _MASTERS for group in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)):
        return f"use of {CLIENT_SIGNER} signer with {_MASTERS} group is not allowed"
    return ""


def _validate_certificate(encoded: str) -> FieldErrors:
    if encoded and (complaint := _certificate_complaint(decoded(encoded))):
        yield field.invalid("status.certificate", "<certificate data>", complaint)


def _certificate_complaint(pem: bytes) -> str:
    from cryptography import x509  # takes a while to import, and few clusters see certificates

    blocks = pem_blocks(pem)
    for block in blocks:
        if block.type != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {go_quote(block.type)}"
        if block.has_headers:
            return "no PEM block headers are permitted"
        if not block.content:
            return "found CERTIFICATE PEM block containing 0 certificates"
        try:
            x509.load_der_x509_certificate(block.content)
        except ValueError:
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


def common_name(request: "x509.CertificateSigningRequest") -> str:
    """Return the common name of the subject of a PKCS#10 request; of several the last, as Go reads them."""
    from cryptography.x509.oid import NameOID

    names = request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def decoded(encoded: str) -> bytes:
    """Return the bytes of a base64 text; none if it is not one."""
    try:
        return base64.b64decode(encoded)
    except binascii.Error:
        return b""


ROWS: Rows = {
    CertificateSigningRequest: KindRow(
        validate_request,
        validate_request_update,
        prepare=prepare_request,
        validate_status=validate_status,
        prepare_status=prepare_status,
        stamp_status=stamp_conditions,
    )
}
