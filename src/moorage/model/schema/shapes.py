"""The shape of a typed view, compiled once per type: which fields it has, and what each may hold.

Kubernetes: Go's reflection over the same structs.
"""

import types
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from msgspec import Meta

from moorage.model.go.base64_text import BYTES_TITLE
from moorage.model.go.times import MICRO_TIME_TITLE, TIME_TITLE
from moorage.model.quantity import Quantity
from moorage.model.types.view import View

#: The structs that Go embeds into others; any other base class of a view only has the same fields.
_EMBEDDED = frozenset(
    {
        "EphemeralContainerCommon",
        "LocalObjectReference",
        "PersistentVolumeSource",
        "ProbeHandler",
        "TypeMeta",
        "VolumeSource",
    }
)

Shape = Any  # one of the classes below; they refer to each other, and some have children only when first asked


class AnyShape:
    """Whatever the document holds: nothing is known about it."""

    go_type = "interface {}"


class ScalarShape:
    """A string, a boolean, an integer of a width or a fraction."""

    __slots__ = ("go_type", "python_type", "zero")

    def __init__(self, python_type: type, go_type: str) -> None:
        self.python_type = python_type
        self.go_type = go_type
        self.zero = python_type()


class QuantityShape:
    """A resource quantity, which is decoded from its text."""

    go_type = "resource.Quantity"


class TimeShape:
    """A time, which is decoded from its text; `micro` if that has microseconds."""

    __slots__ = ("micro",)
    go_type = "string"

    def __init__(self, *, micro: bool = False) -> None:
        self.micro = micro


class BytesShape:
    """Bytes, which are decoded from base64."""

    go_type = BYTES_TITLE
    zero = ""


class IntOrStringShape:
    """A port or a share: an int32 or text."""

    go_type = "int32"


class ListShape:
    """A list of one shape."""

    __slots__ = ("go_type", "item")

    def __init__(self, item: Shape) -> None:
        self.item = item
        self.go_type = f"[]{item.go_type}"


class MapShape:
    """A map from strings to one shape."""

    __slots__ = ("go_type", "value")

    def __init__(self, value: Shape, go_type: str) -> None:
        self.value = value
        self.go_type = go_type or f"map[string]{value.go_type}"


class StructShape:
    """An object with known fields. `embedded` names, for inherited fields, the Go struct they are embedded by."""

    __slots__ = ("_nested", "_types", "embedded", "fields", "go_name", "go_type", "known", "view")

    def __init__(self, view: type[View]) -> None:
        self.view = view
        self.go_name = view.__name__
        self.go_type = f"v1.{view.__name__}"
        self._types = get_type_hints(view, include_extras=True)
        self.known = frozenset(view.__struct_fields__)
        own = view.__annotations__ if "__annotations__" in view.__dict__ else {}
        bases = [base for base in view.__mro__[:0:-1] if issubclass(base, View) and base.__name__ in _EMBEDDED]
        self.embedded = {name: base.__name__ for base in bases for name in base.__struct_fields__ if name not in own}
        self.fields: dict[str, Shape] = {}
        self._nested: dict[str, Shape] | None = None

    def field(self, name: str) -> Shape:
        found = self.fields.get(name)
        if found is None:
            found = self.fields[name] = shape_of(self._types[name])
        return found

    @property
    def nested(self) -> dict[str, Shape]:
        """The fields below which there are structs again."""
        if self._nested is None:
            shapes = {name: self.field(name) for name in self.known}
            self._nested = {name: shape for name, shape in shapes.items() if _has_structs(shape)}
        return self._nested


def _has_structs(shape: Shape) -> bool:
    while isinstance(shape, ListShape | MapShape):
        shape = shape.item if isinstance(shape, ListShape) else shape.value
    return isinstance(shape, StructShape)


@cache
def struct_shape(view: type[View]) -> StructShape:
    return StructShape(view)


def shape_of(annotation: Any) -> Shape:
    """Return the shape of a field's annotation. `X | None` has the shape of X: null is absence to any Go type."""
    go_type = ""
    if get_origin(annotation) is Annotated:
        annotation, *extras = get_args(annotation)
        go_type = next((extra.title for extra in extras if isinstance(extra, Meta) and extra.title), "")
    if go_type in (TIME_TITLE, MICRO_TIME_TITLE):
        return TimeShape(micro=go_type == MICRO_TIME_TITLE)
    if go_type == BYTES_TITLE:
        return BytesShape()
    if annotation is Any:
        return AnyShape()
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        chosen = [argument for argument in arguments if argument is not type(None)]
        return shape_of(chosen[0]) if len(chosen) == 1 else IntOrStringShape()
    if origin is tuple:
        return ListShape(shape_of(arguments[0]))
    if origin is dict:
        return AnyShape() if arguments[1] is Any else MapShape(shape_of(arguments[1]), go_type)
    if annotation is Quantity:
        return QuantityShape()
    if isinstance(annotation, type) and issubclass(annotation, View):
        return struct_shape(annotation)
    return ScalarShape(annotation, go_type or {str: "string", bool: "bool", float: "float32"}[annotation])
