"""Check what a node writes into its Node: not its taints and owners, and of Kubernetes' labels those of kubelets only.

Kubernetes: admitNode of the NodeRestriction plugin, k8s.io/kubelet's IsKubeletLabel.
"""

from collections.abc import Iterable, Mapping

from moorage.admit.attributes import CREATE, UPDATE, Write
from moorage.admit.raw import Raw
from moorage.admit.world import AdmissionWorld
from moorage.model.go.quoting import go_quote
from moorage.model.schema.conversion import ConversionError, convert_view
from moorage.model.types.node import Node
from moorage.model.well_known.labels import (
    ARCH,
    BETA_ARCH,
    BETA_INSTANCE_TYPE,
    BETA_OS,
    BETA_REGION,
    BETA_ZONE,
    HOSTNAME,
    INSTANCE_TYPE,
    KUBELET_DOMAIN,
    NODE_DOMAIN,
    NODE_RESTRICTION_DOMAIN,
    OS,
    REGION,
    ZONE,
)

_KUBELET_LABELS = frozenset(
    {
        HOSTNAME,
        ZONE,
        REGION,
        BETA_ZONE,
        BETA_REGION,
        INSTANCE_TYPE,
        BETA_INSTANCE_TYPE,
        OS,
        ARCH,
        BETA_OS,
        BETA_ARCH,
    }
)
_KUBERNETES_DOMAINS = ("kubernetes.io", "k8s.io")


def check_node(world: AdmissionWorld, node: str, write: Write) -> None:
    """Raise ApiError 403 if a node may not write this Node."""
    who = f"node {go_quote(node)}"
    if write.name != node:
        raise write.refused(f"{who} is not allowed to modify node {go_quote(write.name)}")
    new = _view(write.new)
    if new is None:
        return
    if write.operation == CREATE:
        if new.spec.configSource is not None:
            raise write.refused(f"{who} is not allowed to create pods with a non-nil configSource")
        if labels := _forbidden(new.metadata.labels):
            raise write.refused(f"{who} is not allowed to set the following labels: {', '.join(labels)}")
    old = _view(write.old)
    if write.operation == UPDATE and old is not None:
        if new.spec.configSource is not None and new.spec.configSource != old.spec.configSource:
            raise write.refused(f"{who} is not allowed to update configSource to a new non-nil configSource")
        if new.spec.taints != old.spec.taints:
            raise write.refused(f"{who} is not allowed to modify taints")
        if new.metadata.ownerReferences != old.metadata.ownerReferences:
            raise write.refused(f"{who} is not allowed to modify ownerReferences")
        if labels := _forbidden(_changed(new.metadata.labels, old.metadata.labels)):
            raise write.refused(f"is not allowed to modify labels: {', '.join(labels)}")


def _view(document: Raw | None) -> Node | None:
    """Return a Node; None for a document with fields of the wrong type, which is refused for that."""
    if document is None:
        return None
    try:
        node: Node = convert_view(document, Node)
    except ConversionError:
        return None
    return node


def _changed(new: Mapping[str, str], old: Mapping[str, str]) -> set[str]:
    return {name for name in {*new, *old} if new.get(name) != old.get(name)}


def _forbidden(labels: Iterable[str]) -> list[str]:
    return sorted(label for label in labels if not _is_free(label))


def _is_free(label: str) -> bool:
    """Return whether a node may set, change and remove a label of its Node."""
    domain, slash, _ = label.partition("/")
    if not slash:
        return True
    if _is_within(domain, NODE_RESTRICTION_DOMAIN):
        return False
    if not any(_is_within(domain, root) for root in _KUBERNETES_DOMAINS):
        return True
    return label in _KUBELET_LABELS or _is_within(domain, KUBELET_DOMAIN) or _is_within(domain, NODE_DOMAIN)


def _is_within(domain: str, root: str) -> bool:
    return domain == root or domain.endswith(f".{root}")
