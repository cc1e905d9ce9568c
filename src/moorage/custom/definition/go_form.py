"""Views of a definition as Go prints the API server's own structs: all fields, by their Go names.

Kubernetes: apiextensions-apiserver, pkg/apis/apiextensions/types.go and types_jsonschema.go.
"""

from typing import Any, Final

import msgspec

from moorage.model.go.quoting import GoStruct
from moorage.model.types.extension.custom_resource_definition import JSONSchemaProps

_SPELLINGS: Final = {"id": "ID", "jsonPath": "JSONPath", "openAPIV3Schema": "OpenAPIV3Schema", "url": "URL"}
_VALUES: Final = ("default", "example")


def go_name(attribute: str) -> str:
    """Return the name of a view's attribute in Go."""
    return _SPELLINGS.get(attribute) or attribute[0].upper() + attribute[1:]


def _schema_attributes() -> tuple[str, ...]:
    """The attributes of a schema in the order of Kubernetes' own struct."""
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
