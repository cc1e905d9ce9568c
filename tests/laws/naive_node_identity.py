"""Decide what a node may read and write in the plainest way: look through all objects for each request.

Nothing is indexed, remembered or shared with the product: documents in, a decision out. Written from the rules of
Kubernetes' node authorizer and NodeRestriction, for the objects and requests that the law draws.
"""

from collections.abc import Iterator
from typing import Any

Raw = dict[str, Any]
MIRROR = "kubernetes.io/config.mirror"
LEASES = "kube-node-lease"
KUBELET_LABELS = {
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "node.kubernetes.io/instance-type",
}


class Naive:
    """All objects of a cluster, by kind."""

    def __init__(self, objects: dict[str, list[Raw]]) -> None:
        self.objects = objects

    def of_kind(self, kind: str) -> list[Raw]:
        return self.objects.get(kind, [])

    def pods_on(self, node: str) -> list[Raw]:
        return [pod for pod in self.of_kind("Pod") if node and pod["spec"].get("nodeName") == node]

    # ── reading

    def may_get(self, node: str, kind: str, namespace: str, name: str) -> bool:
        if not node:
            return False
        if kind == "Node":
            return name == node
        if kind == "Lease":
            return (namespace, name) == (LEASES, node)
        if kind == "CSINode":
            return name == node
        if kind in ("ResourceSlice", "VolumeAttachment"):
            same = [one for one in self.of_kind(kind) if one["metadata"]["name"] == name]
            return any(one["spec"].get("nodeName") == node for one in same)
        if kind == "Pod":
            return any(_key(pod) == (namespace, name) for pod in self.pods_on(node))
        return (kind, namespace, name) in set(self._needs(node))

    def may_list(self, node: str, kind: str, namespace: str, equal: dict[str, str]) -> bool:
        """Decide about a list with a field selector that asks for equal values."""
        if not node:
            return False
        name = equal.get("metadata.name", "")
        if kind == "Node":
            return name == node
        if kind in ("Pod", "ResourceSlice") and equal.get("spec.nodeName") == node:
            return True
        if kind in ("Secret", "ConfigMap", "Pod"):
            return bool(name and namespace) and self.may_get(node, kind, namespace, name)
        return False

    def _needs(self, node: str) -> Iterator[tuple[str, str, str]]:
        """Yield all that the pods of a node refer to, and what their volumes need."""
        for pod in self.pods_on(node):
            if MIRROR in pod["metadata"].get("annotations", {}):
                continue
            for kind, name in references(pod):
                namespace = pod["metadata"]["namespace"]
                yield kind, namespace, name
                if kind != "PersistentVolumeClaim":
                    continue
                for volume in self.of_kind("PersistentVolume"):
                    claim = volume["spec"].get("claimRef")
                    if claim is None or (claim["namespace"], claim["name"]) != (namespace, name):
                        continue
                    yield "PersistentVolume", "", volume["metadata"]["name"]
                    for field in ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"):
                        secret = volume["spec"].get("csi", {}).get(field)
                        if secret:
                            yield "Secret", secret["namespace"], secret["name"]

    # ── writing

    def may_create_pod(self, node: str, pod: Raw) -> bool:
        """Decide about a pod that a node creates: it is a mirror of a static pod, and refers to nothing."""
        metadata, spec = pod["metadata"], pod["spec"]
        owners = metadata.get("ownerReferences", [])
        if not node or MIRROR not in metadata.get("annotations", {}) or spec.get("nodeName") != node:
            return False
        if len(owners) != 1 or (owners[0]["kind"], owners[0]["name"]) != ("Node", node):
            return False
        own = [one for one in self.of_kind("Node") if one["metadata"]["name"] == node]
        if not owners[0].get("controller") or owners[0].get("blockOwnerDeletion"):
            return False
        if not own or own[0]["metadata"]["uid"] != owners[0]["uid"]:
            return False
        needs_driver = any("csi" in volume for volume in spec.get("volumes", []))
        return not [*references(pod)] and not spec.get("resourceClaims") and not needs_driver

    def may_touch_pod(self, node: str, namespace: str, name: str) -> bool:
        """Decide about deleting or evicting a pod that exists."""
        return any(_key(pod) == (namespace, name) for pod in self.pods_on(node))

    def may_report(self, node: str, namespace: str, name: str, patch: Raw) -> bool:
        """Decide about a merge patch of a pod's status."""
        pods = [pod for pod in self.pods_on(node) if _key(pod) == (namespace, name)]
        if not pods:
            return False
        labels = pods[0]["metadata"].get("labels", {})
        after = merged(labels, patch.get("metadata", {}).get("labels", {}))
        if after != labels:
            return False
        claims = pods[0].get("status", {}).get("resourceClaimStatuses", [])
        wanted = patch.get("status", {}).get("resourceClaimStatuses", claims)
        return bool(wanted == claims)

    def may_patch_node(self, node: str, name: str, patch: Raw) -> bool:
        if not node or name != node:
            return False
        own = next(one for one in self.of_kind("Node") if one["metadata"]["name"] == name)
        before = own["metadata"].get("labels", {})
        after = merged(before, patch.get("metadata", {}).get("labels", {}))
        changed = [label for label in {*before, *after} if before.get(label) != after.get(label)]
        taints = own["spec"].get("taints", [])
        wanted = patch.get("spec", {}).get("taints", taints)
        return (wanted or []) == taints and all(map(is_free, changed))


def is_free(label: str) -> bool:
    """Decide whether a node may set a label."""
    domain = label.split("/")[0] if "/" in label else ""
    if f".{domain}".endswith(".node-restriction.kubernetes.io"):
        return False
    if not f".{domain}".endswith((".kubernetes.io", ".k8s.io")):
        return True
    return label in KUBELET_LABELS or f".{domain}".endswith((".kubelet.kubernetes.io", ".node.kubernetes.io"))


def references(pod: Raw) -> Iterator[tuple[str, str]]:
    """Yield kind and name of all that a pod refers to."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        yield "ServiceAccount", spec["serviceAccountName"]
    for reference in spec.get("imagePullSecrets", []):
        yield "Secret", reference["name"]
    for part in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(part, []):
            for source in container.get("envFrom", []):
                yield (
                    ("Secret", source["secretRef"]["name"])
                    if "secretRef" in source
                    else (
                        "ConfigMap",
                        source["configMapRef"]["name"],
                    )
                )
            for variable in container.get("env", []):
                if "secretKeyRef" in variable["valueFrom"]:
                    yield "Secret", variable["valueFrom"]["secretKeyRef"]["name"]
                else:
                    yield "ConfigMap", variable["valueFrom"]["configMapKeyRef"]["name"]
    for volume in spec.get("volumes", []):
        if "secret" in volume:
            yield "Secret", volume["secret"]["secretName"]
        elif "configMap" in volume:
            yield "ConfigMap", volume["configMap"]["name"]
        elif "csi" in volume and "nodePublishSecretRef" in volume["csi"]:
            yield "Secret", volume["csi"]["nodePublishSecretRef"]["name"]
        elif "persistentVolumeClaim" in volume:
            yield "PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]
        elif "ephemeral" in volume:
            yield "PersistentVolumeClaim", f"{pod['metadata'].get('name', '')}-{volume['name']}"
        for source in volume.get("projected", {}).get("sources", []):
            if "secret" in source:
                yield "Secret", source["secret"]["name"]
            elif "configMap" in source:
                yield "ConfigMap", source["configMap"]["name"]
    for claim in spec.get("resourceClaims", []):
        if "resourceClaimName" in claim:
            yield "ResourceClaim", claim["resourceClaimName"]
        for status in pod.get("status", {}).get("resourceClaimStatuses", []):
            if "resourceClaimTemplateName" in claim and status["name"] == claim["name"]:
                yield "ResourceClaim", status["resourceClaimName"]


def merged(old: Raw, patch: Raw) -> Raw:
    return {name: value for name, value in {**old, **patch}.items() if value is not None}


def _key(document: Raw) -> tuple[str, str]:
    return document["metadata"]["namespace"], document["metadata"]["name"]
