"""Apply a JSON merge patch: members replace members, null removes, lists are replaced whole.

Kubernetes: RFC 7386 as evanphx/json-patch does it: nulls inside of new values are dropped, nulls inside of a list that
replaces an object are not.
"""

from typing import Any

from moorage.serve.patch.patch_error import BAD_REQUEST, PatchError, json_type_name, too_deep

Raw = dict[str, Any]


def apply_merge_patch(document: Raw, patch: Any) -> Raw:
    if patch is None:
        raise PatchError("Invalid JSON Patch", BAD_REQUEST)
    if not isinstance(patch, dict):
        what = f"json: cannot unmarshal {json_type_name(patch)} into Go value of type map[string]interface {{}}"
        raise PatchError(f"error decoding patch: {what}", BAD_REQUEST)
    try:
        return _merge_objects(document, patch)
    except RecursionError:
        raise too_deep() from None


def _merge_objects(document: Raw, patch: Raw) -> Raw:
    merged = dict(document)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            current = merged.get(name)
            if not isinstance(current, dict):
                merged[name] = without_nulls(value)
            elif isinstance(value, dict):
                merged[name] = _merge_objects(current, value)
            else:
                merged[name] = value
    return merged


def without_nulls(value: Any) -> Any:
    """The value without members that are null; a null in a list is an element and stays."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
