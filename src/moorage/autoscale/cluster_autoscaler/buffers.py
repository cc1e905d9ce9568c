"""Say of CapacityBuffers what Cluster Autoscaler says of them.

Kubernetes: Cluster Autoscaler, capacitybuffer/common, capacitybuffer/translators, processors/capacitybuffer.
"""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from moorage.autoscale.held_room import PROVISIONING, READY, BufferState, HeldRoom, NotFound
from moorage.control.framework.actions import NORMAL, Report
from moorage.model.kinds import KINDS, Kind
from moorage.model.well_known.annotations import SAFE_TO_EVICT
from moorage.pools.node_template import Buffer

_NOT_READY = "Buffer not ready for provisioning"
_MAX_MESSAGE = 1024


class BuffersOfClusterAutoscaler(HeldRoom):
    """The buffers, and the fake pods that are put among those that the scheduler found no node for."""

    scalable: ClassVar[Mapping[Kind, str]] = {
        KINDS.DEPLOYMENT: "replicas",
        KINDS.REPLICA_SET: "replicas",
        KINDS.STATEFUL_SET: "replicas",
        KINDS.REPLICATION_CONTROLLER: "replicas",
        KINDS.JOB: "parallelism",
    }

    def group_of(self, buffer: Buffer) -> str:
        return "" if buffer.workload_group == "core" else buffer.workload_group

    def annotations(self, buffer: Buffer) -> dict[str, str]:
        return {"podType": "capacityBufferFakePod", SAFE_TO_EVICT: "true"}

    def is_resolved(self, state: BufferState, now: float) -> None:
        state.set(READY, True, "AttributesSetSuccessfully", "ready", now)

    def has_no_size(self, state: BufferState, problem: str, now: float) -> None:
        text = f"{_NOT_READY}: couldn't get number of replicas for buffer: {problem}"
        state.set(READY, False, "error", text, now)

    def not_found(self, buffer: Buffer, kind: Kind) -> NotFound:
        group = f".{kind.group}" if kind.group else ""
        if kind is KINDS.POD_TEMPLATE:
            return self._error(f'podtemplates "{buffer.pod_template}" not found')
        missing = f'{kind.plural}{group} "{buffer.workload}" not found'
        return self._error(f"failed to resolve scalable object: failed to get {kind.name}: {missing}")

    def not_supported(self, buffer: Buffer) -> NotFound:
        what = f"{buffer.workload_group}/{buffer.workload_kind}"
        return self._error(f"failed to resolve scalable object: kind {what} is not supported to use pod template")

    def not_readable(self, problem: str) -> NotFound:
        return self._error(f"failed to create fake pod: {problem}")

    def _error(self, text: str) -> NotFound:
        return NotFound("error", f"{_NOT_READY}: {text}")

    def inject(self, now: float) -> None:
        """Set the conditions of the buffers whose pods are put among those that wait."""
        for state in self.states:
            if not state.is_ready:
                text = "CapacityBuffer is not ready for provisioning"
                state.set(PROVISIONING, False, "NotReadyForProvisioning", text, now)
            elif not state.replicas:
                state.set(PROVISIONING, False, "BufferIsEmpty", "CapacityBuffer has zero replicas", now)
            else:
                state.set(PROVISIONING, True, "FakePodsInjected", "", now)

    def triggered(self, keys: Iterable[str], groups: str) -> list[Report]:
        """Return the Events about buffers whose pods make groups larger."""
        return [
            self._report(state, "TriggeredScaleUp", f"{len(own)} fake pods triggered scale-up: {groups}")
            for state, own in self.by_buffer(keys)
        ]

    def not_triggered(self, keys: Iterable[str], reasons: Mapping[str, str]) -> list[Report]:
        """Return the Events about buffers of which some pods make no group larger, with the reason of each pod."""
        return [
            self._report(
                state,
                "NotTriggerScaleUp",
                f"{len(own)} fake pods didn't trigger scale-up: {','.join(reasons[key] for key in own)}",
            )
            for state, own in self.by_buffer(keys)
        ]

    def _report(self, state: BufferState, reason: str, text: str) -> Report:
        return Report(state.reference, NORMAL, reason, f"capacity buffer {text}"[:_MAX_MESSAGE])
