"""Loads of expensive CEL tolerations: many pods whose expressions must be evaluated for two hundred taints."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import TYPE_CHECKING

from bench.stall.hostile import encoded, pod
from bench.stall.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bench.stall.loads import Context

PODS, NODES = "/api/v1/namespaces/default/pods", "/api/v1/nodes"
TAINTS, OTHERS = 200, 50
_WORK_SECONDS = 20.0
_TRIES = 600


def expensive_pods(pods: int, expressions: int) -> Callable[[Context], Awaitable[Counter[str]]]:
    """Return a load: pods, each with expressions that no other pod has."""

    async def load(context: Context) -> Counter[str]:
        wire, answers = Wire(context.access), Counter[str]()
        for number in range(context.count(TAINTS)):
            taints = [{"key": f"k{number}", "value": "v", "effect": "NoSchedule"}]
            node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"tainted-{number}"}}
            status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
            await wire.ask("POST", NODES, encoded({**node, "spec": {"taints": taints}, "status": status}))
        for number in range(context.count(pods)):
            tolerations = [{"expression": _expression(number * expressions + index)} for index in range(expressions)]
            name = f"expensive-{expressions}-{number}"
            selector = {"kubernetes.io/hostname": "nowhere"}
            reply = await wire.ask("POST", PODS, encoded(pod(name, tolerations=tolerations, nodeSelector=selector)))
            answers[str(reply.status)] += 1
        app = f"other-{expressions}"
        for number in range(OTHERS):
            other = pod(f"{app}-{number}")
            await wire.ask("POST", PODS, encoded({**other, "metadata": {**other["metadata"], "labels": {"app": app}}}))
        answers[await _scheduled(wire, app)] += 1
        await asyncio.sleep(_WORK_SECONDS * context.scale)
        wire.close()
        return answers

    return load


def _expression(number: int) -> str:
    return f"lists.range({140_000 - number}).all(x, x >= 0) && taint.key == 'zz'"


async def _scheduled(wire: Wire, app: str) -> str:
    """Wait until all pods of an app have a node, but not for ever."""
    started = time.perf_counter()
    path = f"{PODS}?labelSelector=app%3D{app}&fieldSelector=spec.nodeName%3D"
    for _ in range(_TRIES):
        if b'"items":[]' in (await wire.ask("GET", path)).start:
            return f"{OTHERS} other pods scheduled after {time.perf_counter() - started:.1f} s"
        await asyncio.sleep(0.1)
    return "other pods were not scheduled"
