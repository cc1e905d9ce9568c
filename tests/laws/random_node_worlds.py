"""Draw clusters and requests for the law of node identities: few names, so that objects often meet."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

Raw = dict[str, Any]

NODES, NAMESPACES, NAMES = ("n1", "n2"), ("a", "b"), ("x0", "x1")
LEASES = "kube-node-lease"
LABELS = (
    "plain",
    "example.com/x",
    "kubernetes.io/hostname",
    "kubernetes.io/other",
    "x.k8s.io/y",
    "node.kubernetes.io/x",
    "sub.kubelet.kubernetes.io/x",
    "node-restriction.kubernetes.io/x",
    "sub.node-restriction.kubernetes.io/x",
    "notkubernetes.io/x",
    "topology.kubernetes.io/zone",
)
#: Kind → group and version, plural, whether it has a namespace.
KINDS: dict[str, tuple[str, str, bool]] = {
    "Secret": ("v1", "secrets", True),
    "ConfigMap": ("v1", "configmaps", True),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims", True),
    "PersistentVolume": ("v1", "persistentvolumes", False),
    "ServiceAccount": ("v1", "serviceaccounts", True),
    "ResourceClaim": ("resource.k8s.io/v1", "resourceclaims", True),
    "ResourceSlice": ("resource.k8s.io/v1", "resourceslices", False),
    "VolumeAttachment": ("storage.k8s.io/v1", "volumeattachments", False),
    "Pod": ("v1", "pods", True),
    "Node": ("v1", "nodes", False),
    "Lease": ("coordination.k8s.io/v1", "leases", True),
    "CSINode": ("storage.k8s.io/v1", "csinodes", False),
}


def path_of(kind: str, namespace: str = "", name: str = "") -> str:
    version, plural, namespaced = KINDS[kind]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    parts = [root, f"namespaces/{namespace}" if namespaced and namespace else "", plural, name]
    return "/".join(part for part in parts if part)


def document(kind: str, name: str, namespace: str = "", **more: Any) -> Raw:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("metadata", {})}
    return {"apiVersion": KINDS[kind][0], "kind": kind, "metadata": metadata, **more}


def pod(random: Random, name: str, namespace: str, node: str) -> Raw:
    """Draw a pod that refers to some objects, or to none."""
    spec: Raw = {"containers": [{"name": "c", "image": "i"}]}
    if node:
        spec["nodeName"] = node
    for change in random.sample(_REFERRING, random.choice((0, 0, 1, 1, 2, 3))):
        change(random, spec)
    for change in random.sample(_REFERRING_FURTHER, random.choice((0, 1, 1))):  # to what has references of its own
        change(random, spec)
    metadata: Raw = {"annotations": {"kubernetes.io/config.mirror": "x"}} if node and random.random() < 0.3 else {}
    return document("Pod", name, namespace, metadata=metadata, spec=spec)


def _volume(random: Random, spec: Raw, source: Raw) -> None:
    volumes = spec.setdefault("volumes", [])
    volumes.append({"name": f"x{len(volumes)}", **source})


def _variable(random: Random, spec: Raw) -> None:
    reference = random.choice(("secretKeyRef", "configMapKeyRef"))
    source = {reference: {"name": random.choice(NAMES), "key": "k"}}
    spec["containers"][0]["env"] = [{"name": "E", "valueFrom": source}]


def _init_container(random: Random, spec: Raw) -> None:
    source = {random.choice(("secretRef", "configMapRef")): {"name": random.choice(NAMES)}}
    spec["initContainers"] = [{"name": "i", "image": "i", "envFrom": [source]}]


def _projected(random: Random, spec: Raw) -> None:
    source = {random.choice(("secret", "configMap")): {"name": random.choice(NAMES)}}
    _volume(random, spec, {"projected": {"sources": [{"downwardAPI": {}}, source]}})


def _ephemeral(random: Random, spec: Raw) -> None:
    resources = {"requests": {"storage": "1Gi"}}
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": resources}}
    _volume(random, spec, {"ephemeral": {"volumeClaimTemplate": template}})


_Draw = Callable[[Random, Raw], None]
_REFERRING: tuple[_Draw, ...] = (
    lambda random, spec: spec.update(serviceAccountName=random.choice(NAMES)),
    lambda random, spec: spec.update(imagePullSecrets=[{"name": random.choice(NAMES)}]),
    _variable,
    _init_container,
    _projected,
    lambda random, spec: _volume(random, spec, {"secret": {"secretName": random.choice(NAMES)}}),
    lambda random, spec: _volume(random, spec, {"configMap": {"name": random.choice(NAMES)}}),
    lambda random, spec: _volume(random, spec, {"emptyDir": {}}),
    lambda random, spec: _volume(
        random, spec, {"csi": {"driver": "d.io", "nodePublishSecretRef": {"name": random.choice(NAMES)}}}
    ),
    lambda random, spec: spec.update(resourceClaims=[{"name": "r", "resourceClaimName": random.choice(NAMES)}]),
)
_REFERRING_FURTHER: tuple[_Draw, ...] = (
    lambda random, spec: _volume(random, spec, {"persistentVolumeClaim": {"claimName": random.choice(NAMES)}}),
    lambda random, spec: spec.update(resourceClaims=[{"name": "r", "resourceClaimTemplateName": "t"}]),
    _ephemeral,
)


def volume(random: Random, name: str) -> Raw:
    """Draw a PersistentVolume, of a claim or of none."""
    fields = ("nodePublishSecretRef", "nodeStageSecretRef", "controllerPublishSecretRef")
    secret = {"namespace": random.choice(NAMESPACES), "name": random.choice(NAMES)}
    csi = {"driver": "d.io", "volumeHandle": name, random.choice(fields): secret}
    spec: Raw = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "csi": csi, "storageClassName": "s"}
    if random.random() < 0.8:
        spec["claimRef"] = {"namespace": random.choice(NAMESPACES), "name": random.choice((*NAMES, "x0-x0"))}
    return document("PersistentVolume", name, spec=spec)


def slice_of(name: str, node: str) -> Raw:
    spec: Raw = {"driver": "d.io", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "devices": []}
    return document("ResourceSlice", name, spec={**spec, **({"nodeName": node} if node else {"allNodes": True})})


def attachment(name: str, node: str) -> Raw:
    spec = {"attacher": "d.io", "nodeName": node, "source": {"persistentVolumeName": "x0"}}
    return document("VolumeAttachment", name, spec=spec)


class Change(NamedTuple):
    """A request of the administrator that changes the world. It may fail: the world is looked at afterwards."""

    method: str
    path: str
    body: Raw | None = None
    content_type: str = "application/json"


def change(random: Random) -> Change:
    """Draw a change of the world: an object more or less, or another status."""
    name, namespace, node = random.choice(NAMES), random.choice(NAMESPACES), random.choice((*NODES, ""))
    kind = random.choice((*["Pod"] * 5, *["PersistentVolume"] * 4, "ResourceSlice", "VolumeAttachment"))
    where = namespace if KINDS[kind][2] else ""
    if random.random() < (0.4 if kind == "PersistentVolume" else 0.25):
        return Change("DELETE", f"{path_of(kind, where, name)}?gracePeriodSeconds=0")
    if kind == "Pod" and random.random() < 0.5:
        statuses = [{"name": "r", "resourceClaimName": random.choice(NAMES)}]
        patch = {"status": {"resourceClaimStatuses": statuses}}
        return Change("PATCH", f"{path_of('Pod', namespace, name)}/status", patch, "application/merge-patch+json")
    if kind == "Pod":
        return Change("POST", path_of(kind, namespace), pod(random, name, namespace, node))
    if kind == "PersistentVolume":
        return Change("POST", path_of(kind), volume(random, name))
    drawn = slice_of(name, node) if kind == "ResourceSlice" else attachment(name, node or "n1")
    return Change("POST", path_of(kind), drawn)


def first_objects() -> Iterator[Change]:
    """Yield what every world has: nodes and what pods refer to."""
    for node in NODES:
        taints = [{"key": "t", "effect": "NoSchedule"}]
        labels = {"plain": "v", "kubernetes.io/other": "v"}
        yield Change(
            "POST", path_of("Node"), document("Node", node, metadata={"labels": labels}, spec={"taints": taints})
        )
    for kind in ("Secret", "ConfigMap", "ServiceAccount"):
        for namespace in NAMESPACES:
            yield from (Change("POST", path_of(kind, namespace), document(kind, name, namespace)) for name in NAMES[:1])
