"""Events that the scheduler reports, in Kubernetes' words, under the name of the pod's profile.

A reference has the pod's newest resourceVersion, so that a repeated text after a change is an event of its own.
Kubernetes: schedule_one.go, framework/preemption and profile.go.
"""

from collections.abc import Callable
from typing import Protocol

from moorage.client.events.recorders import NORMAL, WARNING
from moorage.client.protocol import Object, Raw
from moorage.model.types.pod import Pod
from moorage.schedule.actions import FAILED_SCHEDULING


class Recorder(Protocol):
    """Where events go. `by` is the profile; references are raw; `kind` is Normal or Warning."""

    def report(
        self, regarding: Raw, kind: str, reason: str, action: str, note: str, related: Raw | None = None, *, by: str
    ) -> None: ...


class Reporter:
    """Reports events. `newest` returns a pod as the watch has it, by its key."""

    def __init__(self, recorder: Recorder, newest: Callable[[str], Object | None]) -> None:
        self._recorder = recorder
        self._newest = newest

    def scheduled(self, key: str, pod: Pod, node: str) -> None:
        note = f"Successfully assigned {key} to {node}"
        regarding = self._reference(key, pod)
        self._recorder.report(regarding, NORMAL, "Scheduled", "Binding", note, by=pod.spec.schedulerName)

    def failed_scheduling(self, key: str, pod: Pod, note: str) -> None:
        regarding = self._reference(key, pod)
        self._recorder.report(regarding, WARNING, FAILED_SCHEDULING, "Scheduling", note, by=pod.spec.schedulerName)

    def preempted(self, key: str, victim: Pod, preemptor_key: str, preemptor: Pod, node: str) -> None:
        note = f"Preempted by pod {preemptor.metadata.uid} on node {node}"
        whom, for_whom = self._reference(key, victim), self._reference(preemptor_key, preemptor)
        by = preemptor.spec.schedulerName
        self._recorder.report(whom, NORMAL, "Preempted", "Preempting", note, for_whom, by=by)

    def _reference(self, key: str, pod: Pod) -> Raw:
        namespace, _, name = key.partition("/")
        uid = pod.metadata.uid
        reference = {"kind": "Pod", "namespace": namespace, "name": name, "uid": uid, "apiVersion": "v1"}
        newest = self._newest(key)
        if newest is not None and newest.uid == uid:
            reference["resourceVersion"] = str(newest.revision)
        return reference
