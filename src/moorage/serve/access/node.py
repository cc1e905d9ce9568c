"""Authorize kubelets: a node may read what its pods refer to, and write what is its own.

Kubernetes: the node authorizer. Differs: it compares names also where Kubernetes leaves that to the NodeRestriction
plugin; what only volumes refer to, such as the secrets of a CSI driver, may not be read.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PolicyRule
from moorage.serve.access.authorization import ALLOWED, NO_OPINION, Attributes, Decision, Rules, required_value
from moorage.serve.access.rbac import covers
from moorage.serve.pki.authentication import User
from moorage.serve.resources.objects import decode, prefix_of
from moorage.store.protocol import Change, Stored

NODES_GROUP, NODE_PREFIX = "system:nodes", "system:node:"
_LEASES = "kube-node-lease"
#: Besides pods.
NODE_KINDS = (KINDS.PERSISTENT_VOLUME_CLAIM, KINDS.RESOURCE_SLICE, KINDS.VOLUME_ATTACHMENT)
_PODS = prefix_of(KINDS.POD)

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


def node_of(user: User) -> str | None:
    """Return the name of the node that a user is; None for users that are no node, "" for one without a name."""
    if NODES_GROUP not in user.groups or not user.name.startswith(NODE_PREFIX):
        return None
    return user.name.removeprefix(NODE_PREFIX)


def _no(reason: str) -> Decision:
    return Decision(False, reason)


class _SpecOfPod(msgspec.Struct):
    nodeName: str = ""


class _PlacedPod(msgspec.Struct):
    spec: _SpecOfPod


_read_place = msgspec.json.Decoder(_PlacedPod).decode
_PLACED = b'"nodeName":"'


class NodeAuthorizer:
    """Knows the pods of each node, and what claims, attachments and slices belong to.

    Pods that another server wrote are decoded when a node asks for something.
    """

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod | Stored]] = {}
        self._node_of_pod: dict[str, str] = {}
        self._views: dict[Kind, dict[str, Any]] = {kind: {} for kind in NODE_KINDS}

    def learn(self, kind: Kind, view: Any) -> None:
        if kind is KINDS.POD and not view.spec.nodeName:
            return
        key = f"{view.metadata.namespace}/{view.metadata.name}"
        if kind is not KINDS.POD:
            self._views[kind][key] = view
        else:
            self._place(key, view.spec.nodeName, view)

    def forget(self, kind: Kind, view: Any) -> None:
        key = f"{view.metadata.namespace}/{view.metadata.name}"
        if kind is not KINDS.POD:
            self._views[kind].pop(key, None)
        else:
            self._displace(key)

    def heard(self, change: Change) -> None:
        """Take in a pod that was written or deleted."""
        _, old, new = change
        if new is not None:
            self.learn_stored(KINDS.POD, new)
        elif old is not None:
            self._displace(old.key[len(_PODS) :])

    def learn_stored(self, kind: Kind, stored: Stored) -> None:
        """Take in a pod."""
        view = stored.view
        if view is not None:
            node = view.spec.nodeName
        else:
            node = _read_place(stored.value).spec.nodeName if _PLACED in stored.value else ""
        if node:
            self._place(stored.key[len(_PODS) :], node, stored if view is None else view)

    def _place(self, key: str, node: str, pod: Pod | Stored) -> None:
        before = self._node_of_pod.get(key)
        if before != node:
            if before is not None:
                self._displace(key)  # it was deleted and created again without a notice
            self._node_of_pod[key] = node
            self._pods.setdefault(node, {})
        self._pods[node][key] = pod

    def _pods_of(self, node: str) -> Iterator[Pod]:
        pods = self._pods.get(node, {})
        for key, pod in tuple(pods.items()):
            if isinstance(pod, Stored):
                view: Pod = convert_view(decode(KINDS.POD, pod), Pod)
                pods[key] = view
                yield view
            else:
                yield pod

    def _displace(self, key: str) -> None:
        pods = self._pods.get(node := self._node_of_pod.pop(key, ""), {})
        pods.pop(key, None)
        if not pods:
            self._pods.pop(node, None)

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
        if verb in ("update", "patch") and subresource in ("", "status"):
            return ALLOWED if name == node else _no(f'node "{node}" is not allowed to modify node "{name}"')
        if subresource:
            return NO_OPINION
        if verb == "create":
            return ALLOWED
        if verb not in _READ:
            return NO_OPINION
        if name == node:
            return ALLOWED
        what = f"'{name}'" if name else "all nodes"
        return _no(f"node '{node}' cannot read {what}, only its own Node object")

    def _pod(self, node: str, attributes: Attributes) -> Decision:
        verb, subresource = attributes.verb, attributes.subresource
        if (verb, subresource) == ("create", ""):
            return ALLOWED
        writes = {"": ("delete",), "status": ("update", "patch"), "eviction": ("create",)}
        if verb in writes.get(subresource, ()):
            if f"{attributes.namespace}/{attributes.name}" in self._pods.get(node, ()):
                return ALLOWED
            return _no(f'node "{node}" can only change pods with spec.nodeName set to itself')
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
        if self._is_related(node, attributes.resource, attributes.namespace, attributes.name):
            return ALLOWED
        return _no(f"no relationship found between node '{node}' and this object")

    def _is_related(self, node: str, resource: str, namespace: str, name: str) -> bool:
        if resource == "resourceslices":
            related = self._views[KINDS.RESOURCE_SLICE].get(f"/{name}")
            return related is not None and related.spec.nodeName == node
        if resource == "volumeattachments":
            related = self._views[KINDS.VOLUME_ATTACHMENT].get(f"/{name}")
            return related is not None and related.spec.nodeName == node
        if resource == "pods":
            return f"{namespace}/{name}" in self._pods.get(node, ())
        pods = tuple(self._pods_of(node))
        if resource == "persistentvolumes":
            return any(self._volume_of(pod, claim) == name for pod in pods for claim in _claims(pod))
        return any(name in _REFERENCES[resource](pod) for pod in pods if pod.metadata.namespace == namespace)

    def _volume_of(self, pod: Pod, claim: str) -> str:
        claim_view = self._views[KINDS.PERSISTENT_VOLUME_CLAIM].get(f"{pod.metadata.namespace}/{claim}")
        return claim_view.spec.volumeName if claim_view is not None else ""


def _selects(fields: str, field: str, value: str) -> bool:
    """Return whether a field selector lets only objects with one value of a field through."""
    return required_value(fields, field) == value


def _containers(pod: Pod) -> Iterator[Any]:
    yield from (*pod.spec.initContainers, *pod.spec.containers, *pod.spec.ephemeralContainers)


def _claims(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes:
        if volume.persistentVolumeClaim is not None:
            yield volume.persistentVolumeClaim.claimName
        elif volume.ephemeral is not None:
            yield f"{pod.metadata.name}-{volume.name}"


def _secrets(pod: Pod) -> Iterator[str]:
    yield from (reference.name for reference in pod.spec.imagePullSecrets)
    yield from (volume.secret.secretName for volume in pod.spec.volumes if volume.secret is not None)
    yield from _sources(pod, "secret", "secretRef", "secretKeyRef")


def _config_maps(pod: Pod) -> Iterator[str]:
    yield from (volume.configMap.name for volume in pod.spec.volumes if volume.configMap is not None)
    yield from _sources(pod, "configMap", "configMapRef", "configMapKeyRef")


def _sources(pod: Pod, projected: str, whole: str, key: str) -> Iterator[str]:
    """Yield the names in projected volumes and in the environment of containers."""
    found: list[Any] = []
    for volume in pod.spec.volumes:
        sources: Iterable[Any] = () if volume.projected is None else volume.projected.sources or ()
        found += [getattr(source, projected) for source in sources]
    for container in _containers(pod):
        found += [getattr(source, whole) for source in container.envFrom]
        found += [getattr(variable.valueFrom, key) for variable in container.env if variable.valueFrom is not None]
    return (one.name for one in found if one is not None)


def _resource_claims(pod: Pod) -> Iterator[str]:
    yield from (
        resource_claim.resourceClaimName
        for resource_claim in pod.spec.resourceClaims
        if resource_claim.resourceClaimName
    )
    yield from (
        resource_claim_status.resourceClaimName
        for resource_claim_status in pod.status.resourceClaimStatuses
        if resource_claim_status.resourceClaimName
    )


_REFERENCES: dict[str, Any] = {
    "secrets": _secrets,
    "configmaps": _config_maps,
    "persistentvolumeclaims": _claims,
    "resourceclaims": _resource_claims,
    "serviceaccounts": lambda pod: (pod.spec.serviceAccountName,),
}
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
