"""Requests of users with roles: what is allowed is done, and everything else is refused, by every path."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.objects import pod
from tests.unit.serve.verbs.bench import new_api

from moorage.model.api_error import ApiError
from moorage.serve.access.modes import use_modes
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.pki.authentication import ADMIN, AUTHENTICATED, User
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.web_paths import WebPaths
from moorage.serve.verbs.api import Api
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

JANE = User("jane", groups=(AUTHENTICATED,))
NODE = User("system:node:n1", groups=("system:nodes", AUTHENTICATED))
GROUP = "rbac.authorization.k8s.io"
GROUP_VERSION = f"{GROUP}/v1"
RBAC = f"/apis/{GROUP_VERSION}"
PODS = "/api/v1/namespaces/default/pods"
JSON, APPLY = "application/json", "application/apply-patch+yaml"


@asynccontextmanager
async def new_handler() -> AsyncIterator[Handler]:
    async with new_api() as api:
        yield await handler_of(api)


async def handler_of(api: Api) -> Handler:
    use_modes(api, ("Node", "RBAC"))
    await bootstrap(api, 443)
    metrics = Metrics()
    return Handler(api, WebPaths((), metrics.render), ApiServerMetrics(metrics))


async def ask(
    handler: Handler, method: str, target: str, body: Any = None, user: User = ADMIN, content_type: str = JSON
) -> dict[str, Any]:
    sent = b"" if body is None else json.dumps(body).encode()
    headers = {"content-type": content_type, "user-agent": "test"}
    try:
        answer = await handler(Request(method, target, headers, sent, user=user))
    except ApiError as refusal:
        return refusal.status
    assert isinstance(answer, Response)
    return {"code": answer.status, **json.loads(answer.body)}


async def grant(handler: Handler, verbs: list[str], resources: list[str], group: str = "") -> None:
    rules = [{"verbs": verbs, "apiGroups": [group], "resources": resources}]
    role = {"metadata": {"name": "r"}, "rules": rules}
    binding = {
        "metadata": {"name": "r"},
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "jane"}],
    }
    for plural, kind, document in (("roles", "Role", role), ("rolebindings", "RoleBinding", binding)):
        document |= {"apiVersion": GROUP_VERSION, "kind": kind}
        made = await ask(handler, "PUT", f"{RBAC}/namespaces/default/{plural}/r", document)
        assert made["code"] in (200, 201), made


async def test_rights_begin_and_end_with_their_role() -> None:
    async with new_handler() as handler:
        assert (await ask(handler, "GET", PODS, user=JANE))["code"] == 403
        await grant(handler, ["list", "watch"], ["pods"])
        assert (await ask(handler, "GET", PODS, user=JANE))["code"] == 200
        assert (await ask(handler, "GET", f"{PODS}/x", user=JANE))["code"] == 403
        assert (await ask(handler, "GET", "/api/v1/pods", user=JANE))["code"] == 403
        watch = await handler(Request("GET", f"{PODS}?watch=1", user=JANE))
        assert isinstance(watch, Stream)
        assert (await ask(handler, "DELETE", f"{RBAC}/namespaces/default/roles/r"))["code"] == 200
        refused = await ask(handler, "GET", PODS, user=JANE)
        assert refused["message"].endswith('RBAC: role.rbac.authorization.k8s.io "r" not found')
        await ask(handler, "POST", PODS, pod())
        chunks = aiter(watch.chunks)
        assert b'"ADDED"' in await asyncio.wait_for(anext(chunks), 5)  # a watch that is open goes on
        await watch.chunks.aclose()  # type: ignore[attr-defined]


async def test_what_an_apply_or_an_update_creates_needs_the_right_to_create() -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    path = "/api/v1/namespaces/default/configmaps/c"
    role = {"apiVersion": GROUP_VERSION, "kind": "Role", "metadata": {"name": "made"}}
    async with new_handler() as handler:
        await grant(handler, ["patch", "get"], ["configmaps"])
        refused = await ask(handler, "PATCH", f"{path}?fieldManager=t", settings, JANE, APPLY)
        assert (refused["code"], refused["message"]) == (403, 'configmaps "c" is forbidden: ')
        await grant(handler, ["patch", "get", "create"], ["configmaps"])
        assert (await ask(handler, "PATCH", f"{path}?fieldManager=t", settings, JANE, APPLY))["code"] == 201
        await grant(handler, ["update"], ["roles"], GROUP)
        refused = await ask(handler, "PUT", f"{RBAC}/namespaces/default/roles/made", role, JANE)
        assert refused["code"] == 403


async def test_no_verb_writes_rights_that_the_user_lacks() -> None:
    """Create, update, patch and apply are checked alike, for roles and for bindings."""
    path = f"{RBAC}/namespaces/default/roles/r"
    wanted = [{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]
    async with new_handler() as handler:
        await grant(handler, ["create", "update", "patch", "get"], ["roles", "rolebindings"], GROUP)
        role = {
            "apiVersion": GROUP_VERSION,
            "kind": "Role",
            "metadata": {"name": "r"},
            "rules": wanted,
        }
        for method, target, body, content_type in (
            ("POST", path.removesuffix("/r"), {**role, "metadata": {"name": "new"}}, JSON),
            ("PUT", path, role, JSON),
            ("PATCH", path, {"rules": wanted}, "application/merge-patch+json"),
            ("PATCH", path, {"rules": wanted}, "application/strategic-merge-patch+json"),
            ("PATCH", path, [{"op": "replace", "path": "/rules", "value": wanted}], "application/json-patch+json"),
            ("PATCH", f"{path}?fieldManager=t&force=true", role, APPLY),
            ("PATCH", f"{path[:-1]}new?fieldManager=t", {**role, "metadata": {"name": "new"}}, APPLY),
        ):
            refused = await ask(handler, method, target, body, JANE, content_type)
            assert refused["code"] == 403, (method, target, refused)
            assert refused["message"].endswith('{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}')
        binding = {
            "apiVersion": GROUP_VERSION,
            "kind": "RoleBinding",
            "metadata": {"name": "b"},
            "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "User", "name": "jane"}],
        }
        refused = await ask(handler, "POST", path.replace("roles/r", "rolebindings"), binding, JANE)
        assert "attempting to grant RBAC permissions not currently held" in refused["message"]
        labelled = {"metadata": {"finalizers": ["example.com/x"]}}
        assert (await ask(handler, "PATCH", path, labelled, JANE, "application/merge-patch+json"))["code"] == 200


async def test_a_node_creates_only_what_is_its_own() -> None:
    def node(name: str) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}

    async with new_handler() as handler:
        assert (await ask(handler, "POST", "/api/v1/nodes", node("n1"), NODE))["code"] == 201
        refused = await ask(handler, "POST", "/api/v1/nodes", node("n2"), NODE)
        assert refused["message"].endswith('node "n1" is not allowed to modify node "n2"')
        refused = await ask(handler, "POST", PODS, pod(), NODE)
        assert refused["message"].endswith('annotation, node "n1" can only create mirror pods')
        await ask(handler, "POST", "/api/v1/nodes", node("n2"))
        labels = {"metadata": {"labels": {"a": "b"}}}
        merge = "application/merge-patch+json"
        assert (await ask(handler, "PATCH", "/api/v1/nodes/n1", labels, NODE, merge))["code"] == 200
        assert (await ask(handler, "PATCH", "/api/v1/nodes/n2", labels, NODE, merge))["code"] == 403
