"""Nodes, Namespaces, PriorityClasses.

In: a raw object. Out: the same, changed in place. Kubernetes: SetDefaults_NodeStatus, SetDefaults_Namespace,
SetDefaults_PriorityClass.
"""

from moorage.admit.prepare.defaults.resources import round_up_lists
from moorage.admit.raw import Raw, fill_absent, fill_empty, part

NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"


def default_node(node: Raw) -> None:
    status = node.get("status")
    if not status:
        return
    if status.get("allocatable") is None and status.get("capacity") is not None:
        status["allocatable"] = dict(status["capacity"])
    round_up_lists(status, "capacity", "allocatable")


def default_namespace(namespace: Raw) -> None:
    metadata = part(namespace, "metadata")
    if metadata.get("name"):
        part(metadata, "labels")[NAMESPACE_NAME_LABEL] = metadata["name"]
    fill_empty(part(namespace, "status"), {"phase": "Active"})


def default_priority_class(priority_class: Raw) -> None:
    fill_absent(priority_class, {"preemptionPolicy": "PreemptLowerPriority"})
