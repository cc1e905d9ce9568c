"""Wait until a cluster has settled: nodes ready, pods created and running, or found not to fit.

Kubernetes: kind's --wait, kubectl wait.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

from moorage.client.protocol import Client
from moorage.control.framework.workloads import is_ready
from moorage.model.kinds import KINDS
from moorage.model.types.pod import FINISHED_PHASES

_WORKLOADS = (
    KINDS.DEPLOYMENT,
    KINDS.REPLICA_SET,
    KINDS.STATEFUL_SET,
    KINDS.DAEMON_SET,
    KINDS.REPLICATION_CONTROLLER,
)
_LOOK_EVERY = 0.1
_MAX_NAMED = 3


async def settled(client: Client, seconds: float) -> str:
    """Wait this many seconds at most; return what is not settled by then, empty if all is."""
    unsettled: list[str] = []
    try:
        async with asyncio.timeout(seconds):
            while unsettled := [name async for name in _unsettled(client)]:
                await asyncio.sleep(_LOOK_EVERY)
    except TimeoutError:
        named = ", ".join(unsettled[:_MAX_NAMED])
        more = f" and {len(unsettled) - _MAX_NAMED} more" if len(unsettled) > _MAX_NAMED else ""
        return f"not everything is ready after {seconds:g} seconds: {named}{more}"
    return ""


async def _unsettled(client: Client) -> AsyncIterator[str]:
    for kind, is_settled in ((KINDS.NODE, is_ready), *((kind, _workload) for kind in _WORKLOADS), (KINDS.POD, _pod)):
        for item in (await client.list_all(kind)).items:
            if not is_settled(item.view):
                yield f"{kind.name.lower()} {item.key}"


def _conditions(view: Any) -> Iterator[tuple[str, str]]:
    return ((condition.type, condition.status) for condition in view.status.conditions)


def _workload(view: Any) -> bool:
    """Return whether its controller has seen it and made its pods."""
    if (view.status.observedGeneration or 0) < (view.metadata.generation or 0):
        return False
    replicas = getattr(view.spec, "replicas", None)
    return replicas is None or (view.status.replicas or 0) == replicas


def _pod(pod: Any) -> bool:
    if pod.metadata.deletionTimestamp is not None or pod.status.phase in ("Running", *FINISHED_PHASES):
        return True
    return not pod.spec.nodeName and ("PodScheduled", "False") in _conditions(pod)
