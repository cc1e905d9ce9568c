"""Read and write the Secret of the webhook's certificates.

`tls.crt`, `tls.key` and `ca.crt` are as cert-manager writes them; `next.crt` and `next.key` are served next.
Kubernetes: Secrets of type kubernetes.io/tls need `tls.crt` and `tls.key`.
"""

import base64
import binascii
from typing import Any, Final

from moorage.attached import names
from moorage.attached.certificates.pairs import authorities_in
from moorage.attached.certificates.rotation import Held
from moorage.model.go.times import seconds_of, time_text
from moorage.serve.pki.certificates import Issued

Raw = dict[str, Any]

CERTIFICATE, KEY, AUTHORITIES = "tls.crt", "tls.key", "ca.crt"
NEXT_CERTIFICATE, NEXT_KEY = "next.crt", "next.key"
KNOWN_SINCE: Final = "attach.moorage.dev/authorities-known-since"
_TYPE = "kubernetes.io/tls"


def held_in(secret: Raw) -> Held:
    """Return what a Secret holds; what cannot be read is absent."""
    data = secret.get("data") or {}
    annotations = (secret.get("metadata") or {}).get("annotations") or {}
    return Held(
        _issued(data, CERTIFICATE, KEY),
        _issued(data, NEXT_CERTIFICATE, NEXT_KEY),
        tuple(authorities_in(decoded(data.get(AUTHORITIES)))),
        seconds_of(annotations.get(KNOWN_SINCE)),
    )


def new_secret(namespace: str, held: Held, labels: dict[str, str]) -> Raw:
    metadata: Raw = {"name": names.CERTIFICATES, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "type": _TYPE, "metadata": metadata, "data": _data(held)}


def changed_secret(secret: Raw, held: Held) -> Raw:
    """Return a Secret with other contents; values that others have added are kept."""
    own = {CERTIFICATE, KEY, AUTHORITIES, NEXT_CERTIFICATE, NEXT_KEY}
    others = {name: value for name, value in (secret.get("data") or {}).items() if name not in own}
    annotations = {
        name: value for name, value in (secret["metadata"].get("annotations") or {}).items() if name != KNOWN_SINCE
    }
    if held.known_since is not None:
        annotations[KNOWN_SINCE] = time_text(held.known_since)
    metadata = {**secret["metadata"], "annotations": annotations}
    return {**secret, "metadata": metadata, "data": {**others, **_data(held)}}


def bundle_of(held: Held) -> str:
    """Return the authorities as `caBundle` and `ca.crt` have them, in base64."""
    return _encoded(b"".join(held.authorities))


def decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(text or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        return b""


def _data(held: Held) -> dict[str, str]:
    assert held.served is not None
    data = {
        CERTIFICATE: _encoded(held.served.certificate),
        KEY: _encoded(held.served.key),
        AUTHORITIES: bundle_of(held),
    }
    if held.coming is not None:
        data |= {NEXT_CERTIFICATE: _encoded(held.coming.certificate), NEXT_KEY: _encoded(held.coming.key)}
    return data


def _issued(data: Raw, certificate: str, key: str) -> Issued | None:
    pair = decoded(data.get(certificate)), decoded(data.get(key))
    return Issued(*pair) if all(pair) else None


def _encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()
