"""Say of CapacityBuffers what Karpenter says of them.

Kubernetes: Karpenter, pkg/controllers/capacitybuffer, pkg/state/virtualpods (BuildVirtualPods),
pkg/controllers/provisioning (computeProvisioningCondition).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import ClassVar

from msgspec.structs import replace

from moorage.autoscale.held_room import PROVISIONING, READY, BufferState, HeldRoom, NotFound
from moorage.columns.resources import pod_requests
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.pod import Pod
from moorage.pools.buffers import pods_of_buffer
from moorage.pools.node_template import Buffer, Raw

_FAILED = "ResolutionFailed"
_PRIORITY = -(2**31)
_CLAIMED = ("persistentVolumeClaim", "ephemeral")


class BuffersOfKarpenter(HeldRoom):
    """The buffers, and the virtual pods that are put among the pods that wait."""

    scalable: ClassVar[Mapping[Kind, str]] = {
        KINDS.DEPLOYMENT: "replicas",
        KINDS.STATEFUL_SET: "replicas",
        KINDS.REPLICA_SET: "replicas",
    }

    def group_of(self, buffer: Buffer) -> str:
        return buffer.workload_group or "apps"

    def annotations(self, buffer: Buffer) -> dict[str, str]:
        return {
            "karpenter.sh/capacity-buffer-fake-pod": "true",
            "karpenter.sh/capacity-buffer-name": buffer.name,
            "karpenter.sh/capacity-buffer-namespace": buffer.namespace,
        }

    def prepared(self, spec: Raw) -> Raw:
        """Return a spec without volumes whose claims no imagined pod has, and with the lowest priority."""
        volumes = spec.get("volumes") or ()
        dropped = {one.get("name") for one in volumes if any(field in one for field in _CLAIMED)}
        kept = {**spec, "priority": _PRIORITY}
        if not dropped:
            return kept
        for field in ("containers", "initContainers"):
            if field in spec:
                kept[field] = [
                    {**one, "volumeMounts": [m for m in one.get("volumeMounts") or () if m.get("name") not in dropped]}
                    for one in spec[field]
                ]
        return {**kept, "volumes": [one for one in volumes if one.get("name") not in dropped]}

    def count(self, buffer: Buffer, pod: Pod, replicas: int | None) -> int:
        requests = pod_requests(pod.spec)
        has_size = buffer.replicas is not None or (buffer.percentage is not None and replicas is not None)
        if any(requests.get(name, 0) > 0 for name in buffer.limits):
            return pods_of_buffer(buffer, requests, replicas)
        return pods_of_buffer(replace(buffer, limits={}), requests, replicas) if has_size else 0

    def is_resolved(self, state: BufferState, now: float) -> None:
        state.set(READY, True, "Resolved", "Pod template resolved successfully", now)

    def has_no_size(self, state: BufferState, problem: str, now: float) -> None:
        state.set(READY, False, _FAILED, problem, now)

    def not_found(self, buffer: Buffer, kind: Kind) -> NotFound:
        group = f".{kind.group}" if kind.group else ""
        name = buffer.pod_template or buffer.workload
        reason = "PodTemplateNotFound" if kind is KINDS.POD_TEMPLATE else "ScalableRefNotFound"
        return NotFound(reason, f'{kind.name}{group} "{name}" not found')

    def not_supported(self, buffer: Buffer) -> NotFound:
        if buffer.workload_group not in ("", "apps"):
            return NotFound(_FAILED, f'unsupported scalableRef API group "{buffer.workload_group}"')
        return NotFound(_FAILED, f'unsupported kind "{buffer.workload_kind}"')

    def not_readable(self, problem: str) -> NotFound:
        return NotFound(_FAILED, problem)

    def provisioned(self, there: Iterable[str], coming: Iterable[str], failed: Iterable[str], now: float) -> None:
        """Set the conditions of all buffers after a look: which of their pods fit, need new nodes, or fit nowhere."""
        fits, needs, fails = (Counter(self.of_pod[key].buffer.key for key in keys) for keys in (there, coming, failed))
        for state in self.states:
            key, number = state.buffer.key, state.replicas
            if not state.is_ready:
                text = "Buffer is not ReadyForProvisioning"
                state.set(PROVISIONING, False, "NotReadyForProvisioning", text, now)
            elif not number:
                state.set(PROVISIONING, False, "BufferEmpty", "Buffer has zero desired replicas", now)
            elif needs[key] or fails[key]:
                text = f"{needs[key]}/{number} virtual pods required new capacity, {fails[key]} failed"
                state.set(PROVISIONING, False, "RequiresNewCapacity", text, now)
            elif fits[key] == number:
                text = f"All {number} virtual pods fit on existing capacity"
                state.set(PROVISIONING, True, "FitsExistingCapacity", text, now)
