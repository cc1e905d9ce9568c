"""The tables of volumes, claims and what storage drivers report.

Kubernetes: printPersistentVolume and its neighbours.
"""

from typing import Any

from moorage.model.quantity import parse_quantity
from moorage.serve.tables.columns import (
    AGE,
    BOOLEAN,
    INTEGER,
    NAME,
    NONE,
    UNSET,
    Column,
    Raw,
    Row,
    Tables,
    field,
    name_of,
    part,
    table,
    wide,
)

TABLES: Tables = {}

_MODES = (("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP"))
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_ACCESS = "How many nodes or pods may read and write it at once."


def _access_modes(modes: Any) -> str:
    return ",".join(short for mode, short in _MODES if mode in (modes or ()))


def _amount(amounts: Raw) -> str:
    return str(parse_quantity(str(amounts.get("storage", "0"))))


def _class(row: Row) -> str:
    annotations = part(row.raw["metadata"], "annotations")
    return str(annotations[_OLD_CLASS]) if _OLD_CLASS in annotations else row.spec.get("storageClassName") or ""


def _phase(row: Row) -> str:
    return "Terminating" if row.raw["metadata"].get("deletionTimestamp") else row.status.get("phase") or ""


def _claim(row: Row) -> str:
    claim = row.spec.get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim is not None else ""


_VOLUME_MODE = wide(
    "VolumeMode",
    "Whether there is a file system on it, or a raw device.",
    field("spec.volumeMode", UNSET, empty_counts=True),
)
_ATTRIBUTES = Column(
    "VolumeAttributesClass",
    "The class of its changeable attributes.",
    field("spec.volumeAttributesClassName", UNSET, empty_counts=True),
)
_CLASS = Column("StorageClass", "The storage class it belongs to.", _class)

TABLES["v1", "PersistentVolume"] = table(
    NAME,
    Column("Capacity", "How large the volume is.", lambda row: _amount(part(row.spec, "capacity"))),
    Column("Access Modes", _ACCESS, lambda row: _access_modes(row.spec.get("accessModes"))),
    Column(
        "Reclaim Policy",
        "What becomes of the volume when its claim is gone.",
        field("spec.persistentVolumeReclaimPolicy"),
    ),
    Column("Status", "Whether the volume is free, claimed or released.", _phase),
    Column("Claim", "The claim that has the volume, or is to have it.", _claim),
    _CLASS,
    _ATTRIBUTES,
    Column("Reason", "Why the volume is in the state it is in.", field("status.reason")),
    AGE,
    _VOLUME_MODE,
)


def _claim_capacity(row: Row) -> str:
    return _amount(part(row.status, "capacity")) if row.spec.get("volumeName") else ""


def _claim_modes(row: Row) -> str:
    return _access_modes(row.status.get("accessModes")) if row.spec.get("volumeName") else ""


TABLES["v1", "PersistentVolumeClaim"] = table(
    NAME,
    Column("Status", "Whether the claim has a volume.", _phase),
    Column("Volume", "The volume that the claim has.", field("spec.volumeName")),
    Column("Capacity", "How large that volume is.", _claim_capacity),
    Column("Access Modes", _ACCESS, _claim_modes),
    _CLASS,
    _ATTRIBUTES,
    AGE,
    _VOLUME_MODE,
)


def _class_name(row: Row) -> str:
    annotations = part(row.raw["metadata"], "annotations")
    is_default = any(annotations.get(annotation) == "true" for annotation in _DEFAULT_CLASS)
    return f"{name_of(row.raw)} (default)" if is_default else name_of(row.raw)


TABLES["storage.k8s.io/v1", "StorageClass"] = table(
    NAME._replace(cell=_class_name),
    Column("Provisioner", "Who makes the volumes of this class.", field("provisioner")),
    Column("ReclaimPolicy", "What becomes of its volumes when their claim is gone.", field("reclaimPolicy", "Delete")),
    Column(
        "VolumeBindingMode",
        "Whether volumes are made at once, or where the first pod is placed.",
        field("volumeBindingMode", "Immediate"),
    ),
    Column("AllowVolumeExpansion", "Whether its volumes can grow.", field("allowVolumeExpansion", False)),
    AGE,
)
TABLES["storage.k8s.io/v1", "VolumeAttachment"] = table(
    NAME,
    Column("Attacher", "The driver that attaches the volume.", field("spec.attacher"), format="name"),
    Column("PV", "The volume.", field("spec.source.persistentVolumeName")),
    Column("Node", "The node that the volume is attached to.", field("spec.nodeName")),
    Column("Attached", "Whether it is attached.", field("status.attached", False), BOOLEAN),
    AGE,
)


def _tokens(row: Row) -> str:
    tokens = row.spec.get("tokenRequests")
    return UNSET if tokens is None else ",".join(token.get("audience", "") for token in tokens)


TABLES["storage.k8s.io/v1", "CSIDriver"] = table(
    NAME,
    Column(
        "AttachRequired",
        "Whether its volumes must be attached before they are mounted.",
        lambda row: row.spec.get("attachRequired") is not False,
        BOOLEAN,
    ),
    Column(
        "PodInfoOnMount", "Whether it is told of the pod when it mounts.", field("spec.podInfoOnMount", False), BOOLEAN
    ),
    Column(
        "StorageCapacity",
        "Whether it reports how much room there is where.",
        field("spec.storageCapacity", False),
        BOOLEAN,
    ),
    Column("TokenRequests", "For whom it wants tokens of the pod's service account.", _tokens),
    Column(
        "RequiresRepublish",
        "Whether it wants to be called again and again while mounted.",
        field("spec.requiresRepublish", False),
        BOOLEAN,
    ),
    Column(
        "Modes",
        "Which kinds of volumes it can make.",
        lambda row: ",".join(row.spec.get("volumeLifecycleModes") or ()) or NONE,
    ),
    AGE,
)


def _capacity(row: Row) -> str:
    capacity = row.raw.get("capacity")
    return UNSET if capacity is None else str(parse_quantity(str(capacity)))


TABLES["storage.k8s.io/v1", "CSIStorageCapacity"] = table(
    NAME,
    Column("StorageClassName", "The storage class for which there is room.", field("storageClassName")),
    Column("Capacity", "How much room there is.", _capacity),
)
TABLES["storage.k8s.io/v1", "CSINode"] = table(
    NAME,
    Column(
        "Drivers",
        "How many storage drivers are registered on the node.",
        lambda row: len(row.spec.get("drivers") or ()),
        INTEGER,
    ),
    AGE,
)
