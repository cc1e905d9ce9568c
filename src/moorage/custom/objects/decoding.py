"""Custom objects as they are decoded: unknown fields pruned, nulls dropped, metadata of the right types, defaults set.

Kubernetes: unstructuredSchemaCoercer and unstructuredDefaulter of apiextensions-apiserver, pkg/apiserver.
"""

from decimal import Decimal
from typing import Any

from moorage.custom.objects.defaults import apply_defaults, drop_nulls
from moorage.custom.objects.embedded import MalformedError, coerce_embedded, coerce_metadata
from moorage.custom.objects.prune import prune
from moorage.custom.schema.structural import Structural
from moorage.model.go.integers import fits_int64
from moorage.model.schema.conversion import ConversionError

#: Go writes whole floats below this one without an exponent.
_PLAIN_FLOATS = 1e21


def decode_request(obj: dict[str, Any], schema: Structural | None, *, prunes: bool = True) -> list[str]:
    """Make an object of a request what the schema says, in place, and return the paths of its unknown fields.

    Raises MalformedError with the reason for a 400. `prunes` is false for CRDs with preserveUnknownFields.
    """
    return _decode(obj, schema, prunes=prunes, drops=False)


def decode_stored(obj: dict[str, Any], schema: Structural | None, *, prunes: bool = True) -> None:
    """Make a stored object what the schema says now, in place: it may have been written under another one."""
    _decode(obj, schema, prunes=prunes, drops=True)


def decode_metadata(obj: dict[str, Any], *, drops: bool = False) -> list[str]:
    """Make the metadata of an object what it is in Kubernetes, in place; return the paths of its unknown fields."""
    try:
        return coerce_metadata(obj, "", drops=drops)
    except ConversionError as error:
        raise MalformedError(error.problems[0].reason) from None


def _decode(obj: dict[str, Any], schema: Structural | None, *, prunes: bool, drops: bool) -> list[str]:
    unknown = decode_metadata(obj, drops=drops)
    if prunes:
        unknown += prune(obj, schema)
        metadata = obj.get("metadata")
        drop_nulls(obj, schema)
        if metadata is not None:
            obj["metadata"] = metadata
    unknown += coerce_embedded(obj, schema, drops=drops)
    apply_defaults(obj, schema)
    return unknown


def write_as_go(value: Any) -> Any:
    """Return a value with numbers as they come back from the store: 1.0 and 1e2 are written as 1 and 100."""
    if isinstance(value, dict):
        return {name: write_as_go(item) for name, item in value.items()}
    if isinstance(value, list):
        return [write_as_go(item) for item in value]
    if isinstance(value, float):
        is_plain = value.is_integer() and abs(value) < _PLAIN_FLOATS
        return int(Decimal(repr(value))) if is_plain else value
    if isinstance(value, int) and not fits_int64(value):
        return write_as_go(float(value))
    return value
