"""Accept headers: the dearest form that can be had, or 406."""

import pytest
from tests.conformance.checks.platform.server import PlatformServer

from moorage.model.api_error import ApiError
from moorage.serve.requests.rendering import As, Form, negotiate
from moorage.serve.resources.served import target_of

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
FORMS = [
    ("", Form()),
    (" ", Form()),
    ("*/*", Form()),
    ("application/*", Form()),
    ("APPLICATION/JSON", Form()),
    ("application/json;stream=watch", Form()),
    ("application/yaml", Form(is_yaml=True)),
    ("application/vnd.kubernetes.protobuf,application/json", Form()),
    ("text/html, */*;q=0.1", Form()),
    (TABLE, Form(As.TABLE)),
    ("application/json; as=Table; g=meta.k8s.io; v=v1beta1", Form(As.TABLE, version="v1beta1")),
    (f"{TABLE},application/json", Form(As.TABLE)),
    (f"application/json;as=Table;v=v2;g=meta.k8s.io,{TABLE}", Form(As.TABLE)),
    ("application/json;as=Table;v=v1;g=other,application/json", Form()),
    ("application/yaml;as=Table;v=v1;g=meta.k8s.io", Form(As.TABLE, is_yaml=True)),
    ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", Form(As.METADATA)),
    ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", Form(As.METADATA_LIST)),
    ("application/json;q=0.5, application/yaml", Form(is_yaml=True)),
    ("application/json;q=0.5, application/yaml;q=0.4", Form()),
    ("*/*, application/yaml", Form(is_yaml=True)),
    ("application/json;q=0, application/yaml;q=0.1", Form(is_yaml=True)),
    ("application/json;q=what", Form()),
]


@pytest.mark.parametrize(("accept", "form"), FORMS)
def test_which_form_is_wanted(accept: str, form: Form) -> None:
    assert negotiate(accept) == form


def test_what_has_no_table_is_shown_in_the_next_form_or_not_at_all() -> None:
    assert negotiate(f"{TABLE},application/json", has_table=False) == Form()
    with pytest.raises(ApiError) as refusal:
        negotiate(TABLE, has_table=False)
    assert refusal.value.code == 406


HAS_TABLE = [
    ("GET", "/api/v1/pods", True),
    ("GET", "/api/v1/componentstatuses", True),
    ("GET", "/apis/apps/v1/namespaces/d/deployments/x/scale", True),
    ("GET", "/apis/apps/v1/namespaces/d/deployments/x/status", True),
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", False),
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", False),
    ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", False),
    ("POST", "/api/v1/namespaces/d/bindings", False),
    ("POST", "/api/v1/namespaces/d/pods/p/binding", False),
    ("POST", "/api/v1/namespaces/d/pods/p/eviction", False),
    ("POST", "/api/v1/namespaces/d/serviceaccounts/a/token", False),
]


@pytest.mark.parametrize(("method", "path", "has_table"), HAS_TABLE)
def test_which_answers_have_a_table(method: str, path: str, has_table: bool) -> None:
    """As a kube-apiserver v1.36.4 answered."""
    target = target_of(method, path)
    assert target is not None
    assert target.has_table is has_table


REFUSED = [
    "text/html",
    "application/vnd.kubernetes.protobuf",
    "application/json;q=0",
    "application/json;q=0.000",
    "application/json;as=Table;v=v2;g=meta.k8s.io",
    "application/json;as=Table;v=v1",
    "application/json;as=;v=v1;g=meta.k8s.io",
    "application/json;as=Chart;v=v1;g=meta.k8s.io",
]


@pytest.mark.parametrize("accept", REFUSED)
def test_what_cannot_be_had(accept: str) -> None:
    with pytest.raises(ApiError) as refusal:
        negotiate(accept)
    assert (refusal.value.code, refusal.value.reason) == (406, "NotAcceptable")
    said = "only the following media types are accepted: application/json, application/yaml"
    assert refusal.value.message == said


REVIEW = (
    b'{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"nonResourceAttributes":{}}}'
)


async def test_a_review_is_answered_in_a_form_that_it_has() -> None:
    server = await PlatformServer.started("default")
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    refused = await server.ask("POST", path, REVIEW, accept=TABLE)
    assert (refused.code, refused.document["reason"]) == (406, "NotAcceptable")
    answered = await server.ask("POST", path, REVIEW, accept=f"{TABLE},application/json")
    assert (answered.code, answered.document["kind"]) == (201, "SelfSubjectAccessReview")


async def test_a_timeout_that_cannot_be_read_is_refused_before_anything_else() -> None:
    server = await PlatformServer.started("default")
    for path in ("/api/v1/namespaces", "/api/v1/namespaces/absent", "/version", "/nowhere"):
        refused = await server.ask("GET", path, query={"timeout": "invalid"})
        assert (refused.code, refused.document["reason"]) == (400, "BadRequest")
    assert (await server.ask("GET", "/api/v1/namespaces", query={"timeout": "1s"})).code == 200
