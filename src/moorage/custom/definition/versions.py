"""Versions of a definition: warnings, columns, selectable fields, subresources.

Kubernetes: apiextensions-apiserver, validation/validation.go.
"""

from typing import Final

from moorage.custom.definition.options import DefinitionOptions
from moorage.custom.definition.schema_document import structural_of
from moorage.custom.definition.structural_rules import unsupported_field
from moorage.custom.expressions.field_paths import FieldPathError, resolve_field_path
from moorage.custom.schema.structural import Structural
from moorage.model.field_error import FieldError, FieldErrors, duplicate, invalid, required, too_many
from moorage.model.names import byte_length
from moorage.model.types.extension.custom_resource_definition import (
    CustomResourceColumnDefinition,
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
    found: set[str] = set()
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
        if resolved.path in found:
            yield duplicate(at, text)
        found.add(resolved.path)
    if len(found) > MAX_SELECTABLE_FIELDS and version not in options.many_selectable_fields:
        yield too_many(path, len(found), MAX_SELECTABLE_FIELDS)
