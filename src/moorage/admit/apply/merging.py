"""Merge an applied document into an object: fields by name, elements of lists by their keys or values.

Kubernetes: structured-merge-diff, typed/merge.
"""

from typing import Any

from moorage.admit.apply.ownership_schema import FieldOwnershipSchema
from moorage.model.api_error import Raw

ABSENT: Any = object()


def merge(live: Any, applied: Any, schema: FieldOwnershipSchema) -> Any:
    """Return the merged value; ABSENT stands for a missing side. Parts of either may be shared with the result."""
    if _has_parts(live) or _has_parts(applied):
        if schema.divides_maps and _may_be(live, dict) and _may_be(applied, dict):
            return _merge_maps(_parts(live, {}), _parts(applied, {}), schema)
        if schema.divides_lists and _may_be(live, list) and _may_be(applied, list):
            return _merge_lists(_parts(live, []), _parts(applied, []), schema)
    return live if applied is ABSENT else applied


def _may_be(value: Any, kind: type) -> bool:
    return value is ABSENT or value is None or isinstance(value, kind)


def _has_parts(value: Any) -> bool:
    return value is not ABSENT and bool(value)


def _parts(value: Any, empty: Any) -> Any:
    return value if _has_parts(value) else empty


def _merge_maps(live: Raw, applied: Raw, schema: FieldOwnershipSchema) -> Any:
    merged = dict(live)
    for name, value in applied.items():
        merged[name] = merge(live.get(name, ABSENT), value, schema.child(name))
    return merged


def _merge_lists(live: list[Any], applied: list[Any], schema: FieldOwnershipSchema) -> Any:
    wanted = {schema.item_element(item): item for item in applied}
    present: dict[str, Any] = {}
    lived: list[tuple[str, Any]] = []
    for item in live:
        element = schema.item_element(item)
        present[element] = None if element in present else item  # of two with one name, neither is merged into
        lived.append((element, item))
    order = list(wanted)
    shared = [element for element in order if element in present]
    shared_at = 0
    merged: list[Any] = []
    done: set[str] = set()
    at = to = 0

    def take(element: str) -> None:
        done.add(element)
        merged.append(merge(present.get(element, ABSENT), wanted[element], schema.element))

    while at < len(lived) or to < len(order):
        if at < len(lived) and to < len(order):
            element = lived[at][0]
            if element == order[to]:
                take(element)
                at, to, shared_at = at + 1, to + 1, shared_at + 1
                continue
            if element in wanted and shared_at < len(shared) and shared[shared_at] != element:
                at += 1  # it has its turn where what is applied has it
                continue
        if at < len(lived):
            element, item = lived[at]
            if element not in wanted:
                merged.append(item)
                at += 1
                continue
            if element in done:
                at += 1
        if to < len(order):
            element = order[to]
            take(element)
            to += 1
            if shared_at < len(shared) and shared[shared_at] == element:
                shared_at += 1
    return merged
