"""Define the tables of nodes, of storage, of kinds with little to show, and of events.

Kubernetes: printNode, printPersistentVolume and their neighbours; printEvent, which sees both versions converted.
"""

from typing import Any

from moorage.model.quantity import parse_quantity
from moorage.model.well_known.annotations import BETA_DEFAULT_STORAGE_CLASS, BETA_STORAGE_CLASS, DEFAULT_STORAGE_CLASS
from moorage.serve.resources.objects import to_core
from moorage.serve.tables.columns import (
    AGE,
    BOOLEAN,
    INTEGER,
    NAME,
    NAME_AND_AGE,
    NONE,
    UNKNOWN,
    UNSET,
    Ages,
    Cell,
    Cells,
    Column,
    Raw,
    Row,
    Table,
    Tables,
    condition_status,
    definitions,
    field,
    labels_cell,
    name_of,
    part,
    table,
    wide,
)

TABLES: Tables = {}

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _node_status(row: Row) -> str:
    ready = condition_status(row.raw, "Ready")
    text = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{text},SchedulingDisabled" if row.spec.get("unschedulable") else text


def _node_roles(row: Row) -> str:
    roles = set()
    for label, value in part(row.raw["metadata"], "labels").items():
        if label.startswith(_ROLE_PREFIX):
            roles.add(label.removeprefix(_ROLE_PREFIX))
        elif label == _ROLE_LABEL:
            roles.add(value)
    return ",".join(sorted(roles - {""})) or NONE


def _address(kind: str) -> Cell:
    def cell(row: Row) -> str:
        for address in row.status.get("addresses") or ():
            if address.get("type") == kind:
                return str(address.get("address", ""))
        return NONE

    return cell


def _kernel(row: Row) -> str:
    info = part(row.status, "nodeInfo")
    kernel, architecture = info.get("kernelVersion") or UNKNOWN, info.get("architecture")
    return f"{kernel} ({architecture})" if architecture else kernel


TABLES["v1", "Node"] = table(
    NAME,
    Column("Status", "Whether the node is ready, and whether new pods may be scheduled on it.", _node_status),
    Column("Roles", "The roles that its labels give the node.", _node_roles),
    AGE,
    Column("Version", "The version of the node's kubelet.", field("status.nodeInfo.kubeletVersion")),
    wide("Internal-IP", "The node's first address inside the cluster.", _address("InternalIP")),
    wide("External-IP", "The node's first address for the outside.", _address("ExternalIP")),
    wide("OS-Image", "The operating system that the node reports.", field("status.nodeInfo.osImage", UNKNOWN)),
    wide("Kernel-Version", "The kernel that the node reports, and its architecture.", _kernel),
    wide(
        "Container-Runtime",
        "The container runtime that the node reports.",
        field("status.nodeInfo.containerRuntimeVersion", UNKNOWN),
    ),
)
TABLES["v1", "Namespace"] = table(
    NAME, Column("Status", "Whether the namespace is in use or going away.", field("status.phase")), AGE
)


TABLES["v1", "ConfigMap"] = table(
    NAME,
    Column(
        "Data", "How many entries there are.", lambda row: len(part(row.raw, "data")) + len(part(row.raw, "binaryData"))
    ),
    AGE,
)
TABLES["v1", "Secret"] = table(
    NAME,
    Column("Type", "What the secret is for.", field("type", "Opaque")),
    Column("Data", "How many entries there are.", lambda row: len(part(row.raw, "data"))),
    AGE,
)


def _external_ips(row: Row) -> str:
    kind, listed = row.spec.get("type") or "ClusterIP", list(row.spec.get("externalIPs") or ())
    if kind == "ExternalName":
        return str(row.spec.get("externalName") or "")
    if kind == "LoadBalancer":
        ingress = part(row.status, "loadBalancer").get("ingress") or ()
        points = sorted({point.get("ip") or point.get("hostname") or "" for point in ingress} - {""})
        return ",".join([*points, *listed]) or "<pending>"
    return ",".join(listed) or NONE if kind in ("ClusterIP", "NodePort") else UNKNOWN


def _port(port: Raw) -> str:
    node_port = port.get("nodePort")
    number = f"{port.get('port', 0)}:{node_port}" if node_port else str(port.get("port", 0))
    return f"{number}/{port.get('protocol') or 'TCP'}"


TABLES["v1", "Service"] = table(
    NAME,
    Column("Type", "How the service can be reached.", field("spec.type", "ClusterIP")),
    Column(
        "Cluster-IP",
        "Its address inside the cluster.",
        lambda row: (row.spec.get("clusterIPs") or [row.spec.get("clusterIP") or NONE])[0],
    ),
    Column("External-IP", "Its addresses for the outside.", _external_ips),
    Column(
        "Port(s)", "The ports it is reached at.", lambda row: ",".join(map(_port, row.spec.get("ports") or ())) or NONE
    ),
    AGE,
    wide("Selector", "The labels of the pods behind it.", lambda row: labels_cell(row.spec.get("selector"))),
)
TABLES["coordination.k8s.io/v1", "Lease"] = table(
    NAME, Column("Holder", "Who holds the lease.", field("spec.holderIdentity")), AGE
)
TABLES["scheduling.k8s.io/v1", "PriorityClass"] = table(
    NAME,
    Column("Value", "The priority that pods of this class get.", field("value", 0), INTEGER),
    Column("Global-Default", "Whether pods without a class get this one.", field("globalDefault", False), BOOLEAN),
    AGE,
    Column("PreemptionPolicy", "Whether its pods may evict pods of lower priority.", field("preemptionPolicy")),
)


def _budget(name: str) -> Cell:
    return field(f"spec.{name}", "N/A", empty_counts=True, show=str)


TABLES["policy/v1", "PodDisruptionBudget"] = table(
    NAME,
    Column("Min Available", "How many pods must stay.", _budget("minAvailable")),
    Column("Max Unavailable", "How many pods may be gone.", _budget("maxUnavailable")),
    Column(
        "Allowed Disruptions", "How many pods may be evicted now.", field("status.disruptionsAllowed", 0), "integer"
    ),
    AGE,
)
TABLES["v1", "ServiceAccount"] = NAME_AND_AGE


def _target(about: Raw) -> str:
    kind, name = str(about.get("kind", "")).lower(), about.get("name")
    return f"{kind}/{name}" if name else kind


def _source(raw: Raw) -> str:
    source = part(raw, "source")
    component = source.get("component") or raw.get("reportingComponent") or ""
    instance = source.get("host") or raw.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


def _cells(raw: Raw, ages: Ages) -> Cells:
    about = part(raw, "involvedObject")
    first = ages.since(raw.get("firstTimestamp") or raw.get("eventTime"))
    last = ages.since(raw["lastTimestamp"]) if raw.get("lastTimestamp") else first
    count: Any = raw.get("count") or 1
    series = raw.get("series")
    if series is not None:
        last, count = ages.since(series.get("lastObservedTime")), series.get("count", 0)
    return [
        last,
        raw.get("type") or "",
        raw.get("reason") or "",
        _target(about),
        about.get("fieldPath") or "",
        _source(raw),
        (raw.get("message") or "").strip(),
        first,
        count,
        name_of(raw),
    ]


_COLUMNS = (
    Column("Last Seen", "How long ago this happened last."),
    Column("Type", "Whether this is as it should be (Normal) or not (Warning)."),
    Column("Reason", "What happened, in a word for programs."),
    Column("Object", "What it happened to."),
    wide("Subobject", "The part of the object that it happened to."),
    wide("Source", "Who says so."),
    Column("Message", "What happened, in words for people."),
    wide("First Seen", "How long ago this happened for the first time."),
    wide("Count", "How often it has happened."),
    wide("Name", "The name of the event.")._replace(format="name"),
)

TABLES["v1", "Event"] = Table(definitions(_COLUMNS), _cells)
TABLES["events.k8s.io/v1", "Event"] = Table(definitions(_COLUMNS), lambda raw, ages: _cells(to_core(raw), ages))


# -- storage -----------------------------------------------------------------------------------------------------------

_MODES = (("ReadWriteOnce", "RWO"), ("ReadOnlyMany", "ROX"), ("ReadWriteMany", "RWX"), ("ReadWriteOncePod", "RWOP"))
_DEFAULT_CLASS = (DEFAULT_STORAGE_CLASS, BETA_DEFAULT_STORAGE_CLASS)
_ACCESS = "How many nodes or pods may read and write it at once."


def _access_modes(modes: Any) -> str:
    return ",".join(short for mode, short in _MODES if mode in (modes or ()))


def _amount(amounts: Raw) -> str:
    return str(parse_quantity(str(amounts.get("storage", "0"))))


def _class(row: Row) -> str:
    annotations = part(row.raw["metadata"], "annotations")
    return (
        str(annotations[BETA_STORAGE_CLASS])
        if BETA_STORAGE_CLASS in annotations
        else row.spec.get("storageClassName") or ""
    )


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


TABLES["storage.k8s.io/v1", "CSIStorageCapacity"] = table(
    NAME, Column("Created At", "When the capacity was published.", field("metadata.creationTimestamp"), type="date")
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
