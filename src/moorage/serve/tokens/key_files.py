"""Keep the key that signs service account tokens in the cluster's directory, and read other keys from files.

The files are `sa.key` and `sa.pub`, beside the certificates. Kubernetes: kubeadm's certs phase,
`--service-account-signing-key-file` and `--service-account-key-file`. Differs: the key that signs always verifies, too.
"""

from collections.abc import Sequence
from pathlib import Path

from moorage.client.kubeconfig.private_file import alone_in, write_private
from moorage.serve.tokens.keys import SigningKey, TokenKeyError, VerificationKey, read_verification_keys
from moorage.serve.tokens.service_accounts import TokenKeys

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
