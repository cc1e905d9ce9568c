"""What is sent to a server for a template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.e2e.documents import (
    bound_volume,
    by_priority_class,
    node_documents,
    pod_document,
    updated_document,
    wire_document,
)
from bench.perf.objects import Names
from bench.perf.operations import CreateNodes, LabelStrategy, UniqueLabelStrategy
from bench.perf.templates import Template
from tests.unit.bench.perf.suites import measured, write_suite

if TYPE_CHECKING:
    from pathlib import Path


def test_fields_get_the_names_that_go_would_find_them_by() -> None:
    pod = wire_document({"kind": "Pod", "spec": {"topologySpreadConstraints": [{"NodeTaintsPolicy": "Honor"}]}})
    assert pod == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {},
        "spec": {"topologySpreadConstraints": [{"nodeTaintsPolicy": "Honor"}]},
    }


def test_a_template_is_not_written_to(tmp_path: Path) -> None:
    template = Template(write_suite(tmp_path, measured(1)) / "pod.yaml")
    first = pod_document(template, 0, 1, claim="pvc-0")
    first["metadata"]["name"] = "x"
    assert first["spec"]["volumes"] == [{"name": "vol", "persistentVolumeClaim": {"claimName": "pvc-0"}}]
    second = pod_document(template, 0, 1)
    assert second["metadata"] == {"generateName": "pod-", "labels": {"app": "a"}}
    assert "volumes" not in second["spec"]


def test_a_priority_becomes_a_class() -> None:
    pod, made = by_priority_class({"kind": "Pod", "spec": {"priority": -5, "preemptionPolicy": "Never"}})
    assert made is not None
    assert (made["value"], made["preemptionPolicy"]) == (-5, "Never")
    assert pod["spec"] == {"preemptionPolicy": "Never", "priorityClassName": made["metadata"]["name"]}
    assert made["metadata"]["name"] == "priority-minus-5-never"
    plain = {"kind": "Pod", "spec": {"containers": []}}
    assert by_priority_class(plain) == (plain, None)


def test_nodes_are_named_and_labelled_at_once() -> None:
    named = CreateNodes(count=3, labelNodePrepareStrategy=LabelStrategy("zone", ("a", "b")))
    made = [node["metadata"] for node, _ in node_documents(named, None, "node-", Names())]
    assert [metadata["name"] for metadata in made] == ["node-1", "node-2", "node-3"]
    assert [metadata["labels"]["zone"] for metadata in made] == ["a", "b", "a"]
    assert all(metadata["labels"]["kubernetes.io/hostname"] == metadata["name"] for metadata in made)
    unique = CreateNodes(count=2, uniqueNodeLabelStrategy=UniqueLabelStrategy("own"))
    assert [node["metadata"]["labels"]["own"] for node, _ in node_documents(unique, None, "n-", Names())] == [
        "unique-0",
        "unique-1",
    ]


def test_volumes_and_claims_name_one_another(tmp_path: Path) -> None:
    folder = write_suite(tmp_path, measured(1))
    made = bound_volume(Template(folder / "volume.yaml"), Template(folder / "claim.yaml"), "space", 7)
    assert made.claim["metadata"]["name"] == "pvc-7"
    assert made.claim["spec"]["volumeName"] == made.volume["metadata"]["name"] == "space-vol-7"
    assert made.volume["spec"]["csi"]["volumeHandle"] == "space-vol-7"
    assert made.volume["spec"]["claimRef"]["name"] == "pvc-7"
    disk = bound_volume(Template(folder / "disk.yaml"), Template(folder / "claim.yaml"), "space", 1)
    assert disk.volume["spec"]["awsElasticBlockStore"]["volumeID"] == "vol-1"


def test_an_update_keeps_what_admission_has_set() -> None:
    live = {"metadata": {"resourceVersion": "5"}, "spec": {"serviceAccountName": "default", "nodeName": "n", "x": 1}}
    wanted = {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": []}}
    assert updated_document(wanted, live) == {
        "kind": "Pod",
        "metadata": {"name": "p", "resourceVersion": "5"},
        "spec": {"containers": [], "serviceAccountName": "default", "nodeName": "n"},
    }
    node = {"kind": "Node", "metadata": {"name": "n"}}
    assert updated_document(node, live) == {"kind": "Node", "metadata": {"name": "n", "resourceVersion": "5"}}
