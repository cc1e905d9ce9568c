"""Simulated kubelets as a process of their own: nodes on any API server, and answers about their health.

In: `KubeletSettings`. Out: a component that starts and stops: the kubelets, their recorder of events, and a small HTTP
server for /metrics, /healthz, /livez and /readyz. A server that cannot be reached yet is waited for.
"""

import asyncio
import random
import time
from collections.abc import Mapping

import msgspec

from moorage.client.backoff import Backoff
from moorage.client.events.recorders import CountingRecorder
from moorage.client.protocol import Unreachable
from moorage.cluster.component_process import ComponentProcess, Process
from moorage.model.api_error import ApiError
from moorage.model.gates import Component, GateSet
from moorage.run.kubelets import Kubelets
from moorage.run.node_objects import CAPACITY, SIMULATOR
from moorage.telemetry.feature_metrics import add_feature_metrics
from moorage.telemetry.logs import get_logger

_FIRST_RETRY, _LAST_RETRY = 0.5, 10.0
_LOG = get_logger("kubelet")


class CannotRegister(Exception):
    """The API server does not want our nodes."""


class KubeletSettings(msgspec.Struct, frozen=True):
    """What the command line says."""

    process: Process
    gates: GateSet
    nodes: int = 0
    prefix: str = "node-"
    capacity: Mapping[str, str] = msgspec.field(default_factory=lambda: CAPACITY)
    simulator: str = SIMULATOR


class KubeletProcess(ComponentProcess):
    """Start it, stop it; `failure` tells when it cannot go on."""

    def __init__(self, settings: KubeletSettings) -> None:
        super().__init__(settings.process)
        self.settings = settings
        add_feature_metrics(self.metrics, {Component.KUBELET: settings.gates})
        self.kubelets = Kubelets(
            self.client,
            CountingRecorder(self.sender, settings.process.component),
            settings.gates,
            metrics=self.metrics,
            simulator=settings.simulator,
            capacity=settings.capacity,
        )

    async def start(self) -> None:
        """Raises CannotListen, CannotRegister."""
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
        server = self.settings.process.access.server
        retry = Backoff(_FIRST_RETRY, _LAST_RETRY, now=time.monotonic, random=random.random)
        while True:
            try:
                await self.kubelets.register(self.settings.nodes, self.settings.prefix)
            except ExceptionGroup as group:
                first = group.exceptions[0]
                if isinstance(first, ApiError):
                    raise CannotRegister(f"nodes cannot be registered: {first.message}") from None
                if not isinstance(first, Unreachable):
                    raise
                _LOG.warning("Nodes cannot be registered yet", server=server, err=str(first))
            else:
                return
            await asyncio.sleep(retry.delay())
