"""validate_crd.json: CustomResourceDefinitions, created and updated as a dry run."""

import asyncio
from typing import Any

import msgspec
from tests.conformance.checks.platform.comparison import difference
from tests.conformance.checks.platform.server import Answer, PlatformServer

Raw = dict[str, Any]

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_DRY_RUN = {"dryRun": "All"}


def check_validate_crd(case: Raw) -> str | None:
    return asyncio.run(_check(case["in"], case["out"]))


async def _check(given: Raw, want: Raw) -> str | None:
    server = await PlatformServer.started()
    if "old" in given:
        created = await server.post(given["old"])
        if created.code != 201:
            return f"the old definition is refused: {created.document}"
        established = await _established(server, given["old"]["metadata"]["name"])
        body = _with_revision(given["object"], established)
        path = f"{_PATH}/{given['old']['metadata']['name']}"
        answer = await server.ask("PUT", path, msgspec.json.encode(body), query=_DRY_RUN)
    else:
        answer = await server.ask("POST", _PATH, msgspec.json.encode(given["object"]), query=_DRY_RUN)
    return difference(_without_times(answer), want)


async def _established(server: PlatformServer, name: str) -> Raw:
    """Return a definition once it is served, or as it is after a while."""
    for _ in range(100):
        document: Raw = (await server.ask("GET", f"{_PATH}/{name}")).document
        conditions = document["status"].get("conditions") or ()
        if any((condition["type"], condition["status"]) == ("Established", "True") for condition in conditions):
            break
        await asyncio.sleep(0.001)
    return document


def _with_revision(body: Raw, current: Raw) -> Raw:
    revision = current["metadata"]["resourceVersion"]
    return {**body, "metadata": {**(body.get("metadata") or {}), "resourceVersion": revision}}


def _without_times(answer: Answer) -> Answer:
    document = answer.document
    conditions = (document.get("status") or {}).get("conditions") if answer.code < 400 else None
    for condition in conditions or ():
        condition.pop("lastTransitionTime", None)
    return answer
