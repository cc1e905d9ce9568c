"""What the metrics APIs answer about pods, loads, nodes, objects and external metrics."""

from typing import Any

import pytest
from tests.unit.usage.objects import START, SmallCluster, kind_of

from moorage.model.api_error import ApiError
from moorage.usage.annotations import problems
from moorage.usage.answers import MetricsApi, read_path
from moorage.usage.meter import Meter

Raw = dict[str, Any]
PODS = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/default"


def ask(cluster: SmallCluster, path: str, after: float = 60.0, *, idle: bool = False) -> Raw:
    asked = read_path(path)
    assert asked is not None, path
    return MetricsApi(Meter(cluster, idles=lambda node: idle), kind_of).answer(asked, START + after)


def used(cluster: SmallCluster, path: str = PODS, after: float = 60.0, *, idle: bool = False) -> dict[str, Any]:
    """What each container, or node, uses."""
    return {
        item["metadata"]["name"]: item["usage"]
        if "usage" in item
        else {one["name"]: one["usage"] for one in item["containers"]}
        for item in ask(cluster, path, after, idle=idle)["items"]
    }


def test_usage_of_containers() -> None:
    cluster = SmallCluster()
    containers = [{"name": "web", "image": "i"}, {"name": "side", "image": "i"}]
    usage = {"simulate.moorage.dev/usage": "cpu=steps(0s=250m, 10m=1); memory=300Mi; side/cpu=10m; lost/cpu=5"}
    cluster.pod("a", annotations=usage, containers=containers)
    side = {"cpu": "10m", "memory": "0"}
    assert used(cluster) == {"a": {"web": {"cpu": "250m", "memory": "300Mi"}, "side": side}}
    assert used(cluster, after=600) == {"a": {"web": {"cpu": "1", "memory": "300Mi"}, "side": side}}


def test_usage_is_not_known_yet_or_any_more() -> None:
    cluster = SmallCluster()
    usage = {"simulate.moorage.dev/usage": "cpu=1"}
    cluster.pod("young", annotations=usage, since=START + 50)
    cluster.pod("done", annotations=usage, phase="Succeeded")
    cluster.pod("quiet")
    cluster.pod("wrong", annotations={"simulate.moorage.dev/usage": "cpu=much"})
    assert used(cluster) == {}
    assert used(cluster, after=65) == {"young": {"web": {"cpu": "1"}}}
    nothing = {"web": {"cpu": "0", "memory": "0"}}
    assert used(cluster, idle=True) == {"quiet": nothing, "wrong": nothing}


def test_load_is_shared_by_ready_pods_and_bounded_by_limits() -> None:
    cluster = SmallCluster()
    cluster.owner("Deployment", "web", load="cpu=pulse(3, 6, 1m, 1m); hits=90")
    cluster.owner("ReplicaSet", "web-1", above="web", load="cpu=7")  # as the Deployment controller copies annotations
    for name in ("a", "b"):
        cluster.pod(name, "web-1")
    limits = [{"name": "web", "image": "i", "resources": {"limits": {"cpu": "500m"}}}]
    cluster.pod("c", "web-1", containers=limits)
    cluster.pod("unready", "web-1", ready=False)
    cluster.pod("other", "missing")
    each = {"web": {"cpu": "1"}}
    shown = {"a": each, "b": each, "c": {"web": {"cpu": "500m"}}, "unready": {"web": {"cpu": "0"}}}
    assert used(cluster, after=59) == shown
    assert used(cluster, after=60)["a"] == {"web": {"cpu": "2"}}
    cluster.pod("d", "web-1")
    assert used(cluster, after=59)["a"] == {"web": {"cpu": "750m"}}
    answer = ask(cluster, f"{CUSTOM}/namespaces/default/pods/%2A/hits?labelSelector=app%3Dweb")
    assert [item["value"] for item in answer["items"]] == ["22500m", "22500m", "22500m", "0", "22500m"]
    assert answer["items"][0]["describedObject"] == {
        "kind": "Pod",
        "namespace": "default",
        "name": "a",
        "apiVersion": "/v1",
    }


def test_times_begin_with_an_annotation() -> None:
    cluster = SmallCluster()
    begins = {
        "simulate.moorage.dev/usage": "cpu=steps(0s=1, 60s=2)",
        "simulate.moorage.dev/since": "2027-01-15T08:02:00Z",
    }
    cluster.pod("a", annotations=begins)
    assert [used(cluster, after=after)["a"]["web"]["cpu"] for after in (120, 179, 180)] == ["1", "1", "2"]


def test_nodes_use_what_their_pods_do() -> None:
    cluster = SmallCluster()
    cluster.add("v1", "Node", "node-1", annotations={"simulate.moorage.dev/usage": "memory=1Gi"})
    cluster.add("v1", "Node", "node-2")
    cluster.pod("a", annotations={"simulate.moorage.dev/usage": "cpu=200m; memory=1Gi; hits=7"})
    path = "/apis/metrics.k8s.io/v1beta1/nodes"
    nothing = {"cpu": "0", "memory": "0"}
    assert used(cluster, path) == {"node-1": {"cpu": "200m", "memory": "2Gi"}, "node-2": nothing}
    assert ask(cluster, f"{path}/node-2")["usage"] == nothing


def test_one_pod_and_those_that_a_selector_selects() -> None:
    cluster = SmallCluster()
    usage = {"simulate.moorage.dev/usage": "cpu=1"}
    cluster.pod("a", annotations=usage)
    cluster.pod("b", annotations=usage, labels={"app": "db"})
    assert [*used(cluster, f"{PODS}?labelSelector=app%3Ddb")] == ["b"]
    assert ask(cluster, f"{PODS}/a")["kind"] == "PodMetrics"
    with pytest.raises(ApiError) as refused:
        ask(cluster, f"{PODS}/c")
    assert refused.value.message == 'podmetrics.metrics.k8s.io "default/c" not found'


TRACE = "seconds,rps\n0,10\n60,20\n"


def test_metrics_of_objects_with_a_trace() -> None:
    cluster = SmallCluster()
    cluster.add("v1", "ConfigMap", "traffic", {"data": {"day.csv": TRACE}})
    metrics = {"simulate.moorage.dev/metrics": "rps=trace(traffic/day.csv); lost=trace(nowhere/day.csv)"}
    cluster.add("networking.k8s.io/v1", "Ingress", "front", annotations=metrics)
    path = f"{CUSTOM}/namespaces/default/ingresses.networking.k8s.io/front"
    assert [ask(cluster, f"{path}/rps", after)["items"][0]["value"] for after in (0, 59, 60)] == ["10", "10", "20"]
    one = ask(cluster, f"{path.replace('v1beta2', 'v1beta1')}/rps")["items"][0]
    assert (one["metricName"], one["describedObject"]["apiVersion"]) == ("rps", "networking.k8s.io/v1")
    for metric in ("lost", "none"):
        with pytest.raises(ApiError) as refused:
            ask(cluster, f"{path}/{metric}")
        text = f"the server could not find the metric {metric} for ingresses.networking.k8s.io front"
        assert (refused.value.code, refused.value.message) == (404, text)


def test_external_metrics_of_labelled_config_maps() -> None:
    cluster = SmallCluster()
    lines = '# queues\nready{queue="a"} steps(0s=1, 60s=5)\nready{queue="b",zone="x"} 30\nplain 7m\n'
    label = {"simulate.moorage.dev/external-metrics": "true"}
    cluster.add("v1", "ConfigMap", "queues", {"data": {"x": lines}}, labels=label)
    cluster.add("v1", "ConfigMap", "wrong", {"data": {"x": "ready{queue=a} 1"}}, labels=label)
    cluster.add("v1", "ConfigMap", "unlabelled", {"data": {"x": "ready 99"}})
    found = ask(cluster, f"{EXTERNAL}/ready")["items"]
    assert [(one["value"], one["metricLabels"]) for one in found] == [
        ("5", {"queue": "a"}),
        ("30", {"queue": "b", "zone": "x"}),
    ]
    assert [one["value"] for one in ask(cluster, f"{EXTERNAL}/ready?labelSelector=queue%3Db")["items"]] == ["30"]
    assert ask(cluster, f"{EXTERNAL}/ready?labelSelector=queue%3Dc")["items"] == []
    assert ask(cluster, f"{EXTERNAL}/plain")["items"][0]["value"] == "7m"
    with pytest.raises(ApiError, match=r"the server could not find the requested resource \(get none.external"):
        ask(cluster, f"{EXTERNAL}/none")


@pytest.mark.parametrize(
    "path",
    ["/apis/metrics.k8s.io/v1beta1", "/apis/metrics.k8s.io/v2/pods", f"{PODS}/a/b", f"{EXTERNAL}/a/b", "/api/v1/pods"],
)
def test_paths_that_are_no_metrics(path: str) -> None:
    assert read_path(path) is None


def test_annotations_that_cannot_be_read_are_named() -> None:
    cluster = SmallCluster()
    cluster.owner("Deployment", "web", load="cpu", usage="a/b/c=1", since="now")
    metadata = cluster.find("apps/v1", "Deployment", "default", "web")
    assert metadata is not None
    assert [annotation.partition("/")[2] for annotation, _ in problems(metadata)] == ["usage", "load", "since"]
