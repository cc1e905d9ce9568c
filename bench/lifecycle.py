"""CPU time of a pod's whole life, by phase: everything that `moorage up` runs in one process, in virtual time.

`python -m bench.lifecycle` makes simulated nodes and Deployments, waits until all pods are ready, rolls and deletes
them. The API server has its store in memory and nobody connects over the network; time passes only when nobody has
anything to do, so that heartbeats and the pace of events do not depend on how busy the machine is. What to compare is
CPU time for each pod, old and new code in turns, and the number of writes.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import random
from time import process_time
from typing import TYPE_CHECKING, Any

from tests.virtual_time import BASE, VirtualTimeLoop

from bench.controllers.documents import NAMESPACE, deployment, new_template
from moorage.client.event_recorders import CountingRecorder, SeriesRecorder
from moorage.client.event_sender import EventSender
from moorage.client.protocol import PatchType
from moorage.cluster.event_loop import collect_less
from moorage.control.framework.controller import ControllerContext
from moorage.control.framework.runner import ControllerManager
from moorage.control.registry import chosen
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.run.kubelets import Kubelets
from moorage.schedule.live.loop import LiveScheduler
from moorage.serve.access.bootstrap.policy import CONTROLLER_MANAGER, CONTROLLERS, KUBELETS, SCHEDULER
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.loopback import LoopbackClient
from moorage.serve.verbs.api import Api
from moorage.store.memory import MemoryStore
from moorage.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_PODS_OF_ONE = 100
_LOOK_EVERY = 0.5
_PATIENCE = 3600.0


class Lifecycle:
    """One cluster and its phases."""

    def __init__(self, nodes: int, pods: int, profiled: str) -> None:
        self._nodes, self._profiled = nodes, profiled
        self._names = [f"web-{number}" for number in range(max(1, pods // _PODS_OF_ONE))]
        self._pods = len(self._names) * _PODS_OF_ONE
        self._store, self._loop = MemoryStore(), asyncio.get_running_loop()

    def _clock(self) -> float:
        return BASE + self._loop.time()

    async def run(self) -> None:
        gates, clock, metrics = gates_from({"TaintTolerationComparisonOperators": True}), self._clock, Metrics()
        api = Api(self._store, gates, clock=clock, collects_garbage=True)
        await api.start()
        await bootstrap(api, 443)
        self._client = LoopbackClient(api, "bench")
        now = lambda: int(clock() * 1e9)  # noqa: E731

        kubelet = LoopbackClient(api, "kubelet", KUBELETS)
        kubelet_events = EventSender(kubelet)
        recorder = CountingRecorder(kubelet_events, "kubelet", now=now)
        kubelets = Kubelets(kubelet, recorder, gates, metrics=metrics, takes_all=True, clock=clock)
        await kubelets.register(self._nodes)

        binder = LoopbackClient(api, "kube-scheduler", SCHEDULER)
        scheduler_events = EventSender(binder)
        series = SeriesRecorder(scheduler_events, now=now)
        scheduler = LiveScheduler(binder, series, gates, metrics=metrics, clock=self._loop.time)

        manager = LoopbackClient(api, "controller-manager", CONTROLLER_MANAGER)
        manager_events = EventSender(manager)
        draw = random.Random(7).random
        context = ControllerContext(gates, metrics, draw, simulates_storage=True)
        clients = {name: LoopbackClient(api, "controller-manager", user) for name, user in CONTROLLERS.items()}
        made = [row.make(context) for row in chosen(("*",), simulated=True)]
        events = CountingRecorder(manager_events, "controller-manager", now=now)
        controllers = ControllerManager(manager, events, made, metrics, clients=clients, clock=clock, random=draw)

        running = [kubelets.run(), scheduler.run(), controllers.run()]
        running += [sender.run() for sender in (kubelet_events, scheduler_events, manager_events)]
        tasks = [asyncio.create_task(part) for part in running]
        await asyncio.sleep(20.0)
        collect_less()
        try:
            await self._phases()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._store.close()

    async def _phases(self) -> None:
        idle = 60.0

        async def rest() -> None:
            await asyncio.sleep(idle)

        await self._phase("idle", self._nodes, rest, f"node in {idle:g} s")
        await self._phase("create", self._pods, self._create)
        await self._phase("roll", self._pods, self._roll)
        await self._phase("delete", self._pods, self._delete)

    async def _phase(self, name: str, objects: int, do: Callable[[], Awaitable[None]], what: str = "pod") -> None:
        revision, began = self._store.revision, process_time()
        if name == self._profiled:
            with cProfile.Profile() as profile:
                await do()
            profile.dump_stats(f"{name}.pstats")
        else:
            await do()
        seconds, writes = process_time() - began, self._store.revision - revision
        cost = f"{1e6 * seconds / objects:8,.1f} µs of CPU and {writes / objects:.2f} writes a {what}"
        print(f"{name:8} {objects:,}: {cost}", flush=True)

    async def _create(self) -> None:
        for name in self._names:
            await self._client.create(KINDS.DEPLOYMENT, deployment(name, _PODS_OF_ONE), NAMESPACE)
        await self._settled()

    async def _roll(self) -> None:
        patch: dict[str, Any] = new_template()
        for name in self._names:
            await self._client.patch(KINDS.DEPLOYMENT, name, NAMESPACE, patch, patch_type=PatchType.MERGE)
        await self._settled()

    async def _delete(self) -> None:
        for name in self._names:
            await self._client.delete(KINDS.DEPLOYMENT, name, NAMESPACE)
        until = self._loop.time() + _PATIENCE
        while (await self._client.list_all(KINDS.POD)).items:
            assert self._loop.time() < until
            await asyncio.sleep(_LOOK_EVERY)

    async def _settled(self) -> None:
        """Wait until every Deployment says that it is complete."""
        until = self._loop.time() + _PATIENCE
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            found = (await self._client.list_all(KINDS.DEPLOYMENT)).items
            if all(map(_is_complete, found)):
                return
            assert self._loop.time() < until, "it does not settle"


def _is_complete(found: Any) -> bool:
    status = found.view.status
    counts = (status.replicas, status.updatedReplicas, status.availableReplicas)
    return status.observedGeneration >= found.view.metadata.generation and counts == (_PODS_OF_ONE,) * 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.lifecycle", description=__doc__)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--pods", type=int, default=2_000)
    parser.add_argument("--profile", default="", help="write PHASE.pstats of this phase")
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(_run(options.nodes, options.pods, options.profile))


async def _run(nodes: int, pods: int, profiled: str) -> None:
    await Lifecycle(nodes, pods, profiled).run()


if __name__ == "__main__":
    main()
