"""Operators with kinds of their own, and the official client's CustomObjectsApi, against a running cluster."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes.client
import kubernetes.config
import pytest
from kubernetes.client import ApiException
from tests.e2e.kubectl import Kubectl
from tests.e2e.running_cluster import Cluster, moorage_up
from tests.e2e.test_kopf import WAIT, running_operator

client: Any = kubernetes.client
config: Any = kubernetes.config

OPERATOR = Path(__file__).with_name("operators") / "harbour_master.py"
WHERE = ("harbour.test", "v1", "default", "boats")
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["length"],
            "properties": {"length": {"type": "integer", "minimum": 1}, "flag": {"type": "string", "default": "none"}},
        },
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "boats.harbour.test"},
    "spec": {
        "group": "harbour.test",
        "scope": "Namespaced",
        "names": {"plural": "boats", "kind": "Boat", "shortNames": ["bt"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": SCHEMA},
                "additionalPrinterColumns": [{"name": "Berth", "type": "string", "jsonPath": ".status.berth"}],
            }
        ],
    },
}


def boat(name: str, length: int = 7) -> dict[str, Any]:
    return {"apiVersion": "harbour.test/v1", "kind": "Boat", "metadata": {"name": name}, "spec": {"length": length}}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("cluster")
    manifests = home / "manifests.json"
    # The object comes before its definition: --load applies definitions first.
    manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [boat("loaded"), DEFINITION]}))
    with moorage_up(home, "--nodes", "1", "--load", str(manifests)) as running:
        yield running


@pytest.fixture
def kubectl(cluster: Cluster) -> Kubectl:
    return Kubectl(cluster.kubeconfig, cluster.home, "default")


def test_objects_are_loaded_with_their_definition(kubectl: Kubectl) -> None:
    assert kubectl("get bt loaded -o jsonpath='{.spec.flag}'").out == "none"
    assert kubectl("get crd boats.harbour.test -o jsonpath='{.status.storedVersions}'").out == '["v1"]'
    assert "-required-" in kubectl("explain boat.spec").out


def test_the_official_client_reads_and_writes_custom_objects(cluster: Cluster) -> None:
    with config.new_client_from_config(str(cluster.kubeconfig)) as made:
        api = client.CustomObjectsApi(made)
        api.create_namespaced_custom_object(*WHERE, boat("anna"))
        assert api.get_namespaced_custom_object(*WHERE, "anna")["spec"] == {"length": 7, "flag": "none"}
        api.patch_namespaced_custom_object(*WHERE, "anna", {"spec": {"length": 9}})
        api.patch_namespaced_custom_object_status(*WHERE, "anna", {"spec": {"length": 1}, "status": {"berth": "x"}})
        found = api.get_namespaced_custom_object(*WHERE, "anna")
        assert (found["spec"]["length"], found["status"], found["metadata"]["generation"]) == (9, {"berth": "x"}, 2)
        with pytest.raises(ApiException, match=r"spec\.length in body should be greater than or equal to 1"):
            api.create_namespaced_custom_object(*WHERE, boat("none", 0))
        assert "anna" in {
            item["metadata"]["name"] for item in api.list_cluster_custom_object(*WHERE[:2], "boats")["items"]
        }
        api.delete_namespaced_custom_object(*WHERE, "anna")


@pytest.mark.slow
def test_an_operator_looks_after_its_own_kind(cluster: Cluster, kubectl: Kubectl) -> None:
    with running_operator(cluster, "--standalone", "--namespace=default", operator=OPERATOR):
        kubectl("create -f -", json.dumps(boat("berta")))
        kubectl(f"wait --for=jsonpath='{{.status.berth}}'=pier-7 boat/berta {WAIT}")
        assert "pier-7" in kubectl("get boat berta").out
        kubectl('patch boat berta --type=merge -p \'{"spec": {"length": 12}}\'')
        kubectl(f"wait --for=jsonpath='{{.status.berth}}'=pier-12 boat/berta {WAIT}")
        kubectl("get configmap berth-of-berta")
        kubectl(f"delete boat berta {WAIT}")
        kubectl("get configmap log-of-berta")
        kubectl(f"wait --for=delete configmap/berth-of-berta {WAIT}")
        kubectl(f"delete boat --all {WAIT}")
