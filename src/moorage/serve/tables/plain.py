"""The tables of nodes, and of kinds with little to show: namespaces, configuration, services, leases, priorities.

Kubernetes: printNode, printNamespace and their neighbours.
"""

from moorage.serve.tables.columns import (
    AGE,
    BOOLEAN,
    INTEGER,
    NAME,
    NONE,
    UNKNOWN,
    Cell,
    Column,
    Raw,
    Row,
    condition_status,
    field,
    labels_cell,
    part,
    table,
    wide,
)

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


NODES = table(
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
NAMESPACES = table(NAME, Column("Status", "Whether the namespace is in use or going away.", field("status.phase")), AGE)


def _entries(row: Row, name: str) -> int:
    return len(part(row.raw, name))


CONFIG_MAPS = table(
    NAME,
    Column(
        "Data", "How many entries there are.", lambda row: len(part(row.raw, "data")) + len(part(row.raw, "binaryData"))
    ),
    AGE,
)
SECRETS = table(
    NAME,
    Column("Type", "What the secret is for.", field("type", "Opaque")),
    Column("Data", "How many entries there are.", lambda row: _entries(row, "data")),
    AGE,
)


def _external_ips(row: Row) -> str:
    kind, listed = row.spec.get("type") or "ClusterIP", list(row.spec.get("externalIPs") or ())
    if kind == "ExternalName":
        return str(row.spec.get("externalName") or "")
    if kind == "LoadBalancer":
        ingress = part(row.status, "loadBalancer").get("ingress") or ()
        found = sorted({point.get("ip") or point.get("hostname") or "" for point in ingress} - {""})
        return ",".join([*found, *listed]) or "<pending>"
    return ",".join(listed) or NONE if kind in ("ClusterIP", "NodePort") else UNKNOWN


def _port(port: Raw) -> str:
    node_port = port.get("nodePort")
    number = f"{port.get('port', 0)}:{node_port}" if node_port else str(port.get("port", 0))
    return f"{number}/{port.get('protocol') or 'TCP'}"


SERVICES = table(
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
LEASES = table(NAME, Column("Holder", "Who holds the lease.", field("spec.holderIdentity")), AGE)
PRIORITY_CLASSES = table(
    NAME,
    Column("Value", "The priority that pods of this class get.", field("value", 0), INTEGER),
    Column("Global-Default", "Whether pods without a class get this one.", field("globalDefault", False), BOOLEAN),
    AGE,
    Column("PreemptionPolicy", "Whether its pods may evict pods of lower priority.", field("preemptionPolicy")),
)


def _budget(name: str) -> Cell:
    value = field(f"spec.{name}", "N/A", empty_counts=True)
    return lambda row: str(value(row))


POD_DISRUPTION_BUDGETS = table(
    NAME,
    Column("Min Available", "How many pods must stay.", _budget("minAvailable")),
    Column("Max Unavailable", "How many pods may be gone.", _budget("maxUnavailable")),
    Column(
        "Allowed Disruptions", "How many pods may be evicted now.", field("status.disruptionsAllowed", 0), "integer"
    ),
    AGE,
)
