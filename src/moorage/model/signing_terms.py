"""Define what a certificate is signed for."""

from typing import NamedTuple


class SigningTerms(NamedTuple):
    """A request in PEM, the usages of its key, and for how many seconds from now on the certificate is valid."""

    request: bytes
    usages: tuple[str, ...]
    seconds: float
    now: float
