"""A user that acts as another may do what that other user may, and answers say so in Kubernetes' words."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.unit.serve.access.policies import bootstrap_authorization
from tests.unit.serve.verbs.bench import new_api

from moorage.model.api_error import ApiError
from moorage.serve.access.authorization import Attributes, acting_user, attributes_of, describe_user
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.http.messages import SEPARATOR, Request, Response
from moorage.serve.pki.authentication import ADMIN, ANONYMOUS, AUTHENTICATED, User
from moorage.serve.requests.handler import Handler
from moorage.serve.requests.web_paths import WebPaths
from moorage.telemetry.apiserver_metrics import ApiServerMetrics
from moorage.telemetry.metrics import Metrics

AS_JANE = {"impersonate-user": "jane"}
POLICY = bootstrap_authorization()
JANE = User("jane", groups=(AUTHENTICATED,))
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


@asynccontextmanager
async def new_handler() -> AsyncIterator[Handler]:
    async with new_api() as api:
        await bootstrap(api, 443)
        metrics = Metrics()
        yield Handler(api, WebPaths((), metrics.render), ApiServerMetrics(metrics))


async def ask(
    handler: Handler, method: str, target: str, headers: dict[str, str], body: Any = None, user: User = ADMIN
) -> dict[str, Any]:
    sent = b"" if body is None else json.dumps(body).encode()
    try:
        answer = await handler(Request(method, target, headers, sent, user=user))
    except ApiError as refusal:
        return refusal.status
    assert isinstance(answer, Response)
    return dict(json.loads(answer.body))


def review(**attributes: Any) -> dict[str, Any]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": attributes}


async def test_a_request_as_another_user_is_refused_in_kubernetes_words() -> None:
    async with new_handler() as handler:
        refused = await ask(handler, "GET", "/api/v1/namespaces/default/pods", AS_JANE)
        assert (refused["code"], refused["reason"]) == (403, "Forbidden")
        assert refused["message"] == (
            'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"'
        )
        assert refused["details"] == {"kind": "pods"}
        refused = await ask(handler, "DELETE", "/apis/apps/v1/namespaces/a/deployments/web", AS_JANE)
        assert refused["message"] == (
            'deployments.apps "web" is forbidden: User "jane" cannot delete resource "deployments" in API group "apps"'
            ' in the namespace "a"'
        )
        refused = await ask(handler, "GET", "/metrics", AS_JANE)
        assert refused["message"] == 'forbidden: User "jane" cannot get path "/metrics"'
        refused = await ask(handler, "GET", "/apis/no.such.group/v1/things", AS_JANE)
        assert refused["message"].endswith('"things" in API group "no.such.group" at the cluster scope')


async def test_reviews_tell_what_the_user_may_do() -> None:
    pods = {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "default"}}
    async with new_handler() as handler:
        assert (await ask(handler, "POST", REVIEW, {}, review(**pods)))["status"] == {"allowed": True}
        refused = await ask(handler, "POST", REVIEW, AS_JANE, review(**pods))
        assert refused["status"] == {"allowed": False}
        assert refused["spec"] == pods
        master = {**AS_JANE, "impersonate-group": "system:masters"}
        assert (await ask(handler, "POST", REVIEW, master, review(**pods)))["status"] == {"allowed": True}
        version = {"nonResourceAttributes": {"verb": "get", "path": "/version"}}
        allowed = await ask(handler, "POST", REVIEW, AS_JANE, review(**version))
        assert allowed["status"]["allowed"]
        assert 'ClusterRole "system:discovery" to Group "system:authenticated"' in allowed["status"]["reason"]
        both = await ask(handler, "POST", REVIEW, AS_JANE, review(**pods, **version))
        assert both["message"].startswith('.authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid')
        neither = await ask(handler, "POST", REVIEW, AS_JANE, review())
        assert neither["message"].endswith("one of nonResourceAttributes or resourceAttributes must be specified")
        wrong = await ask(handler, "POST", REVIEW, AS_JANE, review(resourceAttributes={"verb": ["list"]}))
        assert wrong["code"] == 400


async def test_rules_of_a_user_are_few() -> None:
    body = {"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "spec": {"namespace": "a"}}
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    async with new_handler() as handler:
        status = (await ask(handler, "POST", path, AS_JANE, body))["status"]
        assert [rule["verbs"] for rule in status["resourceRules"]] == [["create"], ["create"]]
        everything = (await ask(handler, "POST", path, {}, body))["status"]
        assert everything["resourceRules"][0] == {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}


async def test_whoami_shows_the_impersonated_user_with_groups_uid_and_extra() -> None:
    headers = {
        **AS_JANE,
        "impersonate-uid": "42",
        "impersonate-group": f"dev{SEPARATOR}ops, all",
        "impersonate-extra-acme.com%2fproject": f"some{SEPARATOR}other",
    }
    body = {"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1"}
    async with new_handler() as handler:
        shown = await ask(handler, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", headers, body)
    assert shown["status"]["userInfo"] == {
        "username": "jane",
        "uid": "42",
        "groups": ["dev", "ops, all", "system:authenticated"],
        "extra": {"acme.com/project": ["some", "other"]},
    }


@pytest.mark.parametrize(
    ("headers", "groups"),
    [
        (AS_JANE, ("system:authenticated",)),
        ({"impersonate-user": "system:anonymous"}, ("system:unauthenticated",)),
        ({**AS_JANE, "impersonate-group": "system:unauthenticated"}, ("system:unauthenticated",)),
        (
            {"impersonate-user": "system:serviceaccount:ns:robot"},
            ("system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"),
        ),
        ({"impersonate-user": "system:serviceaccount:ns:a:b"}, ("system:authenticated",)),
    ],
)
def test_groups_that_are_implied(headers: dict[str, str], groups: tuple[str, ...]) -> None:
    assert acting_user(ADMIN, headers, POLICY).groups == groups


def test_a_user_is_needed_and_must_be_allowed() -> None:
    assert acting_user(JANE, {"accept": "*/*"}, POLICY) is JANE
    assert acting_user(ADMIN, {"impersonate-user": ""}, POLICY) is ADMIN
    with pytest.raises(ApiError, match="without impersonating a user") as refusal:
        acting_user(ADMIN, {"impersonate-group": "dev"}, POLICY)
    assert refusal.value.code == 400
    with pytest.raises(ApiError, match='users "bob" is forbidden: User "jane" cannot impersonate resource "users"'):
        acting_user(JANE, {"impersonate-user": "bob"}, POLICY)
    with pytest.raises(ApiError, match=r'serviceaccounts "robot" is forbidden: .* in the namespace "ns"'):
        acting_user(JANE, {"impersonate-user": "system:serviceaccount:ns:robot"}, POLICY)
    assert describe_user(JANE) == "jane[system:authenticated]"


def resource(*attributes: Any, **named: Any) -> Attributes:
    return Attributes(*attributes, **named)._replace(is_resource=True)


@pytest.mark.parametrize(
    ("method", "target", "asked"),
    [
        ("GET", "/api/v1/pods?watch=1", resource("watch", "", "v1", "pods")),
        ("GET", "/api/v1/watch/namespaces/a/pods/b", resource("watch", "", "v1", "pods", "", "a", "b")),
        (
            "GET",
            "/api/v1/pods?fieldSelector=metadata.name%3Db",
            resource("list", "", "v1", "pods", name="b", fields="metadata.name=b"),
        ),
        ("PUT", "/api/v1/namespaces/a/finalize", resource("update", "", "v1", "namespaces", "finalize", "a", "a")),
        ("GET", "/api/v1/namespaces/a", resource("get", "", "v1", "namespaces", "", "a", "a")),
        ("GET", "/api/v1/namespaces", resource("list", "", "v1", "namespaces")),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/a/deployments",
            resource("deletecollection", "apps", "v1", "deployments", "", "a"),
        ),
        ("POST", "/api/v1/namespaces/a/pods/b/eviction", resource("create", "", "v1", "pods", "eviction", "a", "b")),
        ("GET", "/apis/apps/v1", Attributes("get", path="/apis/apps/v1")),
        ("POST", "/debug/pprof", Attributes("post", path="/debug/pprof")),
    ],
)
def test_what_a_request_asks_for(method: str, target: str, asked: Attributes) -> None:
    assert attributes_of(Request(method, target)) == asked


def test_health_is_open_to_all_and_metrics_are_not() -> None:
    for path in ("/livez", "/readyz", "/healthz", "/version"):
        assert POLICY.authorize(ANONYMOUS, Attributes("get", path=path)).allowed
    for path in ("/metrics", "/api", "/livez/ping"):
        assert not POLICY.authorize(ANONYMOUS, Attributes("get", path=path)).allowed
