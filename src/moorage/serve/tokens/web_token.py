"""Write and read signed tokens in compact form: header, claims and signature, each in base64url, joined by dots.

What is read is bounded in length and depth, and nothing in it is believed before a key has verified it; the header
chooses a key by its id, never an algorithm. Kubernetes: go-jose's JWS and JWT (RFC 7515, 7519).
"""

import base64
import binascii
import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from moorage.serve.tokens.keys import SigningKey, VerificationKey

#: Longer than any token with a dozen audiences; the head of a request is limited to 64 KiB as a whole.
MAX_TOKEN_LENGTH = 64 * 1024
_BASE64 = re.compile(r"[A-Za-z0-9_-]*")

Claims = dict[str, Any]


class _Header(msgspec.Struct, gc=False):
    alg: str = ""
    kid: str = ""
    crit: Any = None


class _Issuer(msgspec.Struct, gc=False):
    iss: str = ""


_read_header = msgspec.json.Decoder(_Header).decode
_read_issuer = msgspec.json.Decoder(_Issuer).decode


class UnverifiedToken(msgspec.Struct, frozen=True, gc=False):
    """The parts of a text that has the form of a token; `content` is the JSON of its claims."""

    algorithm: str
    key_id: str
    issuer: str
    content: bytes
    signed: bytes
    signature: bytes

    def verified_by(self, key: "VerificationKey") -> bool:
        return self.algorithm == key.algorithm and key.verifies(self.signature, self.signed)


def base64_text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def sign_token(claims: Claims, key: "SigningKey") -> str:
    header = {"alg": key.public.algorithm, "kid": key.public.key_id}
    parts = (base64_text(msgspec.json.encode(part, order="sorted")) for part in (header, claims))
    signed = ".".join(parts)
    return f"{signed}.{base64_text(key.sign(signed.encode()))}"


def read_token(text: str) -> UnverifiedToken | None:
    """Return the parts of a token, None if the text does not have its form."""
    if len(text) > MAX_TOKEN_LENGTH or text.count(".") != 2 or not text.isascii():
        return None
    decoded = [_from_base64(part) for part in text.split(".")]
    if None in decoded:
        return None
    head, body, signature = (part or b"" for part in decoded)
    try:
        header, issuer = _read_header(head), _read_issuer(body).iss
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    if header.crit is not None:  # extensions that a reader must understand; no extension is known here
        return None
    signed = text.rpartition(".")[0].encode()
    return UnverifiedToken(header.alg, header.kid, issuer, body, signed, signature)


def _from_base64(text: str) -> bytes | None:
    if not _BASE64.fullmatch(text):
        return None
    try:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        return None
