"""Policies of files know kinds, rights and parameters as those of a cluster, and refuse nothing that is not known."""

from collections.abc import Iterable
from typing import Any

from moorage.admit.extension.attributes import ObjectKind, ObjectResource, UserInfo
from moorage.admit.extension.matching.versions import converted
from moorage.admit.extension.remarks import Remarks
from moorage.admit.extension.steps import without_calls
from moorage.admit.raw import Raw
from moorage.lint.policies.judge import not_called_text
from moorage.lint.policies.offline_extensions import LeftOut, OfflineExtensions
from moorage.match.cel.libraries.authz import Check
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import convert_view
from moorage.model.types.meta import LabelSelector

LIMITS = "limits.example.com"
CONFIG_MAP = ObjectKind("", "v1", "ConfigMap")


class Documents:
    """Objects by kind, namespace and name."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str], Raw] = {}

    def find(self, kind: Kind, namespace: str, name: str) -> Raw | None:
        return self.objects.get((kind.name, namespace, name))

    def all_of(self, kind: Kind, namespace: str) -> Iterable[Raw]:
        return [raw for (name, place, _), raw in self.objects.items() if name == kind.name and place == namespace]


class Offline:
    """A world, the objects in it, and whether they are all."""

    def __init__(self, *, is_complete: bool = False) -> None:
        self.documents = Documents()
        self.world = OfflineExtensions(default_gates(), self.documents, lambda kind: is_complete)

    def learn(self, kind: Kind, name: str, **fields: Any) -> None:
        raw = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}, **fields}
        self.world.learn(kind, convert_view(raw, kind.view), raw)

    def put_policy(self, param_kind: Raw | None = None, **reference: Any) -> None:
        spec: Raw = {"paramKind": param_kind} if param_kind is not None else {}
        self.learn(KINDS.VALIDATING_ADMISSION_POLICY, "p", spec=spec)
        binding: Raw = {"policyName": "p", **({"paramRef": reference} if reference else {})}
        self.learn(KINDS.VALIDATING_ADMISSION_POLICY_BINDING, "b", spec=binding)

    def action(self) -> str | None:
        (binding,) = self.world.validating_bindings("p")
        assert binding.spec.paramRef is not None
        return binding.spec.paramRef.parameterNotFoundAction


def limits_definition() -> Raw:
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    names = {"plural": "limits", "singular": "limit", "kind": "Limit", "listKind": "LimitList"}
    return {"group": LIMITS, "scope": "Cluster", "names": names, "versions": versions}


def test_parameter_that_is_not_in_some_files_refuses_nothing_and_is_noted() -> None:
    offline = Offline()
    offline.put_policy({"apiVersion": "v1", "kind": "ConfigMap"}, name="max", parameterNotFoundAction="Deny")
    assert offline.action() == "Allow"
    assert offline.world.param(CONFIG_MAP, "team-a", "max") is None
    assert list(offline.world.left_out) == [LeftOut("ConfigMap", "team-a", "max", ("ValidatingAdmissionPolicy p",))]
    (missing,) = offline.world.left_out
    assert missing.text == (
        "ValidatingAdmissionPolicy p is not applied where ConfigMap team-a/max is the parameter, "
        "which is not in the input"
    )


def test_parameter_that_a_cluster_does_not_have_refuses() -> None:
    offline = Offline(is_complete=True)
    offline.put_policy({"apiVersion": "v1", "kind": "ConfigMap"}, name="max", parameterNotFoundAction="Deny")
    assert offline.action() == "Deny"
    assert offline.world.param(CONFIG_MAP, "team-a", "max") is None
    assert not offline.world.left_out


def test_parameter_that_need_not_exist_is_not_noted() -> None:
    offline = Offline()
    offline.put_policy({"apiVersion": "v1", "kind": "ConfigMap"}, name="max", parameterNotFoundAction="Allow")
    assert not offline.world.params(CONFIG_MAP, "team-a", LabelSelector())
    assert not offline.world.left_out


def test_parameters_are_found_among_the_objects() -> None:
    offline = Offline()
    offline.put_policy({"apiVersion": "v1", "kind": "ConfigMap"}, name="max", parameterNotFoundAction="Deny")
    raw = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "max", "namespace": "team-a"}}
    offline.documents.objects["ConfigMap", "team-a", "max"] = raw
    assert offline.world.param(CONFIG_MAP, "team-a", "max") == raw
    assert offline.world.params(CONFIG_MAP, "team-a", LabelSelector()) == [raw]
    assert not offline.world.left_out


def test_policy_whose_kind_of_parameters_is_not_defined_is_left_out() -> None:
    kind = {"apiVersion": f"{LIMITS}/v1", "kind": "Limit"}
    offline = Offline()
    offline.put_policy(kind, name="max", parameterNotFoundAction="Deny")
    assert not offline.world.validating_bindings("p")
    assert list(offline.world.left_out) == [LeftOut("Limit", "", "", ("ValidatingAdmissionPolicy p",))]
    assert offline.world.param_kinds() == {(f"{LIMITS}/v1", "Limit"): None}
    offline.learn(KINDS.CUSTOM_RESOURCE_DEFINITION, f"limits.{LIMITS}", spec=limits_definition())
    assert len(offline.world.validating_bindings("p")) == 1
    row = offline.world.param_kinds()[f"{LIMITS}/v1", "Limit"]
    assert row is not None
    assert not row.namespaced


def test_definition_that_is_gone_is_not_served() -> None:
    offline = Offline()
    resource = ObjectResource(LIMITS, "v1", "limits")
    offline.learn(KINDS.CUSTOM_RESOURCE_DEFINITION, f"limits.{LIMITS}", spec=limits_definition())
    assert offline.world.served_versions(resource, "")
    before = offline.world.generation
    kind = KINDS.CUSTOM_RESOURCE_DEFINITION
    offline.world.forget(kind, convert_view({"metadata": {"name": f"limits.{LIMITS}"}}, kind.view))
    assert not offline.world.served_versions(resource, "")
    assert offline.world.generation > before


def test_namespace_that_is_only_assumed_has_the_label_of_its_name() -> None:
    assumed = Offline().world.namespace("team-a")
    assert assumed is not None
    assert assumed["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team-a"}
    assert Offline(is_complete=True).world.namespace("team-a") is None
    assert Offline(is_complete=True).world.namespace("default") is not None
    assert Offline().world.namespace("") is None


def test_rights_are_those_of_the_objects_and_of_every_cluster() -> None:
    offline = Offline()
    alice = UserInfo("alice", groups=("system:authenticated",))
    question = Check("get", resource="pods", namespace="default", name="p")
    assert not offline.world.authorize(alice, question).allowed
    assert offline.world.authorize(UserInfo("root", groups=("system:masters",)), question).allowed
    offline.learn(
        KINDS.CLUSTER_ROLE_BINDING,
        "alice",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        subjects=[{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    )
    assert offline.world.authorize(alice, question).allowed
    assert not offline.world.authorize(alice, question._replace(verb="delete")).allowed
    kind = KINDS.CLUSTER_ROLE_BINDING
    offline.world.forget(kind, convert_view({"metadata": {"name": "alice"}}, kind.view))
    assert not offline.world.authorize(alice, question).allowed


def test_versions_that_a_webhook_converts_differ_by_the_apiversion_alone_and_the_webhook_is_named() -> None:
    offline, remarks = Offline(), Remarks()
    spec = limits_definition()
    spec["versions"].append({**spec["versions"][0], "name": "v2", "storage": False})
    webhook = {"clientConfig": {"url": "https://127.0.0.1:1/"}, "conversionReviewVersions": ["v1"]}
    spec["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    offline.learn(KINDS.CUSTOM_RESOURCE_DEFINITION, f"limits.{LIMITS}", spec=spec)
    limit = {"apiVersion": f"{LIMITS}/v2", "kind": "Limit", "metadata": {"name": "l"}, "spec": {"most": 3}}
    steps = converted([limit], ObjectKind(LIMITS, "v1", "Limit"), offline.world, remarks)
    assert without_calls(steps) == [{**limit, "apiVersion": f"{LIMITS}/v1"}]
    (webhook_of_kind,) = remarks.not_called
    text = not_called_text(webhook_of_kind, 1, offline.world)
    assert text.startswith(f"the conversion webhook of CustomResourceDefinition limits.{LIMITS} is not called here;")
    assert text.endswith("saw 1 object with another apiVersion alone")
