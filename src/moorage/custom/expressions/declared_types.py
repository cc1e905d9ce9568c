"""Declare to CEL what a schema knows before it sees a value: types, names, the largest sizes, the smallest texts.

Sizes that a schema leaves open are those of the largest request. A property whose type cannot be declared, such as one
that keeps unknown fields and has no type, is left out. Names become identifiers: `a-b` is `a__dash__b`, `namespace` is
`__namespace__`. Kubernetes: apiserver/pkg/cel (common/schemas.go, escaping.go), and for `self` and `oldSelf`
apiextensions-apiserver, pkg/apiserver/schema/cel/compilation.go, without cel.bind.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from moorage.custom.structural import Structural
from moorage.match.cel import types
from moorage.match.cel.environment import KUBERNETES_FUNCTIONS, Environment, ObjectField
from moorage.match.cel.parse.tokens import RESERVED
from moorage.model.text.patterns import Pattern, whole
from moorage.model.text.readers import reads_text
from moorage.model.text.remembering import remember_short
from moorage.model.well_known.limits import MAX_REQUEST_BYTES

_ESCAPED: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_is_name: Final = whole(r"[A-Za-z_./-][A-Za-z0-9_./-]*")
_TO_ESCAPE: Final = Pattern(r"__|[./-]")


@reads_text("a", "A", "1", "-", "_", ".", "/", "*", " ")
@remember_short(4096)
def escape_name(name: str) -> str | None:
    """Return the identifier of a property, or None for one that expressions cannot name."""
    if name in RESERVED:
        return f"__{name}__"
    if not _is_name(name):
        return None
    return _TO_ESCAPE.sub(lambda character: _ESCAPED[character[0]], name)


_MAX_STRING_LENGTH: Final = MAX_REQUEST_BYTES - 2
#: The longest text and the shortest JSON of strings whose format gives them a type of their own.
_FORMATS: Final = {
    "duration": (types.DURATION, 32, 3),
    "date": (types.TIMESTAMP, 12, 12),
    "date-time": (types.TIMESTAMP, 32, 21),
}


class DeclaredType(msgspec.Struct, frozen=True, eq=False):
    """The type of a node. `cel_type` is None for an object, which gets a name of its own in every environment.

    `max_elements` bounds the length of a string or the number of elements, `min_size` is the shortest JSON in bytes.
    """

    cel_type: types.Type | None = None
    max_elements: int = 0
    min_size: int = 2
    fields: "Mapping[str, DeclaredType] | None" = None
    #: Of a list or a map.
    element: "DeclaredType | None" = None
    is_map: bool = False

    @property
    def max_cardinality(self) -> int:
        """Return how often such a value fits into the largest request."""
        return MAX_REQUEST_BYTES // (self.min_size + 1)


_BOOLEAN: Final = DeclaredType(types.BOOL, min_size=4)
_NUMBER: Final = DeclaredType(types.DOUBLE, min_size=1)
_INTEGER: Final = DeclaredType(types.INT, min_size=1)
_SIMPLE: Final = {"boolean": _BOOLEAN, "number": _NUMBER, "integer": _INTEGER}


def declare(schema: Structural, *, is_resource_root: bool = False) -> DeclaredType | None:
    """Return the type of values of a schema, or None if expressions cannot refer to them."""
    kept: dict[str, Any] = schema.__dict__  # declared once for each node
    key = "declared root" if is_resource_root else "declared"
    if key not in kept:
        kept[key] = _declare(schema, is_resource_root=is_resource_root)
    declared: DeclaredType | None = kept[key]
    return declared


def _declare(schema: Structural, *, is_resource_root: bool) -> DeclaredType | None:
    if schema.intOrString:
        return DeclaredType(types.DYN, _max_length(schema, _MAX_STRING_LENGTH), 1)
    if schema.type == "array":
        return _list(schema)
    if schema.type == "object":
        properties = with_object_fields(schema) if is_resource_root else schema.properties
        return _map(schema, schema.additional) if schema.additional is not None else _object(schema, properties)
    if schema.type == "string":
        return _string(schema)
    return _SIMPLE.get(schema.type)


_TEXT_NODE: Final = Structural({"type": "string"}, type="string")
_METADATA_NODE: Final = Structural(
    {"type": "object"}, type="object", properties={"name": _TEXT_NODE, "generateName": _TEXT_NODE}
)


def with_object_fields(schema: Structural) -> Mapping[str, Structural]:
    """Return the properties with apiVersion, kind and the names in metadata, which rules may always refer to."""
    given = schema.properties
    metadata = given.get("metadata")
    names = metadata.properties if metadata is not None and metadata.type == "object" else {}
    are_declared = all(_is_text(given.get(name)) for name in ("kind", "apiVersion"))
    if are_declared and all(_is_text(names.get(name)) for name in ("name", "generateName")):
        return given
    return {**given, "kind": _TEXT_NODE, "apiVersion": _TEXT_NODE, "metadata": _METADATA_NODE}


def _is_text(schema: Structural | None) -> bool:
    return schema is not None and schema.type == "string"


def _list(schema: Structural) -> DeclaredType | None:
    if schema.items is None:
        return None
    element = declare(schema.items, is_resource_root=schema.items.embeddedResource)
    if element is None:
        return None
    most = (MAX_REQUEST_BYTES - 2) // (element.min_size + 1) if schema.maxItems is None else max(schema.maxItems, 0)
    return DeclaredType(max_elements=most, element=element)


def _map(schema: Structural, values: Structural) -> DeclaredType | None:
    element = declare(values, is_resource_root=values.embeddedResource)
    if element is None:
        return None
    most = schema.maxProperties
    bound = (MAX_REQUEST_BYTES - 2) // (element.min_size + 6) if most is None else max(most, 0)
    return DeclaredType(max_elements=bound, element=element, is_map=True)


def _object(schema: Structural, properties: Mapping[str, Structural]) -> DeclaredType:
    fields: dict[str, DeclaredType] = {}
    size = 2
    for name, child in properties.items():
        declared = declare(child, is_resource_root=child.embeddedResource)
        if declared is None:
            continue
        escaped = escape_name(name)
        if escaped is not None:
            fields[escaped] = declared
        if name in schema.required and child.default is None:
            size += len(name.encode()) + declared.min_size + 4
    return DeclaredType(min_size=size, fields=fields)


def _string(schema: Structural) -> DeclaredType:
    if schema.format in _FORMATS:
        return DeclaredType(*_FORMATS[schema.format])
    if schema.format == "byte":
        longest = _MAX_STRING_LENGTH if schema.maxLength is None else max(schema.maxLength, 0)
        return DeclaredType(types.BYTES, longest)
    longest = _MAX_STRING_LENGTH
    if schema.enum:
        longest = max((len(value.encode()) for value in schema.enum if isinstance(value, str)), default=0)
    return DeclaredType(types.STRING, _max_length(schema, longest))


def _max_length(schema: Structural, otherwise: int) -> int:
    """Return the most bytes of a text: a character has up to four."""
    return otherwise if schema.maxLength is None else max(schema.maxLength, 0) * 4


SELF: Final = "self"
OLD_SELF: Final = "oldSelf"
#: The type of self, where that is an object. Upstream makes up another number every time.
SELF_TYPE: Final = "selfType1"

_KEYS: Final = ObjectField(types.STRING, 0)


def rule_environment(declared: DeclaredType, *, optional_old: bool = False) -> Environment:
    """Return the environment of the rules of a node; `optional_old` for rules with optionalOldSelf."""
    objects: dict[str, dict[str, ObjectField]] = {}
    root = add_object_types(declared, SELF_TYPE, objects)
    old = types.optional_of(root.type) if optional_old else root.type
    return Environment(
        KUBERNETES_FUNCTIONS,
        variables={SELF: root.type, OLD_SELF: old},
        objects=objects,
        root=root,
        objects_are_maps=True,
        has_bindings=False,
    )


def add_object_types(declared: DeclaredType, name: str, objects: dict[str, dict[str, ObjectField]]) -> ObjectField:
    """Return what an environment declares for values of a type; its objects get names that begin with this one."""
    if declared.fields is not None:
        fields = objects[name] = {}
        for field, type_ in declared.fields.items():
            fields[field] = add_object_types(type_, f"{name}.{field}", objects)
        return ObjectField(types.struct(name), 0)
    if declared.element is not None:
        element = add_object_types(declared.element, f"{name}.{'@elem' if declared.is_map else '@idx'}", objects)
        of = types.map_of(types.STRING, element.type) if declared.is_map else types.list_of(element.type)
        return ObjectField(of, declared.max_elements, _KEYS if declared.is_map else None, element)
    assert declared.cel_type is not None
    return ObjectField(declared.cel_type, declared.max_elements)
