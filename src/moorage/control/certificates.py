"""Approve, sign and delete CertificateSigningRequests: three controllers, and what each signer of Kubernetes signs.

Requests for client certificates of nodes are approved for users who may have them; approved ones are signed if subject,
alternative names and usages are those of their signer; they are deleted an hour after the decision, or after a day
without one. Kubernetes: pkg/controller/certificates, pkg/apis/certificates/helpers.go. Differs: no signer signs for the
group system:masters, whatever admission has let through.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from moorage.control.framework.actions import NOTHING, Answers, Delete, Plan, Question, Update
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.go.pem_blocks import UnreadableRequest, pem_blocks, read_request
from moorage.model.go.times import seconds_of, time_text
from moorage.model.kinds import KINDS, SUBJECT_ACCESS_REVIEW
from moorage.model.signing_terms import SigningTerms
from moorage.model.types.request import CertificateSigningRequest

if TYPE_CHECKING:
    from cryptography import x509

KUBELET_CLIENT: Final = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING: Final = "kubernetes.io/kubelet-serving"
CLIENT: Final = "kubernetes.io/kube-apiserver-client"
LEGACY: Final = "kubernetes.io/legacy-unknown"
SIGNERS: Final = (CLIENT, KUBELET_CLIENT, KUBELET_SERVING, LEGACY)

_NODES, _MASTERS, _NODE = "system:nodes", "system:masters", "system:node:"
_SIGNS, _ENCRYPTS = "digital signature", "key encipherment"


class RequestedName:
    """The subject and the alternative names that a request asks for. Raises UnreadableRequest."""

    def __init__(self, csr: CertificateSigningRequest) -> None:
        from cryptography import x509
        from cryptography.x509.oid import NameOID

        try:
            self.pem = base64.b64decode(csr.spec.request)
        except binascii.Error:
            raise UnreadableRequest("the request is not base64") from None
        request = read_request(self.pem)
        names = request.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        self.common_name = str(names[-1].value) if names else ""
        self.groups = [str(one.value) for one in request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        alternatives = _alternatives(request)
        self.has_dns = any(isinstance(alternative, x509.DNSName) for alternative in alternatives)
        self.has_address = any(isinstance(alternative, x509.IPAddress) for alternative in alternatives)
        self.has_email = any(isinstance(alternative, x509.RFC822Name) for alternative in alternatives)
        self.has_uri = any(isinstance(alternative, x509.UniformResourceIdentifier) for alternative in alternatives)


def _alternatives(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    from cryptography import x509

    try:
        return list(request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return []


def complaint_about(csr: CertificateSigningRequest, name: RequestedName) -> str:
    """Return why the signer of a request refuses it, or an empty text."""
    signer, usages = csr.spec.signerName, csr.spec.usages
    if _MASTERS in name.groups:
        return f"use of {signer} signer with {_MASTERS} group is not allowed"
    if signer == KUBELET_CLIENT:
        return _of_kubelet_client(name, usages)
    if signer == KUBELET_SERVING:
        return _of_kubelet_serving(name, usages)
    return _of_client(usages) if signer == CLIENT else ""


def _of_kubelet_client(name: RequestedName, usages: tuple[str, ...]) -> str:
    if name.groups != [_NODES]:
        return f"subject organization is not {_NODES}"
    for has, what in (
        (name.has_dns, "DNS"),
        (name.has_email, "Email"),
        (name.has_address, "IP"),
        (name.has_uri, "URI"),
    ):
        if has:
            return f"{what} subjectAltNames are not allowed"
    if not name.common_name.startswith(_NODE):
        return f"subject common name does not begin with {_NODE}"
    return _of_usages(usages, "client auth")


def _of_kubelet_serving(name: RequestedName, usages: tuple[str, ...]) -> str:
    if name.groups != [_NODES]:
        return f"subject organization is not {_NODES}"
    if not name.has_dns and not name.has_address:
        return "DNS or IP subjectAltName is required"
    for has, what in ((name.has_email, "Email"), (name.has_uri, "URI")):
        if has:
            return f"{what} subjectAltNames are not allowed"
    if complaint := _of_usages(usages, "server auth"):
        return complaint
    return "" if name.common_name.startswith(_NODE) else f"subject common name does not begin with {_NODE}"


def _of_usages(usages: tuple[str, ...], purpose: str) -> str:
    if set(usages) in ({_SIGNS, purpose}, {_SIGNS, _ENCRYPTS, purpose}):
        return ""
    return f"usages did not match [{' '.join(sorted((_SIGNS, _ENCRYPTS, purpose)))}]"


def _of_client(usages: tuple[str, ...]) -> str:
    for usage in usages:
        if usage not in (_SIGNS, _ENCRYPTS, "client auth"):
            return f"invalid usage for client certificate: {usage}"
    return "" if "client auth" in usages else "missing required usage for client certificate: client auth"


APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"
#: `--cluster-signing-duration`: how long a certificate is valid if a request does not ask for less.
MAX_SECONDS: Final = 365 * 86400.0
_MIN_SECONDS = 600.0


def has_condition(csr: CertificateSigningRequest, *types: str) -> bool:
    return any(condition.type in types and condition.status == "True" for condition in csr.status.conditions)


class CertificateSigner(Controller):
    """Writes the certificates of approved requests, or why the signer refuses one; nothing without an authority."""

    name = "certificatesigningrequest-signing-controller"
    component = "certificate-controller"
    watches = (KINDS.CERTIFICATE_SIGNING_REQUEST,)

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        found, sign = world.get(KINDS.CERTIFICATE_SIGNING_REQUEST, key), self.context.sign_certificate
        if found is None or sign is None:
            return NOTHING
        csr: CertificateSigningRequest = found.view
        is_open = has_condition(csr, APPROVED) and not has_condition(csr, DENIED, FAILED)
        if not is_open or csr.status.certificate or csr.spec.signerName not in SIGNERS:
            return NOTHING
        try:
            name = RequestedName(csr)
            complaint = complaint_about(csr, name)
            seconds = min(max(csr.spec.expirationSeconds or MAX_SECONDS, _MIN_SECONDS), MAX_SECONDS)
            signed = b"" if complaint else sign(SigningTerms(name.pem, csr.spec.usages, seconds, now))
        except UnreadableRequest as error:
            complaint, signed = str(error), b""
        status = dict(found.raw.get("status") or {})
        if complaint:
            failure = {"type": FAILED, "status": "True", "reason": "SignerValidationFailure", "message": complaint}
            failure["lastUpdateTime"] = time_text(now)
            status["conditions"] = [*(status.get("conditions") or ()), failure]
        else:
            status["certificate"] = base64.b64encode(signed).decode()
        return Plan((Update(KINDS.CERTIFICATE_SIGNING_REQUEST, {**found.raw, "status": status}, "status"),))


_OWN, _OTHER = "selfnodeclient", "nodeclient"
_SAID = {
    _OWN: "Auto approving self kubelet client certificate after SubjectAccessReview.",
    _OTHER: "Auto approving kubelet client certificate after SubjectAccessReview.",
}


class CertificateApprover(Controller):
    """Approves what nodes ask for; denies nothing."""

    name = "certificatesigningrequest-approving-controller"
    component = "certificate-controller"
    watches = (KINDS.CERTIFICATE_SIGNING_REQUEST,)

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        csr = world.view(KINDS.CERTIFICATE_SIGNING_REQUEST, key)
        return [] if csr is None else [_question(csr, right) for right in _rights(csr)]

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return NOTHING

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        signing_request = world.get(KINDS.CERTIFICATE_SIGNING_REQUEST, key)
        if signing_request is None:
            return NOTHING
        rights = _rights(signing_request.view)
        for right in rights:
            answered = answers.get(_question(signing_request.view, right), ())
            if any((answer.raw.get("status") or {}).get("allowed") for answer in answered):
                approval = {"type": APPROVED, "status": "True", "reason": "AutoApproved", "message": _SAID[right]}
                status = dict(signing_request.raw.get("status") or {})
                status["conditions"] = [*(status.get("conditions") or ()), approval]
                return Plan(
                    (Update(KINDS.CERTIFICATE_SIGNING_REQUEST, {**signing_request.raw, "status": status}, "approval"),)
                )
        return Plan(retries=bool(rights))


def _rights(csr: CertificateSigningRequest) -> list[str]:
    """Return the rights of which one suffices; none if the request is not a node's, or was decided about."""
    if csr.spec.signerName != KUBELET_CLIENT or csr.status.certificate or has_condition(csr, APPROVED, DENIED):
        return []
    try:
        name = RequestedName(csr)
    except UnreadableRequest:
        return []
    if complaint_about(csr, name):
        return []
    return [_OWN, _OTHER] if csr.spec.username == name.common_name else [_OTHER]


def _question(csr: CertificateSigningRequest, right: str) -> Question:
    asked = {
        "group": KINDS.CERTIFICATE_SIGNING_REQUEST.group,
        "version": "*",
        "resource": KINDS.CERTIFICATE_SIGNING_REQUEST.plural,
        "subresource": right,
        "verb": "create",
    }
    spec: dict[str, Any] = {"resourceAttributes": asked, "user": csr.spec.username, "groups": list(csr.spec.groups)}
    if csr.spec.uid:
        spec["uid"] = csr.spec.uid
    if csr.spec.extra:
        spec["extra"] = {name: list(values) for name, values in csr.spec.extra.items()}
    kind = SUBJECT_ACCESS_REVIEW
    document = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {}, "spec": spec}
    return Question(kind, review=msgspec.json.encode(document))


_DECIDED_SECONDS = 3600.0
_PENDING_SECONDS = 24 * 3600.0


class CertificateRequestCleaner(Controller):
    """Deletes old requests."""

    name = "certificatesigningrequest-cleaner-controller"
    watches = (KINDS.CERTIFICATE_SIGNING_REQUEST,)

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        signing_request = world.get(KINDS.CERTIFICATE_SIGNING_REQUEST, key)
        if signing_request is None or signing_request.view.metadata.deletionTimestamp is not None:
            return NOTHING
        due = min(_ends(signing_request.view), default=None)
        if due is None:
            return NOTHING
        if now <= due:
            return Plan(again_after=due - now + 1)
        return Plan(
            (
                Delete(
                    KINDS.CERTIFICATE_SIGNING_REQUEST,
                    "",
                    signing_request.name,
                    signing_request.uid,
                    revision=signing_request.revision,
                ),
            )
        )


def _ends(csr: CertificateSigningRequest) -> Iterator[float]:
    """Yield the times at which the request is deleted, the earliest of which counts."""
    created = seconds_of(csr.metadata.creationTimestamp)
    if not csr.status.conditions and created is not None:
        yield created + _PENDING_SECONDS
    for condition in csr.status.conditions:
        since = seconds_of(condition.lastUpdateTime)
        if condition.type == APPROVED and csr.status.certificate:
            yield from _expiry(csr.status.certificate)
        if since is None:
            continue
        if condition.type in (DENIED, FAILED) or (condition.type == APPROVED and csr.status.certificate):
            yield since + _DECIDED_SECONDS
        elif condition.type == APPROVED:
            yield since + _PENDING_SECONDS


def _expiry(encoded: str) -> Iterator[float]:
    from cryptography import x509  # takes a while to import, and few clusters see certificates

    try:
        block = next(iter(pem_blocks(base64.b64decode(encoded))), None)
        if block is not None:
            yield x509.load_der_x509_certificate(block.content).not_valid_after_utc.timestamp()
    except (ValueError, binascii.Error):
        return
