"""Serve TLS with the certificate in a directory, and take a new one into use when its files change.

The directory is a mounted Secret of kubernetes.io/tls: tls.crt (with its chain), tls.key and, if there is one, ca.crt.
New connections get the new certificate; connections that are open keep theirs, which their clients have checked. A pair
that does not fit together is reported, and the former one stays in use.
Kubernetes: dynamiccertificates, which looks at the files every minute.
"""

import datetime
import hashlib
import ssl
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from moorage.serve.pki.certificates import CertificateError, read_authorities, read_pair

CERTIFICATE, KEY, AUTHORITIES = "tls.crt", "tls.key", "ca.crt"
_SOON: Final = datetime.timedelta(days=7)


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class ServingCertificate:
    """The TLS context of a server, with the certificate that is in the directory now."""

    def __init__(self, directory: Path, name: str) -> None:
        """`name` is that under which API servers call: the certificate should have it."""
        self.directory, self.name = directory, name
        self.context = _new_context()
        #: What is odd about the certificate, though it is used.
        self.warnings: tuple[str, ...] = ()
        self._first = self._last = datetime.datetime.fromtimestamp(0, datetime.UTC)
        self._loaded = b""

    @property
    def expires(self) -> datetime.datetime:
        return self._last

    def refresh(self) -> bool:
        """Take what the files have into use; return whether that is new. Raises CertificateError, OSError."""
        certificate, key, authorities = (self.directory / name for name in (CERTIFICATE, KEY, AUTHORITIES))
        content = [
            certificate.read_bytes(),
            key.read_bytes(),
            authorities.read_bytes() if authorities.exists() else b"",
        ]
        digest = hashlib.sha256(b"\0".join(content)).digest()
        if digest == self._loaded:
            return False
        read_pair(certificate, key)
        trusted = x509.load_pem_x509_certificates(read_authorities(authorities)) if content[2] else []
        try:
            for context in (_new_context(), self.context):  # the first one shows whether they can be used
                context.load_cert_chain(certificate, key, password="")
        except ssl.SSLError as error:
            why = error.reason or str(error)
            raise CertificateError(f"{certificate} with {key} cannot be used for TLS: {why}") from None
        self._note(x509.load_pem_x509_certificates(content[0]), trusted)
        self._loaded = digest
        return True

    def _note(self, chain: list[x509.Certificate], trusted: list[x509.Certificate]) -> None:
        own = chain[0]
        self._first, self._last = own.not_valid_before_utc, own.not_valid_after_utc
        warnings = []
        if self.name not in (known := _names(own)):
            shown = ", ".join(known) or "no name at all"
            warnings.append(f"{CERTIFICATE} is not for {self.name}, which API servers call: it has {shown}")
        if trusted and not any(_is_signed(one, by) for one in chain for by in trusted):
            warnings.append(f"no authority in {AUTHORITIES} has signed {CERTIFICATE}")
        if not self.complaint() and self._last - now() < _SOON:
            warnings.append(f"{CERTIFICATE} expires at {self._last:%Y-%m-%d %H:%M} UTC")
        self.warnings = tuple(warnings)

    def complaint(self) -> str:
        """Return why no API server can trust the certificate now; empty if one may."""
        if now() < self._first:
            return f"{CERTIFICATE} is not valid before {self._first:%Y-%m-%d %H:%M} UTC"
        if now() >= self._last:
            return f"{CERTIFICATE} has expired at {self._last:%Y-%m-%d %H:%M} UTC"
        return ""


def _new_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return found.get_values_for_type(x509.DNSName)


def _is_signed(certificate: x509.Certificate, by: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(by)
    except (ValueError, TypeError, InvalidSignature):
        return certificate == by
    return True
