"""Health is what its checks say, and nothing else."""

import pytest

from moorage.model.api_error import ApiError
from moorage.serve.http.messages import Request
from moorage.serve.web_paths import Check, WebPaths


def paths(complaint: str) -> WebPaths:
    return WebPaths((Check("ping", lambda: ""), Check("store", lambda: complaint)), lambda accept: (b"", "text/plain"))


def test_all_is_well() -> None:
    answer = paths("").answer(Request("GET", "/readyz"))
    assert (answer.status, answer.body) == (200, b"ok")


def test_one_complaint_is_enough_and_is_named() -> None:
    answer = paths("disk full").answer(Request("GET", "/livez"))
    assert answer.status == 500
    assert answer.body == b"[+]ping ok\n[-]store failed: disk full\nlivez check failed\n"


def test_single_checks_have_paths_of_their_own() -> None:
    assert paths("disk full").answer(Request("GET", "/readyz/ping")).status == 200
    assert paths("disk full").answer(Request("GET", "/readyz/store")).status == 500
    with pytest.raises(ApiError, match="could not find"):
        paths("").answer(Request("GET", "/readyz/nothing"))
