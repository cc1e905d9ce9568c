"""custom_resources.json: a definition is created and served, then requests are made on its objects.

Where the recording has a 500, PLATFORM.md says that Moorage answers 4xx with the same message.
"""

import asyncio
from typing import Any

import msgspec
from tests.conformance.checks.platform.comparison import difference, exactly, recorded_form
from tests.conformance.checks.platform.server import Answer, PlatformServer
from tests.conformance.checks.platform.steps import Resource, take_step

Raw = dict[str, Any]

_DEFINITIONS = Resource("apiextensions.k8s.io", "customresourcedefinitions", "")
_TURNS = 100


def check_custom_resources(case: Raw) -> str | None:
    return asyncio.run(_check(case))


async def _check(case: Raw) -> str | None:
    server = await PlatformServer.started("default")
    definition = case["in"]["crd"]
    answer = await server.ask("POST", _DEFINITIONS.path("v1"), msgspec.json.encode(definition))
    if "crdError" in case["out"]:
        return difference(answer, {"code": 422, **case["out"]["crdError"]})
    if answer.code != 201:
        return f"the definition was refused: {answer.document}"
    spec = definition["spec"]
    resource = Resource(spec["group"], spec["names"]["plural"], "default" if spec["scope"] == "Namespaced" else "")
    await _served(server, resource, spec)
    for number, (step, want) in enumerate(zip(case["in"]["steps"], case["out"]["steps"], strict=True)):
        if step["op"] == "updateCRD":
            answer = await take_step(
                server, {"op": "update", "name": definition["metadata"]["name"], "body": step["crd"]}, _DEFINITIONS
            )
            found = None if answer.code == want["code"] else f"got {answer}, want {want}"
        else:
            answer = await take_step(server, _as_sent(step), resource)
            found = _difference(answer, want, keep_owners=bool(case["in"].get("managedFields")))
        if found:
            return f"step {number} ({step['op']}): {found}"
    return None


async def _served(server: PlatformServer, resource: Resource, spec: Raw) -> None:
    """Wait until the first served version answers."""
    version = next((one["name"] for one in spec["versions"] if one.get("served")), "")
    for _ in range(_TURNS):
        if (await server.ask("GET", resource.path(version))).code == 200:
            return
        await asyncio.sleep(0)


def _as_sent(step: Raw) -> Raw:
    return {**step, "dryRun": "All"} if step.get("dryRun") is True else step


def _difference(answer: Answer, want: Raw, *, keep_owners: bool) -> str | None:
    if want["code"] == 500:
        message = want["message"].removeprefix("Internal error occurred: ")
        if 400 <= answer.code < 500 and message in answer.document.get("message", ""):
            return None
        return f"got {answer}, want a refusal with {message!r}"
    if "text" in want:
        return None if answer.code == want["code"] else f"got {answer}, want {want}"
    if "items" in want and answer.code == want["code"]:
        names = [item["metadata"]["name"] for item in answer.document["items"]]
        return None if names == want["items"] else f"got items {names}, want {want['items']}"
    if "cells" in want and answer.code == want["code"]:
        table = answer.document
        shown = [_columns(table), [row["cells"] for row in table["rows"]]]
        wanted = [_columns(want), want["cells"]]
        return None if exactly(shown, wanted) else f"got {shown}, want {wanted}"
    # Kubernetes walks maps in random order: so come the warnings about rules.
    got = answer._replace(warnings=sorted(answer.warnings))
    expected = {**want, "warnings": sorted(want.get("warnings", []))}
    return difference(got, expected, same=_same, keep_owners=keep_owners)


def _same(got: Any, want: Any) -> bool:
    return exactly(got, recorded_form(want, keep_owners=True))


def _columns(table: Raw) -> list[Raw]:
    """Return the columns of a table; names have a description of their own in Moorage."""
    columns: list[Raw] = table["columnDefinitions"]
    return [{**one, "description": ""} if one["format"] == "name" else one for one in columns]
