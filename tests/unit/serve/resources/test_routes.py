"""Paths and methods: what is meant, and what is not there or cannot be done."""

import pytest

from moorage.model.api_error import ApiError
from moorage.serve.resources.served import target_of

IN = "/api/v1/namespaces/prod"
MEANT: list[tuple[str, str, tuple[str, str, str, str, str]]] = [
    ("GET", "/api/v1/pods", ("list", "Pod", "", "", "")),
    ("HEAD", "/api/v1/pods", ("list", "Pod", "", "", "")),
    ("GET", f"{IN}/pods", ("list", "Pod", "prod", "", "")),
    ("GET", f"{IN}/pods/", ("list", "Pod", "prod", "", "")),
    ("POST", f"{IN}/pods", ("create", "Pod", "prod", "", "")),
    ("DELETE", f"{IN}/pods", ("deletecollection", "Pod", "prod", "", "")),
    ("GET", f"{IN}/pods/web", ("get", "Pod", "prod", "web", "")),
    ("HEAD", f"{IN}/pods/web", ("get", "Pod", "prod", "web", "")),
    ("PUT", f"{IN}/pods/web", ("update", "Pod", "prod", "web", "")),
    ("PATCH", f"{IN}/pods/web", ("patch", "Pod", "prod", "web", "")),
    ("DELETE", f"{IN}/pods/web", ("delete", "Pod", "prod", "web", "")),
    ("POST", f"{IN}/pods/web/binding", ("create", "Pod", "prod", "web", "binding")),
    ("PUT", f"{IN}/pods/web/status", ("update", "Pod", "prod", "web", "status")),
    ("POST", f"{IN}/bindings", ("create", "Binding", "prod", "", "")),
    ("GET", "/api/v1/namespaces", ("list", "Namespace", "", "", "")),
    ("GET", "/api/v1/namespaces/prod", ("get", "Namespace", "", "prod", "")),
    ("PUT", "/api/v1/namespaces/prod/finalize", ("update", "Namespace", "", "prod", "finalize")),
    ("PATCH", "/api/v1/namespaces/prod/status", ("patch", "Namespace", "", "prod", "status")),
    ("DELETE", "/api/v1/nodes", ("deletecollection", "Node", "", "", "")),
    ("POST", "/api/v1/nodes", ("create", "Node", "", "", "")),
    ("GET", "/api/v1/nodes/n1/status", ("get", "Node", "", "n1", "status")),
    ("GET", "/apis/apps/v1/deployments", ("list", "Deployment", "", "", "")),
    ("PATCH", "/apis/apps/v1/namespaces/prod/deployments/d/scale", ("patch", "Deployment", "prod", "d", "scale")),
    ("GET", "/api/v1/watch/pods", ("watch", "Pod", "", "", "")),
    ("GET", "/api/v1/watch/namespaces/prod/pods/web", ("watch", "Pod", "prod", "web", "")),
    ("GET", "/api/v1/watch/namespaces", ("watch", "Namespace", "", "", "")),
]


@pytest.mark.parametrize(("method", "path", "meant"), MEANT)
def test_what_is_meant(method: str, path: str, meant: tuple[str, str, str, str, str]) -> None:
    target = target_of(method, path)
    assert target is not None
    assert (target.verb, target.kind.name, target.namespace, target.name, target.subresource) == meant


@pytest.mark.parametrize("path", ["/", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version", "/x/y/z"])
def test_what_is_no_resource(path: str) -> None:
    assert target_of("GET", path) is None


ABSENT = [
    "/api/v1/things",
    "/api/v2/pods",
    "/apis/apps/v1/pods",
    "/apis/apps/v2/deployments",
    "/api/v1/deployments",
    f"{IN}/nodes",
    f"{IN}/nodes/n1",
    f"{IN}/pods/web/metrics",
    f"{IN}/services/web/exec",
    f"{IN}/pods/web/status/more",
    "/api/v1/pods/web",
    "/api/v1/pods/web/status",
    "/api/v1/watch/pods/web",
]


@pytest.mark.parametrize("path", ABSENT)
def test_what_is_not_there(path: str) -> None:
    with pytest.raises(ApiError) as refusal:
        target_of("GET", path)
    assert (refusal.value.code, refusal.value.reason) == (404, "NotFound")
    assert refusal.value.message == "the server could not find the requested resource"


@pytest.mark.parametrize("path", ["pods/web/proxy", "pods/web/proxy/a/b", "services/https:web:443/proxy/x?y=z"])
def test_what_follows_a_proxy_is_a_path_elsewhere(path: str) -> None:
    found = target_of("GET", f"{IN}/{path.partition('?')[0]}")
    assert found is not None
    assert (found.verb, found.subresource, found.kind.plural) == ("get", "proxy", path.partition("/")[0])


IMPOSSIBLE = [
    ("POST", "/api/v1/pods"),
    ("DELETE", "/api/v1/pods"),  # nobody empties all namespaces by leaving one out
    ("DELETE", "/apis/apps/v1/deployments"),
    ("PUT", f"{IN}/pods"),
    ("PATCH", f"{IN}/pods"),
    ("POST", f"{IN}/pods/web"),
    ("OPTIONS", f"{IN}/pods"),
    ("GET", f"{IN}/pods/web/binding"),
    ("POST", f"{IN}/pods/web/status"),
    ("DELETE", f"{IN}/pods/web/status"),
    ("DELETE", "/api/v1/namespaces"),
    ("GET", f"{IN}/bindings"),
    ("POST", "/api/v1/watch/pods"),
]


@pytest.mark.parametrize(("method", "path"), IMPOSSIBLE)
def test_what_cannot_be_done(method: str, path: str) -> None:
    with pytest.raises(ApiError) as refusal:
        target_of(method, path)
    assert (refusal.value.code, refusal.value.reason) == (405, "MethodNotAllowed")
