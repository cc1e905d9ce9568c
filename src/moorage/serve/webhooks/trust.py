"""Make TLS contexts that believe the authorities of a caBundle, or those of the system.

As in Go a certificate in the bundle is believed as it is, also one that signs itself, and only the alternative names of
a certificate count. Kubernetes: client-go/transport with crypto/tls and crypto/x509.
"""

import base64
import binascii
import ssl

from moorage.model.text.readers import reads_text
from moorage.serve.webhooks.targets import BadTarget


def trusting(authorities: str) -> ssl.SSLContext:
    """Return a context that believes these authorities, base64 of PEM. Raises BadTarget. It may read files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["http/1.1"])
    bundle = _decoded(authorities)
    if bundle.strip():
        _load(context, bundle)
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context


@reads_text("YQ", "=", "-", " ", "\n", raises=BadTarget)
def _decoded(authorities: str) -> str:
    try:
        return base64.b64decode(authorities).decode("ascii", "replace")
    except (binascii.Error, ValueError) as error:
        raise BadTarget(f"unable to load root certificates: {error}") from None


def _load(context: ssl.SSLContext, bundle: str) -> None:
    try:
        context.load_verify_locations(cadata=bundle)
    except (ssl.SSLError, ValueError):
        raise BadTarget("unable to load root certificates: unable to parse bytes as PEM block") from None
