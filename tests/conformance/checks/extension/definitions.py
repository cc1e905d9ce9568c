"""validate_policies.json: policies, bindings and webhook configurations, created and updated as a dry run.

Policies of the group type-checking are created, and the controller of their status checks them.
"""

import asyncio
from typing import Any

import msgspec
from tests.conformance.checks.extension.answers import answer_difference
from tests.conformance.checks.extension.cluster import Cluster
from tests.conformance.checks.platform.comparison import exactly
from tests.controller_context import controller_context

from moorage.cluster.policy_checks import check_policy
from moorage.control.framework.runner import ControllerManager
from moorage.control.policy_types import PolicyTypeController
from moorage.serve.requests.loopback import LoopbackClient
from moorage.telemetry.metrics import Metrics

Raw = dict[str, Any]

_TYPE_CHECKING = "type-checking"
_TURNS = 1_000


class _NoEvents:
    """Records nothing."""

    def report(self, involved: Raw, kind: str, reason: str, message: str) -> None:
        pass

    def rewrite(self, *event: object) -> None:
        pass

    def named(self, component: str) -> "_NoEvents":
        return self


def check_validate_policies(case: Raw) -> str | None:
    check = _check_types if case["group"] == _TYPE_CHECKING else _check_admission
    return asyncio.run(check(case))


async def _check_admission(case: Raw) -> str | None:
    cluster = await Cluster.started(case["common"])
    document = case["in"]["object"]
    if "old" not in case["in"]:
        return answer_difference(await cluster.make(document, dryRun="All"), case["out"])
    if refusal := await cluster.set_up((case["in"]["old"],)):
        return refusal
    path = _path_of(cluster, document)
    stored = await cluster.ask("GET", path)
    metadata = {**document["metadata"], "resourceVersion": stored.document["metadata"]["resourceVersion"]}
    body = msgspec.json.encode({**document, "metadata": metadata})
    return answer_difference(await cluster.ask("PUT", path, body, query={"dryRun": "All"}), case["out"])


async def _check_types(case: Raw) -> str | None:
    cluster = await Cluster.started(case["common"])
    document = case["in"]["object"]
    controller = PolicyTypeController(controller_context(check_policy=check_policy))
    client = LoopbackClient(cluster.server.api, "vectors")
    manager = ControllerManager(client, _NoEvents(), [controller], Metrics())
    running = asyncio.create_task(manager.run())
    try:
        if refusal := await cluster.set_up((document,)):
            return refusal
        status = await _status_of(cluster, _path_of(cluster, document))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return None if exactly(status, case["out"]["status"]) else f"status is {status}, want {case['out']['status']}"


async def _status_of(cluster: Cluster, path: str) -> Any:
    """Return the status of a policy once it was checked, or as it is after a while."""
    for _ in range(_TURNS):
        status = (await cluster.ask("GET", path)).document.get("status")
        if status:
            break
        await asyncio.sleep(0.001)
    return status


def _path_of(cluster: Cluster, document: Raw) -> str:
    return f"{cluster.path_of(document)}/{document['metadata']['name']}"
