"""What an API server says of itself: its groups, flow control, the range of services."""

import asyncio
from typing import Any

from tests.unit.admit.objects import custom_resource_definition

from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS, Kind
from moorage.serve.cluster.api_configuration import configure_api
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import decode, prefix_of
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.store.memory import MemoryStore


async def configured() -> Api:
    api = Api(MemoryStore(), default_gates())
    await api.start()
    await configure_api(api)
    return api


async def stored(api: Api, kind: Kind) -> dict[str, Any]:
    found = (await api.store.list(prefix_of(kind))).items
    return {document["metadata"]["name"]: document for document in (decode(kind, item) for item in found)}


async def test_groups_that_are_served_are_local_and_available() -> None:
    services = await stored(await configured(), KINDS.API_SERVICE)
    assert {"v1.", "v1.apps", "v1.autoscaling", "v2.autoscaling", "v1.storage.k8s.io"} <= set(services)
    assert "v1.apiregistration.k8s.io" not in services
    assert services["v1."]["spec"] == {"version": "v1", "groupPriorityMinimum": 18000, "versionPriority": 1}
    found = services["v2.autoscaling"]
    assert found["spec"]["versionPriority"] == 30
    assert found["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "onstart"}
    condition = found["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")


async def test_flow_control_is_that_of_kubernetes() -> None:
    api = await configured()
    schemas, levels = await stored(api, KINDS.FLOW_SCHEMA), await stored(api, KINDS.PRIORITY_LEVEL_CONFIGURATION)
    assert len(schemas) == 11
    used = {schema["spec"]["priorityLevelConfiguration"]["name"] for schema in schemas.values()}
    assert used == set(levels)
    order = sorted(schemas.values(), key=lambda schema: schema["spec"]["matchingPrecedence"])
    assert [schema["metadata"]["name"] for schema in (order[0], order[1], order[-1])] == [
        "exempt",
        "probes",
        "catch-all",
    ]
    assert all(schema["status"]["conditions"][0]["status"] == "False" for schema in order)
    assert levels["workload-low"]["spec"]["limited"]["nominalConcurrencyShares"] == 100


async def test_a_second_start_changes_nothing() -> None:
    api = await configured()
    revision = api.store.revision
    await configure_api(api)
    assert api.store.revision == revision


async def test_custom_groups_come_and_go() -> None:
    api = await configured()
    definition = custom_resource_definition()
    await create(api, KINDS.CUSTOM_RESOURCE_DEFINITION, "", definition, WriteOptions("test"))
    name = f"{definition['spec']['versions'][0]['name']}.{definition['spec']['group']}"
    await _until(api, lambda services: name in services)
    found = (await stored(api, KINDS.API_SERVICE))[name]
    assert (found["spec"]["groupPriorityMinimum"], found["spec"]["versionPriority"]) == (1000, 100)
    api.resources.serve(definition["metadata"]["name"], ())
    await _until(api, lambda services: name not in services)


async def _until(api: Api, holds: Any) -> None:
    for _ in range(100):
        if holds(await stored(api, KINDS.API_SERVICE)):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never happened")
