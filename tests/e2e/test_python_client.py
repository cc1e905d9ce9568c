"""The official Python client, unmodified, against a running cluster."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import kubernetes.client
import kubernetes.config
import kubernetes.dynamic
import kubernetes.leaderelection.electionconfig
import kubernetes.leaderelection.leaderelection
import kubernetes.leaderelection.resourcelock.leaselock
import kubernetes.utils
import kubernetes.watch
import pytest
from kubernetes.client import ApiException
from tests.e2e.running_cluster import Cluster, moorage_up

# Parts of the package are typed, and not all of them rightly.
client: Any = kubernetes.client
config: Any = kubernetes.config
dynamic: Any = kubernetes.dynamic
utils: Any = kubernetes.utils
watch: Any = kubernetes.watch
election: Any = kubernetes.leaderelection

_NUMBERS = count(1)
PATCH_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with moorage_up(tmp_path_factory.mktemp("cluster"), "--nodes", "2", "--feature-gates=AllAlpha=true") as running:
        yield running


@pytest.fixture(scope="module")
def api(cluster: Cluster) -> Iterator[Any]:
    with config.new_client_from_config(str(cluster.kubeconfig)) as made:
        yield made


@pytest.fixture(scope="module")
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


@pytest.fixture
def namespace(core: Any) -> str:
    name = f"test-{next(_NUMBERS)}"
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=name)))
    return name


def pod(name: str, **spec: Any) -> Any:
    container = client.V1Container(name="main", image="registry.example/app:1")
    return client.V1Pod(
        metadata=client.V1ObjectMeta(name=name, labels={"app": name}),
        spec=client.V1PodSpec(containers=[container], termination_grace_period_seconds=0, **spec),
    )


def settings(name: str, **data: str) -> Any:
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data or None)


def deployment(name: str, replicas: int = 3) -> Any:
    labels = {"app": name}
    template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels=labels), spec=pod(name).spec)
    selector = client.V1LabelSelector(match_labels=labels)
    return client.V1Deployment(
        metadata=client.V1ObjectMeta(name=name),
        spec=client.V1DeploymentSpec(replicas=replicas, selector=selector, template=template),
    )


def until(core: Any, namespace: str, name: str, is_so: Callable[[Any], bool]) -> Any:
    """Watch a pod until it is as it should be."""
    watching = watch.Watch()
    for event in watching.stream(
        core.list_namespaced_pod, namespace, field_selector=f"metadata.name={name}", timeout_seconds=30
    ):
        if event["type"] != "DELETED" and is_so(event["object"]):
            watching.stop()
            return event["object"]
    raise AssertionError(f"{name} did not become what was waited for")


def until_gone(core: Any, namespace: str, revision: str) -> None:
    """Watch from a revision until a pod is deleted."""
    watching = watch.Watch()
    for event in watching.stream(core.list_namespaced_pod, namespace, resource_version=revision, timeout_seconds=30):
        if event["type"] == "DELETED":
            return
    raise AssertionError("nothing was deleted")


def is_running(found: Any) -> bool:
    return bool(found.status.phase == "Running")


def refusal(call: Callable[[], Any]) -> tuple[int, dict[str, Any]]:
    with pytest.raises(ApiException) as raised:
        call()
    status: dict[str, Any] = json.loads(raised.value.body or "")
    assert status["kind"] == "Status"
    assert status["code"] == raised.value.status
    return raised.value.status, status


def test_a_pod_from_beginning_to_end(core: Any, namespace: str) -> None:
    made = core.create_namespaced_pod(namespace, pod("one"))
    assert made.status.phase == "Pending"
    found = until(core, namespace, "one", is_running)
    assert found.spec.node_name in {node.metadata.name for node in core.list_node().items}
    assert found.metadata.creation_timestamp.tzinfo is not None
    assert [item.metadata.name for item in core.list_namespaced_pod(namespace).items] == ["one"]
    assert "one" in {item.metadata.name for item in core.list_pod_for_all_namespaces(label_selector="app=one").items}
    revision = core.list_namespaced_pod(namespace).metadata.resource_version
    core.delete_namespaced_pod("one", namespace)
    until_gone(core, namespace, revision)
    assert refusal(lambda: core.read_namespaced_pod("one", namespace))[0] == 404


def test_patches_of_every_type(core: Any, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, settings("one", color="blue", size="large"))
    patches: dict[str, Any] = {
        "json": [{"op": "replace", "path": "/data/color", "value": "red"}],
        "merge": {"data": {"size": None}},
        "strategic": {"metadata": {"labels": {"seen": "yes"}}},
    }
    for kind, patch in patches.items():
        core.patch_namespaced_config_map("one", namespace, patch, _content_type=PATCH_TYPES[kind])
    found = core.read_namespaced_config_map("one", namespace)
    assert found.data == {"color": "red"}
    assert found.metadata.labels == {"seen": "yes"}
    # Without a type the client sends strategic merge patches for objects and JSON patches for lists.
    found = core.patch_namespaced_config_map("one", namespace, {"data": {"size": "small"}})
    assert found.data == {"color": "red", "size": "small"}


def test_a_stale_replacement_is_a_conflict(core: Any, namespace: str) -> None:
    first = core.create_namespaced_config_map(namespace, settings("one", color="blue"))
    first.data = {"color": "red"}
    assert core.replace_namespaced_config_map("one", namespace, first).data == {"color": "red"}
    code, status = refusal(lambda: core.replace_namespaced_config_map("one", namespace, first))
    assert (code, status["reason"]) == (409, "Conflict")
    assert status["message"] == (
        'Operation cannot be fulfilled on configmaps "one": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    code, status = refusal(lambda: core.create_namespaced_config_map(namespace, settings("one")))
    assert (code, status["reason"]) == (409, "AlreadyExists")


def test_what_is_invalid_comes_with_its_causes(core: Any, namespace: str) -> None:
    tolerations = [client.V1Toleration(key="k", operator="Gt", value="95.5"), client.V1Toleration(key="a b")]
    code, status = refusal(lambda: core.create_namespaced_pod(namespace, pod("one", tolerations=tolerations)))
    assert (code, status["reason"]) == (422, "Invalid")
    assert [cause["field"] for cause in status["details"]["causes"]] == [
        "spec.tolerations[0].value",
        "spec.tolerations[0].value",
        "spec.tolerations[1].key",
    ]
    assert status["details"]["causes"][0]["reason"] == "FieldValueInvalid"
    assert status["message"].startswith('Pod "one" is invalid: [spec.tolerations[0].value: Invalid value: "95.5": ')


def test_pages(core: Any, namespace: str) -> None:
    names = [f"one-{number}" for number in range(7)]
    for name in names:
        core.create_namespaced_config_map(namespace, settings(name))
    found, token, remaining = [], None, []
    while token != "":
        page = core.list_namespaced_config_map(namespace, limit=3, _continue=token)
        found += [item.metadata.name for item in page.items]
        remaining.append(page.metadata.remaining_item_count)
        token = page.metadata._continue or ""
        if len(found) == 3:
            core.delete_namespaced_config_map("one-6", namespace)  # the list stays as it was
    assert [name for name in found if name.startswith("one-")] == names
    assert remaining[-1] is None
    assert refusal(lambda: core.list_namespaced_config_map(namespace, limit=3, _continue="nonsense"))[0] == 400


def test_watching_from_a_revision(core: Any, namespace: str) -> None:
    core.create_namespaced_config_map(namespace, settings("before"))
    revision = core.list_namespaced_config_map(namespace).metadata.resource_version
    core.create_namespaced_config_map(namespace, settings("one"))
    core.patch_namespaced_config_map("one", namespace, {"data": {"color": "red"}})
    core.delete_namespaced_config_map("one", namespace)
    watching = watch.Watch()
    seen = []
    for event in watching.stream(
        core.list_namespaced_config_map, namespace, resource_version=revision, timeout_seconds=20
    ):
        seen.append((event["type"], event["object"].metadata.name, event["raw_object"].get("data")))
        if event["type"] == "DELETED":
            watching.stop()
    assert seen == [
        ("ADDED", "one", None),
        ("MODIFIED", "one", {"color": "red"}),
        ("DELETED", "one", {"color": "red"}),
    ]
    # It ends by itself when the time that was asked for is over, and knows where it was.
    again = watch.Watch()
    assert list(again.stream(core.list_namespaced_config_map, namespace, resource_version=revision, timeout_seconds=1))
    assert int(again.resource_version) > int(revision)


def test_a_watch_from_a_revision_that_is_none(core: Any, namespace: str) -> None:
    with pytest.raises(ApiException) as raised:
        list(watch.Watch().stream(core.list_namespaced_config_map, namespace, resource_version="x", timeout_seconds=1))
    assert raised.value.status == 400


def test_nodes(core: Any) -> None:
    node = client.V1Node(
        metadata=client.V1ObjectMeta(name="made-by-hand"),
        spec=client.V1NodeSpec(taints=[client.V1Taint(key="dedicated", value="one", effect="NoSchedule")]),
        status=client.V1NodeStatus(allocatable={"cpu": "1", "memory": "1Gi", "pods": "10"}),
    )
    core.create_node(node)
    core.patch_node("made-by-hand", {"spec": {"unschedulable": True}})
    found = core.read_node("made-by-hand")
    assert found.spec.unschedulable
    found.metadata.labels = {"zone": "a"}
    condition = {"type": "DiskPressure", "status": "True", "reason": "Full", "message": "no room"}
    core.patch_node_status("made-by-hand", {"status": {"conditions": [condition]}})
    assert "DiskPressure" in {one.type for one in core.read_node_status("made-by-hand").status.conditions}
    core.delete_node("made-by-hand")
    assert "made-by-hand" not in {one.metadata.name for one in core.list_node().items}


def test_deployments_with_their_scale(api: Any, namespace: str) -> None:
    apps = client.AppsV1Api(api)
    apps.create_namespaced_deployment(namespace, deployment("web"))
    assert apps.read_namespaced_deployment_scale("web", namespace).spec.replicas == 3
    apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 5}})
    found = apps.read_namespaced_deployment("web", namespace)
    assert (found.spec.replicas, found.spec.strategy.type) == (5, "RollingUpdate")
    found.metadata.resource_version = None  # whatever the controller has written meanwhile
    found.spec.replicas = 1
    assert apps.replace_namespaced_deployment("web", namespace, found).spec.replicas == 1
    deleted = apps.delete_namespaced_deployment("web", namespace, propagation_policy="Background")
    assert (deleted["kind"], deleted["status"]) == ("Status", "Success")


def test_a_status_is_written_by_its_own_way(core: Any, namespace: str) -> None:
    made = core.create_namespaced_pod(namespace, pod("one", scheduler_name="by-hand"))
    made.status.message = "not by this way"
    made.spec.containers[0].image = "registry.example/app:2"
    made = core.replace_namespaced_pod("one", namespace, made)
    assert (made.status.message, made.spec.containers[0].image) == (None, "registry.example/app:2")
    made.status.message, made.spec.containers[0].image = "by this one", "registry.example/app:3"
    made = core.replace_namespaced_pod_status("one", namespace, made)
    assert (made.status.message, made.spec.containers[0].image) == ("by this one", "registry.example/app:2")
    made = core.patch_namespaced_pod_status("one", namespace, {"status": {"message": "and this"}})
    assert core.read_namespaced_pod_status("one", namespace).status.message == "and this"


def test_binding_and_eviction(core: Any, namespace: str) -> None:
    core.create_namespaced_pod(namespace, pod("one", scheduler_name="by-hand"))
    node = core.list_node().items[0].metadata.name
    target = client.V1ObjectReference(kind="Node", name=node, api_version="v1")
    binding = client.V1Binding(metadata=client.V1ObjectMeta(name="one"), target=target)
    # The client takes the Status that answers for a Binding, so it is not told to make one of it.
    core.create_namespaced_pod_binding("one", namespace, binding, _preload_content=False)
    assert until(core, namespace, "one", is_running).spec.node_name == node
    again = refusal(lambda: core.create_namespaced_pod_binding("one", namespace, binding, _preload_content=False))
    assert again[0] == 409
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="one", namespace=namespace))
    revision = core.list_namespaced_pod(namespace).metadata.resource_version
    core.create_namespaced_pod_eviction("one", namespace, eviction)
    until_gone(core, namespace, revision)
    assert core.list_namespaced_pod(namespace).items == []


def test_a_budget_forbids_an_eviction(api: Any, core: Any, namespace: str) -> None:
    core.create_namespaced_pod(namespace, pod("one"))
    until(core, namespace, "one", is_running)
    policy = client.PolicyV1Api(api)
    spec = client.V1PodDisruptionBudgetSpec(
        min_available=1, selector=client.V1LabelSelector(match_labels={"app": "one"})
    )
    policy.create_namespaced_pod_disruption_budget(
        namespace, client.V1PodDisruptionBudget(metadata=client.V1ObjectMeta(name="one"), spec=spec)
    )
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="one", namespace=namespace))
    code, status = refusal(lambda: core.create_namespaced_pod_eviction("one", namespace, eviction))
    assert (code, status["reason"]) == (429, "TooManyRequests")


def test_a_dry_run_stores_nothing(core: Any, namespace: str) -> None:
    assert core.create_namespaced_config_map(namespace, settings("one"), dry_run="All").metadata.uid
    assert refusal(lambda: core.read_namespaced_config_map("one", namespace))[0] == 404


def test_server_side_apply_and_its_conflicts(api: Any, namespace: str) -> None:
    maps = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="ConfigMap")

    def apply(manager: str, color: str, **options: Any) -> Any:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "one", "namespace": namespace},
            "data": {"color": color},
        }
        return maps.server_side_apply(body=body, field_manager=manager, **options)

    assert apply("first", "blue").data.color == "blue"
    with pytest.raises(dynamic.exceptions.ConflictError) as raised:
        apply("second", "red")
    assert json.loads(raised.value.body)["details"]["causes"] == [
        {"field": ".data.color", "message": 'conflict with "first"', "reason": "FieldManagerConflict"}
    ]
    assert apply("second", "red", force_conflicts=True).data.color == "red"
    assert [entry.manager for entry in maps.get("one", namespace).metadata.managedFields] == ["second"]


def test_the_dynamic_client(api: Any, core: Any, namespace: str) -> None:
    resources = dynamic.DynamicClient(api).resources
    pods = resources.get(api_version="v1", kind="Pod")
    assert pods.namespaced
    body = api.sanitize_for_serialization(pod("one"))
    made = pods.create(body=body, namespace=namespace)
    assert made.metadata.name == "one"
    until(core, namespace, "one", is_running)
    patched = pods.patch(
        body={"metadata": {"labels": {"seen": "yes"}}},
        name="one",
        namespace=namespace,
        content_type="application/merge-patch+json",
    )
    assert patched.metadata.labels.seen == "yes"
    assert [item.metadata.name for item in pods.get(namespace=namespace, label_selector="seen=yes").items] == ["one"]
    for event in pods.watch(namespace=namespace, timeout=60):
        assert event["object"].metadata.name == "one"
        break
    pods.delete(name="one", namespace=namespace)
    groups = {resource.group for found in resources for resource in ([found] if hasattr(found, "group") else found)}
    assert {"", "apps", "batch", "coordination.k8s.io", "policy", "scheduling.k8s.io", "storage.k8s.io"} <= groups
    with pytest.raises(dynamic.exceptions.ResourceNotFoundError):
        resources.get(api_version="example.com/v1", kind="Nothing")


def test_create_from_yaml(api: Any, core: Any, namespace: str, tmp_path: Path) -> None:
    file = tmp_path / "several.yaml"
    file.write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n---\n"
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n"
        "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n"
        "    spec: {containers: [{name: main, image: i}]}\n",
        encoding="utf-8",
    )
    utils.create_from_yaml(api, str(file), namespace=namespace)
    assert core.read_namespaced_config_map("one", namespace).metadata.name == "one"
    assert client.AppsV1Api(api).read_namespaced_deployment("web", namespace).spec.replicas == 1
    with pytest.raises(utils.FailToCreateError) as raised:
        utils.create_from_yaml(api, str(file), namespace=namespace)
    assert "AlreadyExists" in str(raised.value)


def test_logs_are_honestly_not_there(core: Any, namespace: str) -> None:
    core.create_namespaced_pod(namespace, pod("one"))
    until(core, namespace, "one", is_running)
    assert refusal(lambda: core.read_namespaced_pod_log("one", namespace))[0] >= 400


def test_versions_health_and_what_there_is(api: Any, core: Any) -> None:
    assert client.VersionApi(api).get_code().major == "1"
    assert "pods" in {resource.name for resource in core.get_api_resources().resources}
    assert {group.name for group in client.ApisApi(api).get_api_versions().groups} >= {"apps", "batch"}
    who = client.AuthenticationV1Api(api).create_self_subject_review(client.V1SelfSubjectReview())
    assert who.status.user_info.username


def test_somebody_without_a_token_is_turned_away(cluster: Cluster) -> None:
    known = client.Configuration()
    config.load_kube_config(str(cluster.kubeconfig), client_configuration=known)
    stranger = client.Configuration(host=known.host)
    stranger.ssl_ca_cert = known.ssl_ca_cert
    for key in ({}, {"BearerToken": "Bearer nonsense"}):
        stranger.api_key = key
        with client.ApiClient(stranger) as made:
            assert refusal(lambda: client.CoreV1Api(made).list_node())[0] == 401


def test_leaders_are_elected(cluster: Cluster, core: Any, namespace: str) -> None:
    """The election of the package: one leads at a time."""
    config.load_kube_config(str(cluster.kubeconfig))

    def candidate(name: str) -> Any:
        lock = election.resourcelock.leaselock.LeaseLock("election", namespace, name)
        times = {"lease_duration": 60, "renew_deadline": 30, "retry_period": 5}
        callbacks = {"onstarted_leading": lambda: None, "onstopped_leading": lambda: None}
        return election.leaderelection.LeaderElection(election.electionconfig.Config(lock, **times, **callbacks))

    first, second = candidate("first"), candidate("second")
    assert first.try_acquire_or_renew()
    found = client.CoordinationV1Api(core.api_client).read_namespaced_lease("election", namespace)
    assert (found.spec.holder_identity, found.spec.lease_duration_seconds) == ("first", 60)
    assert not second.try_acquire_or_renew()
    assert first.try_acquire_or_renew(), "a leader renews its lease"
    again = client.CoordinationV1Api(core.api_client).read_namespaced_lease("election", namespace)
    assert again.spec.renew_time > found.spec.renew_time
    assert again.spec.acquire_time == found.spec.acquire_time
