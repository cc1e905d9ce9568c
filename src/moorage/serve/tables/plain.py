"""The tables of kinds with little to show: namespaces, configuration, services, leases, priorities, budgets.

In: raw objects. Out: cells. Kubernetes: printNamespace and its neighbours; a kind without a table of its own gets name
and age.
"""

from moorage.serve.tables.ages import Ages
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
    name_of,
    part,
)
from moorage.serve.tables.selector_cells import labels_cell


def _name_and_age(raw: Raw, ages: Ages) -> Cells:
    return [name_of(raw), age_of(raw, ages)]


#: Also what ServiceAccounts have.
NAME_AND_AGE = TableFacts((NAME, AGE), _name_and_age)


def _namespace_cells(raw: Raw, ages: Ages) -> Cells:
    return [name_of(raw), part(raw, "status").get("phase") or "", age_of(raw, ages)]


NAMESPACES = TableFacts(
    (NAME, column("Status", "string", "Whether the namespace is in use or going away."), AGE), _namespace_cells
)


def _config_map_cells(raw: Raw, ages: Ages) -> Cells:
    return [name_of(raw), len(part(raw, "data")) + len(part(raw, "binaryData")), age_of(raw, ages)]


CONFIG_MAPS = TableFacts((NAME, column("Data", "string", "How many entries there are."), AGE), _config_map_cells)


def _secret_cells(raw: Raw, ages: Ages) -> Cells:
    return [name_of(raw), raw.get("type") or "Opaque", len(part(raw, "data")), age_of(raw, ages)]


SECRETS = TableFacts(
    (
        NAME,
        column("Type", "string", "What the secret is for."),
        column("Data", "string", "How many entries there are."),
        AGE,
    ),
    _secret_cells,
)


def _external_ips(spec: Raw, status: Raw) -> str:
    kind, listed = spec.get("type") or "ClusterIP", list(spec.get("externalIPs") or ())
    if kind == "ExternalName":
        return str(spec.get("externalName") or "")
    if kind == "LoadBalancer":
        ingress = part(status, "loadBalancer").get("ingress") or ()
        found = sorted({point.get("ip") or point.get("hostname") or "" for point in ingress} - {""})
        return ",".join([*found, *listed]) or "<pending>"
    return ",".join(listed) or NONE if kind in ("ClusterIP", "NodePort") else "<unknown>"


def _port(port: Raw) -> str:
    node_port = port.get("nodePort")
    number = f"{port.get('port', 0)}:{node_port}" if node_port else str(port.get("port", 0))
    return f"{number}/{port.get('protocol') or 'TCP'}"


def _service_cells(raw: Raw, ages: Ages) -> Cells:
    spec = part(raw, "spec")
    return [
        name_of(raw),
        spec.get("type") or "ClusterIP",
        (spec.get("clusterIPs") or [spec.get("clusterIP") or NONE])[0],
        _external_ips(spec, part(raw, "status")),
        ",".join(map(_port, spec.get("ports") or ())) or NONE,
        age_of(raw, ages),
        labels_cell(spec.get("selector")),
    ]


SERVICES = TableFacts(
    (
        NAME,
        column("Type", "string", "How the service can be reached."),
        column("Cluster-IP", "string", "Its address inside the cluster."),
        column("External-IP", "string", "Its addresses for the outside."),
        column("Port(s)", "string", "The ports it is reached at."),
        AGE,
        column("Selector", "string", "The labels of the pods behind it.", WIDE),
    ),
    _service_cells,
)


def _lease_cells(raw: Raw, ages: Ages) -> Cells:
    return [name_of(raw), part(raw, "spec").get("holderIdentity") or "", age_of(raw, ages)]


LEASES = TableFacts((NAME, column("Holder", "string", "Who holds the lease."), AGE), _lease_cells)


def _priority_class_cells(raw: Raw, ages: Ages) -> Cells:
    return [
        name_of(raw),
        raw.get("value") or 0,
        bool(raw.get("globalDefault")),
        age_of(raw, ages),
        raw.get("preemptionPolicy") or "",
    ]


PRIORITY_CLASSES = TableFacts(
    (
        NAME,
        column("Value", "integer", "The priority that pods of this class get."),
        column("Global-Default", "boolean", "Whether pods without a class get this one."),
        AGE,
        column("PreemptionPolicy", "string", "Whether its pods may evict pods of lower priority."),
    ),
    _priority_class_cells,
)


def _budget_cells(raw: Raw, ages: Ages) -> Cells:
    spec = part(raw, "spec")
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    return [
        name_of(raw),
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        part(raw, "status").get("disruptionsAllowed") or 0,
        age_of(raw, ages),
    ]


POD_DISRUPTION_BUDGETS = TableFacts(
    (
        NAME,
        column("Min Available", "string", "How many pods must stay."),
        column("Max Unavailable", "string", "How many pods may be gone."),
        column("Allowed Disruptions", "integer", "How many pods may be evicted now."),
        AGE,
    ),
    _budget_cells,
)
