"""Validate the versions of a definition (warnings, columns, selectable fields, subresources) and conversion among them.

Kubernetes: apiextensions-apiserver, validation/validation.go; apiserver/pkg/util/webhook/validation.go.
"""

from collections.abc import Iterator
from typing import Final

from cryptography import x509

from moorage.custom.definition.internal_spec import DefinitionOptions
from moorage.custom.definition.names import validate_choice
from moorage.custom.definition.structural_rules import unsupported_field
from moorage.custom.definition.written_forms import structural_of
from moorage.custom.expressions.field_paths import FieldPathError, resolve_field_path
from moorage.custom.structural import Structural
from moorage.custom.webhook_client import validate_webhook_client
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, duplicate, forbidden, invalid, required, too_many
from moorage.model.go.pem_blocks import decode_base64
from moorage.model.names import byte_length, dns1035_label_errors
from moorage.model.text.readers import reads_text
from moorage.model.types.extension.custom_resource_definition import (
    CustomResourceColumnDefinition,
    CustomResourceConversion,
    CustomResourceSubresources,
    CustomResourceSubresourceScale,
    JSONSchemaProps,
    SelectableField,
)

MAX_SELECTABLE_FIELDS: Final = 8
_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MAX_WARNING: Final = 256


def validate_deprecation(deprecated: bool, warning: str | None, path: str) -> FieldErrors:
    """Check the text of the warning that clients of a deprecated version get."""
    if warning is None:
        return
    if not deprecated:
        yield invalid(path, warning, "can only be set for deprecated versions")
        return
    if byte_length(warning) > _MAX_WARNING:
        yield invalid(path, warning, f"must be <= {_MAX_WARNING} characters long")
    if not warning:
        yield invalid(path, warning, "must not be an empty string")
    at = 0
    for character in warning:
        if not character.isprintable():
            words = "must only contain printable UTF-8 characters; non-printable character found at index"
            yield invalid(path, warning, f"{words} {at}")
            break
        at += byte_length(character)


def validate_column(column: CustomResourceColumnDefinition, path: str) -> FieldErrors:
    if not column.name:
        yield required(f"{path}.name")
    one_of = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column.type:
        yield required(f"{path}.type", one_of)
    elif column.type not in _COLUMN_TYPES:
        yield invalid(f"{path}.type", column.type, one_of)
    if column.format and column.format not in _COLUMN_FORMATS:
        yield invalid(f"{path}.format", column.format, f"must be one of {','.join(_COLUMN_FORMATS)}")
    if not column.jsonPath:
        yield required(f"{path}.JSONPath")
    else:
        yield from _simple_path(column.jsonPath, f"{path}.JSONPath")


def _simple_path(text: str, path: str) -> list[FieldError]:
    return [] if text.startswith(".") else [invalid(path, text, "must be a simple json path starting with .")]


def validate_subresources(subresources: CustomResourceSubresources | None, path: str) -> FieldErrors:
    scale = None if subresources is None else subresources.scale
    if scale is not None:
        yield from _validate_scale(scale, f"{path}.scale")


def _validate_scale(scale: CustomResourceSubresourceScale, path: str) -> FieldErrors:
    for name, text, holder in (
        ("specReplicasPath", scale.specReplicasPath, ".spec"),
        ("statusReplicasPath", scale.statusReplicasPath, ".status"),
    ):
        at = f"{path}.{name}"
        if not text:
            yield required(at)
        elif errors := _simple_path(text, at):
            yield from errors
        elif not text.startswith(f"{holder}."):
            yield invalid(at, text, f"should be a json path under {holder}")
    selector = scale.labelSelectorPath
    if selector:
        at = f"{path}.labelSelectorPath"
        if errors := _simple_path(selector, at):
            yield from errors
        elif not selector.startswith((".spec.", ".status.")):
            yield invalid(at, selector, "should be a json path under either .spec or .status")


def validate_selectable_fields(
    fields: tuple[SelectableField, ...],
    schema: JSONSchemaProps,
    path: str,
    options: DefinitionOptions,
    version: str = "",
) -> FieldErrors:
    """Check that selectable fields are scalars of the schema."""
    is_readable = not unsupported_field(schema)
    structural = structural_of(schema) if is_readable else Structural({})
    seen: set[str] = set()
    for number, field in enumerate(fields):
        at, text = f"{path}[{number}].jsonPath", field.jsonPath
        if not text:
            yield required(at)
            continue
        try:
            resolved = resolve_field_path(text, structural, array_notation=False)
        except FieldPathError as error:
            if is_readable or not str(error).startswith("does not refer"):
                yield invalid(at, text, f"is an invalid path: {error}")
            continue
        if resolved.first == "metadata":
            yield invalid(at, text, "must not point to fields in metadata")
        if resolved.schema is None or resolved.schema.type not in ("string", "boolean", "integer"):
            kinds = (
                "a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
            )
            yield invalid(at, text, f"must point to {kinds}")
        if resolved.path in seen:
            yield duplicate(at, text)
        seen.add(resolved.path)
    if len(seen) > MAX_SELECTABLE_FIELDS and version not in options.many_selectable_fields:
        yield too_many(path, len(seen), MAX_SELECTABLE_FIELDS)


WEBHOOK: Final = "Webhook"
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


_BEGIN: Final = b"-----BEGIN CERTIFICATE-----"
_END: Final = b"-----END CERTIFICATE-----"


def _validate_authorities(bundle: str, path: str) -> FieldErrors:
    blocks = list(_certificates(decode_base64(bundle)))
    words = "unable to load root certificates"
    if not blocks:
        yield invalid(path, AsJSON(bundle), f"{words}: unable to parse bytes as PEM block")
        return
    try:
        for block in blocks:
            x509.load_pem_x509_certificate(block)
    except ValueError:
        yield invalid(path, AsJSON(bundle), f"{words}: failed to parse certificate: x509: malformed certificate")


@reads_text("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----", "\n", "A")
def _certificates(text: bytes) -> Iterator[bytes]:
    at = 0
    while (begin := text.find(_BEGIN, at)) >= 0:
        at = begin + len(_BEGIN)
        if text[at : at + 1].isspace():
            close = text.find(_END, at)
            if close < 0:
                return
            at = close + len(_END)
            yield text[begin:at]


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
