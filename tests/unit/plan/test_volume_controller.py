"""Claims and volumes: bound by hand, by the controller, by provisioning, or by the scheduler when the pod comes."""

from typing import Any

import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, workload

from moorage.model.kinds import KINDS

NODES = (node("n1", zone="a"), node("n2", zone="b"))


def claim(name: str = "data", size: str = "1Gi", **fields: Any) -> Raw:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **fields}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def volume(name: str, size: str = "1Gi", zone: str = "", **fields: Any) -> Raw:
    spec: Raw = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": size}, "hostPath": {"path": "/x"}, **fields}
    if zone:
        term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def storage_class(name: str, mode: str = "Immediate", default: bool = False, **fields: Any) -> Raw:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
    about = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.com/disk", **fields}
    return about | {"metadata": {"name": name, "annotations": annotations}, "volumeBindingMode": mode}


def user(name: str = "a", of: str = "data") -> Raw:
    return pod(name, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": of}}])


def bound_to(plan: Plan, name: str = "data") -> str:
    view = plan.simulation.api.get(KINDS.PERSISTENT_VOLUME_CLAIM, name, "default").view
    return str(view.spec.volumeName)


def test_the_smallest_volume_that_fits_is_bound_and_the_pod_goes_where_it_is() -> None:
    plan = Plan(
        *NODES, user(), claim(size="2Gi"), volume("big", "9Gi", "a"), volume("fit", "3Gi", "b"), volume("small")
    )
    assert bound_to(plan) == "fit"
    assert plan.where == {"a": "n2"}
    assert not plan.notes


def test_a_volume_is_bound_once() -> None:
    plan = Plan(*NODES, claim("one"), claim("two"), volume("only"), user("a", "one"), user("b", "two"))
    assert (bound_to(plan, "one"), bound_to(plan, "two")) == ("only", "")
    assert plan.where["b"] == ""
    assert "pod has unbound immediate PersistentVolumeClaims" in plan.why["b"]
    assert any("two: is not bound, and no volume in the input fits it" in note for note in plan.notes)


@pytest.mark.parametrize("by", ["claim", "volume"])
def test_a_volume_that_was_set_aside(by: str) -> None:
    wanted = claim(volumeName="mine") if by == "claim" else claim()
    reference = {"namespace": "default", "name": "data"}
    mine = volume("mine", "9Gi", "b", **({"claimRef": reference} if by == "volume" else {}))
    plan = Plan(*NODES, user(), wanted, volume("smaller"), mine)
    assert bound_to(plan) == "mine"
    assert plan.where == {"a": "n2"}


def test_a_class_provisions_and_the_default_class_is_that_of_claims_without() -> None:
    assert Plan(*NODES, user(), claim(storageClassName="fast"), storage_class("fast")).where["a"]
    plan = Plan(*NODES, user(), claim(), storage_class("fast", default=True))
    assert bound_to(plan).startswith("pvc-")
    assert plan.where["a"]
    topologies = [{"matchLabelExpressions": [{"key": "zone", "values": ["b"]}]}]
    zonal = Plan(*NODES, user(), claim(), storage_class("fast", default=True, allowedTopologies=topologies))
    assert zonal.where == {"a": "n2"}
    selecting = claim(storageClassName="fast", selector={"matchLabels": {"disk": "old"}})
    assert bound_to(Plan(*NODES, user(), selecting, storage_class("fast"))) == ""


def test_a_class_without_a_provisioner_has_only_what_there_is() -> None:
    local = storage_class("local", provisioner="kubernetes.io/no-provisioner")
    plan = Plan(*NODES, user(), claim(storageClassName="local"), local)
    assert plan.where == {"a": ""}


def test_what_waits_for_its_consumer_is_bound_where_the_pod_lands() -> None:
    local = storage_class("local", "WaitForFirstConsumer", provisioner="kubernetes.io/no-provisioner")
    volumes = [volume(f"v{zone}", zone=zone, storageClassName="local") for zone in "ab"]
    plan = Plan(
        node("n1", cpu="1", zone="a"),
        node("n2", zone="b"),
        claim("one", storageClassName="local"),
        claim("two", storageClassName="local"),
        *volumes,
        local,
        user("a", "one"),
        user("b", "two"),
    )
    assert sorted(plan.where.values()) == ["n1", "n2"]


def test_a_stateful_set_gets_a_volume_for_each_pod() -> None:
    template = claim()
    template = {"metadata": template["metadata"], "spec": template["spec"]}
    plan = Plan(
        *NODES,
        workload("StatefulSet", "db", replicas=2, serviceName="db", volumeClaimTemplates=[template]),
        volume("va", zone="a"),
        volume("vb", zone="b"),
    )
    assert sorted(plan.where.values()) == ["n1", "n2"]
