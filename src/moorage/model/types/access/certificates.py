"""Requests for certificates. Kubernetes: k8s.io/api/certificates/v1."""

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, View


class CertificatesView(View, frozen=True):
    package = "io.k8s.api.certificates.v1"


class CertificateSigningRequestSpec(CertificatesView, frozen=True, gc=False):
    request: named.Bytes = ""
    signerName: str = ""
    expirationSeconds: Int32 | None = None
    usages: tuple[str, ...] = ABSENT_LIST
    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ABSENT_LIST
    extra: dict[str, tuple[str, ...]] = ABSENT_MAP


class CertificateSigningRequestCondition(CertificatesView, frozen=True, gc=False):
    type: str = ""
    status: named.ConditionStatus = ""
    reason: str = ""
    message: str = ""
    lastUpdateTime: named.Time | None = None
    lastTransitionTime: named.Time | None = None


class CertificateSigningRequestStatus(CertificatesView, frozen=True, gc=False):
    conditions: tuple[CertificateSigningRequestCondition, ...] = ABSENT_LIST
    certificate: named.Bytes = ""


class CertificateSigningRequest(ApiObject, frozen=True, gc=False):
    spec: CertificateSigningRequestSpec = CertificateSigningRequestSpec()
    status: CertificateSigningRequestStatus = CertificateSigningRequestStatus()
