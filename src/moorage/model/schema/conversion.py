"""Convert a raw document to a typed view, or list all reasons why not, in the words of the API server's decoder.

A null means absence, as for Go; an absent element of a list or map is its type's zero. Kubernetes: sigs.k8s.io/json,
which names the Go struct, the fields above it without indices, and the Go type. It reports one problem only: the first
with a type that decodes itself (quantities, times, ports), or else the first of all; it is the first here, too.
"""

from typing import Any, NamedTuple, TypeVar

import msgspec

from moorage.model.field_error import child_path
from moorage.model.go.integers import INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN
from moorage.model.go.pem_blocks import base64_complaint
from moorage.model.go.quoting import go_json
from moorage.model.go.times import time_complaint
from moorage.model.quantity import Quantity, QuantityError, parse_quantity
from moorage.model.schema import shapes
from moorage.model.text.json_text import json_type
from moorage.model.types.view import View

ViewType = TypeVar("ViewType", bound=View)

_INTEGER_BOUNDS = {"int32": (INT32_MIN, INT32_MAX), "int64": (INT64_MIN, INT64_MAX)}


class TypeProblem(NamedTuple):
    """One field that holds what its type cannot: the field's path, and the API server's text."""

    path: str
    reason: str


class ConversionError(Exception):
    """A document that does not have the types of its kind. Never without problems."""

    def __init__(self, problems: tuple[TypeProblem, ...]) -> None:
        super().__init__("; ".join(problem.reason for problem in problems))
        self.problems = problems


def convert_view(raw: Any, view: type[ViewType]) -> ViewType:
    """Return the raw value as a view. Raises ConversionError."""
    try:
        return msgspec.convert(raw, view, dec_hook=_decode_custom)
    except (msgspec.ValidationError, QuantityError):
        pass
    shape = shapes.struct_shape(view)
    problems = _Problems([], [])
    _find_problems(raw, shape, _Context("", "", ()), problems)
    if problems.fatal or problems.others:
        raise ConversionError((*problems.fatal, *problems.others))
    try:
        return msgspec.convert(_without_nulls(raw, shape), view, dec_hook=_decode_custom)
    except (msgspec.ValidationError, QuantityError) as error:
        raise ConversionError((TypeProblem("", str(error)),)) from None


def decoder_of(view: type[ViewType]) -> msgspec.json.Decoder[ViewType]:
    """Return a decoder of JSON that is known to convert. It raises msgspec.ValidationError."""
    return msgspec.json.Decoder(view, dec_hook=_decode_custom)


def _decode_custom(expected: type, value: Any) -> Any:
    """Decode types that msgspec does not know: quantities are the only ones."""
    if expected is Quantity:
        return parse_quantity(_quantity_text(value))
    raise TypeError(f"no view has fields of type {expected}")


def _quantity_text(value: Any) -> str:
    """Return the JSON text of a value as quantities are read from it: without quotes and surrounding space."""
    return value.strip() if isinstance(value, str) else go_json(value)


def _without_nulls(raw: Any, shape: shapes.Shape) -> Any:
    """Return the raw value with every null replaced by what Go would hold there: nothing, or the zero of an element."""
    if isinstance(shape, shapes.StructShape) and isinstance(raw, dict):
        return {
            name: _without_nulls(value, shape.field(name))
            for name, value in raw.items()
            if value is not None and name in shape.readable
        }
    if isinstance(shape, shapes.EitherShape):
        is_odd = isinstance(shape.other, shapes.ListShape) and not isinstance(raw, dict | list)
        return [] if is_odd else _without_nulls(raw, shape.chosen(raw))
    if isinstance(shape, shapes.ListShape) and isinstance(raw, list):
        return [_zero(shape.item) if item is None else _without_nulls(item, shape.item) for item in raw]
    if isinstance(shape, shapes.MapShape) and isinstance(raw, dict):
        return {
            key: _zero(shape.value) if value is None else _without_nulls(value, shape.value)
            for key, value in raw.items()
        }
    return raw


def _zero(shape: shapes.Shape) -> Any:
    if isinstance(shape, shapes.ScalarShape | shapes.BytesShape):
        return shape.zero
    if isinstance(shape, shapes.QuantityShape | shapes.IntOrStringShape):
        return 0
    return [] if isinstance(shape, shapes.ListShape) else {}


#: The number of problems after which lists and maps are not looked at any further.
_MAX_PROBLEMS = 1_000


class _Problems(NamedTuple):
    """What was found: where a type that decodes itself gave up, which ends Go's decoding, and everything else."""

    fatal: list[TypeProblem]
    others: list[TypeProblem]


class _Context(NamedTuple):
    """Where the decoder is: the path for people, and for the message the innermost struct and the fields above."""

    path: str
    struct: str
    stack: tuple[str, ...]

    def mismatch(self, given: str, go_type: str) -> TypeProblem:
        target = f"struct field {self.struct}.{'.'.join(self.stack)}" if self.stack else "value"
        return TypeProblem(self.path, f"json: cannot unmarshal {given} into Go {target} of type {go_type}")


def _find_problems(raw: Any, shape: shapes.Shape, at: _Context, problems: _Problems) -> None:
    if raw is None or isinstance(shape, shapes.AnyShape):
        return
    if isinstance(shape, shapes.StructShape):
        _find_in_struct(raw, shape, at, problems)
    elif isinstance(shape, shapes.EitherShape):
        _find_in_either(raw, shape, at.path, problems)
    elif isinstance(shape, shapes.ListShape):
        if not isinstance(raw, list):
            problems.others.append(at.mismatch(json_type(raw), shape.go_type))
            return
        for i, item in enumerate(raw):
            if len(problems.others) + len(problems.fatal) >= _MAX_PROBLEMS:
                return
            _find_problems(item, shape.item, at._replace(path=f"{at.path}[{i}]"), problems)
    elif isinstance(shape, shapes.MapShape):
        if not isinstance(raw, dict):
            problems.others.append(at.mismatch(json_type(raw), shape.go_type))
            return
        for key, value in raw.items():
            if len(problems.others) + len(problems.fatal) >= _MAX_PROBLEMS:
                return
            _find_problems(value, shape.value, at._replace(path=f"{at.path}[{key}]"), problems)
    else:
        problem = _scalar_problem(raw, shape, at)
        if problem is not None:
            decodes_itself = isinstance(shape, shapes.QuantityShape | shapes.TimeShape | shapes.IntOrStringShape)
            (problems.fatal if decodes_itself else problems.others).append(problem)


def _find_in_struct(raw: Any, shape: shapes.StructShape, at: _Context, problems: _Problems) -> None:
    if not isinstance(raw, dict):
        problems.others.append(at.mismatch(json_type(raw), shape.go_type))
        return
    for name, value in raw.items():
        if name in shape.known:
            embedded = shape.embedded.get(name)
            stack = (*at.stack, name) if embedded is None else (*at.stack, embedded, name)
            context = _Context(child_path(at.path, name), shape.go_name, stack)
            _find_problems(value, shape.field(name), context, problems)


def _find_in_either(raw: Any, shape: shapes.EitherShape, path: str, problems: _Problems) -> None:
    """Find the problems of a type that decodes itself, which restarts with the names of structs and fields."""
    if isinstance(raw, dict | list) and isinstance(shape.chosen(raw), shapes.StructShape | shapes.ListShape):
        inner = _Problems([], [])
        _find_problems(raw, shape.chosen(raw), _Context(path, "", ()), inner)
        problems.fatal.extend((*inner.fatal, *inner.others))
    elif isinstance(shape.other, shapes.ScalarShape) and not isinstance(raw, bool):
        problems.fatal.append(TypeProblem(path, "boolean or JSON schema expected"))


def _scalar_problem(raw: Any, shape: shapes.Shape, at: _Context) -> TypeProblem | None:
    given = json_type(raw)
    if isinstance(shape, shapes.QuantityShape):
        try:
            parse_quantity(_quantity_text(raw))
        except QuantityError as error:
            return TypeProblem(at.path, str(error))
        return None
    if isinstance(shape, shapes.TimeShape | shapes.BytesShape):
        if not isinstance(raw, str):
            return at.mismatch(given, shape.go_type)
        complaint = (
            time_complaint(raw, micro=shape.micro) if isinstance(shape, shapes.TimeShape) else base64_complaint(raw)
        )
        return None if complaint is None else TypeProblem(at.path, complaint)
    if isinstance(shape, shapes.IntOrStringShape) and given == "string":
        return None
    bounds = _INTEGER_BOUNDS.get(shape.go_type)
    if bounds is None:
        expected = {bool: "bool", float: "number"}.get(shape.python_type, "string")
        return None if given == expected else at.mismatch(given, shape.go_type)
    if given != "number":
        return at.mismatch(given, shape.go_type)
    if isinstance(raw, int) and bounds[0] <= raw <= bounds[1]:
        return None
    return at.mismatch(f"number {go_json(raw)}", shape.go_type)
