"""Policies of a live cluster are read with what they look up; what may not be read is said once."""

import asyncio
from typing import Any

from tests.laws.random_worlds import definition, widget
from tests.objects import node

from moorage.admit.extension.attributes import ObjectKind
from moorage.client.protocol import Listing
from moorage.model.api_error import ApiError, forbidden
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind
from moorage.plan.input.extensions.objects import extensions_of
from moorage.plan.input.live_cluster import LiveCluster, ReadObjects, load_live, read_objects
from moorage.plan.planner import Planner, Settings
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore

Raw = dict[str, Any]
SERVER = "https://example.com"
POLICY, BINDING = KINDS.VALIDATING_ADMISSION_POLICY, KINDS.VALIDATING_ADMISSION_POLICY_BINDING
CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap"}


def policy(name: str, param_kind: Raw | None = None, expression: str = "true") -> Raw:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    spec: Raw = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    if param_kind is not None:
        spec["paramKind"] = param_kind
    return {"apiVersion": POLICY.api_version, "kind": POLICY.name, "metadata": {"name": name}, "spec": spec}


class _Reserved(LoopbackClient):
    """Does not tell of some kinds, and notes what it is asked for."""

    def __init__(self, api: Api, refused: tuple[str, ...]) -> None:
        super().__init__(api, "test")
        self.refused, self.asked = refused, list[str]()

    async def list_all(self, facts: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        self.asked.append(facts.name)
        if facts.name in self.refused:
            raise forbidden(facts, "", f"you may not list {facts.plural}")
        return await super().list_all(facts, namespace, labels=labels, fields=fields)


def read(*objects: Raw, refused: tuple[str, ...] = ()) -> tuple[ReadObjects, list[str]]:
    async def story() -> tuple[ReadObjects, list[str]]:
        api = Api(MemoryStore(), default_gates())
        await api.start()
        await bootstrap(api, 443)
        client = _Reserved(api, refused)
        for raw in (node("n1"), *objects):
            kind = KINDS.get((raw["apiVersion"], raw["kind"])) or api.resources.custom_kind(
                raw["apiVersion"], raw["kind"]
            )
            assert kind is not None
            await client.create(kind, raw, raw["metadata"].get("namespace", ""))
        try:
            return await read_objects(client, SERVER), client.asked
        finally:
            await api.store.close()

    return asyncio.run(story())


def loaded(found: ReadObjects) -> Planner:
    planner = Planner(Settings(default_gates()))
    live = LiveCluster(SERVER, "default", found.objects, found.missing, parameters=found.parameters)
    load_live(planner, live)
    return planner


def config_map(name: str) -> Raw:
    return {**CONFIG_MAP, "metadata": {"name": name, "namespace": "default"}, "data": {"max": "5"}}


def test_parameters_are_read_only_if_a_policy_looks_them_up() -> None:
    found, asked = read(config_map("limits"), policy("p"))
    assert "ConfigMap" not in asked
    assert found.parameters == frozenset()
    found, asked = read(config_map("limits"), policy("p", CONFIG_MAP))
    assert asked.count("ConfigMap") == 1
    assert "ConfigMap" in found.parameters
    assert "ClusterRole" not in asked
    world = extensions_of(loaded(found).inventory)
    assert [one.metadata.name for one in world.validating_policies()] == ["p"]
    limits = world.param(ObjectKind("", "v1", "ConfigMap"), "default", "limits")
    assert limits is not None
    assert limits["data"] == {"max": "5"}


def test_roles_are_read_only_if_an_expression_asks_for_rights() -> None:
    _, asked = read(policy("p", expression="authorizer.path('/x').check('get').allowed()"))
    assert {"ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"} <= set(asked)


def test_custom_parameters_are_read_with_their_definition() -> None:
    defined, one = definition(), widget("w", 2, "default")
    found, _ = read(defined, one, policy("p", {"apiVersion": one["apiVersion"], "kind": one["kind"]}))
    world = extensions_of(loaded(found).inventory)
    group, _, version = one["apiVersion"].partition("/")
    param = world.param(ObjectKind(group, version, one["kind"]), "default", "w")
    assert param is not None
    assert param["spec"]["size"] == 2


def test_policies_that_may_not_be_read_are_said_once() -> None:
    found, _ = read(refused=(POLICY.name, BINDING.name))
    notes = [str(note) for note in loaded(found).inventory.notes]
    (said,) = [note for note in notes if "not applied" in note]
    assert said.startswith("ValidatingAdmissionPolicyBinding and ValidatingAdmissionPolicy were not read, so that ")
    assert "you may not list" in said


def test_parameters_that_may_not_be_read_refuse_nothing() -> None:
    found, _ = read(policy("p", CONFIG_MAP), refused=("ConfigMap",))
    inventory = loaded(found).inventory
    assert any(str(note).startswith("ConfigMap: was not read: ") for note in inventory.notes)
    assert not inventory.has_all("ConfigMap")
    assert inventory.has_all("Pod")
    found, _ = read(policy("p", CONFIG_MAP))
    assert loaded(found).inventory.has_all("ConfigMap")
    assert not loaded(read()[0]).inventory.has_all("ConfigMap")


def test_release_without_policies_is_read_without_a_note() -> None:
    class Older(_Reserved):
        async def list_all(self, facts: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
            if facts.group == POLICY.group:
                raise ApiError({"code": 404, "message": "the server could not find the requested resource"})
            return await super().list_all(facts, namespace, labels=labels, fields=fields)

    async def story() -> ReadObjects:
        api = Api(MemoryStore(), default_gates())
        await api.start()
        await bootstrap(api, 443)
        return await read_objects(Older(api, ()), SERVER)

    assert asyncio.run(story()).missing == []
