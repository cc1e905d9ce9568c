"""Write a definition in other forms: as Go prints its structs, as it is stored, and its schema as a raw document.

`go_form` has all fields by their Go names; `write_spec` leaves out fields that are empty and keeps those that are
always there. Kubernetes: apiextensions-apiserver, pkg/apis/apiextensions (types.go, types_jsonschema.go), and the
`omitempty` marks of its v1.
"""

from functools import cache
from typing import Any, Final

import msgspec

from moorage.custom.structural import Structural, compile_schema
from moorage.model.go.quoting import GoStruct
from moorage.model.schema.shapes import EitherShape, ListShape, MapShape, Shape, StructShape, struct_shape
from moorage.model.types.extension.custom_resource_definition import CustomResourceDefinitionSpec, JSONSchemaProps
from moorage.model.types.view import View

_SPELLINGS: Final = {"id": "ID", "jsonPath": "JSONPath", "openAPIV3Schema": "OpenAPIV3Schema", "url": "URL"}
_VALUES: Final = ("default", "example")


def go_name(attribute: str) -> str:
    """Return the name of a view's attribute in Go."""
    return _SPELLINGS.get(attribute) or attribute[0].upper() + attribute[1:]


def _schema_attributes() -> tuple[str, ...]:
    """Return the attributes of a schema in the order of Kubernetes' own struct."""
    names = [name for name in JSONSchemaProps.__struct_fields__ if name != "nullable"]
    names.insert(names.index("type") + 1, "nullable")
    return tuple(names)


SCHEMA_ATTRIBUTES: Final = _schema_attributes()


def go_form(value: Any) -> Any:
    """Return a view, or what one holds, as Go would print it."""
    if isinstance(value, JSONSchemaProps):
        return _schema(value)
    if isinstance(value, msgspec.Struct):
        return GoStruct({go_name(name): go_form(getattr(value, name)) for name in value.__struct_fields__})
    if isinstance(value, tuple) and value:
        return [go_form(item) for item in value]
    if isinstance(value, dict) and value:
        return {name: go_form(item) for name, item in value.items()}
    return value


def _schema(schema: JSONSchemaProps) -> GoStruct:
    shown = GoStruct()
    for name in SCHEMA_ATTRIBUTES:
        value = getattr(schema, name)
        if name in (*_VALUES, "enum"):
            form = value
        elif name == "items":
            form = items_form(value)
        elif name in ("additionalProperties", "additionalItems"):
            form = _either(value, "Allows", is_first=False)
        elif name == "dependencies" and value:
            form = {key: _either(item, "Property", is_first=True) for key, item in value.items()}
        else:
            form = go_form(value)
        shown[go_name(name)] = form
    return shown


def items_form(items: JSONSchemaProps | tuple[JSONSchemaProps, ...] | None) -> GoStruct | None:
    return _either(items, "JSONSchemas", is_first=True)


def _either(value: Any, other: str, *, is_first: bool) -> GoStruct | None:
    """Return a schema or something else as the struct with a field for each."""
    if value is None:
        return None
    is_schema = isinstance(value, JSONSchemaProps)
    fields = {"Schema": go_form(value) if is_schema else None}
    rest = {other: (True if other == "Allows" else None) if is_schema else go_form(value)}
    return GoStruct(fields | rest) if is_first else GoStruct(rest | fields)


_ALWAYS: Final = {
    "CustomResourceColumnDefinition": ("name", "type", "jsonPath"),
    "CustomResourceConversion": ("strategy",),
    "CustomResourceDefinitionNames": ("plural", "kind"),
    "CustomResourceDefinitionSpec": ("group", "names", "scope", "versions"),
    "CustomResourceDefinitionVersion": ("name", "served", "storage"),
    "CustomResourceSubresourceScale": ("specReplicasPath", "statusReplicasPath"),
    "SelectableField": ("jsonPath",),
    "ServiceReference": ("namespace", "name"),
    "ValidationRule": ("rule",),
    "WebhookConversion": ("conversionReviewVersions",),
}
_ZEROS: Final = {"name": "", "served": False, "storage": False, "plural": "", "kind": "", "group": "", "scope": ""}


def write_spec(spec: dict[str, Any]) -> None:
    """Remove empty fields from a raw spec, in place."""
    _write(spec, struct_shape(CustomResourceDefinitionSpec))


def _write(value: Any, shape: Shape) -> None:
    if isinstance(shape, EitherShape):
        shape = shape.chosen(value)
    if isinstance(shape, ListShape) and isinstance(value, list):
        for item in value:
            _write(item, shape.item)
    elif isinstance(shape, MapShape) and isinstance(value, dict):
        for item in value.values():
            _write(item, shape.value)
    elif isinstance(shape, StructShape) and isinstance(value, dict):
        always = _ALWAYS.get(shape.go_name, ())
        pointers = shape.pointers
        for name in [name for name, item in value.items() if _is_empty(item)]:
            if name not in always and (name not in pointers or value[name] is None):
                del value[name]
        for name in always:
            if name in _ZEROS and value.get(name) is None:
                value[name] = _ZEROS[name]
        for name, below in shape.nested.items():
            if name in value:
                _write(value[name], below)


def _is_empty(value: Any) -> bool:
    return value is None or value is False or value in ("", 0, [], {})


_PLAIN_VALUES = frozenset(("default", "example", "enum"))


def structural_of(schema: JSONSchemaProps) -> Structural:
    """Return a schema, compiled."""
    return compile_schema(_document(schema))


@cache
def _fields(view: type[View]) -> tuple[tuple[str, Any], ...]:
    """Return the fields of a view by their names in JSON, with their defaults."""
    return tuple((field.encode_name, field.default) for field in msgspec.structs.fields(view))


def _document(view: View) -> dict[str, Any]:
    raw: dict[str, Any] = {}
    for (name, default), value in zip(_fields(type(view)), msgspec.structs.astuple(view), strict=True):
        if value is not default:
            raw[name] = value if name in _PLAIN_VALUES else _plain(value)
    if "enum" in raw:
        raw["enum"] = list(raw["enum"])
    return raw


def _plain(value: Any) -> Any:
    if isinstance(value, View):
        return _document(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
