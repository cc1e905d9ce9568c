"""Define the tables of networking, autoscaling, flow control, admission, API registration, access and definitions.

Kubernetes: printIngress, printHorizontalPodAutoscaler, printEndpoints, printRoleBinding and their neighbours; the table
of the APIService registry.
"""

from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

from moorage.model.quantity import parse_quantity
from moorage.serve.tables.columns import (
    AGE,
    INTEGER,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Cell,
    Column,
    Raw,
    Row,
    Table,
    Tables,
    field,
    human_duration,
    labels_cell,
    name_of,
    part,
    selector_cell,
    table,
    wide,
)

TABLES: Tables = {}

_NETWORKING = "networking.k8s.io/v1"
_MAX_HOSTS, _MAX_METRICS = 3, 2


def _hosts(row: Row) -> str:
    rules = row.spec.get("rules") or ()
    named: list[str] = []
    for rule in rules:
        if len(named) == _MAX_HOSTS:
            return f"{','.join(named)} + {len(rules) - _MAX_HOSTS} more..."
        if rule.get("host"):
            named.append(rule["host"])
    return ",".join(named) or "*"


def _ingress_address(row: Row) -> str:
    points = part(row.status, "loadBalancer").get("ingress") or ()
    return ",".join(sorted({point.get("ip") or point.get("hostname") or "" for point in points} - {""}))


TABLES[_NETWORKING, "Ingress"] = table(
    NAME,
    Column("Class", "The class of its controller.", field("spec.ingressClassName", NONE, empty_counts=True)),
    Column("Hosts", "The hosts that it has rules for.", _hosts),
    Column("Address", "Its addresses for the outside.", _ingress_address),
    Column("Ports", "The ports it is reached at.", lambda row: "80, 443" if row.spec.get("tls") else "80"),
    AGE,
)
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _class_name(row: Row) -> str:
    is_default = part(row.raw["metadata"], "annotations").get(_DEFAULT_CLASS) == "true"
    return f"{name_of(row.raw)} (default)" if is_default else name_of(row.raw)


def _class_parameters(row: Row) -> str:
    parameters = row.spec.get("parameters")
    if parameters is None:
        return NONE
    group = f".{parameters['apiGroup']}" if parameters.get("apiGroup") is not None else ""
    return f"{parameters.get('kind', '')}{group}/{parameters.get('name', '')}"


TABLES[_NETWORKING, "IngressClass"] = table(
    NAME._replace(cell=_class_name),
    Column("Controller", "The controller of this class.", field("spec.controller")),
    Column("Parameters", "The object with the controller's parameters.", _class_parameters),
    AGE,
)
TABLES[_NETWORKING, "NetworkPolicy"] = table(
    NAME,
    Column("Pod-Selector", "The pods it is for.", lambda row: selector_cell(row.spec.get("podSelector"))),
    AGE,
)
TABLES[_NETWORKING, "ServiceCIDR"] = table(
    NAME, Column("CIDRs", "The ranges of addresses.", lambda row: ",".join(row.spec.get("cidrs") or ())), AGE
)


def _parent(row: Row) -> str:
    parent = row.spec.get("parentRef")
    if parent is None:
        return NONE
    resource = ".".join(text for text in (parent.get("resource"), parent.get("group")) if text).lower()
    return "/".join(text for text in (resource, parent.get("namespace"), parent.get("name", "")) if text)


TABLES[_NETWORKING, "IPAddress"] = table(NAME, Column("ParentRef", "The object that has the address.", _parent))


def _amount(value: Any) -> str:
    return str(parse_quantity(str(value))) if value is not None else NONE


def _metric(metric: Raw, status: Raw) -> str:
    """Return what a metric is now, and what it is to be."""
    kind = metric.get("type", "")
    name = f"{kind[:1].lower()}{kind[1:]}"
    source, current = metric.get(name), part(part(status, name), "current")
    if source is None:
        return "<unknown type>"
    target, prefix, suffix = part(source, "target"), "", ""
    if kind in ("Resource", "ContainerResource"):
        prefix = f"{source.get('name', '')}: "
    elif kind != "Pods" and target.get("averageValue") is not None:
        suffix = " (avg)"
    if kind == "Pods" or target.get("averageValue") is not None:
        wanted, found = _amount(target.get("averageValue")), current.get("averageValue")
    elif prefix:
        percent, now = target.get("averageUtilization"), current.get("averageUtilization")
        wanted = "<auto>" if percent is None else f"{percent}%"
        return f"{prefix}{UNKNOWN if now is None else f'{now}%'}/{wanted}"
    else:
        wanted, found = _amount(target.get("value")), current.get("value")
    return f"{prefix}{UNKNOWN if found is None else _amount(found)}/{wanted}{suffix}"


def _metrics(row: Row) -> str:
    metrics, statuses = row.spec.get("metrics") or (), row.status.get("currentMetrics") or ()
    if not metrics:
        return NONE
    shown = [
        _metric(metric, statuses[index] if index < len(statuses) else {})
        for index, metric in enumerate(metrics[:_MAX_METRICS])
    ]
    more = f" + {len(metrics) - _MAX_METRICS} more..." if len(metrics) > _MAX_METRICS else ""
    return f"{', '.join(shown)}{more}"


def _scale_target(row: Row) -> str:
    target = part(row.spec, "scaleTargetRef")
    return f"{target.get('kind', '')}/{target.get('name', '')}"


TABLES["autoscaling/v2", "HorizontalPodAutoscaler"] = table(
    NAME,
    Column("Reference", "What is scaled.", _scale_target),
    Column("Targets", "The metrics, as they are and as they are to be.", _metrics),
    Column("MinPods", "The fewest pods.", field("spec.minReplicas", UNSET, empty_counts=True, show=str)),
    Column("MaxPods", "The most pods.", field("spec.maxReplicas", 0)),
    Column("Replicas", "The pods that there are.", field("status.currentReplicas", 0)),
    AGE,
)


def _template_pod(row: Row) -> Raw:
    return part(part(row.raw, "template"), "spec")


def _containers(name: str) -> Cell:
    return lambda row: ",".join(container.get(name, "") for container in _template_pod(row).get("containers") or ())


TABLES["v1", "PodTemplate"] = table(
    NAME,
    Column("Containers", "The names of the containers.", _containers("name")),
    Column("Images", "The images of the containers.", _containers("image")),
    Column(
        "Pod Labels",
        "The labels that pods get.",
        lambda row: labels_cell(part(part(row.raw, "template"), "metadata").get("labels")),
    ),
)


def _healthy(row: Row) -> Raw:
    conditions = row.raw.get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == "Healthy"), {})


def _health(row: Row) -> str:
    status = _healthy(row).get("status")
    return "Unknown" if status is None else "Healthy" if status == "True" else "Unhealthy"


TABLES["v1", "ComponentStatus"] = table(
    NAME,
    Column("Status", "Whether the component is healthy.", _health),
    Column("Message", "What the component says of itself.", lambda row: _healthy(row).get("message", "")),
    Column("Error", "What went wrong.", lambda row: _healthy(row).get("error", "")),
)
TABLES["storage.k8s.io/v1", "VolumeAttributesClass"] = table(
    NAME, Column("DriverName", "The driver that knows the attributes.", field("driverName")), AGE
)


def _service(row: Row) -> str:
    service = row.spec.get("service")
    return "Local" if service is None else f"{service.get('namespace', '')}/{service.get('name', '')}"


def _available(row: Row) -> str:
    available: Raw = next(
        (condition for condition in row.status.get("conditions") or () if condition.get("type") == "Available"), {}
    )
    status, reason = available.get("status", "Unknown"), available.get("reason")
    return f"{status} ({reason})" if reason and status != "True" else status


TABLES["apiregistration.k8s.io/v1", "APIService"] = table(
    NAME,
    Column("Service", "The service that answers requests to this API.", _service),
    Column("Available", "Whether that service is available.", _available),
    AGE,
)

_FLOW = "flowcontrol.apiserver.k8s.io/v1"


def _dangling(row: Row) -> str:
    dangling: Raw = next(
        (condition for condition in row.status.get("conditions") or () if condition.get("type") == "Dangling"), {}
    )
    return str(dangling.get("status", "?"))


TABLES[_FLOW, "FlowSchema"] = table(
    NAME,
    Column("PriorityLevel", "The priority level of its requests.", field("spec.priorityLevelConfiguration.name")),
    Column("MatchingPrecedence", "Schemas with smaller numbers are tried first.", field("spec.matchingPrecedence", 0)),
    Column("DistinguisherMethod", "What tells flows apart.", field("spec.distinguisherMethod.type", NONE)),
    AGE,
    Column("MissingPL", "Whether there is no such priority level.", _dangling),
)._replace(order=lambda raw: (part(raw, "spec").get("matchingPrecedence") or 0, name_of(raw)))


def _limited(path: str) -> Cell:
    return field(f"spec.limited.{path}", NONE, empty_counts=True)


TABLES[_FLOW, "PriorityLevelConfiguration"] = table(
    NAME,
    Column("Type", "Whether its requests are limited.", field("spec.type")),
    Column("NominalConcurrencyShares", "Its share of all requests at once.", _limited("nominalConcurrencyShares")),
    Column("Queues", "How many queues there are.", _limited("limitResponse.queuing.queues")),
    Column("HandSize", "How many queues a flow uses.", _limited("limitResponse.queuing.handSize")),
    Column("QueueLengthLimit", "How long a queue may be.", _limited("limitResponse.queuing.queueLengthLimit")),
    AGE,
)

_ADMISSION = "admissionregistration.k8s.io/v1"


def _count(name: str) -> Cell:
    return lambda row: len(row.raw.get(name) or row.spec.get(name) or ())


def _parameter_kind(row: Row) -> str:
    kind = row.spec.get("paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _parameter(row: Row) -> str:
    reference = row.spec.get("paramRef")
    if reference is None:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    return selector_cell(reference.get("selector"), nothing=UNSET)


def _policies(name: str, description: str) -> Table:
    return table(
        NAME,
        Column(name, description, _count(name.lower()), INTEGER),
        Column("ParamKind", "The kind of its parameters.", _parameter_kind),
        AGE,
    )


for _kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
    _webhooks = Column("Webhooks", "How many webhooks there are.", _count("webhooks"), INTEGER)
    TABLES[_ADMISSION, _kind] = table(NAME, _webhooks, AGE)
TABLES[_ADMISSION, "ValidatingAdmissionPolicy"] = _policies("Validations", "How many validations there are.")
TABLES[_ADMISSION, "MutatingAdmissionPolicy"] = _policies("Mutations", "How many mutations there are.")
for _kind in ("MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding"):
    TABLES[_ADMISSION, _kind] = table(
        NAME,
        Column("PolicyName", "The policy.", field("spec.policyName")),
        Column("ParamRef", "The parameters that the policy gets.", _parameter),
        AGE,
    )


_SHOWN = 3


def _list_text(shown: Iterable[str], total: int, *, nothing: str) -> str:
    """Return the first few, and how many more there are."""
    text = ",".join(islice(shown, _SHOWN))
    if total > _SHOWN:
        return f"{text} + {total - _SHOWN} more..."
    return text or nothing


def _with_port(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _subset_texts(subset: Raw) -> Iterable[str]:
    addresses = [address.get("ip") or "" for address in subset.get("addresses") or ()]
    ports = subset.get("ports")
    if not ports:
        return addresses
    return (_with_port(address, port.get("port") or 0) for port in ports for address in addresses)


def _endpoints(row: Row) -> str:
    subsets = row.raw.get("subsets") or ()
    total = sum(len(subset.get("addresses") or ()) * (len(subset.get("ports") or ()) or 1) for subset in subsets)
    shown = chain.from_iterable(map(_subset_texts, subsets))
    return _list_text(shown, total, nothing="") if subsets else NONE


def _port_text(port: Raw) -> str:
    number, name = port.get("port"), port.get("name")
    return str(number) if number is not None else "*" if name is None else str(name)


def _ports(row: Row) -> str:
    ports = row.raw.get("ports") or ()
    return _list_text(map(_port_text, ports), len(ports), nothing=UNSET)


def _addresses(row: Row) -> str:
    addresses = [address for endpoint in row.raw.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    return _list_text(addresses, len(addresses), nothing=UNSET)


TABLES["v1", "Endpoints"] = table(NAME, Column("Endpoints", "The ready addresses and ports.", _endpoints), AGE)
TABLES["discovery.k8s.io/v1", "EndpointSlice"] = table(
    NAME,
    Column("AddressType", "What kind of addresses the slice has.", field("addressType")),
    Column("Ports", "The ports of every endpoint.", _ports),
    Column("Endpoints", "The addresses, ready or not.", _addresses),
    AGE,
)


_RBAC = "rbac.authorization.k8s.io/v1"
_NAME_AND_CREATION = table(
    NAME, Column("Created At", "When the object was created.", field("metadata.creationTimestamp"), type="date")
)


def _role(row: Row) -> str:
    reference = part(row.raw, "roleRef")
    return f"{reference.get('kind', '')}/{reference.get('name', '')}"


def _subjects(kind: str) -> Cell:
    def cell(row: Row) -> str:
        subjects = [subject for subject in row.raw.get("subjects") or () if subject.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{subject.get('namespace', '')}/{subject.get('name', '')}" for subject in subjects)
        return ", ".join(subject.get("name", "") for subject in subjects)

    return cell


_BINDING = table(
    NAME,
    Column("Role", "The role that is granted.", _role),
    AGE,
    wide("Users", "The users who get it.", _subjects("User")),
    wide("Groups", "The groups whose users get it.", _subjects("Group")),
    wide("ServiceAccounts", "The service accounts that get it.", _subjects("ServiceAccount")),
)


def _requested_duration(row: Row) -> str:
    seconds = row.spec.get("expirationSeconds")
    return "<none>" if seconds is None else human_duration(seconds)


def _condition(row: Row) -> str:
    """Return Denied, Approved or Pending, and whether it has failed or was issued."""
    types = {condition.get("type") for condition in row.status.get("conditions") or ()}
    shown = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    shown += ["Failed"] * ("Failed" in types) + ["Issued"] * bool(row.status.get("certificate"))
    return ",".join(shown)


TABLES |= {
    ("certificates.k8s.io/v1", "CertificateSigningRequest"): table(
        NAME,
        AGE,
        Column("SignerName", "Which signer is asked.", lambda row: row.spec.get("signerName") or "<none>"),
        Column("Requestor", "The user that asks.", lambda row: row.spec.get("username", "")),
        Column("RequestedDuration", "How long the certificate is to be valid.", _requested_duration),
        Column("Condition", "Whether it was approved and issued.", _condition),
    ),
    (_RBAC, "Role"): _NAME_AND_CREATION,
    (_RBAC, "ClusterRole"): _NAME_AND_CREATION,
    (_RBAC, "RoleBinding"): _BINDING,
    (_RBAC, "ClusterRoleBinding"): _BINDING,
}


_CREATED = "When the server created the object."

TABLES |= {
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"): table(
        NAME, Column("Created At", _CREATED, field("metadata.creationTimestamp"), type="date")
    )
}
