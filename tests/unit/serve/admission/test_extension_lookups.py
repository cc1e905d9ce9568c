"""What policies and webhooks look up in the API server: versions, parameters, rights, documents as they are read."""

import asyncio
from typing import Any

import pytest

from moorage.admit.apply.ownership_schema import FieldOwnershipSchema
from moorage.admit.extension.attributes import ObjectKind, ObjectResource, UserInfo
from moorage.admit.extension.world import ParamKindRow
from moorage.match.cel.libraries.authz import Check
from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.model.types.meta import LabelSelector
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore

Raw = dict[str, Any]
WIDGETS = "vec.example.com"
PODS = ObjectResource("", "v1", "pods")


def config_map(name: str, namespace: str, **labels: str) -> Raw:
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"name": name}}


def definition() -> Raw:
    properties: Raw = {
        "spec": {"type": "object", "properties": {"size": {"type": "integer", "default": 1}, "n": {"type": "integer"}}}
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
    versions = [
        {"name": name, "served": True, "storage": name == "v1", "schema": schema, "subresources": {"scale": scale}}
        for name in ("v1", "v1beta1")
    ]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{WIDGETS}"},
        "spec": {"group": WIDGETS, "scope": "Namespaced", "names": names, "versions": versions},
    }


def policy(name: str) -> Raw:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


async def started() -> tuple[LoopbackClient, Api]:
    api = Api(MemoryStore(), default_gates())
    await api.start()
    await bootstrap(api, 443)
    return LoopbackClient(api, "test"), api


async def with_widgets() -> tuple[LoopbackClient, Api]:
    client, api = await started()
    await client.create(KINDS.CUSTOM_RESOURCE_DEFINITION, definition())
    for _ in range(100):
        if api.resources.find(WIDGETS, "v1", "widgets") is not None:
            return client, api
        await asyncio.sleep(0.01)
    raise AssertionError("the definition is not served")


async def test_a_policy_counts_from_its_creation_to_its_deletion_and_after_a_restart() -> None:
    client, api = await started()
    assert api.extensions.is_empty
    await client.create(KINDS.VALIDATING_ADMISSION_POLICY, policy("p"))
    (view,) = api.extensions.validating_policies()
    assert view.spec.failurePolicy == "Fail"
    later = Api(api.store, default_gates())
    await later.start()
    assert [one.metadata.name for one in later.extensions.validating_policies()] == ["p"]
    await client.delete(KINDS.VALIDATING_ADMISSION_POLICY, "p")
    assert api.extensions.is_empty


async def test_served_versions_are_those_that_store_the_same_objects() -> None:
    _, api = await with_widgets()
    world = api.extensions
    assert [served.resource.version for served in world.served_versions(PODS, "")] == ["v1"]
    v1 = ObjectResource(WIDGETS, "v1", "widgets")
    assert [tuple(served.kind) for served in world.served_versions(v1, "")] == [
        (WIDGETS, "v1", "Widget"),
        (WIDGETS, "v1beta1", "Widget"),
    ]
    assert {tuple(served.kind) for served in world.served_versions(v1, "scale")} == {("autoscaling", "v1", "Scale")}
    assert not world.served_versions(v1, "status")
    events = world.served_versions(ObjectResource("events.k8s.io", "v1", "events"), "")
    assert {served.resource.group for served in events} == {"", "events.k8s.io"}
    scale = world.served_versions(ObjectResource("apps", "v1", "deployments"), "scale")
    assert [tuple(served.kind) for served in scale] == [("autoscaling", "v1", "Scale")]


async def test_generation_grows_when_a_definition_is_served() -> None:
    client, api = await started()
    before = api.extensions.generation
    await client.create(KINDS.CUSTOM_RESOURCE_DEFINITION, definition())
    assert api.extensions.generation > before
    assert api.extensions.is_namespaced(ObjectResource(WIDGETS, "v1", "widgets"))


async def test_parameters_are_those_of_one_namespace() -> None:
    client, api = await started()
    for namespace in ("team-a", "team-ab"):
        await client.create(KINDS.NAMESPACE, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    for name, namespace, labels in (("b", "team-a", {"x": "y"}), ("a", "team-a", {"x": "y"}), ("c", "team-ab", {})):
        await client.create(KINDS.CONFIG_MAP, config_map(name, namespace, **labels), namespace)
    world, kind = api.extensions, ObjectKind("", "v1", "ConfigMap")
    assert world.param_kind("v1", "ConfigMap") == ParamKindRow(kind, True)
    found = world.param(kind, "team-a", "a")
    assert found is not None
    assert (found["apiVersion"], found["kind"], found["data"]) == ("v1", "ConfigMap", {"name": "a"})
    assert world.param(kind, "team-b", "a") is None
    assert [one["metadata"]["name"] for one in world.params(kind, "team-a", LabelSelector())] == ["a", "b"]
    selected = world.params(kind, "team-ab", LabelSelector(matchLabels={"x": "y"}))
    assert not selected
    assert world.param_kind("v1", "PodExecOptions") is None
    assert world.param_kind("autoscaling/v1", "Scale") is None


async def test_parameters_of_a_custom_kind_come_in_the_version_that_is_asked_for() -> None:
    client, api = await with_widgets()
    served = api.resources.custom_kind(f"{WIDGETS}/v1", "Widget")
    assert served is not None
    widget = {"apiVersion": f"{WIDGETS}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {}}
    await client.create(served, widget, "default")
    found = api.extensions.param(ObjectKind(WIDGETS, "v1beta1", "Widget"), "default", "w")
    assert found is not None
    assert (found["apiVersion"], found["spec"]) == (f"{WIDGETS}/v1beta1", {"size": 1})


async def test_a_document_is_completed_as_it_is_read() -> None:
    _, api = await with_widgets()
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"unknown": 1, "containers": [{"name": "c", "image": "i"}]},
    }
    completed = api.extensions.complete(pod, PODS, "")
    assert "unknown" not in completed["spec"]
    assert completed["spec"]["restartPolicy"] == "Always"
    assert pod["spec"] == {"unknown": 1, "containers": [{"name": "c", "image": "i"}]}
    widget = {"apiVersion": f"{WIDGETS}/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"unknown": 1}}
    assert api.extensions.complete(widget, ObjectResource(WIDGETS, "v1", "widgets"), "")["spec"] == {
        "unknown": 1,
        "size": 1,
    }
    options = {"apiVersion": "v1", "kind": "PodExecOptions", "command": ["sh"]}
    assert api.extensions.complete(options, PODS, "exec") == options


async def test_a_document_that_does_not_decode_is_an_internal_error() -> None:
    _, api = await started()
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": 1}}
    with pytest.raises(ApiError) as raised:
        api.extensions.complete(wrong, ObjectResource("", "v1", "configmaps"), "")
    assert raised.value.status["code"] == 500
    assert raised.value.message == (
        "Internal error occurred: json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    )


async def test_documents_are_converted_between_versions_of_a_kind() -> None:
    _, api = await with_widgets()
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}},
    }
    older = api.extensions.convert(claim, ObjectKind("resource.k8s.io", "v1beta1", "ResourceClaim"))
    assert older["spec"] == {"devices": {"requests": [{"name": "r", "deviceClassName": "gpu"}]}}
    assert api.extensions.convert(older, ObjectKind("resource.k8s.io", "v1", "ResourceClaim")) == claim
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {}, "message": "m"}
    assert api.extensions.convert(event, ObjectKind("events.k8s.io", "v1", "Event"))["note"] == "m"
    with pytest.raises(ApiError, match="unable to convert"):
        api.extensions.convert(event, ObjectKind("", "v1", "Pod"))


async def test_authorizer_answers_as_for_a_request() -> None:
    client, api = await started()
    alice = UserInfo("alice", groups=("system:authenticated",))
    question = Check("get", resource="pods", namespace="default", name="p")
    assert not api.extensions.authorize(alice, question).allowed
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    about = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "r"}}
    await client.create(KINDS.ROLE, {**about, "kind": "Role", "rules": rules}, "default")
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    }
    await client.create(KINDS.ROLE_BINDING, binding, "default")
    decision = api.extensions.authorize(alice, question)
    assert decision.allowed
    assert decision.reason.startswith("RBAC: allowed by RoleBinding")
    assert not api.extensions.authorize(alice, question._replace(namespace="other")).allowed
    assert api.extensions.authorize(alice, Check("get", path="/healthz")).allowed
    assert not api.extensions.authorize(alice, Check("get", path="/logs")).allowed


async def test_configurations_are_applied_by_the_schema_of_kinds() -> None:
    _, api = await with_widgets()
    schema = api.extensions.apply_schema(ObjectKind("", "v1", "Pod"))
    assert isinstance(schema, FieldOwnershipSchema)
    assert "spec" in schema.fields
    assert api.extensions.apply_schema(ObjectKind(WIDGETS, "v1", "Widget")) is not None
    assert api.extensions.apply_schema(ObjectKind("", "v1", "Binding")) is not None
    assert api.extensions.apply_schema(ObjectKind("autoscaling", "v1", "Scale")) is None
    assert api.extensions.apply_schema(ObjectKind("policy", "v1", "Eviction")) is None
    assert api.extensions.apply_schema(ObjectKind("", "v1", "PodExecOptions")) is None
