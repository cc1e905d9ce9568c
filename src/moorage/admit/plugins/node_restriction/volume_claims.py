"""Check what a node writes into the status of a PersistentVolumeClaim: sizes and conditions, and nothing else.

Kubernetes: admitPVCStatus of the NodeRestriction plugin. Differs: the refusal names the fields that differ, where
Kubernetes prints a difference of Go structs.
"""

from typing import Any

import msgspec

from moorage.admit.attributes import Write
from moorage.admit.raw import Raw, copy_document
from moorage.admit.registry import row_of
from moorage.model.go.quoting import go_quote
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.storage import PersistentVolumeClaim

#: What a node reports.
_OWN: dict[str, Any] = {"capacity": {}, "conditions": (), "allocatedResourceStatuses": {}, "allocatedResources": {}}
_replace = msgspec.structs.replace


def check_volume_claim_status(node: str, write: Write) -> None:
    """Raise ApiError 403 if an update of the status changes more than a node may."""
    if write.new is None or write.old is None:
        return
    try:
        new, old = _compared(write, write.new), _compared(write, write.old)
    except ConversionError:
        return  # which is refused for its types
    if new == old:
        return
    only = "is not allowed to update fields other than status.quantity and status.conditions"
    raise write.refused(f"node {go_quote(node)} {only}: {', '.join(_differing(old, new))}")


def _compared(write: Write, document: Raw) -> PersistentVolumeClaim:
    """Return what a node may not change of a claim."""
    document = copy_document(document)
    row_of(write.kind).default(document)
    claim: PersistentVolumeClaim = convert_view(document, PersistentVolumeClaim)
    metadata = _replace(claim.metadata, resourceVersion="", managedFields=())
    return _replace(claim, metadata=metadata, status=_replace(claim.status, **_OWN))


def _differing(old: Any, new: Any) -> list[str]:
    """Return the paths of the fields that differ, down to the fields of metadata, spec and status."""
    return [
        f"{part}.{field}"
        for part in ("metadata", "spec", "status")
        for field in getattr(old, part).__struct_fields__
        if getattr(getattr(old, part), field) != getattr(getattr(new, part), field)
    ]
