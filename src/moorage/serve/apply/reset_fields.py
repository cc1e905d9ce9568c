"""Which fields a write to a resource cannot set, whatever it says, and which no writer is ever said to own.

In: a kind and a subresource. Out: sets of fields. Writes to a resource leave its status alone, and writes to its
status leave all else alone, so neither side may come to own, or conflict about, what it cannot change. Kubernetes:
GetResetFields of the strategies in pkg/registry, and managedfields/internal/stripmeta.
"""

from functools import cache
from typing import Any, Final

from moorage.model.kinds import Kind
from moorage.serve.apply.field_set import NOTHING, Fields, of_paths

Raw = dict[str, Any]

#: What identifies an object or is kept by the API server.
UNOWNED_METADATA: Final = frozenset(
    {
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    }
)
NEVER_OWNED: Final = of_paths(
    ("apiVersion",), ("kind",), ("metadata",), *(("metadata", name) for name in sorted(UNOWNED_METADATA))
)

_STATUS = of_paths(("status",))


@cache
def reset_fields(kind: Kind, subresource: str) -> Fields:
    """What a write to this resource has no say in."""
    if not kind.has_status:
        return NOTHING
    return of_paths(*kind.status_resets) if subresource == "status" else _STATUS


def ownable_part(document: Raw, kind: Kind) -> Raw:
    """What of a new object its creator can own: the same as both sets above say, for a whole document at once."""
    unset = ("apiVersion", "kind", "status") if kind.has_status else ("apiVersion", "kind")
    part = {name: value for name, value in document.items() if name not in unset}
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        part["metadata"] = {name: value for name, value in metadata.items() if name not in UNOWNED_METADATA}
    return part
