"""Nodes are put together only if their reasons are equal up to values, and ranked by how far away they are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.objects import taint
from tests.unit.plan.explaining import explained
from tests.unit.plan.planning import Raw, node, pod, running

from moorage.lint.report.reason_shapes import without_values
from moorage.plan.explain.explanation import plain
from moorage.plan.explain.groups import families
from moorage.plan.explain.text import ExplanationText

GPU = "example.com/gpu"


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("node(s) had untolerated taint {spot: 15}", "node(s) had untolerated taint {spot: 8}", True),
        ("node(s) had untolerated taint {spot: 15}", "node(s) had untolerated taint {gpu: 15}", False),
        (
            "taint spot=15 is not tolerated: 15 < 5 is false (toleration Lt 5)",
            "taint spot=8 is not tolerated: 8 < 5 is false (toleration Lt 5)",
            True,
        ),
        (
            "taint spot=15 is not tolerated: 15 < 5 is false (toleration Lt 5)",
            "taint spot=15 is not tolerated: no toleration is for its key and effect",
            False,
        ),
        ("label disk=hdd: hdd = ssd is false", "label disk=nvme: nvme = ssd is false", True),
        ("label disk=hdd: hdd = ssd is false", "label disk is missing, disk=ssd is required", False),
        ("label disk=hdd: hdd = ssd is false", "label rack=hdd: hdd = ssd is false", False),
        (
            "cpu: 3 <= 2500m is false (allocatable 2500m, requested 0)",
            "cpu: 3 <= 1 is false (allocatable 4, requested 3)",
            True,
        ),
        (
            "cpu: 3 <= 1 is false (allocatable 4, requested 3)",
            "memory: 3Gi <= 1Gi is false (allocatable 4Gi, requested 3Gi)",
            False,
        ),
        ("host port 80/TCP at * is in use by d/a", "host port 80/TCP at * is in use by d/b", True),
        ("host port 80/TCP at * is in use by d/a", "host port 443/TCP at * is in use by d/a", False),
        (
            "constraint 1 (zone): in zone=a, 3 + 1 - 0 <= 1 is false (maxSkew 1)",
            "constraint 1 (zone): in zone=b, 2 + 1 - 0 <= 1 is false (maxSkew 1)",
            True,
        ),
        (
            "anti-affinity term 1 (app=a): 2 pods in zone=a match",
            "anti-affinity term 1 (app=a): 1 pod in zone=b match",
            True,
        ),
        (
            "anti-affinity term 1 (app=a): 1 pod in zone=a match",
            "anti-affinity term 2 (app=a): 1 pod in zone=a match",
            False,
        ),
        (
            "claim, request gpu: 0 of 4 devices; 2 of 2: it is taken",
            "claim, request gpu: 1 of 4 devices; 3 of 3: it is taken",
            True,
        ),
        (
            "claim, request gpu: 0 of 4 devices; 2 of 2: it is taken",
            "claim, request gpu: 0 of 4 devices; 2 of 2: another class",
            False,
        ),
        ("110 pods run here, of at most 110", "5 pods run here, of at most 5", True),
    ],
)
def test_reasons_are_equal_up_to_values(one: str, other: str, alike: bool) -> None:
    assert (without_values(one) == without_values(other)) is alike


def with_gpus(name: str, free: int, **fields: Any) -> Raw:
    made = node(name, **fields)
    made["status"]["capacity"][GPU] = str(free)
    return made


def training(gpus: str = "16", **fields: Any) -> Raw:
    made = pod("p", **fields)
    requests = made["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})
    requests[GPU] = gpus
    made["spec"]["containers"][0]["resources"]["limits"] = {GPU: gpus}
    return made


def names(*documents: Raw) -> list[str]:
    return [name for group in explained(*documents).refused for name in group.nodes]


@pytest.mark.parametrize(
    ("nodes", "pods", "ranked"),
    [
        ([with_gpus("none", 0), with_gpus("half", 8), with_gpus("most", 15)], training(), ["most", "half", "none"]),
        (
            [with_gpus("tainted-half", 8, taints=[taint("spot", "1")]), with_gpus("none", 0)],
            training(),
            ["none", "tainted-half"],
        ),
        (
            [node("far", taints=[taint("fp", "900")]), node("near", taints=[taint("fp", "6")])],
            pod("p", tolerations=[{"key": "fp", "operator": "Lt", "value": "5", "effect": "NoSchedule"}]),
            ["near", "far"],
        ),
        (
            [node("old", v="1.20.0"), node("new", v="1.35.9"), node("unknown")],
            pod(
                "p",
                affinity={
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "v", "operator": "SemverGt", "values": ["1.36.0"]}]}
                            ]
                        }
                    }
                },
            ),
            ["new", "old", "unknown"],
        ),
        (
            [node("absent"), node("differs", disk="hdd")],
            pod("p", nodeSelector={"disk": "ssd"}),
            ["differs", "absent"],
        ),
        ([node("n10"), node("n9"), node("n1")], pod("p", nodeSelector={"disk": "ssd"}), ["n1", "n9", "n10"]),
    ],
)
def test_nodes_are_ranked_by_how_far_away_they_are(nodes: list[Raw], pods: Raw, ranked: list[str]) -> None:
    assert names(*nodes, pods) == ranked
    assert names(*reversed(nodes), pods) == ranked, "whatever the order of the input"


def test_every_requirement_on_labels_is_a_reason() -> None:
    told = explained(node("n", disk="hdd"), pod("p", nodeSelector={"disk": "ssd", "zone": "a"}))
    (group,) = told.refused
    assert group.distance == 2
    (refusal,) = group.refusals
    assert refusal.verdict.details == (
        "label disk=hdd: hdd = ssd is false",
        "label zone is missing, zone=a is required",
    )
    assert plain(told)["refused"][0]["gap"] == pytest.approx(1.9)


def test_nodes_with_different_keys_are_never_one_line() -> None:
    nodes = [node(f"n{i}", taints=[taint(f"team-{i % 9}", str(i))]) for i in range(36)]
    told = explained(*nodes, pod("p"))
    assert [len(line.nodes) for line in families(told.refused)] == [4] * 9
    text = "\n".join(ExplanationText(width=200).lines(told))
    assert all(f"team-{i}" in text for i in range(9))
    assert "refused for other reasons" not in text


def details_on(name: str, *documents: Raw) -> list[str]:
    groups = explained(*documents).refused
    (group,) = (group for group in groups if name in group.nodes)
    return [text for refusal in group.refusals for text in refusal.verdict.details]


def test_every_term_between_pods_is_a_reason() -> None:
    def term(app: str) -> Raw:
        return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}

    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"podAffinity": {required: [term("cache")]}, "podAntiAffinity": {required: [term("web")]}}
    said = details_on("a", node("a"), running("web", "a", labels={"app": "web"}), pod("p", affinity=affinity))
    assert [text.partition(" (")[0] for text in said] == ["affinity term 1", "anti-affinity term 1"]


def test_every_volume_that_is_elsewhere_is_a_reason() -> None:
    def volume(name: str) -> list[Raw]:
        size = {"storage": "1Gi"}
        terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["elsewhere"]}]}]
        about = {"capacity": size, "accessModes": ["ReadWriteOnce"], "local": {"path": "/x"}, "storageClassName": "s"}
        claimed = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": size}, "storageClassName": "s"}
        reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name, "uid": f"uid-{name}"}
        return [
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"pv-{name}"},
                "spec": {**about, "claimRef": reference, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}},
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "uid": f"uid-{name}"},
                "spec": {**claimed, "volumeName": f"pv-{name}"},
                "status": {"phase": "Bound"},
            },
        ]

    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("one", "two")]
    said = details_on("a", node("a"), *volume("one"), *volume("two"), pod("p", volumes=volumes))
    assert [text.partition(":")[0] for text in said] == [
        'volume "pv-one" of claim "one"',
        'volume "pv-two" of claim "two"',
    ]


def test_changes_that_help_together_are_for_the_nearest_node() -> None:
    far, near = node("far", "1"), node("near", "3")
    near["status"]["capacity"]["memory"] = "6Gi"
    large = pod("p", "4")
    large["spec"]["containers"][0]["resources"]["requests"]["memory"] = "12Gi"
    told = explained(far, near, large)
    assert [group.nodes for group in told.refused] == [("near",), ("far",)]
    assert told.together is not None
    assert told.together.node == "near"
