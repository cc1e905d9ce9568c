"""Decode base64 and PEM as Go does, and read certificate requests with the complaints of crypto/x509.

`BASE64_PATTERN` matches exactly the texts that are base64, so that views can be checked without calling this. Line ends
are skipped wherever they are, and the bits after the last byte may be anything. Kubernetes: encoding/base64 under
encoding/json, encoding/pem. Differs: what is wrong deep inside a request is answered with one general text.
"""

from __future__ import annotations

import base64
import binascii
from binascii import a2b_base64
from typing import TYPE_CHECKING, NamedTuple

from moorage.model.text.patterns import Pattern
from moorage.model.text.readers import reads_text

if TYPE_CHECKING:
    from cryptography import x509

_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----"
_HEADER = Pattern(rb"[^\r\n:]+:[^\r\n]*\r?\n")
_REQUEST = "CERTIFICATE REQUEST"
_SEQUENCE = 0x30
_PARAMETERS = (
    "{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 "
    "timeType:0 set:false omitEmpty:false}"
)


class PemBlock(NamedTuple):
    """What is between a BEGIN and its END."""

    type: str
    has_headers: bool
    content: bytes


class UnreadableRequest(ValueError):
    """A certificate request cannot be read, or its signature is wrong."""


@reads_text("-----BEGIN A-----\n", "-----END A-----\n", "-----BEGIN B-----\n", "a: b\n", "AAAA", "\n")
def pem_blocks(text: bytes) -> list[PemBlock]:
    """Return the blocks of a text; what is not a block is skipped."""
    blocks: list[PemBlock] = []
    opened, start, at = b"", 0, 0
    for line in text.splitlines(keepends=True):
        marker, at = line.strip(b" \t\r\n") if line.startswith(_DASHES) else b"", at + len(line)
        if not marker.endswith(_DASHES):
            continue
        if marker.startswith(_BEGIN):
            opened, start = marker[len(_BEGIN) : -len(_DASHES)], at
        elif marker.startswith(_END):
            if start and opened == marker[len(_END) : -len(_DASHES)]:
                blocks += _block(opened, text[start : at - len(line)])
            start = 0
    return blocks


def _block(kind: bytes, body: bytes) -> list[PemBlock]:
    """Return the block of a type with this body, or nothing if that is not base64."""
    start = 0
    while (header := _HEADER.match_at(body, start)) is not None:
        start = header.end()
    try:
        content = base64.b64decode(b"".join(body[start:].split()), validate=True)
    except binascii.Error:
        return []
    return [PemBlock(kind.decode("utf-8", "replace"), start > 0, content)]


def read_request(pem: bytes) -> x509.CertificateSigningRequest:
    """Return the certificate request in a PEM block, without verifying it. Raises UnreadableRequest."""
    from cryptography import x509  # takes a while to import, and few clusters see such a request

    block = next(iter(pem_blocks(pem)), None)
    if block is None or block.type != _REQUEST:
        raise UnreadableRequest(f"PEM block type must be {_REQUEST}")
    if complaint := _structure_complaint(block.content):
        raise UnreadableRequest(complaint)
    try:
        request = x509.load_der_x509_csr(block.content)
        _ = request.subject, request.extensions, request.public_key()
    except Exception:  # also panics of the library's parser, which are no ValueErrors
        raise UnreadableRequest("asn1: structure error: the request cannot be read") from None
    return request


def check_signature(request: x509.CertificateSigningRequest) -> None:
    """Raise UnreadableRequest unless the request was signed with its own key."""
    from cryptography.hazmat.primitives.asymmetric import ec, rsa

    try:
        if request.is_signature_valid:
            return
    except Exception:
        raise UnreadableRequest("x509: cannot verify signature: algorithm unimplemented") from None
    key = request.public_key()
    if isinstance(key, rsa.RSAPublicKey):
        raise UnreadableRequest("crypto/rsa: verification error")
    kind = "ECDSA" if isinstance(key, ec.EllipticCurvePublicKey) else "Ed25519"
    raise UnreadableRequest(f"x509: {kind} verification failure")


def _structure_complaint(der: bytes) -> str:
    """Return what Go says where the outermost element is not one whole sequence."""
    if not der:
        return "asn1: syntax error: sequence truncated"
    if len(der) < 2:
        return "asn1: syntax error: truncated tag or length"
    length, start = der[1], 2
    if length & 0x80:
        count = length & 0x7F
        if count == 0:
            return "asn1: syntax error: indefinite length found (not DER)"
        if len(der) < 2 + count:
            return "asn1: syntax error: truncated tag or length"
        length, start = int.from_bytes(der[2 : 2 + count]), 2 + count
    if der[0] != _SEQUENCE:
        is_compound = "true" if der[0] & 0x20 else "false"
        header = f"{{class:{der[0] >> 6} tag:{der[0] & 0x1F} length:{length} isCompound:{is_compound}}}"
        return f"asn1: structure error: tags don't match (16 vs {header}) {_PARAMETERS} certificateRequest @{start}"
    if length == 0:
        return "asn1: syntax error: sequence truncated"
    if len(der) < start + length:
        return "asn1: syntax error: data truncated"
    return "asn1: syntax error: trailing data" if len(der) > start + length else ""


BYTES_TITLE = "[]uint8"
_DIGIT = r"[A-Za-z0-9+/][\r\n]*+"
_PADDING = r"=[\r\n]*+"
#: Nothing in it can match in two ways, and nothing is given back: hostile text costs what its length is.
BASE64_PATTERN = (
    rf"^[\r\n]*+(?:(?:{_DIGIT}){{4}})*+(?:(?:{_DIGIT}){{2}}{_PADDING}{_PADDING}|(?:{_DIGIT}){{3}}{_PADDING})?\Z"
)
_NOT_A_DIGIT = Pattern(rb"[^A-Za-z0-9+/\r\n]")


@reads_text("A", "=", "\n", "!", "AAAA")
def base64_complaint(text: str) -> str | None:
    """Return where the text stops being base64, as Go's decoder counts; None if it does not."""
    at = _first_corrupt(text.encode("utf-8", "surrogatepass"))
    return None if at is None else f"illegal base64 data at input byte {at}"


def decode_base64(text: str) -> bytes:
    return a2b_base64(text)


def _first_corrupt(data: bytes) -> int | None:
    """Return what Go's decodeQuantum complains of: it reads four digits at a time, padding only at the very end."""
    other = _NOT_A_DIGIT.search(data)
    at = len(data) if other is None else other.start()
    place = (at - data.count(b"\r", 0, at) - data.count(b"\n", 0, at)) % 4
    if other is None:
        return None if place == 0 else at - place
    if data[at] != ord("=") or place < 2:
        return at
    return _corrupt_padding(data, at + 1, place)


def _corrupt_padding(data: bytes, at: int, place: int) -> int | None:
    end = len(data)
    if place == 2:
        at = _skip_ends(data, at)
        if at == end:
            return end
        if data[at] != ord("="):
            return at - 1
        at += 1
    at = _skip_ends(data, at)
    return None if at == end else at


def _skip_ends(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in b"\r\n":
        at += 1
    return at
