"""Make a serving certificate with an authority of its own, and read what a Secret has of them.

An authority signs one certificate, and its key is forgotten at once, so that it cannot be stolen. Replacing a
certificate and replacing its authority are one thing, which is done every two months and therefore works.
Kubernetes: cert-manager's CA injector trusts what `ca.crt` of a Secret has. Differs: no authority outlives what it has
signed.
"""

import datetime
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization

from moorage.attached import names
from moorage.serve.pki.certificates import Authority, Issued

LIFETIME_DAYS: Final = 90
#: A certificate is replaced when two thirds of its time are over.
RENEW_AFTER: Final = LIFETIME_DAYS * 86_400 * 2 / 3


class Pair(NamedTuple):
    """A serving certificate with its key and the authority that signed it, all in PEM."""

    certificate: bytes
    key: bytes
    authority: bytes

    def __repr__(self) -> str:
        """Show no key in logs and tracebacks."""
        return "Pair(…)"


def server_names(namespace: str) -> list[str]:
    """Return the names under which the webhook is called; API servers use the first."""
    return [f"{names.WEBHOOK}.{namespace}.svc", f"{names.WEBHOOK}.{namespace}.svc.cluster.local"]


def make_pair(namespace: str, now: float) -> Pair:
    """Make a certificate for the webhook of a namespace."""
    at = time_of(now)
    authority = Authority.create(at, f"{names.WEBHOOK}-ca-{int(now)}", LIFETIME_DAYS)
    issued = authority.issue_server(server_names(namespace), names.WEBHOOK, LIFETIME_DAYS)
    return Pair(issued.certificate, issued.key, authority.issued.certificate)


def time_of(now: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(int(now), datetime.UTC)


def authorities_in(pem: bytes) -> list[bytes]:
    """Return the certificates of a bundle, each in PEM; what cannot be read is left out."""
    try:
        certificates = x509.load_pem_x509_certificates(pem)
    except ValueError:
        return []
    return [each.public_bytes(serialization.Encoding.PEM) for each in certificates]


def lasting(authorities: Iterable[bytes], now: float) -> list[bytes]:
    """Return the authorities that have not expired, each once."""
    return [each for each in dict.fromkeys(authorities) if _certificate(each).not_valid_after_utc > time_of(now)]


def seconds_left(certificate: bytes, now: float) -> float:
    """Return for how long a certificate in PEM is still valid. Raises ValueError."""
    return _certificate(certificate).not_valid_after_utc.timestamp() - now


def age(certificate: bytes, now: float) -> float:
    """Return how long ago a certificate became valid."""
    return now - _certificate(certificate).not_valid_before_utc.timestamp()


def complaint_about(issued: Issued, authorities: Sequence[bytes], namespace: str, now: float) -> str:
    """Return why API servers that trust these authorities refuse a certificate; empty if they accept it."""
    try:
        certificate = _certificate(issued.certificate)
        key = serialization.load_pem_private_key(issued.key, None)
    except (ValueError, TypeError):
        return "the certificate or its key cannot be read"
    if key.public_key() != certificate.public_key():
        return "the key does not belong to the certificate"
    return complaint_about_trust(issued.certificate, authorities, namespace, now)


def complaint_about_trust(pem: bytes, authorities: Sequence[bytes], namespace: str, now: float) -> str:
    """Return why a certificate without its key is refused; empty if it is accepted."""
    try:
        certificate = _certificate(pem)
    except ValueError:
        return "the certificate cannot be read"
    if not certificate.not_valid_before_utc <= time_of(now) < certificate.not_valid_after_utc:
        word = "expired" if time_of(now) >= certificate.not_valid_after_utc else "is not valid yet"
        return f"the certificate {word}: it is valid until {certificate.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}"
    if server_names(namespace)[0] not in _names_of(certificate):
        return f"the certificate is not for {server_names(namespace)[0]}"
    if not any(_signed(certificate, each) for each in lasting(authorities, now)):
        return "no trusted authority has signed the certificate"
    return ""


def _signed(certificate: x509.Certificate, authority: bytes) -> bool:
    try:
        certificate.verify_directly_issued_by(_certificate(authority))
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _names_of(certificate: x509.Certificate) -> list[str]:
    try:
        names_given = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    return names_given.get_values_for_type(x509.DNSName)


def _certificate(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)
