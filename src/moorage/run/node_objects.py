"""Write the documents of simulated nodes: registration, status, Lease; and addresses.

Kubernetes: pkg/kubelet/nodestatus.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from moorage.model.go.integers import read_int
from moorage.model.go.times import micro_time_text, seconds_of, time_text
from moorage.model.kubernetes_version import KUBERNETES_VERSION
from moorage.model.schema.conversion import convert_view
from moorage.model.text.readers import reads_text
from moorage.model.types.node import Node
from moorage.model.well_known.annotations import SIMULATED_SHUTDOWN, SIMULATED_STOPPED
from moorage.model.well_known.labels import ARCH, BETA_ARCH, BETA_OS, HOSTNAME, OS, REGION, SIMULATED_BY, ZONE
from moorage.run.shutdown import NOT_READY

Raw = dict[str, Any]

LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS = 40
#: Where a kubelet listens. No simulated one does.
KUBELET_PORT = 10250
_ZONES = ("zone-a", "zone-b", "zone-c")
#: Default capacity of a node.
CAPACITY = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}
_HEALTHY = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)


#: Label with the name of the process that simulates a node.
SIMULATOR_LABEL = SIMULATED_BY
SIMULATOR = "moorage"
#: Annotation ("true") of a node whose kubelet is to behave as if unplugged.
STOPPED = SIMULATED_STOPPED
_RUNTIME = "simulated://1.0.0"
_HIGHEST_POD = (1 << 22) - 1

#: Kubelets report the status of their nodes at least every five minutes.
_SILENCE = 600.0


def new_node(
    name: str,
    number: int,
    now: float,
    capacity: Mapping[str, str] = CAPACITY,
    simulator: str = SIMULATOR,
    features: Sequence[str] = (),
) -> Raw:
    """Return a Node to register, with its status; nodes are spread over three zones."""
    labels = {
        BETA_ARCH: "amd64",
        BETA_OS: "linux",
        ARCH: "amd64",
        HOSTNAME: name,
        OS: "linux",
        REGION: "region-1",
        ZONE: _ZONES[number % len(_ZONES)],
        SIMULATOR_LABEL: simulator,
    }
    node: Raw = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "spec": {}}
    return {**node, "status": node_status(convert_view(node, Node), number, now, capacity, features)}


def is_healthy(node: Node, *, shuts_down: bool = False) -> bool:
    """Return whether the node's status is that of a healthy kubelet, which may be about to shut down."""
    conditions = {condition.type: condition.status for condition in node.status.conditions}
    wanted = _expected(shuts_down)
    return bool(node.status.allocatable) and all(conditions.get(kind) == status for kind, status, _, _ in wanted)


def _expected(shuts_down: bool) -> tuple[tuple[str, str, str, str], ...]:
    return (*_HEALTHY[:-1], ("Ready", "False", *NOT_READY)) if shuts_down else _HEALTHY


def ready_status(node: Node, now: float, *, shuts_down: bool) -> Raw:
    """Return the conditions of a node that begins to shut down, or comes back."""
    return {"conditions": _conditions(node, now, _expected(shuts_down))}


def reports_shutdown(annotations: Mapping[str, str], status: str, reason: str, message: str) -> bool:
    """Return whether the condition Ready of a node is that of a shutdown by annotation."""
    return SIMULATED_SHUTDOWN in annotations and (status, reason, message) == ("False", *NOT_READY)


def stays_unready(annotations: Mapping[str, str], status: str, reason: str, message: str) -> bool:
    """Return whether a node that comes from another cluster with this condition Ready is not to become ready here."""
    return status != "True" and not reports_shutdown(annotations, status, reason, message)


def is_of_another_kubelet(node: Node) -> bool:
    """Return whether the node says which kubelet it has, and it is not a simulated one."""
    info = node.status.nodeInfo
    return bool(info.kubeletVersion) and info.containerRuntimeVersion != _RUNTIME


def declared_status(node: Node, features: Sequence[str]) -> Raw:
    """Return the part of a status that declares features of the kubelet; empty if the node has them already.

    A node of another kubelet keeps what it declares.
    """
    if is_of_another_kubelet(node) or not features or tuple(features) == node.status.declaredFeatures:
        return {}
    return {"declaredFeatures": list(features)}


def _conditions(node: Node, now: float, expected: tuple[tuple[str, str, str, str], ...]) -> list[Raw]:
    text = time_text(now)
    old = {condition.type: condition for condition in node.status.conditions}
    conditions = []
    for kind, status, reason, message in expected:
        known = old.get(kind)
        changed = known.lastTransitionTime if known is not None and known.status == status else text
        conditions.append(
            {
                "type": kind,
                "status": status,
                "reason": reason,
                "message": message,
                "lastHeartbeatTime": text,
                "lastTransitionTime": changed,
            }
        )
    return conditions


def node_status(
    node: Node,
    number: int,
    now: float,
    capacity: Mapping[str, str] = CAPACITY,
    features: Sequence[str] = (),
    *,
    shuts_down: bool = False,
) -> Raw:
    """Return the status a kubelet reports; capacity and addresses only if absent."""
    conditions = _conditions(node, now, _expected(shuts_down))
    status_part: Raw = {"conditions": conditions, **declared_status(node, features)}
    if not node.status.capacity and not node.status.allocatable:
        status_part |= {"capacity": dict(capacity), "allocatable": dict(capacity)}
    elif not node.status.allocatable:
        status_part["allocatable"] = {name: str(value) for name, value in node.status.capacity.items()}
    if not node.status.addresses:
        addresses = [("InternalIP", _address(number)), ("Hostname", node.metadata.name)]
        status_part["addresses"] = [{"type": kind, "address": value} for kind, value in addresses]
    if not node.status.nodeInfo.kubeletVersion:
        status_part["nodeInfo"] = _node_info(node)
    if not node.status.daemonEndpoints.kubeletEndpoint.Port:
        status_part["daemonEndpoints"] = {"kubeletEndpoint": {"Port": KUBELET_PORT}}
    return status_part


def new_lease(node: Node, now: float) -> Raw:
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.metadata.name, "uid": node.metadata.uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": node.metadata.name, "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {
            "holderIdentity": node.metadata.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micro_time_text(int(now * 1_000_000)),
        },
    }


def host_address(node: Node | None) -> str:
    """Return the node's internal address."""
    addresses = node.status.addresses if node is not None else ()
    return next((address.address for address in addresses if address.type == "InternalIP"), "10.0.0.1")


def pod_address(number: int) -> str:
    """Return the address of the n-th pod; they repeat after four million."""
    number &= _HIGHEST_POD
    return f"10.{128 + (number >> 16)}.{number >> 8 & 255}.{number & 255}"


@reads_text("10", "1", ".", "0")
def address_number(address: str) -> int:
    """Return the number of a pod's address; 0 if it is not one."""
    parts = address.split(".")
    octets = [read_int(part, 0, 255) for part in parts]
    if len(octets) != 4 or parts[0] != "10":
        return 0
    _, second, third, fourth = octets
    if second is None or third is None or fourth is None:
        return 0
    number = (second - 128 << 16) + (third << 8) + fourth
    return number if 0 <= number <= _HIGHEST_POD else 0


def _address(number: int) -> str:
    number += 1
    return f"10.{number >> 16 & 63}.{number >> 8 & 255}.{number & 255}"


def _node_info(node: Node) -> Raw:
    return {
        "machineID": node.metadata.name,
        "systemUUID": node.metadata.name,
        "bootID": node.metadata.name,
        "kernelVersion": "6.12.0",
        "osImage": "Moorage simulated node",
        "containerRuntimeVersion": _RUNTIME,
        "kubeletVersion": KUBERNETES_VERSION,
        "kubeProxyVersion": "",
        "operatingSystem": "linux",
        "architecture": "amd64",
    }


def is_stopped(node: Node) -> bool:
    return node.metadata.annotations.get(STOPPED) == "true"


def reports_unready(node: Node, now: float) -> bool:
    """Return whether a kubelet says that its node is not ready, and has not been silent since."""
    ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
    if ready is None or ready.status != "False" or is_stopped(node):
        return False
    heard = seconds_of(ready.lastHeartbeatTime)
    return heard is None or heard >= now - _SILENCE
