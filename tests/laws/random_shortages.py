"""Draw small clusters in which a workload `web` may lack room, labels, tolerations, volumes, classes or quota."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.unit.plan.planning import Raw, node, pod, running, workload

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
OWNERS = ("Deployment", "StatefulSet", "ReplicaSet", "Job", "DaemonSet", "Pod")
_SELECTOR = {"labelSelector": {"matchLabels": {"app": "web"}}}
_EFFECTS = st.sampled_from(["NoSchedule", "NoExecute"])
_TAINTS = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"key": st.just("load"), "value": st.sampled_from(["3", "15", "high"]), "effect": _EFFECTS}
        ),
        st.fixed_dictionaries(
            {"key": st.just("kernel"), "value": st.sampled_from(["5.4.0", "v6.1"]), "effect": _EFFECTS}
        ),
    ),
    max_size=1,
)
_TOLERATIONS = st.sampled_from(
    [
        [],
        [{"key": "load", "operator": "Lt", "value": "5"}],
        [{"key": "load", "operator": "Gt", "value": "20"}],
        [{"key": "kernel", "operator": "SemverGt", "value": "v5.15"}],
        [{"key": "load", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
    ]
)
_REQUIREMENTS = st.sampled_from(
    [
        {"key": "disk", "operator": "In", "values": ["ssd"]},
        {"key": "gen", "operator": "Gt", "values": ["7"]},
        {"key": "kernel", "operator": "SemverGt", "values": ["5.15.0"]},
        {"key": "kernel", "operator": "SemverLt", "values": ["v5.0"]},
    ]
)


@st.composite
def _nodes(draw: st.DrawFn, name: str) -> Raw:
    labels: Any = {
        "disk": draw(st.sampled_from(["ssd", "hdd"])),
        "gen": draw(st.sampled_from(["3", "9"])),
        "kernel": draw(st.sampled_from(["5.4.0", "v6.1", "5.15.0-generic"])),
        ZONE: draw(st.sampled_from(["a", "b"])),
    }
    taints = draw(_TAINTS) if draw(st.booleans()) else []
    drawn = node(name, draw(st.sampled_from(["1", "2", "4"])), taints=taints, **labels)
    if draw(st.integers(0, 7)) == 0:
        drawn["spec"]["unschedulable"] = True
    return drawn


def _apart(key: str) -> Raw:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": key, **_SELECTOR}]}}}


def _requires(rule: Raw) -> Raw:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}}}}


def _spread(key: str) -> Raw:
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", **_SELECTOR}
    return {"topologySpreadConstraints": [constraint]}


_PORT = {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
_VOLUME = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}
_FIELDS = st.one_of(
    st.just({}),
    st.builds(_apart, st.sampled_from([HOSTNAME, ZONE])),
    st.builds(_requires, _REQUIREMENTS),
    st.builds(_spread, st.sampled_from([HOSTNAME, ZONE])),
    st.just({"nodeSelector": {"disk": "ssd"}}),
    st.just(_PORT),
    st.just(_VOLUME),
    st.just({"runtimeClassName": "sandbox"}),
)


def _class(kind: str, version: str, name: str, **fields: Any) -> Raw:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def _storage(zone: str) -> list[Raw]:
    """Return a claim that is bound to a volume of one zone, or that waits for a class which does not exist."""
    modes = {"accessModes": ["ReadWriteMany"]}
    claim: Raw = {**modes, "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "gone"}
    about = {"name": "data", "namespace": "default"}
    made: Raw = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": about, "spec": claim}
    mode = {"provisioner": "disks.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    if not zone:
        return [made, _class("StorageClass", "storage.k8s.io/v1", "fast", **mode)]
    made["metadata"] |= {"uid": "c", "annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    claim["volumeName"] = "pv"
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data", "uid": "c"}
    volume = {
        **modes,
        "capacity": {"storage": "1Gi"},
        "storageClassName": "gone",
        "csi": {"driver": "disks.example.com", "volumeHandle": "x"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        "claimRef": reference,
    }
    return [
        {**made, "status": {"phase": "Bound"}},
        {**_class("PersistentVolume", "v1", "pv", spec=volume), "status": {"phase": "Bound"}},
    ]


@st.composite
def _web(draw: st.DrawFn, kind: str) -> Raw:
    fields = {**draw(_FIELDS), "tolerations": draw(_TOLERATIONS)}
    cpu, number = draw(st.sampled_from(["1", "3", "6"])), draw(st.integers(1, 4))
    if kind == "Pod":
        drawn = pod("web", cpu, labels={"app": "web"})
        drawn["spec"] |= fields
        return drawn
    drawn = workload(kind, "web", cpu, pods=fields)
    if kind == "Job":
        drawn["spec"] |= {"parallelism": number, "completions": number}
    elif kind != "DaemonSet":
        drawn["spec"]["replicas"] = number
    if kind == "StatefulSet" and draw(st.booleans()):
        drawn["spec"]["podManagementPolicy"] = "Parallel"
    return drawn


@st.composite
def shortages(draw: st.DrawFn) -> list[Raw]:
    """Draw one to three nodes, pods of others on them, and last `web`, which asks for much."""
    names = [f"n{index}" for index in range(draw(st.integers(1, 3)))]
    documents = [draw(_nodes(name)) for name in names]
    web = draw(_web(draw(st.sampled_from(OWNERS))))
    if draw(st.booleans()):
        documents.append(running("there", names[0], cpu=draw(st.sampled_from(["500m", "1"])), labels={"app": "there"}))
    is_limited = draw(st.integers(0, 3)) == 0
    if not is_limited and draw(st.booleans()):  # two workloads would race for the room that a quota has
        documents.append(workload("Deployment", "other", "1", replicas=draw(st.integers(1, 2))))
    if draw(st.integers(0, 3)) == 0:
        documents.append(_class("PriorityClass", "scheduling.k8s.io/v1", "urgent", value=9))
    if is_limited:
        hard = draw(st.sampled_from([{"requests.cpu": "2"}, {"pods": "2"}, {"requests.cpu": "500m"}]))
        documents.append(_class("ResourceQuota", "v1", "quota", spec={"hard": hard}))
    spec = web["spec"] if web["kind"] == "Pod" else web["spec"]["template"]["spec"]
    if "volumes" in spec:
        documents += _storage(draw(st.sampled_from(["", "a", "b", "c"])))
    if "runtimeClassName" in spec:
        selector = {"scheduling": {"nodeSelector": {"disk": draw(st.sampled_from(["ssd", "nvme"]))}}}
        documents.append(_class("RuntimeClass", "node.k8s.io/v1", "sandbox", handler="runsc", **selector))
        documents.append(_class("RuntimeClass", "node.k8s.io/v1", "plain", handler="runc"))
    return [*documents, web]
