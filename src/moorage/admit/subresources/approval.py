"""Approve or deny a CertificateSigningRequest: conditions alone are changed.

Kubernetes: csrApprovalStrategy.
"""

from collections.abc import Callable
from typing import Final

from moorage.admit.admission import Admitted, Rejected
from moorage.admit.kinds.api_server.certificates import stamp_conditions, validate_approval
from moorage.admit.raw import Raw, copy_document
from moorage.model.kinds import KINDS
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.request import CertificateSigningRequest

APPROVAL: Final = "approval"


def admit_approval(new: Raw, old: Raw, now: str, own: Callable[[Raw], object] | None) -> Admitted | Rejected:
    """Admit an update of the approval. `own` writes the field owners."""
    name = str(old["metadata"].get("name"))
    try:
        convert_view(new, CertificateSigningRequest)
        raw = {**copy_document(new), "spec": old.get("spec") or {}}
        status = dict(old.get("status") or {})
        conditions = (raw.get("status") or {}).get("conditions")
        raw["status"] = {**status, "conditions": conditions or []}
        stamp_conditions(raw, old, now)
        if own is not None:
            own(raw)
        view, old_view = (convert_view(one, CertificateSigningRequest) for one in (raw, old))
    except ConversionError as error:
        return Rejected(KINDS.CERTIFICATE_SIGNING_REQUEST, name, problems=error.problems)
    errors = tuple(validate_approval(view, old_view))
    return (
        Rejected(KINDS.CERTIFICATE_SIGNING_REQUEST, name, errors, object=raw, view=view)
        if errors
        else Admitted(raw, view)
    )
