"""Admit writes to the status, approval and finalize subresources: they change nothing but their part of the object.

The admitted object shares its parts with the two that were handed in, none of which is changed. Kubernetes: the status
strategies of pkg/registry, csrApprovalStrategy. What of the metadata a status update may change differs by kind, as
there.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from moorage.admit.admission import Admitted, Rejected, common_errors
from moorage.admit.kinds import cluster
from moorage.admit.kinds.api_server.certificates import stamp_conditions, validate_approval
from moorage.admit.kinds.devices.claim_rights import AuthorizeChange
from moorage.admit.kinds.row import NamespaceLabels, validate_only_metadata
from moorage.admit.raw import Raw, copy_document
from moorage.admit.registry import row_of
from moorage.admit.request import ANY_REQUEST, complete_metadata
from moorage.admit.subresources.statuses import complete_pod_status, drop_disabled_claim_statuses
from moorage.model.gates import GateSet
from moorage.model.kinds import KINDS, Kind, kind_of, view_of
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.request import CertificateSigningRequest

#: What a status update leaves alone where a kind's row says all metadata.
_ALL_METADATA = ("selfLink", "labels", "annotations", "finalizers", "ownerReferences")
_NEVER_PROBED: Raw = {"lastProbeTime": None}


def _kept_metadata(kind: Kind) -> list[str]:
    paths = kind.status_resets
    kept = [path[1] for path in paths if path[0] == "metadata" and len(path) > 1]
    return [*kept, *_ALL_METADATA] if ("metadata",) in paths else kept


def admit_status(
    new: Raw,
    old: Raw,
    gates: GateSet,
    *,
    now: str = "",
    old_view: Any = None,
    namespace_labels: NamespaceLabels | None = None,
    authorize: AuthorizeChange | None = None,
) -> Admitted | Rejected:
    """Admit a write to the status. `old_view` spares reading `old`; `now` is when a volume changed its phase.

    `authorize` says what the requester may not change.
    """
    kind = kind_of(new)
    row = None if kind is None else row_of(kind)
    if kind is None or row is None or row.validate_status is None:
        raise ValueError(f"{new.get('apiVersion')} {new.get('kind')} has no status subresource")
    try:
        read = view_of({name: part for name, part in new.items() if name != "spec"})
        if new.get("spec") != old.get("spec"):
            view_of(new)  # the server reads all of it, also what it goes on to ignore
        if old_view is None:
            old_view = view_of(old)
        raw = _prepared(new, old, kind, now, gates)
        view = _view(raw, new, old, read, old_view)
    except ConversionError as error:
        return Rejected(kind, _name(old), problems=error.problems)
    errors = tuple(row.validate_status(view, old_view, gates))
    errors = (*common_errors(view, old_view, kind, row, errors), *errors)
    if authorize is not None:
        errors = (*authorize(view, old_view), *errors)
    if row.authorize_status is not None and namespace_labels is not None:
        errors = (*row.authorize_status(view, old_view, namespace_labels), *errors)
    if errors:
        return Rejected(kind, _name(old), errors, object=raw, view=view)
    if kind.name == "Pod":
        _write_probe_times(raw["status"])
    return Admitted(raw, view)


def _write_probe_times(status: Raw) -> None:
    """Add the time of each condition that Go writes as null when it is not set."""
    if isinstance(conditions := status.get("conditions"), list):
        status["conditions"] = [
            condition if "lastProbeTime" in condition else {**condition, **_NEVER_PROBED} for condition in conditions
        ]


def _prepared(new: Raw, old: Raw, kind: Kind, now: str, gates: GateSet) -> Raw:
    """Return the object to be stored: the old one's spec, the new one's status, and metadata of both."""
    metadata = dict(new.get("metadata") or {})
    complete_metadata({"metadata": metadata}, old, ANY_REQUEST, namespaced=kind.namespaced)
    old_metadata = old.get("metadata") or {}
    for name in _kept_metadata(kind):
        metadata.pop(name, None)
        if name in old_metadata:
            metadata[name] = old_metadata[name]
    raw = {**new, "metadata": metadata}
    raw.pop("spec", None)
    if "spec" in old:
        raw["spec"] = old["spec"]
    status = new.get("status") or {}
    if kind.name == "Pod":
        before = old.get("status") or {}
        raw["status"] = complete_pod_status(status, before)
        drop_disabled_claim_statuses(raw["status"], before, gates)
        return raw
    raw["status"] = copy_document(status)
    if kind.name == "Node" and (old.get("status") or {}).get("config") is None:
        raw["status"].pop("config", None)
    if kind.name == "PersistentVolume":
        _note_phase(raw["status"], old.get("status") or {}, now)
    row = row_of(kind)
    if row.default_status is not None:
        row.default_status(raw)
    elif kind.template is None:
        # Defaults of a status are few, and no kind with a pod template has any.
        raw["spec"] = copy_document(raw.get("spec") or {})
        row.default(raw)
    row.prepare_status(raw, old, gates)
    if row.stamp_status is not None:
        row.stamp_status(raw, old, now)
    return raw


def _note_phase(status: Raw, old: Raw, now: str) -> None:
    given, before = status.get("lastPhaseTransitionTime"), old.get("lastPhaseTransitionTime")
    if status.get("phase") == old.get("phase"):
        if given is None and before is not None:
            status["lastPhaseTransitionTime"] = before
    elif now and (given is None or given == before):
        status["lastPhaseTransitionTime"] = now


def _view(raw: Raw, new: Raw, old: Raw, read: Any, old_view: Any) -> Any:
    """Return the view of the new object, for which nothing is read twice: `read` is the new one's, without its spec."""
    if raw.get("spec") is not old.get("spec"):
        return view_of(raw)
    if raw["metadata"] != new.get("metadata") or raw["status"] != new.get("status"):
        read = view_of({name: part for name, part in raw.items() if name != "spec"})
    return msgspec.structs.replace(read, spec=old_view.spec)


def finalize_namespace(new: Raw, old: Raw, gates: GateSet) -> Admitted | Rejected:
    """Admit a write to a namespace's finalize subresource: only `spec.finalizers` and metadata change."""
    kind = kind_of(old)
    if kind is None or kind.name != "Namespace":
        raise ValueError("only namespaces are finalized")
    metadata = dict(new.get("metadata") or {})
    complete_metadata({"metadata": metadata}, old, ANY_REQUEST, namespaced=False)
    raw = {**new, "metadata": metadata, "status": old.get("status") or {}}
    try:
        view, old_view = view_of(raw), view_of(old)
    except ConversionError as error:
        return Rejected(kind, _name(old), problems=error.problems)
    errors = (*validate_only_metadata(view, old_view), *cluster.validate_namespace_finalizers(view))  # type: ignore[arg-type]
    if errors:
        return Rejected(kind, _name(old), errors, object=raw, view=view)
    return Admitted(raw, view)


def _name(raw: Raw) -> str:
    return str((raw.get("metadata") or {}).get("name") or "")


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
