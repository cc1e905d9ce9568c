"""The events that the scheduler reports, with Kubernetes' words.

In: what happened to which pod. Out: calls of a recorder, under the name of the pod's profile. References say what the
pod was like: a pod whose condition has changed since gets an event of its own, with the new text, and what only happens
again is counted. Kubernetes: schedule_one.go, framework/preemption and profile.go.
"""

from collections.abc import Callable
from typing import Protocol

from moorage.client.events.recorders import NORMAL, WARNING
from moorage.client.protocol import Object, Raw
from moorage.model.types.pod import Pod
from moorage.schedule.actions import FAILED_SCHEDULING


class Recorder(Protocol):
    """Where events go. `by` is the profile; references are raw; `kind` is Normal or Warning, `action` what was done."""

    def report(
        self, regarding: Raw, kind: str, reason: str, action: str, note: str, related: Raw | None = None, *, by: str
    ) -> None: ...


class Reporter:
    """See the module. `newest` is how the watch has a pod, by its key."""

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
