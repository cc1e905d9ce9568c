"""Random clusters, small and full of conflict: every plugin finds something to refuse and something to prefer.

Raw objects in the API's form; `build` makes a `Cluster` of them, and `change` goes on from there.
"""

from random import Random
from typing import Any

import msgspec
from hypothesis import strategies as st

from moorage.columns.cluster import Cluster
from moorage.columns.devices.devices import DeviceObject
from moorage.columns.storage import StorageObject
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.model.types.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass

Raw = dict[str, Any]

_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
_APPS = ["web", "db"]
_IMAGES = ["web:1", "db:2"]
_MIB = 1024 * 1024
_DRIVER = "disks.example.com"
_RESTARTS_ALL, _USER_NAMESPACES = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
_VOLUMES: list[Raw] = [
    *(
        {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in ("bound", "labelled", "waiting", "once")
    ),
    {"name": "disk", "gcePersistentDisk": {"pdName": "shared"}},
]
NAMESPACES: dict[str, dict[str, str]] = {"default": {}, "team": {"team": "a"}}


def _some(random: Random, values: list[Any], most: int = 2) -> list[Any]:
    return [random.choice(values) for _ in range(random.randint(0, most))]


def _pick(random: Random, *values: Any) -> Any:
    return random.choice(values)


def random_node(random: Random, name: str) -> Raw:
    labels = {_HOST: name, _ZONE: _pick(random, "a", "b", None), "gen": _pick(random, "1", "7", "x", None)}
    labels["version"] = _pick(random, "1.2.3", "v1.10", None)
    taints = _some(
        random,
        [
            {"key": "sla", "value": "950", "effect": "NoSchedule"},
            {"key": "sla", "value": "80", "effect": "NoExecute"},
            {"key": "spot", "value": "", "effect": "PreferNoSchedule"},
            {"key": "gpu", "value": "a100", "effect": "PreferNoSchedule"},
        ],
    )
    images = [{"names": [image], "sizeBytes": random.randint(1, 1500) * _MIB} for image in _some(random, _IMAGES)]
    return {
        "metadata": {"name": name, "labels": {key: value for key, value in labels.items() if value is not None}},
        "spec": {"unschedulable": _pick(random, False, False, True), "taints": taints},
        "status": {
            "allocatable": {
                "cpu": _pick(random, "1", "4"),
                "memory": _pick(random, "1Gi", "8Gi", "8Gi", "8Ei"),
                "pods": _pick(random, "1", "3", "10"),
                "example.com/gpu": _pick(random, "0", "2"),
            },
            "images": images,
            "declaredFeatures": _pick(random, [], [_RESTARTS_ALL], [_RESTARTS_ALL, _USER_NAMESPACES]),
        },
    }


def _label_selector(random: Random) -> Any:
    return _pick(
        random,
        {"matchLabels": {"app": "web"}},
        {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]},
        {},
        None,
    )


def _pod_term(random: Random) -> Raw:
    term: Raw = {"labelSelector": _label_selector(random), "topologyKey": _pick(random, _ZONE, _HOST)}
    namespaces = _pick(random, None, None, ["team"])
    if namespaces:
        term["namespaces"] = namespaces
    if random.random() < 0.5:
        term["namespaceSelector"] = _pick(random, {}, {"matchLabels": {"team": "a"}})
    return term


def _pod_affinity(random: Random, most: int) -> Raw:
    return {
        "requiredDuringSchedulingIgnoredDuringExecution": [_pod_term(random) for _ in range(random.randint(0, most))],
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": random.randint(1, 100), "podAffinityTerm": _pod_term(random)}
            for _ in range(random.randint(0, most))
        ],
    }


_NEW_VERSION = {"key": "version", "operator": "SemverGt", "values": ["1.9"]}


def _node_term(random: Random) -> Raw:
    expressions = _some(
        random,
        [
            {"key": _ZONE, "operator": "In", "values": ["a", "b"]},
            {"key": _ZONE, "operator": "NotIn", "values": ["a"]},
            {"key": "gen", "operator": "Gt", "values": ["3"]},
            {"key": "gen", "operator": "Exists"},
            {"key": "gen", "operator": "DoesNotExist"},
            _NEW_VERSION,
            {"key": _ZONE, "operator": "Near", "values": ["a"]},
        ],
    )
    fields = _some(
        random,
        [{"key": "metadata.name", "operator": operator, "values": ["n1"]} for operator in ("In", "NotIn")],
        most=1,
    )
    return {"matchExpressions": expressions, "matchFields": fields}


def _node_affinity(random: Random) -> Raw:
    affinity: Raw = {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": random.randint(1, 100), "preference": _node_term(random)} for _ in range(random.randint(0, 2))
        ]
    }
    if random.random() < 0.5:
        terms = [_node_term(random) for _ in range(random.randint(0, 2))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    return affinity


def _spread(random: Random) -> Raw:
    constraint: Raw = {
        "maxSkew": random.randint(1, 2),
        "topologyKey": _pick(random, _ZONE, _HOST),
        "whenUnsatisfiable": _pick(random, "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"),
        "labelSelector": _label_selector(random),
    }
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and random.random() < 0.5:
        constraint["minDomains"] = random.randint(1, 3)
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        if random.random() < 0.5:
            constraint[policy] = _pick(random, "Honor", "Ignore")
    return constraint


def random_pod(random: Random, name: str) -> Raw:
    """A pod; half of the time it is a plain one, so that not every placement is impossible."""
    requests = {"cpu": _pick(random, "100m", "2", None), "memory": _pick(random, "64Mi", "2Gi", None, "4Ei")}
    requests["example.com/gpu"] = _pick(random, "1", None, None)
    ports = _some(
        random, [{"hostPort": 80}, {"hostPort": 80, "hostIP": "10.0.0.1"}, {"hostPort": 53, "protocol": "UDP"}], most=1
    )
    container: Raw = {
        "name": "c",
        "image": _pick(random, *_IMAGES),
        "resources": {"requests": {key: value for key, value in requests.items() if value is not None}},
        "ports": ports,
    }
    spec: Raw = {"containers": [container], "priority": _pick(random, 0, 0, 10)}
    spec["tolerations"] = _some(
        random,
        [
            {"operator": "Exists"},
            {"key": "sla", "operator": "Gt", "value": "900"},
            {"key": "spot", "operator": "Exists"},
            {"expression": 'taint.key == "sla" && int(taint.value) < 100'},
        ],
    )
    if random.random() < 0.5:
        spec["nodeSelector"] = _pick(random, {_ZONE: "a"}, {"gen": "7"}, {})
        affinity: Raw = {"nodeAffinity": _node_affinity(random)} if random.random() < 0.5 else {}
        if random.random() < 0.5:
            affinity["podAffinity"] = _pod_affinity(random, 1)
            affinity["podAntiAffinity"] = _pod_affinity(random, 1)
        spec["affinity"] = affinity
        spec["topologySpreadConstraints"] = [_spread(random) for _ in range(random.randint(0, 2))]
    if random.random() < 0.2:
        exits = {"operator": "In", "values": [1]}
        container["restartPolicyRules"] = [{"action": "RestartAllContainers", "exitCodes": exits}]
    if random.random() < 0.1:
        spec |= {"hostNetwork": True, "hostUsers": False}
    spec["volumes"] = _some(random, _VOLUMES) if random.random() < 0.4 else []
    labels = {"app": _pick(random, *_APPS)} if random.random() < 0.5 else {}
    return {
        "metadata": {"name": name, "namespace": _pick(random, "default", "default", "team"), "labels": labels},
        "spec": spec,
    }


def _volume(name: str, key: str, value: str, claim: str = "", mode: str = "ReadWriteOnce") -> PersistentVolume:
    """A volume for nodes with a label; only zones are also its own label, which VolumeZone reads."""
    operator = "SemverGt" if key == "version" else "In"
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": [value]}]}
    raw: Raw = {
        "metadata": {"name": name, "labels": {_ZONE: value} if key == _ZONE else {}},
        "spec": {
            "accessModes": [mode],
            "capacity": {"storage": "1Gi" if claim else "4Gi"},
            "csi": {"driver": _DRIVER, "volumeHandle": name},
            "storageClassName": "late",
        },
    }
    if name != "elsewhere":
        raw["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    if claim:
        raw["spec"]["claimRef"] = {"namespace": "default", "name": claim}
    return convert_view(raw, PersistentVolume)


def _claim(name: str, volume: str = "", mode: str = "ReadWriteOnce") -> PersistentVolumeClaim:
    bound = {"pv.kubernetes.io/bind-completed": "yes"} if volume else {}
    spec = {"accessModes": [mode], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "late"}
    raw = {
        "metadata": {"name": name, "namespace": "default", "annotations": bound},
        "spec": {**spec, "volumeName": volume},
        "status": {"phase": "Bound" if volume else "Pending"},
    }
    return convert_view(raw, PersistentVolumeClaim)


def storage_objects() -> list[StorageObject]:
    """Claims that are bound, exclusive or waiting for their pod, and the volumes for them."""
    late = {"metadata": {"name": "late"}, "volumeBindingMode": "WaitForFirstConsumer"}
    return [
        convert_view({**late, "provisioner": "kubernetes.io/no-provisioner"}, StorageClass),
        _volume("zonal", _ZONE, "a", "bound"),
        _volume("elsewhere", _ZONE, "b", "labelled"),
        _volume("local", _HOST, "n1"),
        _volume("exclusive", _ZONE, "b", "once", "ReadWriteOncePod"),
        _volume("modern", "version", "1.9", "versioned"),
        _claim("bound", "zonal"),
        _claim("versioned", "modern"),
        _claim("labelled", "elsewhere"),
        _claim("waiting"),
        _claim("once", "exclusive", "ReadWriteOncePod"),
    ]


def device_objects(nodes: list[Raw]) -> list[DeviceObject]:
    """Devices of every other node and of a zone, a class, and claims to allocate, with alternatives, and allocated."""
    made: list[DeviceObject] = [convert_view({"metadata": {"name": "any"}}, DeviceClass)]
    for i, raw in enumerate(nodes[::2]):
        made.append(_slice(raw["metadata"]["name"], 1 + i % 2, {"nodeName": raw["metadata"]["name"]}))
    term = {"matchExpressions": [{"key": _ZONE, "operator": "In", "values": ["b"]}]}
    made.append(_slice("zonal", 1, {"nodeSelector": {"nodeSelectorTerms": [term]}}))
    one = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    either = [{"name": "two", **one, "count": 2}, {"name": "one", **one}]
    here = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}
    held = {"allocation": {"devices": {}, "nodeSelector": here}}
    for namespace in NAMESPACES:
        for name, request, status in (
            ("one", {"exactly": one}, {}),
            ("either", {"firstAvailable": either}, {}),
            ("held", {"exactly": one}, held),
        ):
            metadata = {"name": name, "namespace": namespace, "uid": f"{namespace}-{name}"}
            spec = {"devices": {"requests": [{"name": "r", **request}]}}
            made.append(convert_view({"metadata": metadata, "spec": spec, "status": status}, ResourceClaim))
    return made


def _slice(name: str, devices: int, where: Raw) -> ResourceSlice:
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": f"d{i}"} for i in range(devices)]
    spec = {"driver": _DRIVER, "pool": pool, "devices": listed, **where}
    return convert_view({"metadata": {"name": f"slice-{name}"}, "spec": spec}, ResourceSlice)


class Scene(msgspec.Struct, frozen=True):
    """Nodes, pods on some of them (by node), a pod that asks, and what becomes of some nodes while it waits."""

    nodes: list[Raw]
    pods: list[tuple[str, Raw]]
    pod: Raw
    later: list[Raw]
    volume_limits: list[int]


def random_scene(seed: int, node_count: int, pod_count: int) -> Scene:
    random = Random(seed)
    names = [f"n{i}" for i in range(node_count)]
    running = [(random.choice(names), random_pod(random, f"p{i}")) for i in range(pod_count)]
    later = [random_node(random, random.choice([*names, "new"])) for _ in range(random.randint(0, 2))]
    asking = random_pod(random, "asking")
    if random.randint(0, 9) == 0:
        asking["spec"]["nodeName"] = random.choice([*names, "ghost"])
    limits = [random.randint(0, 2) for _ in names]
    if random.random() < 0.3:
        asking["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimName": _pick(random, "one", "either", "held")}]
    return Scene([random_node(random, name) for name in names], running, asking, later, limits)


def scenes() -> st.SearchStrategy[Scene]:
    """Hypothesis decides how many there are and so finds small examples; what they are like comes from a seed."""
    return st.builds(random_scene, st.integers(0, 2**32), st.integers(1, 6), st.integers(0, 6))


def _unreadable_scene(seed: int, node_count: int, pod_count: int) -> Scene:
    """A scene with versions and numbers that cannot be read, and a pod that compares them."""
    scene, random = random_scene(seed, node_count, pod_count), Random(seed + 1)
    for raw in (*scene.nodes, *scene.later):
        raw["metadata"]["labels"]["version"] = _pick(random, "1.2.3", "v1.10", "1.2.x", "odd")
        if random.random() < 0.5:
            raw["spec"]["taints"] = [{"key": "sla", "value": _pick(random, "high", "950"), "effect": "NoSchedule"}]
    spec = scene.pod["spec"]
    operator = _pick(random, "Gt", "SemverLt")
    spec["tolerations"] = [*spec["tolerations"], {"key": "sla", "operator": operator, "value": "900"}]
    if random.random() < 0.5:
        spec.setdefault("affinity", {})["nodeAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [_node_term(random), {"matchExpressions": [_NEW_VERSION]}]
            }
        }
    if random.random() < 0.5:
        spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "versioned"}}]
        scene.pod["metadata"]["namespace"] = "default"
    return scene


def unreadable_scenes() -> st.SearchStrategy[Scene]:
    """Scenes in which values of nodes cannot be compared."""
    return st.builds(_unreadable_scene, st.integers(0, 2**32), st.integers(1, 6), st.integers(0, 3))


def build(scene: Scene) -> Cluster:
    cluster = Cluster()
    for name, labels in NAMESPACES.items():
        cluster.set_namespace(name, {**labels, "kubernetes.io/metadata.name": name})
    for raw in scene.nodes:
        cluster.add_node(convert_view(raw, Node))
    for thing in storage_objects():
        cluster.storage.set(thing)
    for device_object in device_objects(scene.nodes):
        cluster.devices.set(device_object)
    for raw, limit in zip(scene.nodes, scene.volume_limits, strict=True):
        driver = {"name": _DRIVER, "nodeID": "x", "allocatable": {"count": limit}}
        csi_node = {"metadata": {"name": raw["metadata"]["name"]}, "spec": {"drivers": [driver]}}
        cluster.storage.set(convert_view(csi_node, CSINode))
    for on, raw in scene.pods:
        place(cluster, raw, on)
    return cluster


def place(cluster: Cluster, raw: Raw, on: str) -> None:
    pod = convert_view(raw, Pod)
    key = f"{pod.metadata.namespace}/{pod.metadata.name}"
    cluster.add_pod(cluster.record(key, pod), cluster.nodes.slot_of[on])


def change(cluster: Cluster, scene: Scene) -> None:
    """Let happen what happens later: nodes come or change, the first pod goes, and another comes in its place."""
    for raw in scene.later:
        node = convert_view(raw, Node)
        if node.metadata.name in cluster.nodes.slot_of:
            cluster.update_node(node)
        else:
            cluster.add_node(node)
    if scene.later:
        cluster.storage.set(_volume("late", _ZONE, "a"))
        cluster.devices.set(_slice(scene.nodes[-1]["metadata"]["name"], 2, {"allNodes": True}))
    if scene.pods:
        _, raw = scene.pods[0]
        first = cluster.pods.get(f"{raw['metadata']['namespace']}/{raw['metadata']['name']}")
        if first is not None:
            cluster.remove_pod(first)
        place(cluster, raw, scene.nodes[-1]["metadata"]["name"])
