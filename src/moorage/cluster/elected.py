"""Let one of several processes do a component's work: it works while it holds a Lease, and stands by otherwise.

For components inside an API server that shares its store: a process that loses its Lease goes on serving, and waits
for the Lease again. Kubernetes: leader election of kube-scheduler and kube-controller-manager, which exit instead.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from moorage.client.election.elector import ElectionTimes, LeaderElector, LeadershipLost, new_identity
from moorage.client.protocol import Client
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

_NAMESPACE = "kube-system"
_LOG = get_logger("up")

Parts = Iterable[Coroutine[Any, Any, None]]


async def run_elected(
    client: Client,
    lease: str,
    times: ElectionTimes,
    metrics: Metrics,
    make: Callable[[Metrics], Coroutine[Any, Any, Parts]],
) -> None:
    """Wait for the Lease, run what `make` returns while it is held, and again, until cancelled.

    Everything is made anew each time, with metrics of its own that `metrics` shows meanwhile.
    """
    while True:
        own = Metrics()

        async def lead(own: Metrics = own) -> None:
            metrics.include(own)
            try:
                async with asyncio.TaskGroup() as group:
                    for part in await make(own):
                        group.create_task(part)
            finally:
                metrics.exclude(own)

        elector = LeaderElector(client, _NAMESPACE, lease, new_identity(), times=times)
        try:
            await elector.run(lead)
        except LeadershipLost as error:
            _LOG.warning("Another process may take over", lease=lease, err=str(error))
