"""Certificates and keys that are no pair, with the texts of tls.X509KeyPair."""

import datetime

import pytest

from moorage.model.go.pem_blocks import pem_blocks
from moorage.model.go.tls_pair import pair_complaint
from moorage.serve.pki.certificates import Authority

AUTHORITY = Authority.create(datetime.datetime.now(datetime.UTC))
ONE, OTHER = AUTHORITY.issue_client("a", ()), AUTHORITY.issue_client("b", ())
_TEXT = b"-----BEGIN %b-----\nAAAA\n-----END %b-----\n"


def block(kind: bytes) -> bytes:
    return _TEXT % (kind, kind)


@pytest.mark.parametrize(
    ("certificate", "key", "complaint"),
    [
        (ONE.certificate, ONE.key, ""),
        (b"text before\n" + block(b"OTHER") + ONE.certificate, block(b"OTHER") + ONE.key, ""),
        (b"x", b"y", "tls: failed to find any PEM data in certificate input"),
        (b"", b"", "tls: failed to find any PEM data in certificate input"),
        (ONE.certificate, b"", "tls: failed to find any PEM data in key input"),
        (ONE.certificate, OTHER.key, "tls: private key does not match public key"),
        (
            ONE.key,
            ONE.key,
            "tls: failed to find certificate PEM data in certificate input, but did find a private key;",
        ),
        (block(b"A") + block(b"B"), b"", 'tls: failed to find "CERTIFICATE" PEM block in certificate input after'),
        (ONE.certificate, ONE.certificate, "tls: found a certificate rather than a key in the PEM for the private key"),
        (ONE.certificate, block(b"A"), 'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input'),
        (ONE.certificate, block(b"PRIVATE KEY"), "tls: failed to parse private key"),
        (block(b"CERTIFICATE"), ONE.key, "x509: malformed certificate"),
    ],
)
def test_complaints(certificate: bytes, key: bytes, complaint: str) -> None:
    told = pair_complaint(certificate, key)
    assert told == complaint if complaint == "" else told.startswith(complaint)


def test_skipped_types_are_listed() -> None:
    assert pair_complaint(block(b"A") + block(b"B C"), b"").endswith("of the following types: [A B C]")


@pytest.mark.parametrize(
    ("text", "types"),
    [
        (b"-----BEGIN A-----\n" * 3 + b"AAAA\n-----END A-----", ["A"]),
        (b"-----BEGIN A-----\nAAAA\n-----END B-----\n" + block(b"C"), ["C"]),
        (b"-----BEGIN A-----\n!!\n-----END A-----\n", []),
        (b"-----BEGIN A-----\r\nAAAA\r\n-----END A-----\r\n", ["A"]),
    ],
)
def test_blocks_that_are_not_closed_are_skipped(text: bytes, types: list[str]) -> None:
    assert [found.type for found in pem_blocks(text)] == types


def test_many_blocks_that_are_never_closed_cost_their_length() -> None:
    assert pem_blocks(b"-----BEGIN A-----\n" * 60_000) == []  # a scan for each of them would take minutes
