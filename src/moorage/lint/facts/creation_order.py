"""Order the objects of an input as they are created, and workloads as their controllers make pods.

`lint` and `plan` charge quotas in this order, so that both name the same object as the one for which there is no room:
what others are admitted by comes first, custom objects last, everything else in the order of the input. Then the
controllers have their turns, in the order of the table; a Deployment's pods are made by the ReplicaSet controller, one
turn after its ReplicaSet. A StatefulSet whose pods are made in order makes the next one when the one before is ready.
Kubernetes: controllers run at the same time, so that any order is possible; this one is always the same.
"""

from functools import cache
from typing import Any

from moorage.model.kinds import CustomKind, Kind

#: Kinds that others are admitted by, in the order in which they are created.
FIRST_KINDS = ("Namespace", "PriorityClass", "StorageClass", "RuntimeClass", "LimitRange", "ResourceQuota", "Node")
#: The controllers that work one after the other until a workload of the kind has pods.
_MAKERS = {
    "ReplicaSet": ("replicaset-controller",),
    "ReplicationController": ("replicationcontroller-controller",),
    "Deployment": ("deployment-controller", "replicaset-controller"),
    "DaemonSet": ("daemonset-controller",),
    "StatefulSet": ("statefulset-controller",),
    "Job": ("job-controller",),
    "CronJob": ("cronjob-controller", "job-controller"),
}


def creation_rank(kind: Kind) -> int:
    """Return the place of a kind in the order of creation."""
    if isinstance(kind, CustomKind):
        return len(FIRST_KINDS) + 1
    return FIRST_KINDS.index(kind.name) if kind.name in FIRST_KINDS else len(FIRST_KINDS)


@cache
def pods_rank(kind: str) -> tuple[int, int]:
    """Return in which round of all controllers, and by which controller of the table, pods of a workload are made."""
    from moorage.control.registry import CONTROLLERS  # only an input with quotas needs it

    places = {row.name: number for number, row in enumerate(CONTROLLERS)}
    turn, place = 0, -1
    for maker in _MAKERS[kind]:
        turn += places[maker] < place
        place = places[maker]
    return turn, place


def makes_pods_in_order(kind: str, spec: Any) -> bool:
    """Return whether pods of the workload are made one at a time."""
    return kind == "StatefulSet" and spec.podManagementPolicy != "Parallel"
