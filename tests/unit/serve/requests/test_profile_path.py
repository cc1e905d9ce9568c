"""Profiles are for administrators, bounded, and named as pprof's clients expect it."""

import pytest
from tests.unit.serve.access.policies import bootstrap_authorization

from moorage.model.api_error import ApiError
from moorage.serve.access.authorization import Attributes
from moorage.serve.http.messages import Request, Response, Stream
from moorage.serve.pki.authentication import ADMIN, AUTHENTICATED, User
from moorage.serve.requests.profile_path import answer_profile
from moorage.telemetry.profiling import Profiler


@pytest.mark.parametrize("query", ["seconds=0", "seconds=301", "seconds=x", "seconds=nan", "format=svg"])
def test_invalid_profile_parameters_are_answered_with_400(query: str) -> None:
    with pytest.raises(ApiError) as refusal:
        answer_profile(Request("GET", f"/debug/pprof/profile?{query}"))
    assert refusal.value.code == 400


def test_there_is_an_index_and_nothing_else() -> None:
    index = answer_profile(Request("GET", "/debug/pprof/"))
    assert isinstance(index, Response)
    assert b"profile" in index.body
    with pytest.raises(ApiError) as refusal:
        answer_profile(Request("GET", "/debug/pprof/heap"))
    assert refusal.value.code == 404


@pytest.mark.real_time
async def test_a_profile_comes_as_gzip_and_a_second_one_has_to_wait() -> None:
    profiler = Profiler()
    answer = answer_profile(Request("GET", "/debug/pprof/profile?seconds=0.05"), profiler)
    assert isinstance(answer, Stream)
    with pytest.raises(ApiError, match="cpu profiling already in use"):
        answer_profile(Request("GET", "/debug/pprof/profile?seconds=0.05"), profiler)
    body = b"".join([chunk async for chunk in answer.chunks])
    assert body.startswith(b"\x1f\x8b")
    assert answer.content_type == "application/octet-stream"
    speedscope = answer_profile(Request("GET", "/debug/pprof/profile?seconds=0.05&format=speedscope"), profiler)
    assert isinstance(speedscope, Stream)
    assert b"speedscope.app" in b"".join([chunk async for chunk in speedscope.chunks])


def test_only_administrators_may_ask() -> None:
    asked = Attributes("get", path="/debug/pprof/profile")
    policy = bootstrap_authorization()
    assert policy.authorize(ADMIN, asked).allowed
    assert not policy.authorize(User("jane", groups=(AUTHENTICATED,)), asked).allowed
