"""Which requests may come from the dashboard's own page, and which from elsewhere."""

import pytest

from moorage.dashboard.http.guard import Guard, is_loopback
from moorage.model.api_error import ApiError
from moorage.serve.http.messages import Request

HOST = "127.0.0.1:8001"
OWN = "http://127.0.0.1:8001"


def refused(guard: Guard, method: str, path: str = "/api/state", **headers: str) -> str:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        guard.check(Request(method, path, named))
    except ApiError as error:
        return f"{error.code} {error.message}"
    return ""


@pytest.mark.parametrize("host", [HOST, "localhost:8001", "[::1]:8001", "LOCALHOST:8001"])
def test_addresses_of_this_machine_are_its_own(host: str) -> None:
    assert refused(Guard("127.0.0.1", 8001), "GET", host=host) == ""


@pytest.mark.parametrize(
    "host",
    ["", "127.0.0.1", "127.0.0.1:8002", "evil.test:8001", "192.0.2.7:8001", "localhost.evil.test:8001", "[]:8001"],
)
def test_other_hosts_are_refused(host: str) -> None:
    """A name that another site's DNS points to this machine is in the Host header."""
    said = refused(Guard("127.0.0.1", 8001), "GET", host=host)
    assert said.startswith("403 ")
    assert "is not this dashboard's" in said


def test_a_public_server_is_called_by_its_addresses_and_allowed_names() -> None:
    guard = Guard("0.0.0.0", 8001, ("dash.example.com",))
    assert refused(guard, "GET", host="192.0.2.7:8001") == ""
    assert refused(guard, "GET", host="dash.example.com:8001") == ""
    assert "is not this dashboard's" in refused(guard, "GET", host="evil.test:8001")


def test_a_proxy_with_tls_is_called_by_an_allowed_name_at_its_own_port() -> None:
    guard = Guard("127.0.0.1", 8001, ("dash.example.com",))
    for host in ("dash.example.com", "dash.example.com:8443"):
        assert refused(guard, "POST", host=host, origin=f"https://{host}") == ""
        assert "comes from" in refused(guard, "POST", host=host, origin="https://evil.test")
    assert "comes from" in refused(guard, "POST", host=HOST, origin="https://127.0.0.1:8001")
    assert "is not this dashboard's" in refused(guard, "GET", host="not-dash.example.com")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_requests_that_compute_or_change_need_the_pages_origin(method: str) -> None:
    guard = Guard("127.0.0.1", 8001)
    assert refused(guard, method, host=HOST, origin=OWN) == ""
    assert "has no Origin" in refused(guard, method, host=HOST)
    for origin in (
        "null",
        "https://127.0.0.1:8001",
        "http://127.0.0.1:8002",
        "http://localhost:8001",
        "http://evil.test",
    ):
        assert "comes from" in refused(guard, method, host=HOST, origin=origin), origin


def test_other_sites_may_only_lead_to_the_front_page() -> None:
    guard = Guard("127.0.0.1", 8001)
    for site in ("cross-site", "same-site"):
        assert refused(guard, "GET", "/?token=x", host=HOST, sec_fetch_site=site) == ""
        assert "another site" in refused(guard, "GET", "/api/state", host=HOST, sec_fetch_site=site)
    assert refused(guard, "GET", host=HOST, sec_fetch_site="same-origin") == ""


@pytest.mark.parametrize(
    ("address", "expected"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("host", False)],
)
def test_loopback(address: str, expected: bool) -> None:
    assert is_loopback(address) is expected
