"""Find the webhooks of a configuration that call this installation, and what they trust.

Kubernetes: `caBundle` of a webhook's clientConfig. Differs: a configuration whose `caBundle` cert-manager injects is
left to it.
"""

from collections.abc import Iterator
from typing import Any, Final

from moorage.attached import names
from moorage.attached.certificates.pairs import authorities_in
from moorage.attached.certificates.secret import decoded

Raw = dict[str, Any]

CONFIGURATIONS: Final = (names.LOWERING, names.MIRRORING)
CERT_MANAGER: Final = "cert-manager.io/inject-ca-from"


def is_ours(configuration: Raw, namespace: str) -> bool:
    """Whether a configuration calls this installation and its trust is for the controller to write."""
    metadata = configuration.get("metadata") or {}
    return (
        metadata.get("name") in CONFIGURATIONS
        and CERT_MANAGER not in (metadata.get("annotations") or {})
        and any(True for _ in webhooks_of(configuration, namespace))
    )


def webhooks_of(configuration: Raw, namespace: str) -> Iterator[Raw]:
    """Yield the webhooks that call the Service of this installation."""
    for webhook in configuration.get("webhooks") or []:
        service = (webhook.get("clientConfig") or {}).get("service") or {}
        if (service.get("namespace"), service.get("name")) == (namespace, names.WEBHOOK):
            yield webhook


def trusted_by(webhook: Raw) -> list[bytes]:
    """Return the authorities that a webhook trusts, each in PEM."""
    return authorities_in(decoded((webhook.get("clientConfig") or {}).get("caBundle")))


def is_known_to(configuration: Raw, namespace: str, authorities: tuple[bytes, ...]) -> bool:
    """Whether all webhooks of a configuration trust these authorities."""
    return all(set(authorities) <= set(trusted_by(webhook)) for webhook in webhooks_of(configuration, namespace))


def trust_patch(configuration: Raw, namespace: str, bundle: str) -> Raw | None:
    """Return a strategic patch that makes the webhooks trust a bundle; None if they do. It fails if others wrote."""
    stale = [
        webhook["name"]
        for webhook in webhooks_of(configuration, namespace)
        if (webhook.get("clientConfig") or {}).get("caBundle") != bundle
    ]
    if not stale:
        return None
    metadata = configuration["metadata"]
    return {
        "metadata": {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]},
        "webhooks": [{"name": name, "clientConfig": {"caBundle": bundle}} for name in stale],
    }
