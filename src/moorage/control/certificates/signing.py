"""Sign CertificateSigningRequests that were approved, for the signers of Kubernetes.

The authority stays with the API server: the controller is handed a function that signs. Kubernetes:
pkg/controller/certificates/signer, with one authority for all signers.
"""

import base64
from typing import Final

from moorage.control.certificates.signers import SIGNERS, RequestedName, complaint_about
from moorage.control.framework.actions import NOTHING, Plan, Update
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.go.pem_blocks import UnreadableRequest
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS
from moorage.model.signing_terms import SigningTerms
from moorage.model.types.access.certificates import CertificateSigningRequest

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
