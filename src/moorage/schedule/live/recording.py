"""The events that the scheduler reports, with Kubernetes' words.

In: what happened to which pod. Out: calls of a recorder. Kubernetes: schedule_one.go and framework/preemption.
Next: `client.events`, whose recorder counts repetitions instead of repeating them.
"""

from typing import Protocol

from moorage.client.protocol import Raw
from moorage.schedule.actions import FAILED_SCHEDULING

_NORMAL, _WARNING = "Normal", "Warning"


class Recorder(Protocol):
    """Where events go. References are raw; `kind` is Normal or Warning, `action` what was being done."""

    def report(
        self, regarding: Raw, kind: str, reason: str, action: str, note: str, related: Raw | None = None
    ) -> None: ...


def reference_to(key: str, uid: str) -> Raw:
    """A pod by its key and uid."""
    namespace, _, name = key.partition("/")
    return {"kind": "Pod", "namespace": namespace, "name": name, "uid": uid, "apiVersion": "v1"}


def scheduled(recorder: Recorder, key: str, uid: str, node: str) -> None:
    note = f"Successfully assigned {key} to {node}"
    recorder.report(reference_to(key, uid), _NORMAL, "Scheduled", "Binding", note)


def failed_scheduling(recorder: Recorder, key: str, uid: str, note: str) -> None:
    recorder.report(reference_to(key, uid), _WARNING, FAILED_SCHEDULING, "Scheduling", note)


def preempted(recorder: Recorder, victim: Raw, preemptor: Raw, node: str) -> None:
    note = f"Preempted by pod {preemptor['uid']} on node {node}"
    recorder.report(victim, _NORMAL, "Preempted", "Preempting", note, preemptor)
