"""The tables of nodes and of what storage drivers say about nodes.

In: raw Nodes, CSINodes. Out: cells. Kubernetes: printNode, printCSINode.
"""

from moorage.serve.tables.ages import UNKNOWN, Ages
from moorage.serve.tables.columns import (
    AGE,
    NAME,
    NONE,
    WIDE,
    Cells,
    Raw,
    TableFacts,
    age_of,
    column,
    condition_status,
    name_of,
    part,
)

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _status(raw: Raw) -> str:
    ready = condition_status(raw, "Ready")
    said = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{said},SchedulingDisabled" if part(raw, "spec").get("unschedulable") else said


def _roles(raw: Raw) -> str:
    roles = set()
    for label, value in part(raw["metadata"], "labels").items():
        if label.startswith(_ROLE_PREFIX):
            roles.add(label.removeprefix(_ROLE_PREFIX))
        elif label == _ROLE_LABEL:
            roles.add(value)
    return ",".join(sorted(roles - {""})) or NONE


def _address(status: Raw, kind: str) -> str:
    for address in status.get("addresses") or ():
        if address.get("type") == kind:
            return str(address.get("address", ""))
    return NONE


def _node_cells(raw: Raw, ages: Ages) -> Cells:
    status = part(raw, "status")
    info = part(status, "nodeInfo")
    kernel = info.get("kernelVersion") or UNKNOWN
    if architecture := info.get("architecture"):
        kernel += f" ({architecture})"
    return [
        name_of(raw),
        _status(raw),
        _roles(raw),
        age_of(raw, ages),
        info.get("kubeletVersion") or "",
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or UNKNOWN,
        kernel,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]


NODES = TableFacts(
    (
        NAME,
        column("Status", "string", "Whether the node is ready, and whether new pods may be scheduled on it."),
        column("Roles", "string", "The roles that its labels give the node."),
        AGE,
        column("Version", "string", "The version of the node's kubelet."),
        column("Internal-IP", "string", "The node's first address inside the cluster.", WIDE),
        column("External-IP", "string", "The node's first address for the outside.", WIDE),
        column("OS-Image", "string", "The operating system that the node reports.", WIDE),
        column("Kernel-Version", "string", "The kernel that the node reports, and its architecture.", WIDE),
        column("Container-Runtime", "string", "The container runtime that the node reports.", WIDE),
    ),
    _node_cells,
)


def _csi_node_cells(raw: Raw, ages: Ages) -> Cells:
    return [name_of(raw), len(part(raw, "spec").get("drivers") or ()), age_of(raw, ages)]


CSI_NODES = TableFacts(
    (NAME, column("Drivers", "integer", "How many storage drivers are registered on the node."), AGE), _csi_node_cells
)
