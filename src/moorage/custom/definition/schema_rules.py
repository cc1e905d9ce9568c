"""Validate what a schema may hold: no unsupported fields, consistent extensions, list types with their keys, rules.

Errors of rules come after all others, and rules are compiled only where nothing else is wrong at their node or below.
Kubernetes: ValidateCustomResourceDefinitionOpenAPISchema in apiextensions-apiserver, validation/validation.go.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from moorage.custom.definition.internal_spec import DefinitionOptions
from moorage.custom.definition.rule_costs import RuleContext, check_rules_of_node
from moorage.custom.definition.structural_rules import unsupported_field
from moorage.custom.definition.written_forms import items_form, structural_of
from moorage.custom.expressions.field_paths import FieldPathError, resolve_field_path
from moorage.custom.structural import Structural
from moorage.model.field_error import AsJSON, FieldError, FieldErrors, forbidden, invalid, not_supported, required
from moorage.model.text.patterns import anywhere
from moorage.model.types.extension.custom_resource_definition import JSONSchemaProps, ValidationRule
from moorage.model.types.view import ABSENT_MAP

TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_OBJECT_FIELDS: Final = frozenset(("metadata", "kind", "apiVersion"))
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_has_newline: Final = anywhere(r"[\n\r]")
_CORRELATED_MAPS: Final = (None, "granular", "atomic")


class SchemaPlace(msgspec.Struct, frozen=True):
    """Where a node is: what its surroundings forbid. `uncorrelated` is the path from which on oldSelf means nothing."""

    allows_defaults: bool = True
    no_defaults_reason: str = ""
    is_in_metadata: bool = False
    uncorrelated: str = ""

    def without_defaults(self, reason: str) -> "SchemaPlace":
        return msgspec.structs.replace(self, allows_defaults=False, no_defaults_reason=reason)

    def in_metadata(self) -> "SchemaPlace":
        return msgspec.structs.replace(self, is_in_metadata=True)

    def without_old(self, path: str) -> "SchemaPlace":
        return self if self.uncorrelated else msgspec.structs.replace(self, uncorrelated=path)


class SchemaErrors(msgspec.Struct):
    """What is wrong with a schema, and with its rules."""

    schema: list[FieldError] = []
    rules: list[FieldError] = []

    def extend(self, other: "SchemaErrors") -> None:
        self.schema += other.schema
        self.rules += other.rules


def schema_errors_of(
    schema: JSONSchemaProps | None,
    path: str,
    place: SchemaPlace,
    options: DefinitionOptions,
    context: RuleContext | None,
    *,
    is_root: bool = False,
) -> SchemaErrors:
    """Return the errors of a node and of all below it. Without a context rules are not compiled."""
    errors = SchemaErrors()
    if schema is None:
        return errors
    errors.schema += _unsupported(schema, path, place, options)
    for child, below, child_place, child_context in _children(schema, path, place, context, is_root):
        errors.extend(schema_errors_of(child, below, child_place, options, child_context))
    errors.schema += _extensions(schema, path, options)
    if schema.XValidations:
        errors.schema += _rule_fields(schema, f"{path}.x-kubernetes-validations")
        if context is not None and not errors.schema:
            errors.rules += check_rules_of_node(schema, path, place.uncorrelated, options, context)
    return errors


def _children(
    schema: JSONSchemaProps, path: str, place: SchemaPlace, context: RuleContext | None, is_root: bool
) -> Iterator[tuple[JSONSchemaProps, str, SchemaPlace, RuleContext | None]]:
    additional = schema.additionalProperties
    if isinstance(additional, JSONSchemaProps):
        reason = "inside additionalProperties applying to object metadata"
        below = place.without_defaults(reason) if place.is_in_metadata else place
        node = None if context is None else context.node.additional
        yield additional, f"{path}.additionalProperties", below, _below(context, schema, node)
    for name, child in schema.properties.items():
        below = place if schema.XMapType in _CORRELATED_MAPS else place.without_old(path)
        if (is_root or schema.XEmbeddedResource) and name in _OBJECT_FIELDS:
            below = below.in_metadata()
            if is_root:
                below = below.without_defaults(f"in top-level {name}")
        node = None if context is None else context.node.properties.get(name)
        yield child, f"{path}.properties[{name}]", below, _below(context, schema, node)
    if schema.Not is not None:
        yield schema.Not, f"{path}.not", place, None
    for name, nodes in (("allOf", schema.allOf), ("oneOf", schema.oneOf), ("anyOf", schema.anyOf)):
        for number, junctor in enumerate(nodes):
            yield junctor, f"{path}.{name}[{number}]", place, None
    for name, definition in schema.definitions.items():
        yield definition, f"{path}.definitions[{name}]", place, None
    if schema.items is not None:
        below = place if schema.XListType == "map" else place.without_old(path)
        if isinstance(schema.items, JSONSchemaProps):
            node = None if context is None else context.node.items
            yield schema.items, f"{path}.items", below, _below(context, schema, node)
        else:
            for number, item in enumerate(schema.items):
                yield item, f"{path}.items[{number}]", below, None
    for name, dependency in schema.dependencies.items():
        if isinstance(dependency, JSONSchemaProps):
            yield dependency, f"{path}.dependencies[{name}]", place, None


def _below(context: RuleContext | None, schema: JSONSchemaProps, node: Structural | None) -> RuleContext | None:
    return None if context is None else context.child(schema, node)


def _unsupported(schema: JSONSchemaProps, path: str, place: SchemaPlace, options: DefinitionOptions) -> FieldErrors:
    if options.requires_valid_types and schema.type and schema.type not in TYPES:
        yield not_supported(f"{path}.type", schema.type, TYPES)
    if schema.default is not None and not place.allows_defaults:
        yield forbidden(f"{path}.default", f"must not be set {place.no_defaults_reason}".rstrip())
    if schema.id:
        yield forbidden(f"{path}.id", "id is not supported")
    if schema.additionalItems is not None:
        yield forbidden(f"{path}.additionalItems", "additionalItems is not supported")
    if schema.patternProperties:
        yield forbidden(f"{path}.patternProperties", "patternProperties is not supported")
    if schema.definitions:
        yield forbidden(f"{path}.definitions", "definitions is not supported")
    if schema.dependencies is not ABSENT_MAP:
        yield forbidden(f"{path}.dependencies", "dependencies is not supported")
    if schema.Ref is not None:
        yield forbidden(f"{path}.$ref", "$ref is not supported")
    if schema.type == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(schema.items, tuple) and schema.items:
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.is_in_metadata and schema.XEmbeddedResource:
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")
    if schema.uniqueItems:
        words = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", words)
    if schema.properties and schema.additionalProperties not in (None, True):
        words = "additionalProperties and properties are mutual exclusive"
        yield forbidden(f"{path}.additionalProperties", words)


def _extensions(schema: JSONSchemaProps, path: str, options: DefinitionOptions) -> FieldErrors:
    if schema.XPreserveUnknownFields is False:
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    if schema.XMapType is not None and schema.type != "object":
        yield _wrong_type(schema, path, "must be object if x-kubernetes-map-type is specified")
    if schema.XMapType not in _CORRELATED_MAPS:
        yield not_supported(f"{path}.x-kubernetes-map-type", schema.XMapType, ("atomic", "granular"))
    if schema.XListType is not None and schema.type != "array":
        yield _wrong_type(schema, path, "must be array if x-kubernetes-list-type is specified")
    elif options.requires_atomic_sets and schema.XListType == "set":
        yield from _set_items(schema, path)
    if schema.XListType not in (None, "atomic", "set", "map"):
        yield not_supported(f"{path}.x-kubernetes-list-type", schema.XListType, ("atomic", "set", "map"))
    if schema.XListMapKeys and schema.XListType != "map":
        at, words = f"{path}.x-kubernetes-list-type", "must be map if x-kubernetes-list-map-keys is non-empty"
        yield required(at, words) if schema.XListType is None else invalid(at, schema.XListType, words)
    if schema.XListType == "map":
        yield from _map_items(schema, path)
    if options.requires_valid_keys:
        yield from key_errors(schema, path)


def _wrong_type(schema: JSONSchemaProps, path: str, words: str) -> FieldError:
    return invalid(f"{path}.type", schema.type, words) if schema.type else required(f"{path}.type", words)


_NOT_ATOMIC: Final = "must be atomic as item of a list with x-kubernetes-list-type=set"


def is_atomic_item(items: JSONSchemaProps) -> bool:
    """Return whether a value is compared as a whole, as elements of a set are."""
    if items.type == "array":
        return items.XListType in (None, "atomic")
    return items.type != "object" or items.XMapType == "atomic"


def _set_items(schema: JSONSchemaProps, path: str) -> FieldErrors:
    items = schema.items
    if isinstance(items, JSONSchemaProps) and not is_atomic_item(items):
        name = "x-kubernetes-list-type" if items.type == "array" else "x-kubernetes-map-type"
        # Kubernetes shows the list's type in both cases.
        yield invalid(f"{path}.items.{name}", items.XListType, _NOT_ATOMIC)


def _map_items(schema: JSONSchemaProps, path: str) -> FieldErrors:
    keys_path, items = f"{path}.x-kubernetes-list-map-keys", schema.items
    if not schema.XListMapKeys:
        yield required(keys_path, "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    elif not isinstance(items, JSONSchemaProps):
        words = "must only have a single schema if x-kubernetes-list-type is map"
        yield invalid(f"{path}.items", AsJSON(items_form(items)), words)
    elif items.type != "object":
        words = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.type, words)
    else:
        seen: set[str] = set()
        for key in schema.XListMapKeys:
            child = items.properties.get(key)
            if child is None:
                yield invalid(keys_path, schema.XListMapKeys, "entries must all be names of item properties")
            elif child.type in ("array", "object"):
                words = "must be a scalar type if parent array's x-kubernetes-list-type is map"
                yield invalid(f"{path}.items.properties[{key}].type", items.type, words)
            if key in seen:
                yield invalid(keys_path, schema.XListMapKeys, "must not contain duplicate entries")
            seen.add(key)


def key_errors(schema: JSONSchemaProps, path: str) -> FieldErrors:
    """Check that elements of maps and sets are not null, and that keys are always there."""
    items = schema.items
    if not isinstance(items, JSONSchemaProps) or schema.XListType not in ("set", "map"):
        return
    if items.nullable:
        words = f"cannot be nullable when x-kubernetes-list-type is {schema.XListType}"
        yield forbidden(f"{path}.items.nullable", words)
    if schema.XListType != "map":
        return
    for key in schema.XListMapKeys:
        child = items.properties.get(key)
        if child is None:
            continue
        at, because = f"{path}.items.properties[{key}]", "this property is in x-kubernetes-list-map-keys, so it"
        if key not in items.required and child.default is None:
            yield required(f"{at}.default", f"{because} must have a default or be a required property")
        if child.nullable:
            yield forbidden(f"{at}.nullable", f"{because} cannot be nullable")


def _rule_fields(schema: JSONSchemaProps, path: str) -> FieldErrors:
    for number, rule in enumerate(schema.XValidations):
        yield from _texts_of_rule(rule, f"{path}[{number}]")
        at = f"{path}[{number}].fieldPath"
        if rule.fieldPath and not rule.fieldPath.strip():
            yield invalid(at, rule.fieldPath, "must be non-empty if specified")
        if _has_newline(rule.fieldPath):
            yield invalid(at, rule.fieldPath, "must not contain line breaks")
        if rule.fieldPath and not _is_valid_path(schema, rule.fieldPath):
            yield invalid(at, rule.fieldPath, "must be a valid path")


def _texts_of_rule(rule: ValidationRule, path: str) -> FieldErrors:
    text, message = rule.rule.strip(), rule.message.strip()
    if not text:
        yield required(f"{path}.rule", "rule is not specified")
    elif rule.message and not message:
        yield invalid(f"{path}.message", rule.message, "must be non-empty if specified")
    elif _has_newline(message):
        yield invalid(f"{path}.message", rule.message, "must not contain line breaks")
    elif _has_newline(text) and not message:
        yield required(f"{path}.message", "message must be specified if rule contains line breaks")
    if rule.messageExpression and not rule.messageExpression.strip():
        words = "messageExpression must be non-empty if specified"
        yield required(f"{path}.messageExpression", words)
    if rule.reason is not None and rule.reason not in _REASONS:
        yield not_supported(f"{path}.reason", AsJSON(rule.reason), _REASONS)


def _is_valid_path(schema: JSONSchemaProps, path: str) -> bool:
    if unsupported_field(schema):
        return True
    try:
        resolve_field_path(path, structural_of(schema))
    except FieldPathError:
        return False
    return True
