"""The events that the scheduler reports, with Kubernetes' words.

In: what happened to which pod. Out: `record` calls of whoever sends events. Kubernetes: schedule_one.go and
framework/preemption. Next: the client's recorder, which counts repetitions instead of repeating them.
"""

from typing import Protocol

from moorage.model.meta import ObjectReference
from moorage.model.pod import Pod
from moorage.schedule.actions import FAILED_SCHEDULING

_NORMAL, _WARNING = "Normal", "Warning"


class Recorder(Protocol):
    """Where events go. `type_` is Normal or Warning; `action` is what was being done, `reason` why it is told."""

    def record(
        self,
        regarding: ObjectReference,
        type_: str,
        reason: str,
        action: str,
        note: str,
        related: ObjectReference | None = None,
    ) -> None: ...


def reference_to(key: str, uid: str) -> ObjectReference:
    namespace, _, name = key.partition("/")
    return ObjectReference("Pod", namespace, name, uid, "v1")


def scheduled(recorder: Recorder, key: str, uid: str, node: str) -> None:
    note = f"Successfully assigned {key} to {node}"
    recorder.record(reference_to(key, uid), _NORMAL, "Scheduled", "Binding", note)


def failed_scheduling(recorder: Recorder, key: str, uid: str, note: str) -> None:
    recorder.record(reference_to(key, uid), _WARNING, FAILED_SCHEDULING, "Scheduling", note)


def preempted(recorder: Recorder, key: str, victim: Pod, preemptor: ObjectReference, node: str) -> None:
    note = f"Preempted by pod {preemptor.uid} on node {node}"
    recorder.record(reference_to(key, victim.metadata.uid), _NORMAL, "Preempted", "Preempting", note, preemptor)
