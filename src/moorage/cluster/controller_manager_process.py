"""The controllers as a process of their own: watches any API server, leads by Lease, answers about its health.

In: `ControllerManagerSettings`. Out: a component that starts and stops.
"""

from random import random

import msgspec

from moorage.client.events.recorders import CountingRecorder
from moorage.cluster.component_process import ComponentProcess, Process
from moorage.control.framework.manager import ControllerManager
from moorage.control.registry import ControllerContext, Row
from moorage.model.gates import Component, GateSet
from moorage.telemetry.feature_metrics import add_feature_metrics


class ControllerManagerSettings(msgspec.Struct, frozen=True):
    """What the command line says."""

    process: Process
    gates: GateSet
    controllers: tuple[Row, ...]
    simulates_storage: bool = False


class ControllerManagerProcess(ComponentProcess):
    """Start it, stop it; `failure` tells when it cannot go on."""

    def __init__(self, settings: ControllerManagerSettings) -> None:
        super().__init__(settings.process)
        add_feature_metrics(self.metrics, {Component.CONTROLLER_MANAGER: settings.gates})
        surroundings = ControllerContext(settings.gates, self.metrics, random, settings.simulates_storage)
        controllers = [row.make(surroundings) for row in settings.controllers]
        recorder = CountingRecorder(self.sender, settings.process.component)
        self._manager = ControllerManager(self.client, recorder, controllers, self.metrics)

    async def work(self) -> None:
        await self._manager.run()

    @property
    def is_ready(self) -> bool:
        return self._manager.has_synced
