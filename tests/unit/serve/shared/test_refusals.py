"""Nothing is refused for a reason that is out of date: what another server was told first is known here by then."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.unit.serve.shared.asking import CONFIG_MAPS, ask, config_map, content, namespace, pod
from tests.unit.serve.shared.lagging_store import store_of

from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS
from moorage.serve.http.messages import Request
from moorage.serve.pki.authentication import ADMIN, AUTHENTICATED, User
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.tokens.requests import request_token
from moorage.serve.verbs.api import Api
from moorage.telemetry.apiserver_metrics import asked_of

JANE = User("jane", groups=(AUTHENTICATED,))


def client_of(api: Api, user: User | None = None) -> LoopbackClient:
    return LoopbackClient(api, "test", user)


async def test_a_namespace_of_another_server_can_be_used_at_once(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", "/api/v1/namespaces", namespace("new"))
    assert (await ask(second, "POST", "/api/v1/namespaces/new/configmaps", config_map("c"))).status == 201
    await client_of(first).create(KINDS.NAMESPACE, namespace("newer"))
    document = config_map("c")
    await client_of(second).create(KINDS.CONFIG_MAP, document, "newer")
    assert document == config_map("c")


async def test_an_object_of_another_server_can_be_changed_and_deleted_at_once(two: list[Api]) -> None:
    first, second = two
    made = content(await ask(first, "POST", CONFIG_MAPS, config_map("c")))
    patched = content(await ask(second, "PATCH", f"{CONFIG_MAPS}/c", {"data": {"b": "2"}}))
    assert patched["data"] == {"a": "1", "b": "2"}
    assert patched["metadata"]["uid"] == made["metadata"]["uid"]
    # The first does not know of the patch, and is asked to replace exactly what that made.
    put = content(await ask(first, "PUT", f"{CONFIG_MAPS}/c", {**patched, "data": {"a": "3"}}))
    await ask(first, "POST", CONFIG_MAPS, config_map("d"))
    assert (await ask(second, "DELETE", f"{CONFIG_MAPS}/d")).status == 200
    with pytest.raises(ApiError, match=r'configmaps "d" not found'):
        await ask(first, "GET", f"{CONFIG_MAPS}/d")
    client = client_of(second)
    await client.update(KINDS.CONFIG_MAP, {**put, "data": {"a": "4"}})
    await client_of(first).patch(KINDS.CONFIG_MAP, "c", "default", {"data": {"a": "5"}})
    await client.delete(KINDS.CONFIG_MAP, "c", "default")


async def test_a_change_that_would_change_nothing_here_is_made_if_it_does_elsewhere(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", CONFIG_MAPS, config_map("c", "1"))
    store_of(second).deliver()
    await ask(first, "PATCH", f"{CONFIG_MAPS}/c", {"data": {"a": "2"}})
    await ask(second, "PATCH", f"{CONFIG_MAPS}/c", {"data": {"a": "1"}})
    assert content(await ask(first, "GET", f"{CONFIG_MAPS}/c"))["data"] == {"a": "1"}
    await ask(first, "PATCH", f"{CONFIG_MAPS}/c", {"data": {"a": "2"}})
    await client_of(second).patch(KINDS.CONFIG_MAP, "c", "default", {"data": {"a": "1"}})
    assert content(await ask(first, "GET", f"{CONFIG_MAPS}/c"))["data"] == {"a": "1"}


async def test_what_is_being_deleted_here_may_be_another_object_by_now(two: list[Api]) -> None:
    first, second = two
    kept = {**config_map("c"), "metadata": {"name": "c", "finalizers": ["x.io/y"]}}
    await ask(first, "POST", CONFIG_MAPS, kept)
    await ask(first, "DELETE", f"{CONFIG_MAPS}/c")
    store_of(second).deliver()
    await ask(first, "PATCH", f"{CONFIG_MAPS}/c", {"metadata": {"finalizers": None}})
    made = content(await ask(first, "POST", CONFIG_MAPS, config_map("c")))
    deleted = content(await ask(second, "DELETE", f"{CONFIG_MAPS}/c"))
    assert deleted["details"]["uid"] == made["metadata"]["uid"]


async def test_a_right_that_another_server_was_told_of_holds_at_once(
    two: list[Api], caplog: pytest.LogCaptureFixture
) -> None:
    first, second = two
    rbac, group = "/apis/rbac.authorization.k8s.io/v1", {"apiGroup": "rbac.authorization.k8s.io"}
    binding: dict[str, Any] = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "jane"},
        "roleRef": {**group, "kind": "ClusterRole", "name": "lister"},
        "subjects": [{**group, "kind": "User", "name": "jane"}],
    }
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "lister"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}],
    }
    await ask(first, "POST", f"{rbac}/clusterroles", role)
    await ask(first, "POST", f"{rbac}/namespaces/default/rolebindings", binding)
    assert (await client_of(second, JANE).list_all(KINDS.CONFIG_MAP, "default")).revision
    assert "Forbidden" not in caplog.text
    await ask(first, "POST", "/api/v1/namespaces", namespace("other"))
    await ask(first, "POST", f"{rbac}/namespaces/other/rolebindings", binding)
    assert (await ask(second, "GET", "/api/v1/namespaces/other/configmaps", user=JANE)).status == 200
    for refused in (
        ask(second, "GET", "/api/v1/namespaces/kube-system/configmaps", user=JANE),
        client_of(second, JANE).list_all(KINDS.CONFIG_MAP, "kube-system"),
    ):
        with pytest.raises(ApiError) as refusal:
            await refused
        assert refusal.value.code == 403
    assert "Forbidden" in caplog.text


async def test_who_impersonates_may_still_after_the_second_look(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", "/api/v1/namespaces", namespace("new"))
    # The administrator may impersonate; the user who is impersonated may impersonate no one.
    body = config_map("c")
    with pytest.raises(ApiError) as refusal:
        await ask(second, "POST", "/api/v1/namespaces/new/configmaps", body, impersonate_user="jane")
    assert (refusal.value.code, refusal.value.message.partition(" cannot ")[0]) == (
        403,
        'configmaps is forbidden: User "jane"',
    )


async def test_a_token_of_an_account_that_another_server_made_is_known(two: list[Api]) -> None:
    first, second = two
    second.tokens.keys = first.tokens.keys
    await client_of(first).create(KINDS.SERVICE_ACCOUNT, {"metadata": {"name": "bot"}}, "default")
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "metadata": {}, "spec": {}}
    token = (await request_token(first, "default", "bot", asked))[0]["status"]["token"]
    headers = {"authorization": f"Bearer {token}"}
    request = Request("GET", "/api/v1/namespaces/default/configmaps", headers)
    second.authenticator.admit(request)
    assert request.user is None
    with pytest.raises(ApiError) as refusal:  # it is known who it is, and that is all
        await ask(second, "GET", request.target, user=None, authorization=headers["authorization"])
    assert 'User "system:serviceaccount:default:bot" cannot list' in refusal.value.message
    again = Request("GET", request.target, headers)
    second.authenticator.admit(again)
    assert again.user is not None
    forged = Request("GET", request.target, {"authorization": f"Bearer {token[:-4]}AAAA"})
    with pytest.raises(ApiError, match="Unauthorized"):
        second.authenticator.admit(forged)


async def test_a_review_goes_by_what_any_server_was_told(two: list[Api]) -> None:
    first, second = two
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "jane"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}],
    }
    await ask(first, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": "jane", "resourceAttributes": {"verb": "get", "resource": "pods"}},
    }
    answer = await ask(second, "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    assert content(answer)["status"]["allowed"] is True


async def test_what_admission_looks_up_is_known(two: list[Api]) -> None:
    first, second = two
    document = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    await client_of(first).create(KINDS.PRIORITY_CLASS, document)
    made = await client_of(second).create(KINDS.POD, pod("p", priorityClassName="high"), "default")
    assert made.raw["spec"]["priority"] == 7


async def test_a_refusal_that_stands_is_counted_once_and_one_that_does_not_never(two: list[Api]) -> None:
    first, second = two

    def counted(code: int) -> float:
        return second.metrics.counted(asked_of("PATCH", KINDS.CONFIG_MAP, "default", "c"), code)[0].value

    async def patch() -> None:
        await ask(second, "PATCH", f"{CONFIG_MAPS}/c", {"data": {"a": "2"}})

    with pytest.raises(ApiError, match="not found"):
        await patch()
    assert (counted(404), counted(200)) == (1, 0)
    await ask(first, "POST", CONFIG_MAPS, config_map("other"))
    with pytest.raises(ApiError, match="not found"):
        await patch()
    assert (counted(404), counted(200)) == (2, 0)
    await ask(first, "POST", CONFIG_MAPS, config_map("c"))
    await patch()
    assert (counted(404), counted(200)) == (2, 1)


@pytest.mark.parametrize("over_http", [True, False])
async def test_a_refusal_that_cannot_be_confirmed_is_a_failure(two: list[Api], over_http: bool) -> None:
    second = two[1]
    store_of(second).is_cut_off = True

    async def patch(user: User | None) -> None:
        if over_http:
            await ask(second, "PATCH", f"{CONFIG_MAPS}/c", {"data": {"a": "2"}}, user=user or ADMIN)
        else:
            await client_of(second, user).patch(KINDS.CONFIG_MAP, "c", "default", {"data": {"a": "2"}})

    with pytest.raises(ApiError, match="the store does not answer: etcd cannot be reached"):
        await patch(None)
    with pytest.raises(ApiError, match='User "jane" cannot patch'):
        await patch(JANE)


@pytest.mark.parametrize("over_http", [True, False])
async def test_a_write_whose_fate_is_unknown_is_a_timeout(two: list[Api], over_http: bool) -> None:
    second = two[1]
    store_of(second).loses_answer = True
    create: Callable[[], Awaitable[object]]
    if over_http:
        create = lambda: ask(second, "POST", CONFIG_MAPS, config_map("c"))  # noqa: E731
    else:
        create = lambda: client_of(second).create(KINDS.CONFIG_MAP, config_map("c"), "default")  # noqa: E731
    with pytest.raises(ApiError) as refusal:
        await create()
    assert (refusal.value.code, refusal.value.reason) == (504, "Timeout")
    assert "it is not known whether the write was made" in refusal.value.message
    await asyncio.sleep(0)
    with pytest.raises(ApiError, match="already exists"):
        await create()


async def test_a_dry_run_says_what_would_be_done_now(two: list[Api]) -> None:
    first, second = two
    await ask(first, "POST", CONFIG_MAPS, config_map("c"))
    with pytest.raises(ApiError, match="already exists"):
        await ask(second, "POST", f"{CONFIG_MAPS}?dryRun=All", config_map("c"))
    await ask(first, "PATCH", f"{CONFIG_MAPS}/c", {"data": {"b": "2"}})
    answer = await ask(second, "PATCH", f"{CONFIG_MAPS}/c?dryRun=All", {"data": {"c": "3"}})
    assert content(answer)["data"] == {"a": "1", "b": "2", "c": "3"}
    await ask(first, "DELETE", f"{CONFIG_MAPS}/c")
    with pytest.raises(ApiError, match="not found"):
        await ask(second, "DELETE", f"{CONFIG_MAPS}/c?dryRun=All")
    assert await second.store.count("/configmaps/default/") == 0
    made = await client_of(first).create(KINDS.POD, pod("p"), "default")
    store_of(second).deliver()
    await client_of(first).bind("default", "p", made.raw["metadata"]["uid"], "n1")
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "p"},
        "target": {"kind": "Node", "name": "n2"},
    }
    with pytest.raises(ApiError, match="already assigned"):
        await ask(second, "POST", "/api/v1/namespaces/default/pods/p/binding?dryRun=All", binding)
