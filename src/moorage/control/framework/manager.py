"""Run all controllers on one set of informers.

Each kind is watched once, however many controllers watch it; no key is reconciled before every kind has been listed.
Kubernetes: kube-controller-manager.
"""

import asyncio
import random as randomness
import time
from collections.abc import Callable, Iterable

from moorage.client.informer import Delta, Informer
from moorage.client.protocol import Client
from moorage.control.framework.controller import Controller
from moorage.control.framework.metrics import ControllerMetrics
from moorage.control.framework.runner import NamedRecorders, Recorder, Runner, loop_time
from moorage.control.framework.world import World
from moorage.model.kinds import Kind
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

_LOG = get_logger("controller-manager")


class ControllerManager:
    """Informers, the world they fill, and a runner for each controller. `clock` is the time of day."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder,
        controllers: Iterable[Controller],
        metrics: Metrics | None = None,
        *,
        clock: Callable[[], float] = time.time,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self.world = World()
        counted = ControllerMetrics(metrics or Metrics(), loop_time)
        self.runners = [
            Runner(
                controller, client, self.world, _recorder_of(controller, recorder), self._seen, counted, random, clock
            )
            for controller in controllers
        ]
        for runner in self.runners:
            counted.add(runner.controller.name, runner.queue)
        kinds = dict.fromkeys(kind for runner in self.runners for kind in runner.controller.watches)
        self.informers = {kind: Informer(client, kind, self._handler(kind)) for kind in kinds}

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self.informers.values():
                group.create_task(informer.run())
            for informer in self.informers.values():
                await informer.synced()
            _LOG.info("Caches are synced", controllers=len(self.runners))
            for runner in self.runners:
                group.create_task(runner.run())

    @property
    def has_synced(self) -> bool:
        return all(informer.has_synced for informer in self.informers.values())

    def _seen(self, kind: Kind) -> int:
        informer = self.informers.get(kind)
        return informer.revision if informer is not None else 1 << 63

    def _handler(self, kind: Kind) -> Callable[[list[Delta]], None]:
        watching = [runner for runner in self.runners if kind in runner.controller.watches]

        def changed(deltas: list[Delta]) -> None:
            for delta in deltas:
                self.world.apply(kind, delta)
                for runner in watching:
                    runner.changed(kind, *delta)

        return changed


def _recorder_of(controller: Controller, recorder: Recorder) -> Recorder:
    """Return a recorder whose events name the controller as their source, not the process."""
    if not isinstance(recorder, NamedRecorders):
        return recorder
    return recorder.named(controller.component or controller.name)
