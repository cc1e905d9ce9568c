"""Manifests that are applied again: what the API server generated stays, as with kubectl apply."""

import pytest
from tests.unit.plan.planning import Plan, Raw, node, workload

from moorage.plan.what_if import Changes

ONCE = ["ReadWriteOnce"]
CLAIM: Raw = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "claim"},
    "spec": {"accessModes": ONCE, "resources": {"requests": {"storage": "1Gi"}}},
}
VOLUME: Raw = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "volume"},
    "spec": {"accessModes": ONCE, "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}, "storageClassName": "c"},
}
CLASS: Raw = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "c", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": "example.com/none",
}
SERVICE: Raw = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web"},
    "spec": {"type": "NodePort", "ports": [{"port": 80}]},
}
WORLD = [
    node("n1"),
    CLASS,
    VOLUME,
    CLAIM,
    SERVICE,
    workload("Job", "once", parallelism=2),
    workload("Deployment", "web", replicas=2),
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
]


@pytest.mark.parametrize("document", WORLD, ids=lambda document: document["kind"])
def test_a_manifest_that_is_applied_again_changes_nothing(document: Raw) -> None:
    plan = Plan(*WORLD)
    assert plan.what_if(Changes(("again.yaml",)), document).is_empty
    assert plan.notes == []


def test_a_number_of_a_job_can_be_changed_and_its_template_cannot() -> None:
    plan = Plan(node("n1"), workload("Job", "once", parallelism=2))
    assert len(plan.what_if(Changes(("more.yaml",)), workload("Job", "once", parallelism=3)).placed) == 1
    plan.what_if(Changes(("other.yaml",)), workload("Job", "once", parallelism=3, cpu="2"))
    (note,) = plan.notes
    assert "spec.template: Invalid value" in note
    assert "field is immutable" in note
    assert "selector" not in note.partition("spec.template")[0]


def test_two_documents_of_one_job_are_one_job() -> None:
    plan = Plan(node("n1"), workload("Job", "once", parallelism=1), workload("Job", "once", parallelism=2))
    assert len(plan.where) == 2
    assert [note for note in plan.notes if note.startswith("error")] == []
