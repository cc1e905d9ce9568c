"""Documents as the API server's own objects, which are Go structs, and back.

In: a document. Out: the same, completed by what Go always writes (`resources: {}`) and without what it never does
(`hostNetwork: false`), so that server-side apply compares what upstream compares. What was filled in is marked by its
type; `emptied` finds the marks that are left after merging and takes them out again, so that no document gets fields
that nobody wrote. Kubernetes: what Go's JSON encoder makes of k8s.io/api.
"""

from typing import Any

from moorage.serve.apply.ownership_schema import FieldOwnershipSchema

Raw = dict[str, Any]


class _FilledObject(dict[str, Any]):
    """An object that nobody wrote."""


class _FilledText(str):
    """Text that nobody wrote."""


class _FilledNumber(int):
    """A number that nobody wrote, or false."""


_FILLED = (_FilledObject, _FilledText, _FilledNumber)
_ZEROS = {"string": _FilledText(), "integer": _FilledNumber(), "number": _FilledNumber(), "boolean": _FilledNumber()}


def filled(value: Any, grain: FieldOwnershipSchema) -> Any:
    """The value with all that Go always writes, without what it leaves out. No map of the API has structs in it."""
    if isinstance(value, dict) and grain.is_struct and grain.divides_maps:
        unset = grain.never_empty
        present = {
            name: filled(item, grain.child(name))
            for name, item in value.items()
            if item or (item is not None and name not in unset)
        }
        for name in grain.always_written:
            if name not in present:
                present[name] = _zero(name, grain)
        return present
    if isinstance(value, list) and grain.element.is_struct:
        return [filled(item, grain.element) for item in value]
    return value


def _zero(name: str, grain: FieldOwnershipSchema) -> Any:
    child = grain.child(name)
    if child.is_struct:
        return _FilledObject(filled({}, child)) if name in grain.empty_by_default else None
    return _ZEROS.get(child.json_type) if name in grain.empty_by_default else None


def emptied(value: Any, grain: FieldOwnershipSchema) -> Any:
    """The value without what was filled in, without nulls and what Go leaves out."""
    if isinstance(value, dict) and grain.is_struct and grain.divides_maps:
        unset = grain.never_empty
        return {
            name: emptied(item, grain.child(name))
            for name, item in value.items()
            if not isinstance(item, _FILLED) and (item or (item is not None and name not in unset))
        }
    if isinstance(value, list) and grain.element.is_struct:
        return [emptied(item, grain.element) for item in value]
    return value
