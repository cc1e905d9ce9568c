"""Delete CertificateSigningRequests an hour after they were decided about, or after a day without an end.

Kubernetes: pkg/controller/certificates/cleaner. Differs: each is deleted when it is time, not at the next full hour.
"""

import base64
import binascii
from collections.abc import Iterator

from moorage.control.certificates.signing import APPROVED, DENIED, FAILED
from moorage.control.framework.actions import NOTHING, Delete, Plan
from moorage.control.framework.controller import Controller
from moorage.control.framework.world import World
from moorage.model.go.pem_blocks import pem_blocks
from moorage.model.go.times import seconds_of
from moorage.model.kinds import KINDS
from moorage.model.types.access.certificates import CertificateSigningRequest

_DECIDED_SECONDS = 3600.0
_PENDING_SECONDS = 24 * 3600.0


class CertificateRequestCleaner(Controller):
    """Deletes old requests."""

    name = "certificatesigningrequest-cleaner-controller"
    watches = (KINDS.CERTIFICATE_SIGNING_REQUEST,)

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        found = world.get(KINDS.CERTIFICATE_SIGNING_REQUEST, key)
        if found is None or found.view.metadata.deletionTimestamp is not None:
            return NOTHING
        due = min(_ends(found.view), default=None)
        if due is None:
            return NOTHING
        if now <= due:
            return Plan(again_after=due - now + 1)
        return Plan((Delete(KINDS.CERTIFICATE_SIGNING_REQUEST, "", found.name, found.uid, revision=found.revision),))


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
