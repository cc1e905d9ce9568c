"""Conversion between versions: none, or a webhook, which is checked as Kubernetes does and then refused.

Kubernetes: apiextensions-apiserver, validation/validation.go; apiserver/pkg/util/webhook/validation.go.
Differs: no webhook is called here, so that a definition with one is refused.
"""

import re
from typing import Final

from cryptography import x509

from moorage.custom.definition.names import validate_choice
from moorage.custom.definition.options import DefinitionOptions
from moorage.custom.webhook_client import validate_webhook_client
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid, required
from moorage.model.go.pem_blocks import decode_base64
from moorage.model.names import dns1035_label_errors
from moorage.model.types.extension.custom_resource_definition import (
    CustomResourceConversion,
)

WEBHOOK: Final = "Webhook"
NOT_SUPPORTED: Final = (
    "conversion by a webhook is not supported by Moorage: serve one version, or let versions differ only by what None "
    "converts"
)
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_ONLY_WEBHOOK: Final = "should not be set when strategy is not set to Webhook"


def validate_conversion(
    conversion: CustomResourceConversion | None, path: str, options: DefinitionOptions
) -> FieldErrors:
    if conversion is None:
        return
    yield from validate_choice(conversion.strategy, ("None", WEBHOOK), f"{path}.strategy")
    webhook = conversion.webhook
    client = None if webhook is None else webhook.clientConfig
    versions = () if webhook is None else webhook.conversionReviewVersions
    if conversion.strategy == WEBHOOK:
        if client is None:
            yield required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
        else:
            yield from validate_webhook_client(client, f"{path}.webhookClientConfig")
            if client.caBundle and options.requires_valid_authorities:
                yield from _validate_authorities(client.caBundle, f"{path}.webhookClientConfig.caBundle")
        needs_known_version = options.requires_known_review_version
        yield from _validate_versions(versions, f"{path}.conversionReviewVersions", needs_known_version)
        return
    if client is not None:
        yield forbidden(f"{path}.webhookClientConfig", _ONLY_WEBHOOK)
    if versions:
        yield forbidden(f"{path}.conversionReviewVersions", _ONLY_WEBHOOK)


def validate_no_webhook(conversion: CustomResourceConversion | None, path: str) -> list[FieldError]:
    """Refuse a conversion by webhook, by name."""
    if conversion is None or conversion.strategy != WEBHOOK:
        return []
    return [invalid(f"{path}.strategy", AsJSON(WEBHOOK), NOT_SUPPORTED)]


def has_known_version(conversion: CustomResourceConversion | None) -> bool:
    """Return whether a webhook understands a known version of ConversionReview, or names none."""
    webhook = None if conversion is None else conversion.webhook
    versions = () if webhook is None else webhook.conversionReviewVersions
    return not versions or any(version in _REVIEW_VERSIONS for version in versions)


def has_invalid_authorities(conversion: CustomResourceConversion | None) -> bool:
    """Return whether a stored definition has certificate authorities that cannot be read."""
    webhook = None if conversion is None else conversion.webhook
    client = None if webhook is None else webhook.clientConfig
    bundle = "" if client is None else client.caBundle
    return bool(bundle) and any(True for _ in _validate_authorities(bundle, ""))


_CERTIFICATE: Final = re.compile(rb"-----BEGIN CERTIFICATE-----\s.*?-----END CERTIFICATE-----", re.DOTALL)


def _validate_authorities(bundle: str, path: str) -> FieldErrors:
    blocks = _CERTIFICATE.findall(decode_base64(bundle))
    words = "unable to load root certificates"
    if not blocks:
        yield invalid(path, AsJSON(bundle), f"{words}: unable to parse bytes as PEM block")
        return
    try:
        for block in blocks:
            x509.load_pem_x509_certificate(block)
    except ValueError:
        yield invalid(path, AsJSON(bundle), f"{words}: failed to parse certificate: x509: malformed certificate")


def _validate_versions(versions: tuple[str, ...], path: str, needs_known_version: bool) -> FieldErrors:
    if not versions:
        yield required(path)
        return
    seen: set[str] = set()
    for number, version in enumerate(versions):
        if version in seen:
            yield invalid(f"{path}[{number}]", version, "duplicate version")
            continue
        seen.add(version)
        for message in dns1035_label_errors(version):
            yield invalid(f"{path}[{number}]", version, message)
    if needs_known_version and not seen & set(_REVIEW_VERSIONS):
        yield invalid(path, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}")
