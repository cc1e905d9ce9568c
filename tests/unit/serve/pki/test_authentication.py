import pytest

from moorage.model.api_error import ApiError
from moorage.serve.http.messages import Peer, Request
from moorage.serve.pki.authentication import ADMIN, ANONYMOUS, User, is_open
from moorage.serve.pki.authenticator import Authenticator

SCHEDULER = User("system:kube-scheduler", groups=("system:authenticated",))
KNOWN = Authenticator({"s3cret": ADMIN, "other": SCHEDULER})
NODE = (("organizationName", "system:nodes"), ("organizationName", "more"), ("commonName", "system:node:n1"))


def request(path: str = "/api", authorization: str | None = None, peer: Peer | None = None) -> Request:
    headers = {} if authorization is None else {"authorization": authorization}
    return Request("GET", path, headers, peer=peer or Peer(""))


@pytest.mark.parametrize(
    ("authorization", "user"),
    [("Bearer s3cret", ADMIN), ("bearer  s3cret ", ADMIN), ("Bearer other", SCHEDULER)],
)
def test_a_token_names_a_user(authorization: str, user: User) -> None:
    asked = request(authorization=authorization)
    assert KNOWN.authenticate(asked) == user
    assert asked.user == user


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer s3cre",
        "Bearer s3crets",
        "Basic s3cret",
        "s3cret",
        "Bearer é\udcff",
        "Bearer a, b",
    ],
)
def test_anything_else_is_401(authorization: str | None) -> None:
    with pytest.raises(ApiError) as refusal:
        KNOWN.authenticate(request(authorization=authorization))
    assert (refusal.value.code, refusal.value.reason, refusal.value.message) == (401, "Unauthorized", "Unauthorized")


def test_a_certificate_names_a_user_and_its_groups() -> None:
    peer = Peer("127.0.0.1:1", NODE)
    node = User("system:node:n1", groups=("system:nodes", "more", "system:authenticated"))
    assert KNOWN.authenticate(request(peer=peer)) == node
    assert KNOWN.authenticate(request(peer=peer, authorization="Bearer wrong")) == node
    assert peer.user == node


def test_a_certificate_without_a_name_is_nobody() -> None:
    with pytest.raises(ApiError):
        KNOWN.authenticate(request(peer=Peer("", (("organizationName", "system:masters"),))))
    with pytest.raises(ApiError):
        KNOWN.authenticate(request(peer=Peer("", (("commonName", ""), ("organizationName", "system:masters")))))


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/version", "/readyz/ping"])
def test_health_and_version_are_open_to_all(path: str) -> None:
    assert KNOWN.authenticate(request(path)) == ANONYMOUS
    assert KNOWN.authenticate(request(path, "Bearer s3cret")) == ADMIN
    with pytest.raises(ApiError):
        KNOWN.authenticate(request(path, "Bearer wrong"))


@pytest.mark.parametrize("path", ["/", "/api", "/livezz", "/version/", "/version/x", "/metrics", "//livez", ""])
def test_other_paths_need_a_user(path: str) -> None:
    assert not is_open(path)


def test_no_token_is_nobodys_token() -> None:
    with pytest.raises(ApiError):
        Authenticator({}).authenticate(request(authorization="Bearer "))
