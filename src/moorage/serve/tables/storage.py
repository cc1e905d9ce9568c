"""The tables of volumes, claims and what storage drivers report.

In: raw objects. Out: cells. Kubernetes: printPersistentVolume and its neighbours.
"""

from typing import Any

from moorage.model.quantity import parse_quantity
from moorage.serve.tables.ages import Ages
from moorage.serve.tables.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    WIDE,
    Cells,
    Raw,
    TableFacts,
    age_of,
    column,
    name_of,
    part,
)

_MODES = (("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP"))
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")

_VOLUME_MODE = column("VolumeMode", "string", "Whether there is a file system on it, or a raw device.", WIDE)
_ATTRIBUTES = column("VolumeAttributesClass", "string", "The class of its changeable attributes.")
_CLASS = column("StorageClass", "string", "The storage class it belongs to.")
_ACCESS = column("Access Modes", "string", "How many nodes or pods may read and write it at once.")


def _access_modes(modes: Any) -> str:
    return ",".join(short for mode, short in _MODES if mode in (modes or ()))


def _amount(amounts: Raw) -> str:
    return str(parse_quantity(str(amounts.get("storage", "0"))))


def _class(raw: Raw, spec: Raw) -> str:
    annotations = part(raw["metadata"], "annotations")
    return str(annotations[_OLD_CLASS]) if _OLD_CLASS in annotations else spec.get("storageClassName") or ""


def _phase(raw: Raw) -> str:
    return "Terminating" if raw["metadata"].get("deletionTimestamp") else part(raw, "status").get("phase") or ""


def _or_unset(value: Any) -> Any:
    return UNSET if value is None else value


def _volume_cells(raw: Raw, ages: Ages) -> Cells:
    spec, status = part(raw, "spec"), part(raw, "status")
    claim = spec.get("claimRef")
    return [
        name_of(raw),
        _amount(part(spec, "capacity")),
        _access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy") or "",
        _phase(raw),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else "",
        _class(raw, spec),
        _or_unset(spec.get("volumeAttributesClassName")),
        status.get("reason") or "",
        age_of(raw, ages),
        _or_unset(spec.get("volumeMode")),
    ]


PERSISTENT_VOLUMES = TableFacts(
    (
        NAME,
        column("Capacity", "string", "How large the volume is."),
        _ACCESS,
        column("Reclaim Policy", "string", "What becomes of the volume when its claim is gone."),
        column("Status", "string", "Whether the volume is free, claimed or released."),
        column("Claim", "string", "The claim that has the volume, or is to have it."),
        _CLASS,
        _ATTRIBUTES,
        column("Reason", "string", "Why the volume is in the state it is in."),
        AGE,
        _VOLUME_MODE,
    ),
    _volume_cells,
)


def _claim_cells(raw: Raw, ages: Ages) -> Cells:
    spec, status = part(raw, "spec"), part(raw, "status")
    volume = spec.get("volumeName") or ""
    return [
        name_of(raw),
        _phase(raw),
        volume,
        _amount(part(status, "capacity")) if volume else "",
        _access_modes(status.get("accessModes")) if volume else "",
        _class(raw, spec),
        _or_unset(spec.get("volumeAttributesClassName")),
        age_of(raw, ages),
        _or_unset(spec.get("volumeMode")),
    ]


PERSISTENT_VOLUME_CLAIMS = TableFacts(
    (
        NAME,
        column("Status", "string", "Whether the claim has a volume."),
        column("Volume", "string", "The volume that the claim has."),
        column("Capacity", "string", "How large that volume is."),
        _ACCESS,
        _CLASS,
        _ATTRIBUTES,
        AGE,
        _VOLUME_MODE,
    ),
    _claim_cells,
)


def _storage_class_cells(raw: Raw, ages: Ages) -> Cells:
    annotations = part(raw["metadata"], "annotations")
    default = any(annotations.get(annotation) == "true" for annotation in _DEFAULT_CLASS)
    return [
        f"{name_of(raw)} (default)" if default else name_of(raw),
        raw.get("provisioner") or "",
        raw.get("reclaimPolicy") or "Delete",
        raw.get("volumeBindingMode") or "Immediate",
        bool(raw.get("allowVolumeExpansion")),
        age_of(raw, ages),
    ]


STORAGE_CLASSES = TableFacts(
    (
        NAME,
        column("Provisioner", "string", "Who makes the volumes of this class."),
        column("ReclaimPolicy", "string", "What becomes of its volumes when their claim is gone."),
        column("VolumeBindingMode", "string", "Whether volumes are made at once, or where the first pod is placed."),
        column("AllowVolumeExpansion", "string", "Whether its volumes can grow."),
        AGE,
    ),
    _storage_class_cells,
)


def _attachment_cells(raw: Raw, ages: Ages) -> Cells:
    spec = part(raw, "spec")
    return [
        name_of(raw),
        spec.get("attacher") or "",
        part(spec, "source").get("persistentVolumeName") or "",
        spec.get("nodeName") or "",
        bool(part(raw, "status").get("attached")),
        age_of(raw, ages),
    ]


VOLUME_ATTACHMENTS = TableFacts(
    (
        NAME,
        column("Attacher", "string", "The driver that attaches the volume.", form="name"),
        column("PV", "string", "The volume."),
        column("Node", "string", "The node that the volume is attached to."),
        column("Attached", "boolean", "Whether it is attached."),
        AGE,
    ),
    _attachment_cells,
)


def _driver_cells(raw: Raw, ages: Ages) -> Cells:
    spec = part(raw, "spec")
    tokens, attach = spec.get("tokenRequests"), spec.get("attachRequired")
    return [
        name_of(raw),
        attach is None or bool(attach),
        bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")),
        UNSET if tokens is None else ",".join(token.get("audience", "") for token in tokens),
        bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE,
        age_of(raw, ages),
    ]


CSI_DRIVERS = TableFacts(
    (
        NAME,
        column("AttachRequired", "boolean", "Whether its volumes must be attached before they are mounted."),
        column("PodInfoOnMount", "boolean", "Whether it is told of the pod when it mounts."),
        column("StorageCapacity", "boolean", "Whether it reports how much room there is where."),
        column("TokenRequests", "string", "For whom it wants tokens of the pod's service account."),
        column("RequiresRepublish", "boolean", "Whether it wants to be called again and again while mounted."),
        column("Modes", "string", "Which kinds of volumes it can make."),
        AGE,
    ),
    _driver_cells,
)


def _capacity_cells(raw: Raw, ages: Ages) -> Cells:
    capacity = raw.get("capacity")
    return [
        name_of(raw),
        raw.get("storageClassName") or "",
        UNSET if capacity is None else str(parse_quantity(str(capacity))),
    ]


CSI_STORAGE_CAPACITIES = TableFacts(
    (
        NAME,
        column("StorageClassName", "string", "The storage class for which there is room."),
        column("Capacity", "string", "How much room there is."),
    ),
    _capacity_cells,
)
