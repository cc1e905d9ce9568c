"""Thousands of requests that no well-meaning client sends, without a wire: every one is answered, none with a 5xx."""

import asyncio
import traceback
from typing import Any

import msgspec
import pytest
from tests.e2e.fuzz_documents import ALL_KINDS, fine
from tests.e2e.fuzz_requests import Asked, RequestMaker
from tests.e2e.handler_without_wire import handler_and_api, tried

from moorage.model.schema.conversion import convert_view
from moorage.serve.requests.handler import Handler
from moorage.serve.resources.objects import decode, prefix_of
from moorage.serve.verbs.api import Api

_FORMS = (
    "application/json",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/yaml",
)


async def _shown_in_every_form(handler: Handler, api: Api) -> list[str]:
    """Whatever got stored can be read: as the type of its kind, and in each form that clients ask for."""
    problems = []
    for kind in ALL_KINDS:
        for stored in (await api.store.list(prefix_of(kind))).items:
            try:
                convert_view(decode(kind, stored), kind.view)
            except Exception:
                problems.append(f"stored, but no {kind.name}: {stored.value[:2000]!r}\n{traceback.format_exc()}")
        path = f"/apis/{kind.api_version}" if kind.group else "/api/v1"
        for accept in _FORMS:
            asked = Asked("GET", f"{path}/{kind.plural}", {"accept": accept})
            code, problem = await tried(handler, asked)
            if code != 200:
                problems.append(f"{asked}\n{problem}")
    return problems


def _place(problem: str) -> str:
    """Two failures in the same place are one."""
    return "\n".join(line for line in problem.splitlines() if line.startswith("  File"))[-400:] or problem[:60]


async def _fuzz(seed: int, count: int) -> tuple[dict[int, int], dict[str, tuple[Any, str]]]:
    """How often each code was answered, and each kind of failure with a request that leads to it."""
    handler, api = await handler_and_api()
    maker = RequestMaker(seed)
    codes: dict[int, int] = {}
    failures: dict[str, tuple[Any, str]] = {}
    for number in range(count):
        asked = maker.next()
        code, problem = await tried(handler, asked)
        codes[code] = codes.get(code, 0) + 1
        if problem:
            failures.setdefault(_place(problem), (asked, problem))
        if number % 250 == 0:
            for kind in ALL_KINDS:  # something to break again
                where = "/namespaces/default" if kind.namespaced else ""
                root = f"/apis/{kind.api_version}" if kind.group else "/api/v1"
                body = msgspec.json.encode(fine(kind, "web", "default"))
                posted = Asked("POST", f"{root}{where}/{kind.plural}", {"content-type": "application/json"}, body)
                code, problem = await tried(handler, posted)
                # 500: a webhook that a request has registered for such objects does not answer
                assert code in (201, 409, 403) or (code == 500 and not problem), (posted, code, problem)
    for problem in await _shown_in_every_form(handler, api):
        failures.setdefault(_place(problem), ("", problem))
    return codes, failures


def _check(seed: int, count: int) -> None:
    codes, failures = asyncio.run(_fuzz(seed, count))
    assert not failures, "\n\n".join(f"{asked}\n{problem}" for asked, problem in list(failures.values())[:3])
    # A generator whose requests are all refused for one reason tests nothing.
    assert {200, 201, 400, 404, 405, 406, 409, 415, 422} <= codes.keys()
    assert codes[201] + codes[200] > count // 20


@pytest.mark.parametrize("seed", [1, 2])
def test_every_request_is_answered(seed: int) -> None:
    _check(seed, 4_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 20))
def test_every_request_of_many_more_is_answered(seed: int) -> None:
    _check(seed, 30_000)
