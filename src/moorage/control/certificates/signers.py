"""What each signer of Kubernetes signs: which subjects, alternative names and usages.

Kubernetes: pkg/apis/certificates/helpers.go, the verification functions of pkg/controller/certificates/signer.
Differs: no signer signs for the group system:masters, whatever admission has let through.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from moorage.model.go.pem_blocks import UnreadableRequest, read_request
from moorage.model.types.access.certificates import CertificateSigningRequest

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
        self.has_dns = any(isinstance(one, x509.DNSName) for one in alternatives)
        self.has_address = any(isinstance(one, x509.IPAddress) for one in alternatives)
        self.has_email = any(isinstance(one, x509.RFC822Name) for one in alternatives)
        self.has_uri = any(isinstance(one, x509.UniformResourceIdentifier) for one in alternatives)


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
