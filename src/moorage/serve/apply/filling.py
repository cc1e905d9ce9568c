"""Convert documents to what Go writes of the API server's own objects, and back.

`filled` adds what Go always writes (`resources: {}`) and removes what it never does (`hostNetwork: false`), so that
server-side apply compares what upstream compares. What it adds is marked by its type, and `emptied` removes it again.
Kubernetes: what Go's JSON encoder makes of k8s.io/api.
"""

from typing import Any

from moorage.serve.apply.ownership_schema import FieldOwnershipSchema

Raw = dict[str, Any]


class _FilledObject(dict[str, Any]):
    """An object that was filled in."""


class _FilledText(str):
    """A text that was filled in."""


class _FilledNumber(int):
    """A number that was filled in, or false."""


_FILLED = (_FilledObject, _FilledText, _FilledNumber)
_ZEROS = {"string": _FilledText(), "integer": _FilledNumber(), "number": _FilledNumber(), "boolean": _FilledNumber()}


def filled(value: Any, schema: FieldOwnershipSchema) -> Any:
    """The value with all that Go always writes, without what it leaves out. No map of the API has structs in it."""
    if isinstance(value, dict) and schema.is_struct and schema.divides_maps:
        unset = schema.never_empty
        present = {
            name: filled(item, schema.child(name))
            for name, item in value.items()
            if item or (item is not None and name not in unset)
        }
        for name in schema.always_written:
            if name not in present:
                present[name] = _zero(name, schema)
        return present
    if isinstance(value, list) and schema.element.is_struct:
        return [filled(item, schema.element) for item in value]
    return value


def _zero(name: str, schema: FieldOwnershipSchema) -> Any:
    child = schema.child(name)
    if child.is_struct:
        return _FilledObject(filled({}, child)) if name in schema.empty_by_default else None
    return _ZEROS.get(child.json_type) if name in schema.empty_by_default else None


def emptied(value: Any, schema: FieldOwnershipSchema) -> Any:
    """The value without what was filled in, without nulls and what Go leaves out."""
    if isinstance(value, dict) and schema.is_struct and schema.divides_maps:
        unset = schema.never_empty
        return {
            name: emptied(item, schema.child(name))
            for name, item in value.items()
            if not isinstance(item, _FILLED) and (item or (item is not None and name not in unset))
        }
    if isinstance(value, list) and schema.element.is_struct:
        return [emptied(item, schema.element) for item in value]
    return value
