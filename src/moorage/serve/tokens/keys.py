"""Sign and verify service account tokens, keep the signing key in the cluster's directory, and publish the public keys.

Keys are RSA with RS256 or elliptic curves with ES256, ES384, ES512. A key has one algorithm, so a token's header cannot
choose another. The files are `sa.key` and `sa.pub`, beside the certificates; OpenID discovery and a JSON Web Key Set
publish them. Kubernetes: signerFromRSAPrivateKey and its siblings in pkg/serviceaccount, client-go's keyutil,
`--service-account-signing-key-file`, `--service-account-key-file`, NewOpenIDMetadataProvider. Differs: upstream also
verifies RS384, RS512 and PS*, which it never issues; the signing key always verifies, too.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from moorage.client.kubeconfig.private_file import alone_in, write_private
from moorage.serve.http.messages import Response
from moorage.serve.requests.rendering import json_response
from moorage.serve.tokens.claims import base64_text
from moorage.serve.tokens.service_accounts import ServiceAccountTokens, TokenKeys

PublicHalf = rsa.RSAPublicKey | ec.EllipticCurvePublicKey
PrivateHalf = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_RSA_BITS = 2048
_PEM = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----.*?-----END \1-----", re.DOTALL)


class TokenKeyError(Exception):
    """A file has no key that tokens can be signed or verified with."""


class _Curve(NamedTuple):
    algorithm: str
    digest: hashes.HashAlgorithm
    #: The length of each half of a signature.
    size: int
    jwk_name: str


_CURVES = {
    "secp256r1": _Curve("ES256", hashes.SHA256(), 32, "P-256"),
    "secp384r1": _Curve("ES384", hashes.SHA384(), 48, "P-384"),
    "secp521r1": _Curve("ES512", hashes.SHA512(), 66, "P-521"),
}


class VerificationKey:
    """A public key with its id, which says nothing of the key itself."""

    def __init__(self, key: PublicHalf) -> None:
        """Raises TokenKeyError for a curve that tokens are not signed with."""
        self._key = key
        self._curve = None if isinstance(key, rsa.RSAPublicKey) else _curve_of(key)
        self.algorithm = self._curve.algorithm if self._curve is not None else "RS256"
        encoding, form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        self.key_id = base64_text(hashlib.sha256(key.public_bytes(encoding, form)).digest())

    def verifies(self, signature: bytes, message: bytes) -> bool:
        try:
            if isinstance(self._key, rsa.RSAPublicKey):
                self._key.verify(signature, message, padding.PKCS1v15(), hashes.SHA256())
                return True
            assert self._curve is not None
            size = self._curve.size
            if len(signature) != 2 * size:
                return False
            halves = int.from_bytes(signature[:size]), int.from_bytes(signature[size:])
            self._key.verify(encode_dss_signature(*halves), message, ec.ECDSA(self._curve.digest))
        except InvalidSignature:
            return False
        return True

    def as_jwk(self) -> dict[str, Any]:
        """Return the key as a member of a JSON Web Key Set (RFC 7517)."""
        named = {"use": "sig", "kid": self.key_id, "alg": self.algorithm}
        if isinstance(self._key, rsa.RSAPublicKey):
            numbers = self._key.public_numbers()
            return {**named, "kty": "RSA", "n": _integer_text(numbers.n), "e": _integer_text(numbers.e)}
        assert self._curve is not None
        point, size = self._key.public_numbers(), self._curve.size
        x, y = (base64_text(value.to_bytes(size)) for value in (point.x, point.y))
        return {**named, "kty": "EC", "crv": self._curve.jwk_name, "x": x, "y": y}


class SigningKey:
    """A private key, and the public one that verifies what it signs."""

    def __init__(self, key: PrivateHalf) -> None:
        """Raises TokenKeyError for a curve that tokens are not signed with."""
        self._key = key
        self.public = VerificationKey(key.public_key())

    @classmethod
    def create(cls) -> "SigningKey":
        """Make a new RSA key, which takes some fifty milliseconds."""
        return cls(rsa.generate_private_key(65537, _RSA_BITS))

    @classmethod
    def read(cls, pem: bytes) -> "SigningKey":
        """Raises TokenKeyError."""
        try:
            key = serialization.load_pem_private_key(pem, None)
        except (ValueError, TypeError):
            raise TokenKeyError("data does not contain a valid RSA or ECDSA private key") from None
        if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
            raise TokenKeyError("data does not contain a valid RSA or ECDSA private key")
        return cls(key)

    def sign(self, message: bytes) -> bytes:
        if isinstance(self._key, rsa.RSAPrivateKey):
            return self._key.sign(message, padding.PKCS1v15(), hashes.SHA256())
        curve = _curve_of(self._key.public_key())
        halves = decode_dss_signature(self._key.sign(message, ec.ECDSA(curve.digest)))
        return b"".join(half.to_bytes(curve.size) for half in halves)

    @property
    def private_pem(self) -> bytes:
        form, plain = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        return self._key.private_bytes(serialization.Encoding.PEM, form, plain)

    @property
    def public_pem(self) -> bytes:
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return self._key.public_key().public_bytes(serialization.Encoding.PEM, form)


def read_verification_keys(pem: bytes) -> list[VerificationKey]:
    """Return the keys of a file, which may hold several: public and private ones, and certificates.

    Raises TokenKeyError if the file has no key.
    """
    keys = [key for block in _PEM.finditer(pem) if (key := _public_half(block[0], block[1])) is not None]
    if not keys:
        raise TokenKeyError("data does not contain any valid RSA or ECDSA public keys")
    return [VerificationKey(key) for key in keys]


def _public_half(pem: bytes, label: bytes) -> PublicHalf | None:
    try:
        if label.endswith(b"PRIVATE KEY"):
            private = serialization.load_pem_private_key(pem, None)
            key = private.public_key() if isinstance(private, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) else None
        elif label == b"CERTIFICATE":
            key = x509.load_pem_x509_certificate(pem).public_key()  # type: ignore[assignment]
        else:
            key = serialization.load_pem_public_key(pem)  # type: ignore[assignment]
    except (ValueError, TypeError):
        return None
    return key if isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey) else None


def _curve_of(key: ec.EllipticCurvePublicKey) -> _Curve:
    curve = _CURVES.get(key.curve.name)
    if curve is None:
        raise TokenKeyError("unknown private key curve, must be 256, 384, or 521")
    return curve


def _integer_text(value: int) -> str:
    return base64_text(value.to_bytes((value.bit_length() + 7) // 8))


_PRIVATE, _PUBLIC = "sa.key", "sa.pub"


def open_token_keys(
    directory: Path | None, signing: Path | None, verification: Sequence[Path], *, is_shared: bool = False
) -> TokenKeys:
    """Read the keys. Raises TokenKeyError, OSError.

    If the cluster's own is missing, it is made when a token is first asked for, because that takes long, and kept if
    there is a directory; where API servers share the directory it is made now, by the first of them.
    """
    others = [key for path in verification for key in _read_all(path)]
    if signing is not None:
        return TokenKeys(_read(signing), others)
    if directory is None:
        return TokenKeys(None, others)
    path = directory / _PRIVATE
    if is_shared:
        with alone_in(directory):
            return TokenKeys(_read(path) if path.exists() else _create(directory), others)
    return TokenKeys(_read(path) if path.exists() else None, others, lambda: _create(directory))


def _create(directory: Path) -> SigningKey:
    key = SigningKey.create()
    write_private(directory / _PRIVATE, key.private_pem)
    write_private(directory / _PUBLIC, key.public_pem)
    return key


def _read(path: Path) -> SigningKey:
    try:
        return SigningKey.read(path.read_bytes())
    except TokenKeyError as error:
        raise TokenKeyError(f"{path}: {error}") from None


def _read_all(path: Path) -> list[VerificationKey]:
    try:
        return read_verification_keys(path.read_bytes())
    except TokenKeyError as error:
        raise TokenKeyError(f"{path}: {error}") from None


CONFIGURATION_PATH: Final = "/.well-known/openid-configuration"
KEYS_PATH: Final = "/openid/v1/jwks"
_HEADERS = (("Cache-Control", "public, max-age=3600"),)


def answer_key_discovery(path: str, tokens: ServiceAccountTokens, url: str) -> Response | None:
    """Return the answer to a GET; None for other paths, and if discovery does not allow the issuer.

    `url` is the API server's own.
    """
    if path not in (CONFIGURATION_PATH, KEYS_PATH) or not tokens.settings.has_discovery:
        return None
    keys = tokens.keys.public
    if path == KEYS_PATH:
        answer = json_response({"keys": [key.as_jwk() for key in keys]}, headers=_HEADERS)
        answer.content_type = "application/jwk-set+json"
        return answer
    configuration = {
        "issuer": tokens.settings.issuers[0],
        "jwks_uri": tokens.settings.jwks_uri or f"{url}{KEYS_PATH}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted({key.algorithm for key in keys}),
    }
    return json_response(configuration, headers=_HEADERS)
