"""Authorize kubelets: a node may read what its pods refer to, and write what may be its own.

`NodeGraph` knows which objects belong to a node. The NodeRestriction plugin (`moorage.admit.plugins.node_restriction`)
looks at what a node writes once more, when it sees the objects. Kubernetes: the node authorizer, with v1.36's gates.
"""

from typing import Any

from moorage.admit.requester import node_of
from moorage.model.api_error import ApiError
from moorage.model.types.policy import PolicyRule
from moorage.serve.access.authorization import ALLOWED, NO_OPINION, Attributes, Decision, Rules
from moorage.serve.access.node_graph import NodeGraph
from moorage.serve.access.rbac import covers
from moorage.serve.pki.authentication import User
from moorage.serve.resources.selector_parameters import field_terms

_LEASES = "kube-node-lease"
_READ = ("get", "list", "watch")
_OWN = ("get", "create", "update", "patch", "delete")
_RULES = (
    PolicyRule(("create",), ("authentication.k8s.io",), ("tokenreviews",)),
    PolicyRule(("create",), ("authorization.k8s.io",), ("subjectaccessreviews", "localsubjectaccessreviews")),
    PolicyRule(_READ, ("",), ("services",)),
    PolicyRule(("create", "update", "patch"), ("", "events.k8s.io"), ("events",)),
    PolicyRule(("get",), ("",), ("endpoints",)),
    PolicyRule(("create", *_READ), ("certificates.k8s.io",), ("certificatesigningrequests",)),
    PolicyRule(_READ, ("storage.k8s.io",), ("csidrivers",)),
    PolicyRule(_READ, ("node.k8s.io",), ("runtimeclasses",)),
)


def _no(reason: str) -> Decision:
    return Decision(False, reason)


class NodeAuthorizer:
    """Decides by the graph of nodes and their objects. It allows or has no opinion, and never denies."""

    def __init__(self) -> None:
        self.graph = NodeGraph()

    def rules_for(self, user: User, namespace: str) -> Rules:
        if node_of(user) is None:
            return Rules()
        return Rules((), "node authorizer does not support user rule resolution", True)

    def authorize(self, user: User, attributes: Attributes) -> Decision:
        node = node_of(user)
        if node is None:
            return NO_OPINION
        if not node:
            return _no(f'unknown node for user "{user.name}"')
        divided = _DIVIDED.get((attributes.group, attributes.resource)) if attributes.is_resource else None
        if divided is not None:
            decision: Decision = divided(self, node, attributes)
            return decision
        return ALLOWED if any(covers(rule, attributes) for rule in _RULES) else NO_OPINION

    def _read(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in _READ:
            return _no("can only read resources of this type")
        if attributes.subresource:
            return _no("cannot read subresource")
        if not attributes.namespace:
            return _no("can only read namespaced object of this type")
        return self._related(node, attributes)

    def _get(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb != "get":
            return _no("can only get individual resources of this type")
        if attributes.subresource:
            return _no("cannot get subresource")
        return self._related(node, attributes)

    def _claim(self, node: str, attributes: Attributes) -> Decision:
        if attributes.subresource != "status":
            return self._get(node, attributes)
        if attributes.verb not in ("update", "patch"):
            return _no("can only get/update/patch this type")
        return self._related(node, attributes)

    def _service_account(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb == "get" and not attributes.subresource:
            return self._read(node, attributes)
        if attributes.verb != "create" or not attributes.name:
            return _no("can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return _no("can only create token subresource of serviceaccount")
        return self._related(node, attributes)

    def _lease(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in _OWN:
            return _no("can only get, create, update, patch, or delete a node lease")
        if attributes.namespace != _LEASES:
            return _no(f'can only access leases in the "{_LEASES}" system namespace')
        if attributes.verb != "create" and attributes.name != node:
            return _no("can only access node lease with the same name as the requesting node")
        return ALLOWED

    def _csi_node(self, node: str, attributes: Attributes) -> Decision:
        if attributes.verb not in _OWN:
            return _no("can only get, create, update, patch, or delete a CSINode")
        if attributes.subresource:
            return _no("cannot authorize CSINode subresources")
        if attributes.verb != "create" and attributes.name != node:
            return _no("can only access CSINode with the same name as the requesting node")
        return ALLOWED

    def _slice(self, node: str, attributes: Attributes) -> Decision:
        if attributes.subresource:
            return _no("cannot authorize ResourceSlice subresources")
        if attributes.verb == "create":
            return ALLOWED
        if attributes.verb in ("get", "update", "patch", "delete"):
            return self._related(node, attributes)
        if attributes.verb not in ("watch", "list", "deletecollection"):
            verbs = "get, watch, list, create, update, patch, delete, deletecollection"
            return _no(f"only the following verbs are allowed for a ResourceSlice: {verbs}")
        if _selects(attributes.fields, "spec.nodeName", node):
            return ALLOWED
        return _no("can only list/watch/deletecollection resourceslices with nodeName field selector")

    def _node(self, node: str, attributes: Attributes) -> Decision:
        verb, subresource, name = attributes.verb, attributes.subresource, attributes.name
        if subresource == "status":
            return ALLOWED if verb in ("update", "patch") else NO_OPINION
        if subresource:
            return NO_OPINION
        if verb in ("create", "update", "patch"):
            return ALLOWED
        if verb not in _READ:
            return NO_OPINION
        if name == node:
            return ALLOWED
        what = f"'{name}'" if name else "all nodes"
        return _no(f"node '{node}' cannot read {what}, only its own Node object")

    def _pod(self, node: str, attributes: Attributes) -> Decision:
        verb, subresource = attributes.verb, attributes.subresource
        if verb in _POD_WRITES.get(subresource, ()):
            return ALLOWED
        if subresource or verb not in _READ:
            return NO_OPINION
        if verb != "get" and _selects(attributes.fields, "spec.nodeName", node):
            return ALLOWED
        if verb == "get" or attributes.name:
            return self._related(node, attributes)
        return _no("can only list/watch pods with spec.nodeName field selector")

    def _related(self, node: str, attributes: Attributes) -> Decision:
        if not attributes.name:
            return _no("No Object name found")
        if self.graph.is_related(node, attributes.resource, attributes.namespace, attributes.name):
            return ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")


def _selects(fields: str, field: str, value: str) -> bool:
    """Return whether a term of a field selector asks for this value of a field; other terms narrow it further."""
    if field not in fields:
        return False
    try:
        return (field, True, value) in field_terms(fields)
    except ApiError:
        return False


#: What a node may write of pods, by subresource. The NodeRestriction plugin looks at which pods.
_POD_WRITES = {"": ("create", "delete"), "status": ("update", "patch"), "eviction": ("create",)}
_DIVIDED: dict[tuple[str, str], Any] = {
    ("", "secrets"): NodeAuthorizer._read,
    ("", "configmaps"): NodeAuthorizer._read,
    ("", "persistentvolumeclaims"): NodeAuthorizer._claim,
    ("", "persistentvolumes"): NodeAuthorizer._get,
    ("resource.k8s.io", "resourceclaims"): NodeAuthorizer._get,
    ("storage.k8s.io", "volumeattachments"): NodeAuthorizer._get,
    ("", "serviceaccounts"): NodeAuthorizer._service_account,
    ("coordination.k8s.io", "leases"): NodeAuthorizer._lease,
    ("storage.k8s.io", "csinodes"): NodeAuthorizer._csi_node,
    ("resource.k8s.io", "resourceslices"): NodeAuthorizer._slice,
    ("", "nodes"): NodeAuthorizer._node,
    ("", "pods"): NodeAuthorizer._pod,
}
