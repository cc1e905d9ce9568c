"""Scheduler, controllers and simulated kubelets as processes of their own, against any API server."""

import asyncio
import random
import time
from collections.abc import Mapping

from moorage.client.events.recorders import CountingRecorder, SeriesRecorder
from moorage.client.informer import Backoff
from moorage.client.protocol import Unreachable
from moorage.cluster.component_process import ComponentProcess, Process
from moorage.control.framework.runner import ControllerManager
from moorage.control.registry import ControllerContext, Row
from moorage.model.api_error import ApiError
from moorage.model.gates import Component, GateSet
from moorage.run.device_spec import DeviceSet
from moorage.run.kubelets import Kubelets
from moorage.run.node_objects import CAPACITY, SIMULATOR
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.live.loop import LiveScheduler
from moorage.telemetry.logs import get_logger
from moorage.telemetry.process_metrics import add_feature_metrics

_FIRST_RETRY, _LAST_RETRY = 0.5, 10.0
_LOG = get_logger("kubelet")


class SchedulerProcess(ComponentProcess):
    """The scheduler; leads by Lease if the process has an election."""

    def __init__(self, process: Process, gates: GateSet, configuration: Configuration, seed: int = 0) -> None:
        super().__init__(process)
        add_feature_metrics(self.metrics, {Component.SCHEDULER: gates})
        self._recorder = SeriesRecorder(self.sender)
        self._live = LiveScheduler(self.client, self._recorder, gates, configuration, self.metrics, seed=seed)

    async def start(self) -> None:
        """Raises CannotListen."""
        await super().start()
        self.run(self._recorder.run())

    async def work(self) -> None:
        await self._live.run()

    @property
    def is_ready(self) -> bool:
        return self._live.has_synced


class ControllerManagerProcess(ComponentProcess):
    """The controllers; leads by Lease if the process has an election."""

    def __init__(
        self, process: Process, gates: GateSet, controllers: tuple[Row, ...], *, simulates_storage: bool = False
    ) -> None:
        super().__init__(process)
        add_feature_metrics(self.metrics, {Component.CONTROLLER_MANAGER: gates})
        context = ControllerContext(gates, self.metrics, random.random, simulates_storage)
        recorder = CountingRecorder(self.sender, process.component)
        made = [row.make(context) for row in controllers]
        self._manager = ControllerManager(self.client, recorder, made, self.metrics)

    async def work(self) -> None:
        await self._manager.run()

    @property
    def is_ready(self) -> bool:
        return self._manager.has_synced


class CannotRegister(Exception):
    """The API server refuses the nodes."""


class KubeletProcess(ComponentProcess):
    """Simulated kubelets: makes `nodes` nodes and runs those with the label of `simulator`, no others."""

    def __init__(
        self,
        process: Process,
        gates: GateSet,
        nodes: int = 0,
        prefix: str = "node-",
        capacity: Mapping[str, str] = CAPACITY,
        simulator: str = SIMULATOR,
        devices: tuple[DeviceSet, ...] = (),
    ) -> None:
        super().__init__(process)
        self._nodes, self._prefix = nodes, prefix
        add_feature_metrics(self.metrics, {Component.KUBELET: gates})
        recorder = CountingRecorder(self.sender, process.component)
        self.kubelets = Kubelets(
            self.client,
            recorder,
            gates,
            metrics=self.metrics,
            simulator=simulator,
            capacity=capacity,
            devices=devices,
        )

    async def start(self) -> None:
        """Register the nodes, as soon as the server can be reached. Raises CannotListen, CannotRegister."""
        await self.listen()
        await self._register()
        self.run(self.sender.run())
        self.run(self.work())
        await self.kubelets.synced()

    async def work(self) -> None:
        self.leads = True
        await self.kubelets.run()

    @property
    def is_ready(self) -> bool:
        return self.kubelets.has_synced

    async def _register(self) -> None:
        retry = Backoff(_FIRST_RETRY, _LAST_RETRY, now=time.monotonic, random=random.random)
        while True:
            try:
                await self.kubelets.register(self._nodes, self._prefix)
            except ExceptionGroup as group:
                first = group.exceptions[0]
                if isinstance(first, ApiError):
                    raise CannotRegister(f"nodes cannot be registered: {first.message}") from None
                if not isinstance(first, Unreachable):
                    raise
                server = self.process.access.server
                _LOG.warning("Nodes cannot be registered yet", server=server, err=str(first))
            else:
                return
            await asyncio.sleep(retry.delay())
