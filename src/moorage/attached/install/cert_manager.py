"""Write what cert-manager needs to make the webhook's certificates: an authority for years, and what it signs.

Kubernetes: cert-manager.io/v1; its injector writes `caBundle` of the configurations that name the certificate.
"""

from typing import Any, Final

from moorage.attached import names
from moorage.attached.certificates.configurations import CERT_MANAGER
from moorage.attached.certificates.pairs import LIFETIME_DAYS, server_names
from moorage.attached.install.settings import Installation

Raw = dict[str, Any]

_API_VERSION: Final = "cert-manager.io/v1"
_AUTHORITY: Final = f"{names.CERTIFICATES}-authority"
_SELF_SIGNED: Final = f"{names.CERTIFICATES}-self-signed"
_AUTHORITY_YEARS: Final = 10
_KEY: Final = {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"}


def cert_manager_objects(installation: Installation) -> list[Raw]:
    """Return issuers and certificates."""
    authority = {
        "isCA": True,
        "commonName": _AUTHORITY,
        "secretName": _AUTHORITY,
        "duration": f"{_AUTHORITY_YEARS * 365 * 24}h",
        "privateKey": _KEY,
        "issuerRef": {"name": _SELF_SIGNED, "kind": "Issuer"},
    }
    serving = {
        "commonName": names.WEBHOOK,
        "dnsNames": server_names(installation.namespace),
        "secretName": names.CERTIFICATES,
        "duration": f"{LIFETIME_DAYS * 24}h",
        "renewBefore": f"{LIFETIME_DAYS * 8}h",
        "privateKey": _KEY,
        "usages": ["digital signature", "server auth"],
        "issuerRef": {"name": _AUTHORITY, "kind": "Issuer"},
    }
    return [
        _object(installation, "Issuer", _SELF_SIGNED, {"selfSigned": {}}),
        _object(installation, "Certificate", _AUTHORITY, authority),
        _object(installation, "Issuer", _AUTHORITY, {"ca": {"secretName": _AUTHORITY}}),
        _object(installation, "Certificate", names.CERTIFICATES, serving),
    ]


def injected_from(installation: Installation) -> dict[str, str]:
    """Return the annotation that lets cert-manager write what a configuration trusts."""
    return {CERT_MANAGER: f"{installation.namespace}/{names.CERTIFICATES}"}


def _object(installation: Installation, kind: str, name: str, spec: Raw) -> Raw:
    metadata = {"name": name, "namespace": installation.namespace, "labels": installation.labels(names.WEBHOOK)}
    return {"apiVersion": _API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}
