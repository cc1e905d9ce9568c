"""Issue certificates with the cluster's own authority, for servers, components and certificate signing requests.

Keys are P-256, which sign in a twentieth of a millisecond. A signing request gets its own subject, for the usages and
the time that are given. Kubernetes: the files of kubeadm's certs phase in /etc/kubernetes/pki; the signer of
pkg/controller/certificates.
"""

import datetime
import ipaddress
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from moorage.model.go.pem_blocks import UnreadableRequest, check_signature, read_request
from moorage.model.signing_terms import SigningTerms

_AUTHORITY_DAYS = 3650
_LEAF_DAYS = 365
_RENEW_DAYS = 30
_CLOCK_SKEW = datetime.timedelta(minutes=5)


class CertificateError(Exception):
    """A certificate or a key cannot be read, or the two do not belong together."""


class Issued(NamedTuple):
    """A certificate and its key, both in PEM."""

    certificate: bytes
    key: bytes


def read_pair(certificate: Path, key: Path) -> Issued:
    """Read a certificate, or a chain of them, and its key from files in PEM. Raises CertificateError, OSError."""
    issued = Issued(certificate.read_bytes(), key.read_bytes())
    try:
        found = x509.load_pem_x509_certificate(issued.certificate)
    except ValueError as error:
        raise CertificateError(f"{certificate} is not a certificate in PEM: {error}") from None
    try:
        private = serialization.load_pem_private_key(issued.key, None)
    except (ValueError, TypeError) as error:
        raise CertificateError(f"{key} is not a key in PEM without a password: {error}") from None
    if private.public_key() != found.public_key():
        raise CertificateError(f"the key in {key} does not belong to the certificate in {certificate}")
    return issued


def read_authorities(path: Path) -> bytes:
    """Read certificates of authorities in PEM. Raises CertificateError, OSError."""
    content = path.read_bytes()
    try:
        x509.load_pem_x509_certificates(content)
    except ValueError as error:
        raise CertificateError(f"{path} has no certificates in PEM: {error}") from None
    return content


class Authority:
    """Signs certificates. `issued` is its own certificate, self-signed, with its key."""

    def __init__(self, issued: Issued, now: datetime.datetime) -> None:
        """Read an authority that was made before. Raises CertificateError."""
        self.issued = issued
        self._now = now
        try:
            self._certificate = x509.load_pem_x509_certificate(issued.certificate)
            key = serialization.load_pem_private_key(issued.key, None)
        except (ValueError, TypeError) as error:
            raise CertificateError(f"not a certificate authority: {error}") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != self._certificate.public_key():
            raise CertificateError("the authority's key does not belong to its certificate")
        self._key = key

    @classmethod
    def create(
        cls, now: datetime.datetime, common_name: str = "moorage-ca", days: int = _AUTHORITY_DAYS
    ) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        builder = _begin(name, name, key.public_key(), now, days)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
        signed = builder.sign(key, hashes.SHA256())
        return cls(Issued(signed.public_bytes(serialization.Encoding.PEM), _key_pem(key)), now)

    def issue_server(self, names: Iterable[str], common_name: str = "kube-apiserver", days: int = _LEAF_DAYS) -> Issued:
        alternatives = x509.SubjectAlternativeName([_alternative(name) for name in names])
        return self._issue(common_name, (), (ExtendedKeyUsageOID.SERVER_AUTH,), alternatives, days)

    def issue_member(self, name: str, names: Iterable[str]) -> Issued:
        """Issue the certificate of a member of a cluster of equals, which is the server and the client of others."""
        alternatives = x509.SubjectAlternativeName([_alternative(one) for one in names])
        purposes = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
        return self._issue(name, (), purposes, alternatives)

    def issue_client(self, user: str, groups: Iterable[str] = ()) -> Issued:
        return self._issue(user, groups, (ExtendedKeyUsageOID.CLIENT_AUTH,), None)

    @property
    def is_usable(self) -> bool:
        return _lasts(self._certificate, self._now)

    def still_vouches_for(self, issued: Issued, names: Iterable[str] = ()) -> bool:
        """Return whether this authority signed the certificate, it does not expire soon, and it has all these names."""
        try:
            certificate = x509.load_pem_x509_certificate(issued.certificate)
            key = serialization.load_pem_private_key(issued.key, None)
            certificate.verify_directly_issued_by(self._certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return (
            key.public_key() == certificate.public_key()
            and _lasts(certificate, self._now)
            and {_alternative(name) for name in names} <= _alternatives(certificate)
        )

    def _issue(
        self,
        common_name: str,
        organizations: Iterable[str],
        purposes: Iterable[x509.ObjectIdentifier],
        alternatives: x509.SubjectAlternativeName | None,
        days: int = _LEAF_DAYS,
    ) -> Issued:
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
        builder = _begin(subject, self._certificate.subject, key.public_key(), self._now, days)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(list(purposes)), critical=False)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(identifier, critical=False)
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        return Issued(signed.public_bytes(serialization.Encoding.PEM), _key_pem(key))


def _begin(
    subject: x509.Name,
    issuer: x509.Name,
    public_key: ec.EllipticCurvePublicKey,
    now: datetime.datetime,
    days: int,
) -> x509.CertificateBuilder:
    return x509.CertificateBuilder(
        issuer_name=issuer,
        subject_name=subject,
        public_key=public_key,
        serial_number=x509.random_serial_number(),
        not_valid_before=now - _CLOCK_SKEW,
        not_valid_after=now + datetime.timedelta(days=days),
        extensions=[
            x509.Extension(x509.SubjectKeyIdentifier.oid, False, x509.SubjectKeyIdentifier.from_public_key(public_key))
        ],
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return key.private_bytes(encoding, serialization.PrivateFormat.TraditionalOpenSSL, plain)


def _lasts(certificate: x509.Certificate, now: datetime.datetime) -> bool:
    renew = certificate.not_valid_after_utc - datetime.timedelta(days=_RENEW_DAYS)
    return certificate.not_valid_before_utc <= now < renew


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _alternatives(certificate: x509.Certificate) -> set[x509.GeneralName]:
    try:
        return set(certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value)
    except x509.ExtensionNotFound:
        return set()


_BACKDATED = datetime.timedelta(minutes=5)
#: The end of a certificate that is valid for less than this is not moved to the past with its beginning.
_SHORT = datetime.timedelta(hours=8)
_ATTRIBUTES: Final = (
    NameOID.COUNTRY_NAME,
    NameOID.ORGANIZATION_NAME,
    NameOID.ORGANIZATIONAL_UNIT_NAME,
    NameOID.LOCALITY_NAME,
    NameOID.STATE_OR_PROVINCE_NAME,
    NameOID.STREET_ADDRESS,
    NameOID.POSTAL_CODE,
)
_SINGLE: Final = (NameOID.COMMON_NAME, NameOID.SERIAL_NUMBER)
_NAMES: Final = (x509.DNSName, x509.RFC822Name, x509.IPAddress, x509.UniformResourceIdentifier)
_KEY_USAGES: Final = {
    "signing": "digital_signature",
    "digital signature": "digital_signature",
    "content commitment": "content_commitment",
    "key encipherment": "key_encipherment",
    "key agreement": "key_agreement",
    "data encipherment": "data_encipherment",
    "cert sign": "key_cert_sign",
    "crl sign": "crl_sign",
    "encipher only": "encipher_only",
    "decipher only": "decipher_only",
}
_PURPOSES: Final = {
    "any": ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,
    "server auth": ExtendedKeyUsageOID.SERVER_AUTH,
    "client auth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "code signing": ExtendedKeyUsageOID.CODE_SIGNING,
    "email protection": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "s/mime": ExtendedKeyUsageOID.EMAIL_PROTECTION,
    "ipsec end system": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.5"),
    "ipsec tunnel": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.6"),
    "ipsec user": x509.ObjectIdentifier("1.3.6.1.5.5.7.3.7"),
    "timestamping": ExtendedKeyUsageOID.TIME_STAMPING,
    "ocsp signing": ExtendedKeyUsageOID.OCSP_SIGNING,
    "microsoft sgc": x509.ObjectIdentifier("1.3.6.1.4.1.311.10.3.3"),
    "netscape sgc": x509.ObjectIdentifier("2.16.840.1.113730.4.1"),
}
_Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


class RequestSigner:
    """Signs requests with the key of an authority, both in PEM. Neither is shown anywhere."""

    def __init__(self, authority: Issued) -> None:
        """Raises CertificateError."""
        try:
            self._certificate = x509.load_pem_x509_certificate(authority.certificate)
            key = serialization.load_pem_private_key(authority.key, None)
        except (ValueError, TypeError) as error:
            raise CertificateError(f"not a certificate authority: {error}") from None
        if not isinstance(key, _Key):
            raise CertificateError("the authority's key is neither RSA, ECDSA nor Ed25519")
        if key.public_key() != self._certificate.public_key():
            raise CertificateError("the authority's key does not belong to its certificate")
        self._key: _Key = key

    def sign(self, terms: SigningTerms) -> bytes:
        """Return the certificate in PEM. Raises UnreadableRequest where one cannot be made of the request."""
        request = read_request(terms.request)
        check_signature(request)
        try:
            signed = self._built(request, terms).sign(
                self._key, None if isinstance(self._key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
            )
        except (ValueError, TypeError) as error:
            raise UnreadableRequest(f"failed to sign certificate: {error}") from None
        return signed.public_bytes(serialization.Encoding.PEM)

    def _built(self, request: x509.CertificateSigningRequest, terms: SigningTerms) -> x509.CertificateBuilder:
        now = datetime.datetime.fromtimestamp(int(terms.now), datetime.UTC)
        lasts, last = datetime.timedelta(seconds=terms.seconds), self._certificate.not_valid_after_utc
        if now >= last:
            raise ValueError(f"refusing to sign a certificate that expired in the past: NotAfter={last}")
        builder = (
            x509.CertificateBuilder()
            .issuer_name(self._certificate.subject)
            .subject_name(_subject(request))
            .public_key(request.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _BACKDATED)
            .not_valid_after(min(now + lasts if lasts < _SHORT else now + lasts - _BACKDATED, last))
        )
        used = {_KEY_USAGES[usage] for usage in terms.usages if usage in _KEY_USAGES}
        if used:
            usages = {name: name in used for name in _KEY_USAGES.values()}
            builder = builder.add_extension(x509.KeyUsage(**usages), critical=True)
        purposes = dict.fromkeys(_PURPOSES[usage] for usage in terms.usages if usage in _PURPOSES)
        if purposes:
            builder = builder.add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(identifier, critical=False)
        names = _requested_alternatives(request)
        return builder.add_extension(x509.SubjectAlternativeName(names), critical=False) if names else builder


def _subject(request: x509.CertificateSigningRequest) -> x509.Name:
    given = request.subject
    several = [given.get_attributes_for_oid(attribute) for attribute in _ATTRIBUTES]
    single = [given.get_attributes_for_oid(attribute)[-1:] for attribute in _SINGLE]
    values = {(one.oid, str(one.value)): None for attributes in (*several, *single) for one in attributes}
    return x509.Name([x509.NameAttribute(oid, value) for oid, value in values])


def _requested_alternatives(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    try:
        given = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [name for name in given if isinstance(name, _NAMES)]
