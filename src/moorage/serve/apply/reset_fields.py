"""List the fields that a write cannot set, and those that never have an owner.

Writes to a resource leave its status alone, and writes to its status leave all else alone, so neither comes to own, or
conflicts about, what it cannot change. Kubernetes: GetResetFields of the strategies in pkg/registry, and
managedfields/internal/stripmeta.
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
    """The fields that a write to this resource cannot set."""
    if not kind.has_status:
        return NOTHING
    return of_paths(*kind.status_resets) if subresource == "status" else _STATUS


def ownable_part(document: Raw, kind: Kind) -> Raw:
    """The part of a new object that its creator can own."""
    unset = ("apiVersion", "kind", "status") if kind.has_status else ("apiVersion", "kind")
    part = {name: value for name, value in document.items() if name not in unset}
    metadata = document.get("metadata")
    if isinstance(metadata, dict):
        part["metadata"] = {name: value for name, value in metadata.items() if name not in UNOWNED_METADATA}
    return part
