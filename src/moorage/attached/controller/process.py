"""Run the controllers of attach as a process: `moorage attach controller`.

Kubernetes: a component of its own beside kube-controller-manager, with a Lease, metrics and health.
"""

import random
from collections.abc import Sequence

from moorage.attached import names
from moorage.attached.controller.registry import CONTROLLERS, AttachedContext, AttachedRow, EvictBy
from moorage.client.event_recorders import CountingRecorder
from moorage.cluster.components import ComponentProcess, Process
from moorage.control.framework.controller import ControllerContext
from moorage.control.framework.runner import ControllerManager
from moorage.model.gates import all_gates


class AttachControllerProcess(ComponentProcess):
    """The controllers of attach; leads by Lease if the process has an election.

    Operators mean what they do with all gates on, whatever the gates of the cluster are.
    """

    def __init__(
        self,
        process: Process,
        namespace: str = names.NAMESPACE,
        evict_by: EvictBy = EvictBy.DELETE,
        rows: Sequence[AttachedRow] = CONTROLLERS,
    ) -> None:
        super().__init__(process)
        framework = ControllerContext(all_gates(), self.metrics, random.random, evaluations=self.evaluations)
        attached = AttachedContext(framework, namespace, evict_by)
        recorder = CountingRecorder(self.sender, names.CONTROLLER)
        self._manager = ControllerManager(self.client, recorder, [row.make(attached) for row in rows], self.metrics)

    async def work(self) -> None:
        await self._manager.run()

    @property
    def is_ready(self) -> bool:
        return self._manager.has_synced
