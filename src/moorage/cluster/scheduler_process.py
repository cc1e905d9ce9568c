"""The scheduler as a process of its own: watches any API server, leads by Lease, answers about its health.

In: `SchedulerSettings`. Out: a component that starts and stops.
"""

import msgspec

from moorage.client.events.recorders import SeriesRecorder
from moorage.cluster.component_process import ComponentProcess, Process
from moorage.model.gates import Component, GateSet
from moorage.schedule.config.configured_scheduler import Configuration
from moorage.schedule.live.loop import LiveScheduler
from moorage.telemetry.feature_metrics import add_feature_metrics


class SchedulerSettings(msgspec.Struct, frozen=True):
    """What the command line says."""

    process: Process
    gates: GateSet
    configuration: Configuration
    seed: int = 0


class SchedulerProcess(ComponentProcess):
    """Start it, stop it; `failure` tells when it cannot go on."""

    def __init__(self, settings: SchedulerSettings) -> None:
        super().__init__(settings.process)
        add_feature_metrics(self.metrics, {Component.SCHEDULER: settings.gates})
        self._recorder = SeriesRecorder(self.sender)
        self._live = LiveScheduler(
            self.client, self._recorder, settings.gates, settings.configuration, self.metrics, seed=settings.seed
        )

    async def start(self) -> None:
        """Raises CannotListen."""
        await super().start()
        self.run(self._recorder.run())

    async def work(self) -> None:
        await self._live.run()

    @property
    def is_ready(self) -> bool:
        return self._live.has_synced
