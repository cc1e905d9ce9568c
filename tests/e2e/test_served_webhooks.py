"""Webhooks that `moorage.testing` serves, called by a cluster: at their URL, and behind Services."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from moorage.testing import Cluster, Verdict, WebhookServer, allow, deny, patch

Raw = dict[str, Any]
ONLY_PODS: Raw = {"resources": ["pods"], "groups": [""], "operations": ["CREATE"]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(nodes=0, controllers=()) as running:
        running.kubectl("create namespace system")
        yield running


def create(cluster: Cluster, document: Raw) -> None:
    cluster.kubectl("create -f -", stdin=json.dumps(document))


def refuse_latest(request: Raw) -> Verdict:
    images = [container["image"] for container in request["object"]["spec"]["containers"]]
    return deny("name a version") if any(image.endswith(":latest") for image in images) else allow(warnings=["seen"])


def label(request: Raw) -> Raw:
    pod: Raw = request["object"]
    pod["metadata"].setdefault("labels", {})["by"] = "webhook"
    del pod["spec"]["containers"][0]["resources"]
    return pod


def test_a_verdict_refuses_or_warns(cluster: Cluster) -> None:
    with WebhookServer(refuse_latest) as webhook:
        create(cluster, webhook.validating("images", **ONLY_PODS))
        refused = cluster.kubectl("run web --image=nginx:latest", check=False)
        assert 'admission webhook "images.webhook.test" denied the request: name a version' in refused.err
        assert cluster.kubectl("run web --image=nginx:1").err == "Warning: seen\n"
        assert [request["operation"] for request in webhook.requests] == ["CREATE", "CREATE"]
        cluster.kubectl("delete validatingwebhookconfiguration images")


def test_a_function_may_return_the_object_or_a_patch(cluster: Cluster) -> None:
    operation = {"op": "add", "path": "/metadata/annotations", "value": {"x": "y"}}
    with WebhookServer(label) as first, WebhookServer(lambda request: patch(operation)) as second:
        create(cluster, first.mutating("a-labels", **ONLY_PODS))
        create(cluster, second.mutating("b-annotations", **ONLY_PODS))
        cluster.kubectl("run changed --image=nginx:1")
        metadata = cluster.kubectl("get pod changed -o json").json["metadata"]
        assert metadata["labels"]["by"] == "webhook"
        assert metadata["annotations"] == {"x": "y"}
        assert "by" not in first.requests[0]["object"]["metadata"].get("labels", {})  # as it was sent
        cluster.kubectl("delete mutatingwebhookconfiguration a-labels b-annotations")


def test_a_function_that_raises_is_told_to_the_client(cluster: Cluster) -> None:
    def broken(request: Raw) -> None:
        raise KeyError("color")

    with WebhookServer(broken) as webhook:
        create(cluster, webhook.validating("broken", **ONLY_PODS))
        assert "KeyError: 'color'" in cluster.kubectl("run web2 --image=nginx:1", check=False).err
        cluster.kubectl("delete validatingwebhookconfiguration broken")


def test_a_webhook_behind_a_service_is_found_by_its_annotation(cluster: Cluster) -> None:
    with WebhookServer(refuse_latest, service="system/hooks") as webhook:
        ports = [{"port": 443, "targetPort": 9443}]
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "hooks", "namespace": "system"}}
        create(cluster, {**service, "spec": {"selector": {"app": "hooks"}, "ports": ports}})
        create(cluster, webhook.validating("behind", **ONLY_PODS))
        unreachable = cluster.kubectl("run web3 --image=nginx:1", check=False).err
        assert "--webhook-service system/hooks=https://HOST[:PORT]" in unreachable
        annotation = f"simulate.moorage.dev/webhook-url={webhook.url}"
        cluster.kubectl(f"annotate service -n system hooks {annotation}")
        assert cluster.kubectl("run web3 --image=nginx:1").err == "Warning: seen\n"
        metrics = cluster.kubectl("get --raw /metrics").out
        labels = 'name="behind.webhook.test",type="validating",operation="CREATE"'
        rejection = f'{{{labels},error_type="calling_webhook_error",rejection_code="503"}} 1'
        assert f"apiserver_admission_webhook_rejection_count{rejection}" in metrics
        cluster.kubectl("delete validatingwebhookconfiguration behind")


def test_a_cluster_is_told_where_a_service_is() -> None:
    with (
        WebhookServer(refuse_latest, service="system/hooks") as webhook,
        Cluster(nodes=0, controllers=(), webhook_services={"system/hooks": webhook.url}) as cluster,
    ):
        create(cluster, webhook.validating("told", **ONLY_PODS))
        assert "name a version" in cluster.kubectl("run web --image=nginx:latest", check=False).err


def test_conversion_between_versions(cluster: Cluster) -> None:
    def convert(document: Raw, version: str) -> Raw:
        old, new = ("size", "width") if version.endswith("v2") else ("width", "size")
        return {**document, "spec": {new: document["spec"][old]}}

    def version(name: str, field: str) -> Raw:
        spec = {"type": "object", "properties": {field: {"type": "integer"}}}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return {"name": name, "served": True, "storage": name == "v1", "schema": schema}

    with WebhookServer(convert=convert) as webhook:
        names = {"kind": "Gadget", "plural": "gadgets", "singular": "gadget"}
        spec = {"group": "conv.example.com", "scope": "Namespaced", "names": names, "conversion": webhook.conversion}
        versions = [version("v1", "size"), version("v2", "width")]
        head = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
        create(
            cluster, {**head, "metadata": {"name": "gadgets.conv.example.com"}, "spec": {**spec, "versions": versions}}
        )
        gadget = {
            "apiVersion": "conv.example.com/v2",
            "kind": "Gadget",
            "metadata": {"name": "g"},
            "spec": {"width": 4},
        }
        create(cluster, gadget)
        assert cluster.kubectl("get gadgets.v1.conv.example.com g -o json").json["spec"] == {"size": 4}
        cluster.kubectl("""patch gadgets.v2.conv.example.com g --type=merge -p '{"spec": {"width": 5}}'""")
        [item] = cluster.kubectl("get gadgets.v2.conv.example.com -o json").json["items"]
        assert item["spec"] == {"width": 5}
    change = """patch gadgets.v2.conv.example.com g --type=merge -p '{"spec": {"width": 6}}'"""
    refused = cluster.kubectl(change, check=False)
    assert "conversion webhook for conv.example.com/v2, Kind=Gadget failed: Post" in refused.err
    cluster.kubectl("delete crd gadgets.conv.example.com --timeout=60s")
