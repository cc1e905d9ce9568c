"""Compile an openAPIV3Schema into what pruning, defaulting, validation and CEL read of it.

In: the schema as a raw document. Out: a `Structural` for every node, also for those below allOf, anyOf, oneOf and not.
A field of the wrong type counts as absent: validation of the definition has refused it before.
Kubernetes: apiextensions-apiserver, pkg/apiserver/schema/structural.go and convert.go.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final, TypeAlias

import msgspec

from moorage.model.field_error import child_path
from moorage.model.types.extension.custom_resource_definition import ValidationRule

#: Schemas below this depth are refused: a schema in use has some twenty levels.
MAX_DEPTH: Final = 100
#: Distinct schemas that stay compiled.
_KEPT_SCHEMAS: Final = 256


class SchemaTooDeepError(ValueError):
    """A schema has more levels than `MAX_DEPTH`."""


class Structural(msgspec.Struct, frozen=True, eq=False, dict=True):
    """One node of a schema. Fields have the names of openAPIV3Schema; x-kubernetes-* extensions leave the prefix out.

    Nodes are compared and hashed by identity, so that callers may key a cache with them.
    """

    raw: Mapping[str, Any]
    type: str = ""
    title: str = ""
    description: str = ""
    nullable: bool = False
    default: Any = None
    properties: "Mapping[str, Structural]" = {}
    #: A schema, or whether any other property is allowed; None where the field is absent.
    additionalProperties: "Structural | bool | None" = None
    items: "Structural | None" = None

    preserveUnknownFields: bool = False
    embeddedResource: bool = False
    intOrString: bool = False
    listType: str | None = None
    listMapKeys: tuple[str, ...] = ()
    mapType: str | None = None
    rules: tuple[ValidationRule, ...] = ()

    format: str = ""
    maximum: float | None = None
    exclusiveMaximum: bool = False
    minimum: float | None = None
    exclusiveMinimum: bool = False
    maxLength: int | None = None
    minLength: int | None = None
    pattern: str = ""
    maxItems: int | None = None
    minItems: int | None = None
    uniqueItems: bool = False
    multipleOf: float | None = None
    enum: tuple[Any, ...] = ()
    maxProperties: int | None = None
    minProperties: int | None = None
    required: tuple[str, ...] = ()
    allOf: "tuple[Structural, ...]" = ()
    anyOf: "tuple[Structural, ...]" = ()
    oneOf: "tuple[Structural, ...]" = ()
    not_: "Structural | None" = None

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Return the types a value may have, as JSON names them; empty where any will do."""
        if self.intOrString:
            return ("integer", "string")
        return (self.type,) if self.type else ()

    @cached_property
    def defaulted(self) -> "tuple[tuple[str, Structural], ...]":
        """The properties that have a default."""
        return tuple((name, node) for name, node in self.properties.items() if node.default is not None)

    @cached_property
    def default_size(self) -> int:
        """What the default needs as text, and a little for itself."""
        return len(msgspec.json.encode(self.default)) + 16

    @cached_property
    def text_members(self) -> frozenset[str]:
        """The members of the enumeration that are texts."""
        return frozenset(member for member in self.enum if isinstance(member, str))

    @cached_property
    def known_format(self) -> str:
        """Return the format, or an empty string where it is ignored."""
        if not self.format:
            return ""
        from moorage.custom.formats import is_known_format  # imports CEL's addresses and patterns

        return self.format if is_known_format(self.format, self.types) else ""

    @property
    def additional(self) -> "Structural | None":
        """Return the schema of properties that have no name in the schema, if there is one."""
        schema = self.additionalProperties
        return schema if isinstance(schema, Structural) else None

    def child(self, name: str) -> "Structural | None":
        """Return the schema of a property, by its name or by additionalProperties."""
        schema = self.properties.get(name)
        return schema if schema is not None else self.additional

    def children(self, path: str = "") -> "Iterator[tuple[str, Structural]]":
        """Yield the nodes that shape values, with the paths of the schema as CRD validation prints them."""
        for name, child in self.properties.items():
            yield f"{child_path(path, 'properties')}[{name}]", child
        if isinstance(self.additionalProperties, Structural):
            yield child_path(path, "additionalProperties"), self.additionalProperties
        if self.items is not None:
            yield child_path(path, "items"), self.items


_Fields: TypeAlias = dict[str, Any]
_STRINGS = ("type", "title", "description", "format", "pattern")
_FLAGS = ("nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems")
_NUMBERS = ("maximum", "minimum", "multipleOf")
_SIZES = ("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties")
_JUNCTORS = ("allOf", "anyOf", "oneOf")
_EXTENSION = "x-kubernetes-"
_EXTENSION_FLAGS = {
    "preserve-unknown-fields": "preserveUnknownFields",
    "embedded-resource": "embeddedResource",
    "int-or-string": "intOrString",
}
_EXTENSION_STRINGS = {"list-type": "listType", "map-type": "mapType"}

_kept: dict[bytes, Structural] = {}


def compile_schema(raw: Mapping[str, Any]) -> Structural:
    """Compile a schema; equal documents give the same object. Raises SchemaTooDeepError."""
    try:
        key = msgspec.json.encode(raw, order="deterministic")
    except RecursionError as error:
        raise SchemaTooDeepError(_too_deep()) from error
    compiled = _kept.get(key)
    if compiled is None:
        compiled = _compile(raw, 0)
        if len(_kept) >= _KEPT_SCHEMAS:
            del _kept[next(iter(_kept))]
        _kept[key] = compiled
    return compiled


def schema_of_version(version: Mapping[str, Any]) -> Structural | None:
    """Return the compiled schema of one of a CRD's spec.versions, or None without one."""
    schema = version.get("schema")
    raw = schema.get("openAPIV3Schema") if isinstance(schema, dict) else None
    return compile_schema(raw) if isinstance(raw, dict) else None


def _too_deep() -> str:
    return f"the schema is nested more than {MAX_DEPTH} levels deep"


def _compile(raw: Mapping[str, Any], depth: int) -> Structural:
    if depth > MAX_DEPTH:
        raise SchemaTooDeepError(_too_deep())
    fields: _Fields = {"default": raw.get("default")}
    _read_values(raw, fields)
    _read_extensions(raw, fields)
    below = depth + 1
    properties = raw.get("properties")
    if isinstance(properties, dict):
        fields["properties"] = {name: _compile(node, below) for name, node in properties.items() if _is_node(node)}
    additional = raw.get("additionalProperties")
    if isinstance(additional, bool):
        fields["additionalProperties"] = additional
    elif isinstance(additional, dict):
        fields["additionalProperties"] = _compile(additional, below)
    if _is_node(raw.get("items")):
        fields["items"] = _compile(raw["items"], below)
    for name in _JUNCTORS:
        nodes = raw.get(name)
        if isinstance(nodes, list):
            fields[name] = tuple(_compile(node, below) for node in nodes if _is_node(node))
    if _is_node(raw.get("not")):
        fields["not_"] = _compile(raw["not"], below)
    return Structural(raw, **fields)


def _is_node(value: object) -> bool:
    return isinstance(value, dict)


def _read_values(raw: Mapping[str, Any], fields: _Fields) -> None:
    for name in _STRINGS:
        if isinstance(value := raw.get(name), str):
            fields[name] = value
    for name in _FLAGS:
        if raw.get(name) is True:
            fields[name] = True
    for name in _NUMBERS:
        if (number := _number(raw.get(name))) is not None:
            fields[name] = float(number)
    for name in _SIZES:
        if (number := _number(raw.get(name))) is not None:
            fields[name] = int(number)
    if isinstance(value := raw.get("enum"), list):
        fields["enum"] = tuple(value)
    fields["required"] = _strings(raw.get("required"))


def _read_extensions(raw: Mapping[str, Any], fields: _Fields) -> None:
    for name, field in _EXTENSION_FLAGS.items():
        if raw.get(_EXTENSION + name) is True:
            fields[field] = True
    for name, field in _EXTENSION_STRINGS.items():
        if isinstance(value := raw.get(_EXTENSION + name), str):
            fields[field] = value
    fields["listMapKeys"] = _strings(raw.get(_EXTENSION + "list-map-keys"))
    rules = raw.get(_EXTENSION + "validations")
    if isinstance(rules, list):
        fields["rules"] = tuple(_rule(rule) for rule in rules if _is_node(rule))


def _rule(raw: Mapping[str, Any]) -> ValidationRule:
    present = {name: value for name, value in raw.items() if value is not None}
    try:
        return msgspec.convert(present, ValidationRule)
    except msgspec.ValidationError:
        kinds = {"optionalOldSelf": bool}
        return ValidationRule(
            **{
                name: present[name]
                for name in ValidationRule.__struct_fields__
                if isinstance(present.get(name), kinds.get(name, str))
            }
        )


def _number(value: object) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _strings(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
