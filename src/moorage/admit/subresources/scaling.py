"""Read and write the replicas of workloads as a Scale.

Kubernetes: ScaleREST of pkg/registry/apps/*/storage and ValidateScale.
"""

from dataclasses import replace
from typing import Any

from moorage.admit.kinds.fields import validate_not_negative
from moorage.admit.messages.rejections import invalid_status, read_request
from moorage.admit.metadata import validate_object_meta
from moorage.admit.raw import Raw
from moorage.match.label_selector import as_label_selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.api_error import ApiError, bad_request, conflict
from moorage.model.kinds import SCALE, Kind, view_of
from moorage.model.schema.conversion import ConversionError
from moorage.model.types.request import Scale

_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def render_scale(workload: Raw) -> Raw:
    """Return the Scale of a workload. Raises ApiError if its selector cannot be read."""
    metadata, spec = workload["metadata"], workload.get("spec") or {}
    try:
        view: Any = view_of(workload)
        selector = str(compile_label_selector(as_label_selector(view.spec.selector)))
    except (SelectorError, ConversionError) as error:
        raise bad_request(str(error)) from None
    return scale_document(metadata, spec.get("replicas"), (workload.get("status") or {}).get("replicas") or 0, selector)


def scale_document(metadata: Raw, replicas: int | None, status: int, selector: str) -> Raw:
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in _SHOWN if metadata.get(name) is not None},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {
            "replicas": status,
            **({"selector": selector} if selector else {}),
        },
    }


def apply_scale(kind: Kind, workload: Raw, document: Raw) -> Raw:
    """Return the workload with the replicas of a Scale, and with its resourceVersion, if it insists on one."""
    scale, kept = read_scale(kind, workload, document)
    return {**workload, "metadata": kept, "spec": {**(workload.get("spec") or {}), "replicas": scale.spec.replicas}}


def read_scale(kind: Kind, workload: Raw, document: Raw, *, validates: bool = True) -> tuple[Scale, Raw]:
    """Return a Scale that is written to an object, and the object's metadata after that. Raises ApiError.

    Without `validates` what the Scale says is left to the validation of the object.
    """
    scale: Scale = read_request(SCALE, document)
    metadata = workload["metadata"]
    errors = [
        *validate_object_meta(scale.metadata, "metadata"),
        *validate_not_negative(scale.spec.replicas, "spec.replicas"),
    ]
    if errors and validates:
        raise ApiError(invalid_status(SCALE, metadata["name"], errors))
    if scale.metadata.uid and scale.metadata.uid != metadata.get("uid"):
        text = (
            f"Precondition failed: UID in precondition: {scale.metadata.uid}, "
            f"UID in object meta: {metadata.get('uid') or ''}"
        )
        raise conflict(replace(kind, plural=f"{kind.plural}/scale"), metadata["name"], text)
    kept = dict(metadata)
    kept.pop("resourceVersion", None)
    if scale.metadata.resourceVersion:
        kept["resourceVersion"] = scale.metadata.resourceVersion
    return scale, kept
