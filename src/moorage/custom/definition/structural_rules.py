"""Validate that a schema is structural: every value has one known type, and junctors only validate.

Kubernetes: apiextensions-apiserver, pkg/apiserver/schema/validation.go, complete.go and convert.go.
"""

from collections.abc import Iterator
from typing import Final, Literal

from moorage.match.cel.patterns import compile_pattern
from moorage.match.cel.values import CelError
from moorage.model.field_error import FieldError, FieldErrors, forbidden, invalid, required
from moorage.model.types.extension.custom_resource_definition import JSONSchemaProps
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP

Level = Literal["root", "item", "field"]

_NO_TYPE: Final[dict[Level, str]] = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_INTEGER_OR_STRING: Final = (JSONSchemaProps(type="integer"), JSONSchemaProps(type="string"))
#: What a junctor may not have, with its words: attribute, name in the path, must be.
_FORBIDDEN_IN_JUNCTORS: Final = (
    ("default", "default", "undefined"),
    ("title", "title", "empty"),
    ("description", "description", "empty"),
    ("nullable", "nullable", "false"),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", "false"),
    ("XEmbeddedResource", "x-kubernetes-embedded-resource", "false"),
    ("XIntOrString", "x-kubernetes-int-or-string", "false"),
    ("XListMapKeys", "x-kubernetes-list-map-keys", "empty"),
    ("XListType", "x-kubernetes-list-type", "undefined"),
    ("XMapType", "x-kubernetes-map-type", "undefined"),
    ("XValidations", "x-kubernetes-validations", "empty"),
)
_UNSUPPORTED: Final = (
    ("id", "id"),
    ("Schema", "schema"),
    ("Ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
)


def unsupported_field(schema: JSONSchemaProps) -> str:
    """Return why a schema cannot be read as a structural one, or nothing."""
    for attribute, name in _UNSUPPORTED:
        if getattr(schema, attribute):
            return f"OpenAPIV3Schema '{name}' is not supported"
    if schema.additionalItems is not None:
        return "OpenAPIV3Schema 'additionalItems' is not supported"
    if schema.definitions:
        return "OpenAPIV3Schema 'definitions' is not supported"
    for junctor in (schema.Not, *schema.allOf, *schema.anyOf, *schema.oneOf):
        if junctor is not None and (unsupported := unsupported_field(junctor)):
            return unsupported
    if schema.XPreserveUnknownFields is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(schema.items, tuple) and schema.items:
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    for node in (schema.items, *schema.properties.values(), schema.additionalProperties):
        if isinstance(node, JSONSchemaProps) and (unsupported := unsupported_field(node)):
            return unsupported
    return ""


def structural_errors(schema: JSONSchemaProps, path: str) -> list[FieldError]:
    """Return what is not structural, sorted by text."""
    return sorted((*_invariants(schema, "root", path), *_completeness(schema, schema, path, path)), key=str)


def _invariants(schema: JSONSchemaProps, level: Level, path: str) -> FieldErrors:
    items = schema.items if isinstance(schema.items, JSONSchemaProps) else None
    if schema.type == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if items is not None:
        yield from _invariants(items, "item", f"{path}.items")
    for name, child in schema.properties.items():
        yield from _invariants(child, "field", f"{path}.properties[{name}]")
    additional = schema.additionalProperties
    if additional is not None and level == "root":
        yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
    if isinstance(additional, JSONSchemaProps):
        yield from _invariants(additional, "field", f"{path}.additionalProperties")
    if schema.XIntOrString and schema.XPreserveUnknownFields:
        name = "x-kubernetes-preserve-unknown-fields"
        yield invalid(f"{path}.{name}", True, "must be false if x-kubernetes-int-or-string is true")
    if schema.XIntOrString and schema.XEmbeddedResource:
        name = "x-kubernetes-embedded-resource"
        yield invalid(f"{path}.{name}", True, "must be false if x-kubernetes-int-or-string is true")
    yield from _value_rules(
        schema,
        path,
        skips_any=_is_integer_or_string(schema.anyOf),
        skips_first=bool(schema.allOf) and _is_integer_or_string(schema.allOf[0].anyOf),
    )
    yield from _type_rules(schema, level, path)
    yield from _object_rules(schema, level, path)


def _is_integer_or_string(nodes: tuple[JSONSchemaProps, ...]) -> bool:
    """Return whether nodes say nothing but `type: integer` and `type: string`; also an empty list says something."""
    return nodes == _INTEGER_OR_STRING and not any(
        getattr(node, name) is not absent for node in nodes for name, absent in _LISTS_AND_MAPS
    )


_LISTS_AND_MAPS: Final = (
    ("properties", ABSENT_MAP),
    ("required", ABSENT_LIST),
    ("XListMapKeys", ABSENT_LIST),
    ("XValidations", ABSENT_LIST),
)


def _type_rules(schema: JSONSchemaProps, level: Level, path: str) -> FieldErrors:
    if schema.XEmbeddedResource and schema.type != "object":
        words = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", schema.type, words) if schema.type else required(f"{path}.type", words)
    elif not schema.type and not schema.XIntOrString and not schema.XPreserveUnknownFields:
        yield required(f"{path}.type", _NO_TYPE[level])
    if schema.XEmbeddedResource and schema.additionalProperties is not None:
        words = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(f"{path}.additionalProperties", words)
    if level == "root" and schema.type and schema.type != "object":
        yield invalid(f"{path}.type", schema.type, "must be object at the root")


def _object_rules(schema: JSONSchemaProps, level: Level, path: str) -> FieldErrors:
    """Check the fields that every object of Kubernetes has, at the root and in embedded objects."""
    is_object = level == "root" or schema.XEmbeddedResource
    for name in ("kind", "apiVersion"):
        child = schema.properties.get(name)
        if child is not None and is_object and child.type != "string":
            yield invalid(f"{path}.properties[{name}].type", child.type, "must be string")
    metadata = schema.properties.get("metadata")
    if metadata is not None:
        at = f"{path}.properties[metadata]"
        if is_object and metadata.type != "object":
            yield invalid(f"{at}.type", metadata.type, "must be object")
        if level == "root" and not _restricts_names_only(metadata):
            words = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(at, words)
    if schema.XEmbeddedResource and not schema.XPreserveUnknownFields and not schema.properties:
        condition = "x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        yield required(f"{path}.properties", f"must not be empty if {condition}")


_ABOUT_NAMES: Final = frozenset(("type", "default", "properties"))


def _restricts_names_only(metadata: JSONSchemaProps) -> bool:
    others = (name for name in JSONSchemaProps.__struct_fields__ if name not in _ABOUT_NAMES)
    return not any(_is_set(metadata, name) for name in others) and metadata.properties.keys() <= {
        "name",
        "generateName",
    }


def _is_set(schema: JSONSchemaProps, attribute: str) -> bool:
    value = getattr(schema, attribute)
    return value is not None if attribute in ("example", "additionalProperties", "externalDocs") else bool(value)


def _value_rules(schema: JSONSchemaProps, path: str, *, skips_any: bool, skips_first: bool = False) -> FieldErrors:
    for name, node in _junctors(schema):
        if not (skips_any and name.startswith("anyOf")):
            yield from _nested_rules(node, f"{path}.{name}", skips_any=skips_first and name == "allOf[0]")
    if schema.pattern:
        try:
            compile_pattern(schema.pattern)
        except CelError as error:
            words = f"must be a valid regular expression, but isn't: {error}"
            yield invalid(f"{path}.pattern", schema.pattern, words)


def _junctors(schema: JSONSchemaProps) -> Iterator[tuple[str, JSONSchemaProps]]:
    for name, nodes in (("anyOf", schema.anyOf), ("allOf", schema.allOf), ("oneOf", schema.oneOf)):
        for number, node in enumerate(nodes):
            yield f"{name}[{number}]", node
    if schema.Not is not None:
        yield "not", schema.Not


def _nested_rules(schema: JSONSchemaProps, path: str, *, skips_any: bool = False) -> FieldErrors:
    """Check a node below a junctor, which may say nothing about the structure."""
    yield from _value_rules(schema, path, skips_any=skips_any)
    if isinstance(schema.items, JSONSchemaProps):
        yield from _nested_rules(schema.items, f"{path}.items")
    for name, child in schema.properties.items():
        yield from _nested_rules(child, f"{path}.properties[{name}]")
    if schema.type:
        yield forbidden(f"{path}.type", "must be empty to be structural")
    if schema.additionalProperties not in (None, False):
        yield forbidden(f"{path}.additionalProperties", "must be undefined to be structural")
    for attribute, name, words in _FORBIDDEN_IN_JUNCTORS:
        value = getattr(schema, attribute)
        is_set = value is not None if attribute in ("default", "XListType", "XMapType") else bool(value)
        if is_set:
            yield forbidden(f"{path}.{name}", f"must be {words} to be structural")
    if "metadata" in schema.properties:
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _completeness(rules: JSONSchemaProps, schema: JSONSchemaProps, path: str, rules_path: str) -> FieldErrors:
    """Check that what junctors validate is there outside of them as well."""
    for name, node in _junctors(rules):
        yield from _nested_completeness(node, schema, path, f"{rules_path}.{name}")


def _nested_completeness(
    rules: JSONSchemaProps, schema: JSONSchemaProps | None, path: str, rules_path: str
) -> FieldErrors:
    if schema is None:
        yield required(path, f"because it is defined in {rules_path}")
        return
    yield from _completeness(rules, schema, path, rules_path)
    if isinstance(rules.items, JSONSchemaProps):
        items = schema.items if isinstance(schema.items, JSONSchemaProps) else None
        yield from _nested_completeness(rules.items, items, f"{path}.items", f"{rules_path}.items")
    for name, node in rules.properties.items():
        below = f"properties[{name}]"
        yield from _nested_completeness(node, schema.properties.get(name), f"{path}.{below}", f"{rules_path}.{below}")
