"""Define a pool, and the kinds of node that it can start: the one form that all descriptions of pools are read into.

Kubernetes: Karpenter's InstanceType with an Offering, and Cluster Autoscaler's template node of a node group.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from moorage.model.quantity import Quantity
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.node import Node, NodeSpec, NodeStatus, Taint
from moorage.model.well_known.labels import (
    ARCH,
    BETA_ARCH,
    BETA_INSTANCE_TYPE,
    BETA_OS,
    BETA_REGION,
    BETA_ZONE,
    HOSTNAME,
    INSTANCE_TYPE,
    OS,
    REGION,
    ZONE,
)

Raw = dict[str, Any]
#: The way to keep room that autoscalers know: by pods that are only imagined.
ACTIVE_CAPACITY = "buffer.x-k8s.io/active-capacity"
#: Older names of labels, and what they are called now. Kubelets and clouds write both on their nodes.
NORMALIZED = {
    BETA_ZONE: ZONE,
    BETA_REGION: REGION,
    BETA_ARCH: ARCH,
    BETA_OS: OS,
    BETA_INSTANCE_TYPE: INSTANCE_TYPE,
}


class Scaler(StrEnum):
    """The autoscaler whose rules a pool follows."""

    KARPENTER = "karpenter"
    CLUSTER_AUTOSCALER = "cluster-autoscaler"


class WrittenAt(NamedTuple):
    """Where something is written."""

    source: str
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}" if self.line else self.source


class NodeTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of node that a pool can start: one instance type, in one zone, bought in one way.

    `labels` has all but the host's name. `price` is that of an hour; None if it is not known. `startup_taints` are
    gone when the node is ready.
    """

    pool: str
    instance_type: str
    zone: str = ""
    capacity_type: str = ""
    labels: Mapping[str, str]
    annotations: Mapping[str, str] = {}
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    capacity: Mapping[str, Quantity]
    allocatable: Mapping[str, Quantity]
    price: float | None = None

    @property
    def name(self) -> str:
        """What distinguishes it from the others of its pool, as it is shown to users."""
        return "/".join(part for part in (self.instance_type, self.zone, self.capacity_type) if part)

    def labels_of(self, name: str) -> dict[str, str]:
        """Return the labels of a node of this name, also under their older names."""
        older = {old: self.labels[new] for old, new in NORMALIZED.items() if new in self.labels}
        return {**older, **self.labels, HOSTNAME: name}

    def view(self, name: str, features: tuple[str, ...] = (), taints: tuple[Taint, ...] | None = None) -> Node:
        """Return the view of a node of it that is ready for pods."""
        return Node(
            metadata=ObjectMeta(name=name, labels=self.labels_of(name), annotations=dict(self.annotations)),
            spec=NodeSpec(taints=self.taints if taints is None else taints),
            status=NodeStatus(
                capacity=dict(self.capacity), allocatable=dict(self.allocatable), declaredFeatures=features
            ),
        )

    def node(self, name: str) -> Raw:
        """Return the manifest of a node that is like it and ready for pods."""
        taints = [_written(taint) for taint in self.taints]
        noted = {"annotations": dict(self.annotations)} if self.annotations else {}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": self.labels_of(name), **noted},
            "spec": {"taints": taints} if taints else {},
            "status": {
                "capacity": {resource: str(amount) for resource, amount in self.capacity.items()},
                "allocatable": {resource: str(amount) for resource, amount in self.allocatable.items()},
            },
        }


def _written(taint: Taint) -> Raw:
    return {"key": taint.key, **({"value": taint.value} if taint.value else {}), "effect": taint.effect}


class DisruptionBudget(msgspec.Struct, frozen=True):
    """How many nodes of a pool may be disrupted at a time, for these reasons (all, if empty), while it is in force."""

    nodes: str
    reasons: tuple[str, ...] = ()
    schedule: str = ""
    seconds: float | None = None


class Disruption(msgspec.Struct, frozen=True):
    """When nodes of a pool may be taken away. None for `after_seconds` and `expires_after_seconds` means never."""

    policy: str
    after_seconds: float | None
    expires_after_seconds: float | None
    budgets: tuple[DisruptionBudget, ...]


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """A set of nodes that an autoscaler makes larger and smaller.

    `least` and `most` bound its nodes, `limits` the capacity of all of them together. A higher `weight` is tried first.
    `replicas` is the fixed size of a pool that does not follow its pods.
    """

    name: str
    scaler: Scaler
    place: WrittenAt
    templates: tuple[NodeTemplate, ...]
    least: int = 0
    most: int | None = None
    limits: Mapping[str, Quantity] = {}
    weight: int = 0
    replicas: int | None = None
    disruption: Disruption | None = None

    @property
    def kind(self) -> str:
        return "NodePool" if self.scaler is Scaler.KARPENTER else "NodeGroup"


class Buffer(msgspec.Struct, frozen=True, kw_only=True):
    """Room to be kept free for pods that are not there yet: a CapacityBuffer.

    Its pods are those of a PodTemplate, or like those of a workload that can be scaled (`kind` and `name`).
    A strategy that is not `ACTIVE_CAPACITY` is another program's: no room is kept.
    """

    namespace: str
    name: str
    place: WrittenAt
    pod_template: str = ""
    workload_kind: str = ""
    workload_group: str = ""
    workload: str = ""
    replicas: int | None = None
    percentage: int | None = None
    limits: Mapping[str, Quantity] = {}
    strategy: str = ACTIVE_CAPACITY

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def is_active(self) -> bool:
        return self.strategy == ACTIVE_CAPACITY
