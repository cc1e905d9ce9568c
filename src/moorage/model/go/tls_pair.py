"""Tell why a certificate and a private key are no pair that a server could use, in the words of crypto/tls.

In: PEM. Out: the complaint, or "". Kubernetes: tls.X509KeyPair, in the warnings of TLS Secrets. Differs: what is wrong
inside a certificate or key is answered with one general text each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from moorage.model.go.pem_blocks import pem_blocks

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_CERTIFICATE, _KEY = "CERTIFICATE", "PRIVATE KEY"
_NO_KEY = "tls: failed to parse private key"


def pair_complaint(certificate: bytes, key: bytes) -> str:
    """Return what is wrong with the pair, or ""."""
    certificates = pem_blocks(certificate)
    first = next((block.content for block in certificates if block.type == _CERTIFICATE), None)
    if first is None:
        return _no_certificate([block.type for block in certificates])
    keys = pem_blocks(key)
    private = next((block.content for block in keys if block.type == _KEY or block.type.endswith(f" {_KEY}")), None)
    if private is None:
        return _no_key([block.type for block in keys])
    return _mismatch(first, private)


def _no_certificate(types: list[str]) -> str:
    if not types:
        return "tls: failed to find any PEM data in certificate input"
    if len(types) == 1 and types[0].endswith(_KEY):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; "
            "PEM inputs may have been switched"
        )
    skipped = f"after skipping PEM blocks of the following types: [{' '.join(types)}]"
    return f'tls: failed to find "CERTIFICATE" PEM block in certificate input {skipped}'


def _no_key(types: list[str]) -> str:
    if not types:
        return "tls: failed to find any PEM data in key input"
    if types == [_CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    skipped = f"after skipping PEM blocks of the following types: [{' '.join(types)}]"
    return f'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input {skipped}'


def _mismatch(certificate_der: bytes, key_der: bytes) -> str:
    """Return why a certificate has not this private key."""
    from cryptography import x509  # takes a while to import, and few clusters see such a Secret
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    try:
        certificate = x509.load_der_x509_certificate(certificate_der)
        public = certificate.public_key()
    except Exception:  # also panics of the library's parser, which are no ValueErrors
        return "x509: malformed certificate"
    private = _private_key(key_der)
    if private is None:
        return _NO_KEY
    for kind, own in (
        (rsa.RSAPublicKey, rsa.RSAPrivateKey),
        (ec.EllipticCurvePublicKey, ec.EllipticCurvePrivateKey),
        (ed25519.Ed25519PublicKey, ed25519.Ed25519PrivateKey),
    ):
        if isinstance(public, kind):
            if not isinstance(private, own):
                return "tls: private key type does not match public key type"
            return "" if private.public_key() == public else "tls: private key does not match public key"
    return "tls: unknown public key algorithm"


def _private_key(der: bytes) -> PrivateKeyTypes | None:
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    try:
        return load_der_private_key(der, password=None)
    except Exception:
        return None
