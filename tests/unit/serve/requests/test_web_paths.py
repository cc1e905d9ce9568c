"""Health is what its checks say, and nothing else; the paths that there are, and definitions that there are not."""

import json

import pytest

from moorage.model.api_error import ApiError
from moorage.serve.http.messages import Request, Response
from moorage.serve.requests.web_paths import Check, WebPaths
from moorage.serve.resources.served import target_of


def paths(complaint: str) -> WebPaths:
    return WebPaths((Check("ping", lambda: ""), Check("store", lambda: complaint)), lambda accept: (b"", "text/plain"))


def answer(complaint: str, request: Request) -> Response:
    answered = paths(complaint).answer(request)
    assert isinstance(answered, Response)
    return answered


def test_all_is_well() -> None:
    answered = answer("", Request("GET", "/readyz"))
    assert (answered.status, answered.body) == (200, b"ok")


def test_one_complaint_is_enough_and_is_named() -> None:
    answered = answer("disk full", Request("GET", "/livez"))
    assert answered.status == 500
    assert answered.body == b"[+]ping ok\n[-]store failed: disk full\nlivez check failed\n"


def test_single_checks_have_paths_of_their_own() -> None:
    assert answer("disk full", Request("GET", "/readyz/ping")).status == 200
    assert answer("disk full", Request("GET", "/readyz/store")).status == 500
    with pytest.raises(ApiError, match="could not find"):
        answer("", Request("GET", "/readyz/nothing"))


def test_every_group_is_listed() -> None:
    listed = json.loads(answer("", Request("GET", "/")).body)["paths"]
    assert {"/api/v1", "/apis/apps/v1", "/apis/authorization.k8s.io/v1", "/metrics"} <= set(listed)


def test_what_is_not_there_comes_with_details_for_clients_that_look_into_them() -> None:
    with pytest.raises(ApiError) as refusal:
        target_of("PATCH", "/api/v1/namespaces/default/services/one/ephemeralcontainers")
    assert refusal.value.status["details"] == {}


EXCLUDED = [
    ("/readyz?exclude=store", 200, "ok"),
    ("/readyz?exclude=store&verbose", 200, "[+]ping ok\n[+]store excluded: ok\nreadyz check passed\n"),
    ("/livez?exclude=ping", 500, "[+]ping excluded: ok\n[-]store failed: disk full\nlivez check failed\n"),
    (
        "/livez?exclude=store&exclude=x&verbose",
        200,
        '[+]ping ok\n[+]store excluded: ok\nwarn: some health checks cannot be excluded: no matches for "x"\n'
        "livez check passed\n",
    ),
]


@pytest.mark.parametrize(("target", "code", "said"), EXCLUDED)
def test_checks_can_be_excluded(target: str, code: int, said: str) -> None:
    answered = answer("disk full", Request("GET", target))
    assert (answered.status, answered.body.decode()) == (code, said)


def test_an_openapi_document_is_known_by_its_hash() -> None:
    index = json.loads(answer("", Request("GET", "/openapi/v3")).body)
    target = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
    found = answer("", Request("GET", target))
    assert (found.status, dict(found.headers)["Cache-Control"]) == (200, "public, immutable")
    moved = answer("", Request("GET", "/openapi/v3/apis/apps/v1?hash=OLD"))
    assert (moved.status, dict(moved.headers)["Location"]) == (301, target)
    plain = answer("", Request("GET", "/openapi/v3/apis/apps/v1"))
    assert (plain.status, dict(plain.headers)["Cache-Control"]) == (200, "public")


def test_a_check_of_readiness_says_nothing_of_liveness() -> None:
    checks = Check("ping", lambda: ""), Check("shutdown", lambda: "process is shutting down", of_readiness=True)
    asked = WebPaths(checks, lambda accept: (b"", "text/plain"))
    answers = [asked.answer(Request("GET", path)) for path in ("/livez", "/healthz", "/readyz")]
    assert [one.status for one in answers] == [200, 200, 500]
    assert isinstance(answers[2], Response)
    assert b"[-]shutdown failed: process is shutting down" in answers[2].body
