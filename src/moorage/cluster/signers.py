"""Read the keys that sign certificates and tokens for a controller manager of its own.

Kubernetes: `--cluster-signing-cert-file`, `--cluster-signing-key-file` and `--service-account-private-key-file` of
kube-controller-manager.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from moorage.model.signing_terms import SigningTerms


class UnusableKey(Exception):
    """A file has no key, or not the one that belongs to the certificate."""


class Signers(NamedTuple):
    """Functions that sign, as `ControllerContext` has them. Without one, nothing is signed."""

    certificate: Callable[[SigningTerms], bytes] | None = None
    token: Callable[[str, str, str, str], str] | None = None


NO_SIGNERS = Signers()


def read_signers(certificate: Path | None, key: Path | None, token_key: Path | None) -> Signers:
    """Raises UnusableKey."""
    return Signers(_certificate_signer(certificate, key), _token_signer(token_key))


def _certificate_signer(certificate: Path | None, key: Path | None) -> Callable[[SigningTerms], bytes] | None:
    if certificate is None or key is None:
        return None
    from moorage.serve.pki.certificates import (  # imports cryptography, which few need here
        CertificateError,
        Issued,
        RequestSigner,
    )

    try:
        return RequestSigner(Issued(certificate.read_bytes(), key.read_bytes())).sign
    except CertificateError as error:
        raise UnusableKey(f"{certificate}, {key}: {error}") from None
    except OSError as error:
        raise UnusableKey(f"{error.filename}: {error.strerror}") from None


def _token_signer(path: Path | None) -> Callable[[str, str, str, str], str] | None:
    if path is None:
        return None
    from moorage.serve.tokens.claims import claims_in_secret, sign_token
    from moorage.serve.tokens.keys import SigningKey, TokenKeyError

    try:
        key = SigningKey.read(path.read_bytes())
    except TokenKeyError as error:
        raise UnusableKey(f"{path}: {error}") from None
    except OSError as error:
        raise UnusableKey(f"{path}: {error.strerror}") from None

    def sign(namespace: str, account: str, account_uid: str, secret: str) -> str:
        return sign_token(claims_in_secret(namespace, account, account_uid, secret), key)

    return sign
