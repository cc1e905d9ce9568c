"""Reduce a pod to its shape: all that scheduling reads of a pod, and nothing else.

What plugins prepare, masks and scores are kept per shape, so a second pod of a shape costs what changed since the
first. Of volumes, a shape holds disks and the facts about claims, but not whose claims they are (see `claims`); the
same goes for claims on devices.
"""

from operator import attrgetter
from typing import Any

from moorage.columns.attachments import Disk, inline_disks
from moorage.columns.resources import CPU, MEMORY, PODS, Amounts, non_zero_requests, pod_requests, scored_requests
from moorage.columns.slots import SlotArray
from moorage.match.devices.claims import DeviceClaimFacts, device_facts_key
from moorage.match.volumes.claims import ClaimFacts, Key, encode_view, facts_key, inline_attachables, inline_key
from moorage.match.volumes.csi_migration import Attachable
from moorage.model.types.container import Container
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.pod import Pod, PodSpec

HostPort = tuple[str, str, int]  # (IP, protocol, port)
LabelClass = tuple[str, tuple[tuple[str, str], ...], bool]  # namespace, labels, being deleted
EVERY_ADDRESS = "0.0.0.0"


class Shape:
    """One shape: the spec it stands for and the numbers derived from it once. Compared by identity."""

    __slots__ = (
        "attachables",
        "claims",
        "claims_key",
        "controller",
        "devices",
        "devices_key",
        "disks",
        "host_ports",
        "images",
        "label_class",
        "labels",
        "namespace",
        "node_name",
        "non_zero_cpu",
        "non_zero_memory",
        "number",
        "priority",
        "requests",
        "scored_requests",
        "slots",
        "spec",
        "taken",
        "tracked",
        "twins",
        "uses",
    )

    def __init__(
        self,
        number: int,
        pod: Pod,
        node_name: str = "",
        claims: tuple[ClaimFacts, ...] = (),
        devices: tuple[DeviceClaimFacts, ...] = (),
    ) -> None:
        spec = pod.spec
        self.number = number
        self.spec: PodSpec = spec
        self.namespace = pod.metadata.namespace
        # The one node that will do; not spec.nodeName, so that a pod that has a node shares the shape of one without.
        self.node_name = node_name
        self.labels = pod.metadata.labels
        self.label_class = label_class(pod.metadata)
        self.controller = controller_of(pod.metadata)
        self.priority = spec.priority or 0
        requests = pod_requests(spec)
        #: What it takes of its node, and what it needs there: as in Kubernetes, not the same where an int64 overflows.
        self.taken: Amounts = {name: value for name, value in requests.items() if value and name != PODS}
        self.requests: Amounts = {name: value for name, value in requests.items() if value > 0}
        non_zero = non_zero_requests(spec, requests)
        self.non_zero_cpu = non_zero.get(CPU, 0)
        self.non_zero_memory = non_zero.get(MEMORY, 0)
        self.scored_requests = scored_requests(spec)
        self.host_ports = host_ports(spec)
        self.images = tuple(container.image for container in (*spec.initContainers, *spec.containers))
        # The claims, on volumes and on devices, of the pod that was the first of this shape; the others' are like them.
        self.claims = claims
        self.claims_key: Key = tuple(map(facts_key, claims))
        self.devices = devices
        self.devices_key = device_facts_key(devices)
        self.disks: tuple[Disk, ...] = inline_disks(spec) if spec.volumes else ()
        self.attachables: tuple[Attachable, ...] = inline_attachables(spec) if spec.volumes else ()
        # Kept by the cluster: how many pods of this shape each slot holds, and the counts they are counted in.
        self.slots: dict[int, int] = {}
        self.tracked: list[Any] = []
        # Filled in by the cluster: its arrays of what is free and what is asked for, and what a pod changes there.
        self.uses: tuple[tuple[SlotArray, int], ...] = ()
        #: By the number of another shape: how many counts both were in, and whether these were the same.
        self.twins: dict[int, tuple[int, int, bool]] = {}

    def counts_as(self, other: "Shape") -> bool:
        """Return whether a pod of this shape and one of the other change the same numbers by the same amounts."""
        known = self.twins.get(other.number)
        tracked, others = len(self.tracked), len(other.tracked)
        if known is None or known[0] != tracked or known[1] != others:
            known = tracked, others, tracked == others and self._counts_as(other)
            if len(self.twins) >= _MAX_TWINS:
                self.twins.clear()
            self.twins[other.number] = known
        return known[2]

    def _counts_as(self, other: "Shape") -> bool:
        return (
            _NUMBERS(self) == _NUMBERS(other)
            and not (self.disks or self.attachables or self.devices or self.claims)
            and not (other.disks or other.attachables or other.devices or other.claims)
            and set(map(id, self.tracked)) == set(map(id, other.tracked))
        )


_MAX_TWINS = 64
_NUMBERS = attrgetter("namespace", "priority", "taken", "non_zero_cpu", "non_zero_memory", "host_ports", "controller")


def label_class(metadata: ObjectMeta) -> LabelClass:
    """Return what label selectors read of a pod."""
    return metadata.namespace, tuple(sorted(metadata.labels.items())), metadata.deletionTimestamp is not None


def controller_of(metadata: ObjectMeta) -> tuple[str, str] | None:
    """Return kind and name of the pod's controller, whose selector default spreading follows."""
    for owner in metadata.ownerReferences:
        if owner.controller:
            return owner.kind, owner.name
    return None


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    running = [*spec.containers, *(container for container in spec.initContainers if container.is_sidecar)]
    return tuple(
        (port.hostIP or EVERY_ADDRESS, port.protocol or "TCP", port.hostPort)
        for container in running
        for port in container.ports
        if port.hostPort > 0
    )


def ports_conflict(port: HostPort, other: HostPort) -> bool:
    """Return whether two pods with these ports cannot be on one node."""
    return port[1:] == other[1:] and (port[0] == other[0] or EVERY_ADDRESS in (port[0], other[0]))


def shape_key(pod: Pod, node_name: str = "", claims_key: Key = (), devices_key: bytes = b"") -> bytes:
    """Return a key equal for pods that scheduling cannot tell apart; `claims_key` is `facts_key` of each claim."""
    spec = pod.spec
    labels = pod.metadata.labels
    return encode_view(
        (
            pod.metadata.namespace,
            sorted(labels.items()) if len(labels) > 1 else list(labels.items()),
            controller_of(pod.metadata),
            pod.metadata.deletionTimestamp is not None,
            [_container_key(container) for container in spec.containers],
            [_container_key(container) for container in spec.initContainers],
            spec.resources,
            spec.overhead,
            spec.tolerations,
            spec.affinity,
            spec.nodeSelector,
            spec.topologySpreadConstraints,
            inline_key(spec) if spec.volumes else (),
            claims_key,
            devices_key,
            spec.schedulingGates,
            spec.priority,
            spec.preemptionPolicy,
            spec.schedulerName,
            spec.hostNetwork,
            spec.hostUsers,
            node_name,
        )
    )


def needs_key(shape: Shape) -> bytes | None:
    """Return a key equal for shapes that are alike but for who the pod is: its labels, priority, and terms about pods.

    None if what the pod needs cannot be told from its spec alone: it has claims, or an expression is to be evaluated.
    """
    spec = shape.spec
    if shape.claims or shape.devices or any(toleration.expression for toleration in spec.tolerations):
        return None
    return encode_view(
        (
            [_container_key(container) for container in spec.containers],
            [_container_key(container) for container in spec.initContainers],
            spec.resources,
            spec.overhead,
            spec.tolerations,
            spec.affinity.nodeAffinity if spec.affinity is not None else None,
            spec.nodeSelector,
            inline_key(spec) if spec.volumes else (),
            spec.hostNetwork,
            spec.hostUsers,
            shape.node_name,
        )
    )


def _container_key(container: Container) -> tuple[Any, ...]:
    return (
        container.image,
        container.resources,
        container.ports,
        container.restartPolicy,
        container.restartPolicyRules,
    )
