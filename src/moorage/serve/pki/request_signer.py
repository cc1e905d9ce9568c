"""Sign certificate requests with an authority: what the request asks for, for the usages and the time that are given.

Of the subject only the attributes that Kubernetes knows are taken over, of the extensions only alternative names.
Kubernetes: pkg/controller/certificates/authority.
"""

import datetime
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from moorage.model.go.pem_blocks import UnreadableRequest, check_signature, read_request
from moorage.model.signing_terms import SigningTerms
from moorage.serve.pki.certificates import CertificateError, Issued

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
        names = _alternatives(request)
        return builder.add_extension(x509.SubjectAlternativeName(names), critical=False) if names else builder


def _subject(request: x509.CertificateSigningRequest) -> x509.Name:
    given = request.subject
    several = [given.get_attributes_for_oid(attribute) for attribute in _ATTRIBUTES]
    single = [given.get_attributes_for_oid(attribute)[-1:] for attribute in _SINGLE]
    values = {(one.oid, str(one.value)): None for found in (*several, *single) for one in found}
    return x509.Name([x509.NameAttribute(oid, value) for oid, value in values])


def _alternatives(request: x509.CertificateSigningRequest) -> list[x509.GeneralName]:
    try:
        given = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [name for name in given if isinstance(name, _NAMES)]
