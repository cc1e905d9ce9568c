"""Every kind of suggestion is made where it helps: a world for each, and what is suggested there."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, node, running, spec, workload

from moorage.plan.explain.remedies.change import ChangeKind

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
SELECTOR = {"labelSelector": {"matchLabels": {"app": "web"}}}
TAINT = {"key": "x", "effect": "NoSchedule"}


def term(key: str = "kubernetes.io/hostname") -> Raw:
    return {"topologyKey": key, **SELECTOR}


def apart(key: str = "kubernetes.io/hostname") -> Raw:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [term(key)]}}}


def requires(key: str, operator: str, value: str) -> Raw:
    rule = {"key": key, "operator": operator, "values": [value]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    return {"affinity": {"nodeAffinity": {REQUIRED: terms}}}


def spread(key: str) -> Raw:
    constraint = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **term(key)}
    return {"topologySpreadConstraints": [constraint]}


def of_class(kind: str, version: str, name: str, **fields: Any) -> Raw:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def storage_class(name: str) -> Raw:
    fields = {"provisioner": "disks.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
    return of_class("StorageClass", "storage.k8s.io/v1", name, **fields)


def claim_spec() -> Raw:
    amounts = {"requests": {"storage": "1Gi"}}
    return {"storageClassName": "gone", "accessModes": ["ReadWriteOnce"], "resources": amounts}


def web(kind: str = "Deployment", cpu: str = "1", replicas: int = 1, **pods: Any) -> Raw:
    return workload(kind, "web", cpu, pods=pods, **{"parallelism" if kind == "Job" else "replicas": replicas})


def with_claims() -> list[Raw]:
    made = web("StatefulSet", replicas=2)
    made["spec"]["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim_spec()}]
    return [node("n1"), storage_class("fast"), made]


def with_claim() -> list[Raw]:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim_spec()}
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    return [node("n1"), storage_class("fast"), claim, web(volumes=volumes)]


def with_devices() -> list[Raw]:
    request = {"name": "gpu", "exactly": {"deviceClassName": "a100"}}
    template = {"spec": {"devices": {"requests": [request]}}}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "g0", "attributes": {"model": {"string": "t4"}}}]
    offered = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, "devices": devices}
    selected = {
        model: [{"cel": {"expression": f"device.attributes['gpu.example.com'].model == '{model}'"}}]
        for model in ("a100", "t4")
    }
    version = "resource.k8s.io/v1"
    return [
        node("n1"),
        of_class("ResourceSlice", version, "n1", spec=offered),
        *(of_class("DeviceClass", version, name, spec={"selectors": one}) for name, one in selected.items()),
        of_class("ResourceClaimTemplate", version, "gpu", spec=template),
        web(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}]),
    ]


def rolling(pods: Raw, *nodes: str) -> list[Raw]:
    """Return a Deployment with a new template, and a pod of the old one on each node."""
    made = web(replicas=len(nodes), **pods)
    revision = {"deployment.kubernetes.io/revision": "1"}
    made["metadata"] |= {"uid": "d", "resourceVersion": "5", "annotations": revision}
    made["spec"]["template"]["spec"]["containers"][0]["image"] = "i:2"
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": True}
    labels = {"app": "web", "pod-template-hash": "old"}
    about = {"name": "web-old", "uid": "u", "resourceVersion": "6", "labels": labels, "ownerReferences": [owner]}
    template = {"metadata": {"labels": labels}, "spec": spec("1", **pods)}
    fields = {"replicas": len(nodes), "selector": {"matchLabels": labels}, "template": template}
    old = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {**about, "annotations": revision},
        "spec": fields,
    }
    there = [running(f"web-old-{name}", name, ("ReplicaSet", "web-old"), labels=labels, **pods) for name in nodes]
    for pod in there:
        pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return [*(node(name) for name in nodes), made, old, *there]


SANDBOX = of_class(
    "RuntimeClass", "node.k8s.io/v1", "gvisor", handler="runsc", scheduling={"nodeSelector": {"sandbox": "gvisor"}}
)
ZONE = "topology.kubernetes.io/zone"
IN_ZONE: Any = {ZONE: "a"}
ANTI = "required podAntiAffinity term (app=web by kubernetes.io/hostname)"
TABLE: list[tuple[str, list[Raw], str, str]] = [
    ("fewer replicas", [node("n1"), web(replicas=6)], "deployment/web", "replicas 6 → 4: as many as fit"),
    ("of a Job", [node("n1"), web("Job", replicas=6)], "job/web", "parallelism 6 → 4: as many as fit"),
    ("more nodes", [node("n1"), web("StatefulSet", "2", 9)], "statefulset/web", "4 more nodes like n1"),
    (
        "node affinity",
        [node("n1", disk="hdd"), web(**requires("disk", "In", "ssd"))],
        "deployment/web",
        "required node affinity: prefer disk In [ssd] instead of requiring it",
    ),
    (
        "anti-affinity",
        [node("n1"), web(replicas=2, **apart())],
        "deployment/web",
        f"{ANTI}: prefer it instead of requiring it",
    ),
    (
        "spreading",
        [node("n1", zone="a"), node("n2", zone="b", taints=[TAINT]), web(replicas=3, **spread("zone"))],
        "deployment/web",
        "spread by zone: whenUnsatisfiable DoNotSchedule → ScheduleAnyway",
    ),
    (
        "topologyKey",
        [node("n1", **IN_ZONE), node("n2", **IN_ZONE), web(replicas=2, **apart(ZONE))],
        "deployment/web",
        f"required podAntiAffinity term (app=web by {ZONE}): topologyKey {ZONE} → kubernetes.io/hostname",
    ),
    (
        "topologyKey of spreading",
        [node("n1", **IN_ZONE), node("n2"), web(replicas=3, **spread("rack"))],
        "deployment/web",
        "spread by rack: topologyKey rack → kubernetes.io/hostname",
    ),
    (
        "matchLabelKeys",
        [node("n2", taints=[TAINT]), *rolling(spread("kubernetes.io/hostname"), "n1")],
        "deployment/web",
        "spread by kubernetes.io/hostname: count only pods of the same revision (matchLabelKeys)",
    ),
    (
        "matchLabelKeys of anti-affinity",
        rolling(apart(), "n1", "n2"),
        "deployment/web",
        f"{ANTI}: regard only pods of the same revision (matchLabelKeys)",
    ),
    (
        "strategy",
        rolling(apart(), "n1", "n2"),
        "deployment/web",
        "strategy maxSurge 0, maxUnavailable 1: an old pod makes room before each new one",
    ),
    (
        "StorageClass",
        with_claim(),
        "deployment/web",
        "PersistentVolumeClaim data (recreated): storageClassName gone → fast",
    ),
    (
        "StorageClass of a StatefulSet",
        with_claims(),
        "statefulset/web",
        "claim template data of StatefulSet web (recreated): storageClassName gone → fast",
    ),
    (
        "RuntimeClass",
        [
            node("n1"),
            SANDBOX,
            {**SANDBOX, "metadata": {"name": "kata"}, "scheduling": {}},
            web(runtimeClassName="gvisor"),
        ],
        "deployment/web",
        "runtimeClassName gvisor → kata",
    ),
    (
        "DeviceClass",
        with_devices(),
        "deployment/web",
        "ResourceClaimTemplate gpu (recreated), request gpu: deviceClassName a100 → t4",
    ),
    (
        "PriorityClass",
        [
            node("n1"),
            of_class("PriorityClass", "scheduling.k8s.io/v1", "urgent", value=9),
            running("low", "n1", cpu="4"),
            web(cpu="3"),
        ],
        "deployment/web",
        "priorityClassName urgent (priority 9): it would evict default/low from n1",
    ),
    (
        "a threshold",
        [node("n1", gen="v1.35.2"), web(**requires("gen", "SemverGt", "v1.36.99"))],
        "deployment/web",
        "required node affinity: gen SemverGt v1.36.99 → SemverGt v1.35.1",
    ),
]


@pytest.mark.parametrize(("kind", "documents", "target", "summary"), TABLE, ids=[row[0] for row in TABLE])
def test_a_suggestion_of_each_kind(kind: str, documents: list[Raw], target: str, summary: str) -> None:
    told = explained(*documents, pod=target)
    found = {one.change.summary: one for one in told.suggestions}
    assert summary in found, list(found)
    assert found[summary].pending_after == 0 < found[summary].pending_before


def test_a_template_keeps_what_admission_adds_to_pods_out() -> None:
    """The API server merges matchLabelKeys into a pod's selector; the template gets the key alone."""
    told = explained(*rolling(apart(), "n1", "n2"), pod="deployment/web")
    (found,) = [one for one in told.suggestions if "matchLabelKeys" in one.change.summary]
    assert found.remedy is not None
    assert "matchLabelKeys:\n            - pod-template-hash" in found.remedy.manifest
    assert "matchExpressions" not in found.remedy.manifest


@pytest.mark.parametrize(
    ("labels", "taints", "pods", "is_fact"),
    [
        ({"disk": "hdd"}, [], requires("disk", "In", "ssd"), False),
        ({"example.com/gen": "7"}, [], requires("example.com/gen", "Gt", "8"), True),
        ({"example.com/os-version": "a"}, [], requires("example.com/os-version", "In", "b"), True),
        ({}, [{"key": "v", "value": "1.2.3", "effect": "NoSchedule"}], {}, True),
        ({}, [{"key": "team", "value": "a", "effect": "NoSchedule"}], {}, False),
        (
            {},
            [{"key": "load", "value": "9", "effect": "NoSchedule"}],
            {"tolerations": [{"key": "load", "operator": "Lt", "value": "5"}]},
            True,
        ),
    ],
)
def test_a_label_or_taint_that_states_a_fact_is_called_one(
    labels: dict[str, str], taints: list[Raw], pods: Raw, is_fact: bool
) -> None:
    told = explained(node("n1", taints=taints, **labels), web(**pods), pod="deployment/web")
    on_nodes = [
        one.change for one in told.suggestions if one.change.kind in (ChangeKind.NODE_LABEL, ChangeKind.NODE_TAINT)
    ]
    assert on_nodes
    assert all(("a fact about the node" in change.note) is is_fact for change in on_nodes)
