"""Compile the shape of a typed view, once per type: which fields it has, and what each may hold.

Kubernetes: Go's reflection over the same structs.
"""

import types
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from msgspec import Meta

from moorage.model.go.pem_blocks import BYTES_TITLE
from moorage.model.go.times import MICRO_TIME_TITLE, TIME_TITLE
from moorage.model.quantity import Quantity
from moorage.model.schema.always_written import ALWAYS_WRITTEN, NULL_POINTERS
from moorage.model.types.view import View

#: The structs that Go embeds into others; any other base class of a view only has the same fields.
_EMBEDDED = frozenset(
    {
        "EphemeralContainerCommon",
        "IngressRuleValue",
        "LocalObjectReference",
        "PersistentVolumeSource",
        "ProbeHandler",
        "TypeMeta",
        "VolumeSource",
    }
)

Shape = Any  # one of the classes below; they refer to each other, and some have children only when first asked


class AnyShape:
    """Whatever the document holds: nothing is known about it. `definition` names the API's own type for it, if any."""

    __slots__ = ("definition",)
    go_type = "interface {}"

    def __init__(self, definition: str = "") -> None:
        self.definition = definition


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


class EitherShape:
    """A struct, or something that is no object: a list of it, a list of strings, or a boolean.

    Its Go type decodes itself. A list's may be anything else as well, which is taken for an empty list.
    """

    __slots__ = ("definition", "go_type", "other", "struct")

    def __init__(self, struct: Shape, other: Shape) -> None:
        self.struct, self.other = struct, other
        suffix = "Bool" if isinstance(other, ScalarShape) else "Array" if other.item is struct else "StringArray"
        self.definition = f"{struct.go_name}Or{suffix}"
        self.go_type = f"v1.{self.definition}"

    def chosen(self, raw: Any) -> Shape:
        return self.struct if isinstance(raw, dict) else self.other


class StructShape:
    """An object with known fields. `embedded` names, for inherited fields, the Go struct they are embedded by."""

    __slots__ = (
        "_collections",
        "_implied",
        "_nested",
        "_omitted",
        "_rewritten",
        "_types",
        "_written",
        "embedded",
        "fields",
        "go_name",
        "go_type",
        "known",
        "pointers",
        "readable",
        "view",
    )

    def __init__(self, view: type[View]) -> None:
        self.view = view
        self.go_name = view.__name__
        self.go_type = f"{view.package.rpartition('.')[2]}.{view.__name__}"
        types = get_type_hints(view, include_extras=True)
        names = dict(zip(view.__struct_fields__, view.__struct_encode_fields__, strict=True))
        self._types = {in_json: types[name] for name, in_json in names.items()}
        self.readable = frozenset(self._types)
        self.known = self.readable - {names[name] for name in view.internal}
        own = view.__annotations__ if "__annotations__" in view.__dict__ else {}
        bases = [base for base in view.__mro__[:0:-1] if issubclass(base, View) and base.__name__ in _EMBEDDED]
        self.embedded = {name: base.__name__ for base in bases for name in base.__struct_fields__ if name not in own}
        self.fields: dict[str, Shape] = {}
        self._collections: frozenset[str] | None = None
        self._implied: dict[str, Shape | None] | None = None
        self._nested: dict[str, Shape] | None = None
        self._omitted: dict[str, type] | None = None
        self._rewritten: dict[str, Shape] | None = None
        self._written: dict[str, Any] | None = None
        defaults = zip(reversed(view.__struct_encode_fields__), reversed(view.__struct_defaults__), strict=False)
        #: The fields whose zero value differs from absence.
        self.pointers = frozenset(name for name, default in defaults if default is None)

    def field(self, name: str) -> Shape:
        shape = self.fields.get(name)
        if shape is None:
            shape = self.fields[name] = shape_of(self._types[name])
        return shape

    @property
    def nested(self) -> dict[str, Shape]:
        """The fields below which there are structs again."""
        if self._nested is None:
            shapes = {name: self.field(name) for name in self.known}
            self._nested = {name: shape for name, shape in shapes.items() if _holds(shape, StructShape | EitherShape)}
        return self._nested

    @property
    def rewritten(self) -> dict[str, Shape]:
        """The fields below which there is something that Go may write in another way than it was sent."""
        if self._rewritten is None:
            shapes = {name: self.field(name) for name in self.known}
            quantities = {name: shape for name, shape in shapes.items() if _holds(shape, QuantityShape)}
            self._rewritten = {**self.nested, **quantities}
        return self._rewritten

    @property
    def omitted(self) -> dict[str, type]:
        """The scalars that are left out when they are zero, with the types of their values."""
        if self._omitted is None:
            always = ALWAYS_WRITTEN.get(self.go_name, frozenset())
            self._omitted = {name: shape.python_type for name, shape in self._scalars() if name not in always}
        return self._omitted

    @property
    def written(self) -> dict[str, Any]:
        """The zeros of the scalars that are there even when they are not set."""
        if self._written is None:
            always = ALWAYS_WRITTEN.get(self.go_name, frozenset())
            self._written = {name: shape.zero for name, shape in self._scalars() if name in always}
        return self._written

    @property
    def collections(self) -> frozenset[str]:
        """The lists and maps that are left out when they are empty."""
        if self._collections is None:
            names = self.known - self.pointers - ALWAYS_WRITTEN.get(self.go_name, frozenset())
            self._collections = frozenset(name for name in names if isinstance(self.field(name), ListShape | MapShape))
        return self._collections

    @property
    def implied(self) -> dict[str, Shape | None]:
        """The structs and quantities that are there even when they are not set, and with None what is then null."""
        if self._implied is None:
            always = ALWAYS_WRITTEN.get(self.go_name, frozenset()) - self.pointers
            shapes = {name: self.field(name) for name in sorted(self.known - self.pointers)}
            self._implied = {
                **{name: shape for name, shape in shapes.items() if isinstance(shape, StructShape | QuantityShape)},
                **{name: None for name in sorted(always) if isinstance(shapes.get(name), ListShape)},
                **dict.fromkeys(NULL_POINTERS.get(self.go_name, ())),
            }
        return self._implied

    def _scalars(self) -> list[tuple[str, Shape]]:
        shapes = [(name, self.field(name)) for name in self.known - self.pointers]
        return [(name, shape) for name, shape in shapes if isinstance(shape, ScalarShape)]


def _holds(shape: Shape, kind: Any) -> bool:
    while isinstance(shape, ListShape | MapShape):
        shape = shape.item if isinstance(shape, ListShape) else shape.value
    return isinstance(shape, kind)


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
        return AnyShape(go_type)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        chosen = [argument for argument in arguments if argument is not type(None)]
        if len(chosen) == 1:
            return shape_of(chosen[0])
        first = shape_of(chosen[0])
        return EitherShape(first, shape_of(chosen[1])) if isinstance(first, StructShape) else IntOrStringShape()
    if origin is tuple:
        return ListShape(shape_of(arguments[0]))
    if origin is dict:
        return AnyShape() if arguments[1] is Any else MapShape(shape_of(arguments[1]), go_type)
    if annotation is Quantity:
        return QuantityShape()
    if isinstance(annotation, type) and issubclass(annotation, View):
        return struct_shape(annotation)
    return ScalarShape(annotation, go_type or {str: "string", bool: "bool", float: "float32"}[annotation])
