"""Loads of claims that are hard to allocate: searches among many combinations, and selectors at the cost limit."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench.stall.hostile import encoded, pod
from bench.stall.wire import Wire

if TYPE_CHECKING:
    from bench.stall.loads import Context

RESOURCE = "/apis/resource.k8s.io/v1"
CLASSES, SLICES = f"{RESOURCE}/deviceclasses", f"{RESOURCE}/resourceslices"
CLAIMS, PODS = f"{RESOURCE}/namespaces/default/resourceclaims", "/api/v1/namespaces/default/pods"
DRIVER = "hostile.example.com"
NODES, HOSTILE_PODS = 40, 10
_WORK_SECONDS = 15.0
Raw = dict[str, Any]


def _slices(node: str, number: int) -> list[Raw]:
    """Devices that consume two counters, of which every choice of eight needs too much of one."""
    devices = [
        {
            "name": f"d{index}",
            "attributes": {"x": {"int": number}},
            "consumesCounters": [
                {
                    "counterSet": "c",
                    "counters": {"a": {"value": str(1 + index % 9)}, "b": {"value": str(10 - index % 9)}},
                }
            ],
        }
        for index in range(24)
    ]
    limits = {"a": {"value": "40"}, "b": {"value": "40"}}
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2}
    parts: list[Raw] = [{"devices": devices}, {"sharedCounters": [{"name": "c", "counters": limits}]}]
    return [
        {
            "metadata": {"name": f"{node}-{index}"},
            "spec": {"driver": DRIVER, "nodeName": node, "pool": pool, **part},
        }
        for index, part in enumerate(parts)
    ]


async def hostile_claims(context: Context) -> Counter[str]:
    """Claims for eight of such devices, and claims whose selector costs as much as is allowed."""
    wire, answers = Wire(context.access), Counter[str]()

    async def create(path: str, document: Raw) -> None:
        answers[f"{path.rpartition('/')[2]} {(await wire.ask('POST', path, encoded(document))).status}"] += 1

    await create(CLASSES, {"metadata": {"name": "hostile"}, "spec": {}})
    for number in range(context.count(NODES)):
        name = f"claimed-{number}"
        status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
        await create("/api/v1/nodes", {"metadata": {"name": name}, "spec": {}, "status": status})
        for one in _slices(name, number):
            await create(SLICES, one)
    for number in range(context.count(HOSTILE_PODS)):
        exactly: Raw = {"deviceClassName": "hostile", "count": 8}
        if number % 2:
            size = 130_000 - number
            text = f"lists.range({size}).all(x, x >= 0) && device.attributes['{DRIVER}'].x < 0"
            exactly["selectors"] = [{"cel": {"expression": text}}]
        name = f"hostile-claim-{number}"
        requests = [{"name": "r", "exactly": exactly}]
        await create(CLAIMS, {"metadata": {"name": name}, "spec": {"devices": {"requests": requests}}})
        await create(PODS, pod(name, resourceClaims=[{"name": "c", "resourceClaimName": name}]))
    await asyncio.sleep(_WORK_SECONDS * context.scale)
    wire.close()
    return answers
