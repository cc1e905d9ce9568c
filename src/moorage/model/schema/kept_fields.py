"""What the API keeps of a document: the fields it knows, without those that say nothing.

In: a raw document and the view type of its kind. Out: the same document, or, where it has fields that the kind does
not have or fields that are null, one without them, which shares the rest with it. Kubernetes: what is left of a
document when it was decoded into a Go struct and written again. Times that Go writes as null when they are not set
stay.
"""

from typing import Any

from moorage.model.schema.shapes import ListShape, MapShape, Shape, StructShape, struct_shape
from moorage.model.types.view import View

#: Times that are no pointers in Go, where a time that is not set is still there.
_WRITTEN_AS_NULL = frozenset(
    [
        "lastProbeTime",
        "lastTransitionTime",
        "lastHeartbeatTime",
        "lastUpdateTime",
        "startedAt",
        "finishedAt",
        "firstTimestamp",
        "lastTimestamp",
        "eventTime",
        "lastObservedTime",
    ]
)


def kept_part(raw: Any, view: type[View]) -> Any:
    """See the module. What is handed in stays as it is."""
    return _kept(raw, struct_shape(view))


def _kept(raw: Any, shape: Shape) -> Any:
    if isinstance(shape, StructShape):
        return _kept_fields(raw, shape) if isinstance(raw, dict) else raw
    if isinstance(shape, ListShape) and isinstance(raw, list):
        items = [_kept(item, shape.item) for item in raw]
        return items if _differ(items, raw) else raw
    if isinstance(shape, MapShape) and isinstance(raw, dict):
        values = {key: _kept(value, shape.value) for key, value in raw.items()}
        return values if _differ(values.values(), raw.values()) else raw
    return raw


def _kept_fields(raw: dict[str, Any], shape: StructShape) -> dict[str, Any]:
    known, nested = shape.known, shape.nested
    kept: dict[str, Any] = {}
    for name, value in raw.items():
        if name not in known:
            continue
        if value is None:
            if name not in _WRITTEN_AS_NULL:
                continue
        elif name in nested:
            value = _kept(value, nested[name])
        kept[name] = value
    return kept if len(kept) != len(raw) or _differ(kept.values(), raw.values()) else raw


def _differ(new: Any, old: Any) -> bool:
    """Whether any of them is not the same object."""
    return any(one is not other for one, other in zip(new, old, strict=True))
