"""A user who may write a claim's status needs a right for each part: for the allocation, and for a driver's devices."""

from typing import Any

import pytest
from tests.unit.serve.access.test_rbac_requests import RBAC, ask, new_handler

from moorage.client.protocol import PatchType
from moorage.model.api_error import ApiError
from moorage.model.gates import DRA_RESOURCE_CLAIM_GRANULAR_STATUS_AUTHORIZATION
from moorage.model.kinds import KINDS
from moorage.serve.access.bootstrap.policy import CONTROLLER_MANAGER, KUBELETS, SCHEDULER
from moorage.serve.pki.authentication import AUTHENTICATED, User, service_account_user
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.loopback import LoopbackClient

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
MERGE = "application/merge-patch+json"
NODE_NAME = "authentication.kubernetes.io/node-name"
ANN = User("ann", groups=(AUTHENTICATED,))


def _account(node: str) -> User:
    return service_account_user("default", "driver", "", {NODE_NAME: (node,)})


def _allocated(driver: str = "d.example.com", node: str = "n1") -> dict[str, Any]:
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    results = [{"request": "r", "driver": driver, "pool": "p", "device": "dev"}]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"allocation": {"devices": {"results": results}, "nodeSelector": selector}}


def _reported(driver: str = "d.example.com") -> dict[str, Any]:
    return {"devices": [{"driver": driver, "pool": "p", "device": "dev", "data": {"a": 1}}]}


async def _grant(handler: Handler, verbs: str, resource: str, **names: Any) -> None:
    """Grant verbs on a resource to ann and the driver's account, in all namespaces."""
    name = f"{resource.replace('/', '-')}-{verbs.split()[0].replace(':', '-')}"
    rules = [{"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": verbs.split(), **names}]
    subjects = [{"kind": "User", "name": ANN.name}, {"kind": "User", "name": _account("").name}]
    for plural, kind, more in (
        ("clusterroles", "ClusterRole", {"rules": rules}),
        ("clusterrolebindings", "ClusterRoleBinding", {"roleRef": {"kind": "ClusterRole", "name": name}}),
    ):
        document = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **more}
        if plural == "clusterrolebindings":
            document["subjects"] = subjects
        created = await ask(handler, "PUT", f"{RBAC}/{plural}/{name}", document)
        assert created["code"] == 201, created


async def _claim(handler: Handler, name: str = "c") -> None:
    requests = [{"name": "r", "exactly": {"deviceClassName": "x"}}]
    spec = {"devices": {"requests": requests}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": name}, "spec": spec}
    assert (await ask(handler, "POST", CLAIMS, claim))["code"] == 201


async def _patch(handler: Handler, status: dict[str, Any], user: User, name: str = "c") -> dict[str, Any]:
    return await ask(handler, "PATCH", f"{CLAIMS}/{name}/status", {"status": status}, user, MERGE)


async def test_an_allocation_needs_the_right_to_bind() -> None:
    async with new_handler() as handler:
        await _claim(handler)
        await _grant(handler, "get patch update", "resourceclaims/status")
        refused = await _patch(handler, _allocated(), ANN)
        assert refused["code"] == 422
        [cause] = refused["details"]["causes"]
        assert (cause["field"], cause["reason"]) == ("status.allocation", "FieldValueForbidden")
        assert cause["message"] == (
            'Forbidden: changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", '
            'verb="patch" permission: resourceclaims.resource.k8s.io is forbidden: User "ann" cannot patch resource '
            '"resourceclaims/binding" in API group "resource.k8s.io" at the cluster scope'
        )
        claim = await ask(handler, "GET", f"{CLAIMS}/c")
        replaced = {name: claim[name] for name in ("apiVersion", "kind", "metadata", "spec")} | {"status": _allocated()}
        refused = await ask(handler, "PUT", f"{CLAIMS}/c/status", replaced, ANN)
        assert 'verb="update" permission' in refused["message"]
        await _grant(handler, "patch", "resourceclaims/binding")
        assert (await _patch(handler, _allocated(), ANN))["code"] == 200
        assert (await _patch(handler, {"reservedFor": None}, ANN))["code"] == 200  # which changes nothing


async def test_devices_need_the_right_of_their_driver_on_any_node_or_on_the_claims_node() -> None:
    async with new_handler() as handler:
        await _claim(handler)
        await _grant(handler, "get patch update", "resourceclaims/status")
        assert (await _patch(handler, _allocated(), SCHEDULER))["code"] == 200
        refused = await _patch(handler, _reported(), _account("n1"))
        assert refused["details"]["causes"][0]["message"] == (
            'Forbidden: changing status.devices requires resource="resourceclaims/driver", '
            'verb="[associated-node:patch arbitrary-node:patch]" permission: resourceclaims.resource.k8s.io '
            '"d.example.com" is forbidden: User "system:serviceaccount:default:driver" cannot associated-node:patch '
            'resource "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "default"'
        )
        await _grant(handler, "associated-node:patch", "resourceclaims/driver", resourceNames=["d.example.com"])
        refused = await _patch(handler, _reported(), _account("n2"))
        assert 'verb="[arbitrary-node:patch]" permission' in refused["message"]
        assert (await _patch(handler, _reported(), ANN))["code"] == 422  # no account of a pod
        assert (await _patch(handler, _reported(), _account("n1")))["code"] == 200
        assert (await _patch(handler, {"devices": None}, ANN))["code"] == 422  # a removed entry counts, too
        await _grant(handler, "arbitrary-node:patch", "resourceclaims/driver", resourceNames=["d.example.com"])
        assert (await _patch(handler, {"devices": None}, ANN))["code"] == 200


async def test_a_right_to_one_driver_is_no_right_to_another() -> None:
    async with new_handler() as handler:
        await _claim(handler)
        await _grant(handler, "get patch update", "resourceclaims/status")
        await _grant(handler, "arbitrary-node:patch", "resourceclaims/driver", resourceNames=["d.example.com"])
        assert (await _patch(handler, _allocated("e.example.com"), SCHEDULER))["code"] == 200
        refused = await _patch(handler, _reported("e.example.com"), ANN)
        assert '"e.example.com" is forbidden' in refused["message"]


async def test_components_have_the_rights_that_they_need_and_no_others() -> None:
    """Also where a write is made at once, because the same was written into another claim of the template."""
    async with new_handler() as handler:
        clients = {user.name: LoopbackClient(handler._api, "t", user) for user in (SCHEDULER, KUBELETS)}
        reserved = {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}

        async def write(user: User, name: str, status: dict[str, Any]) -> None:
            client = clients[user.name]
            patch = {"status": status}
            await client.patch(
                KINDS.RESOURCE_CLAIM, name, "default", patch, subresource="status", patch_type=PatchType.MERGE
            )

        for name in ("a", "b", "c"):
            await _claim(handler, name)
            with pytest.raises(ApiError, match="resourceclaims/binding"):
                await write(KUBELETS, name, _allocated())
            await write(SCHEDULER, name, _allocated())
            with pytest.raises(ApiError, match="resourceclaims/binding"):
                await write(KUBELETS, name, reserved)
            await write(SCHEDULER, name, reserved)
            with pytest.raises(ApiError, match="resourceclaims/driver"):
                await write(SCHEDULER, name, _reported())
            await write(KUBELETS, name, _reported())
        assert (await _patch(handler, {"reservedFor": None}, CONTROLLER_MANAGER))["code"] == 200


async def test_without_the_gate_a_right_to_the_status_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    async with new_handler() as handler:
        await _claim(handler)
        await _grant(handler, "get patch update", "resourceclaims/status")
        api = handler._api
        without = api.gates.with_gate(DRA_RESOURCE_CLAIM_GRANULAR_STATUS_AUTHORIZATION, False)
        monkeypatch.setattr(api, "gates", without)
        assert (await _patch(handler, _allocated(), ANN))["code"] == 200
