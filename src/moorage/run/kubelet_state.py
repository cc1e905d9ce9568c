"""Many kubelets as one state machine: nodes and pods come and go, and at its time each pod takes its next step.

In: events (nodes and pods that came, changed, went), with the time. Out: `Action`s that are due: a status to write, a
pod to remove, something to report. It never waits for an answer: what the API server says comes back as an event. A
pod that is found running, after a restart of this process, goes on where it was. Kubernetes: the pod workers of
pkg/kubelet. Next: `kubelets`, which carries actions out.
"""

import heapq
from datetime import datetime
from enum import Enum, auto
from itertools import count
from typing import Any, NamedTuple

from moorage.model.gates import GateSet
from moorage.model.node import Node
from moorage.model.pod import Pod
from moorage.run import pod_lifecycle as lifecycle
from moorage.run.admission import Load, refuse_pod
from moorage.run.node_objects import host_address, pod_address
from moorage.run.pod_script import Script, script_of

Raw = dict[str, Any]

_FINISHED = frozenset({"Succeeded", "Failed"})
_FIRST_BACKOFF, _MOST_BACKOFF = 10, 300


class WriteStatus(NamedTuple):
    """Write this into the pod's status, if it is still the same pod."""

    key: str
    uid: str
    status: Raw


class Remove(NamedTuple):
    """The pod has stopped: it need not be there any longer."""

    key: str
    uid: str


class Report(NamedTuple):
    """Tell of it in an event."""

    pod: Pod
    kind: str
    reason: str
    message: str


Action = WriteStatus | Remove | Report


class _Stage(Enum):
    STARTING = auto()
    GETTING_READY = auto()
    RUNNING = auto()
    BACKING_OFF = auto()
    STOPPING = auto()
    OVER = auto()


class _Life:
    """A pod on a simulated node. `step` tells a planned step from one that was planned before something happened."""

    __slots__ = ("address", "last", "pod", "restarts", "script", "since", "stage", "step")

    def __init__(self, pod: Pod, stage: _Stage, since: float, address: str) -> None:
        self.pod, self.stage, self.since, self.address = pod, stage, since, address
        self.script: Script = script_of(pod)
        self.restarts, self.step = 0, 0
        self.last: Raw | None = None


class KubeletState:
    """See the module. `due` gives what is to be done by now; `next_time` says when there is more."""

    def __init__(self, gates: GateSet) -> None:
        self._gates = gates
        self._nodes: dict[str, Node] = {}
        self._loads: dict[str, Load] = {}
        self._lives: dict[str, _Life] = {}
        self._homeless: dict[str, dict[str, Pod]] = {}
        self._planned: list[tuple[float, int, str, int]] = []
        self._numbers = count()
        self._addresses = count(1)
        self._reports: list[Action] = []

    @property
    def nodes(self) -> dict[str, Node]:
        return self._nodes

    # -- what happens -------------------------------------------------------------------------------------------------

    def node_changed(self, node: Node, now: float) -> None:
        name = node.metadata.name
        is_new = name not in self._nodes
        self._nodes[name] = node
        if is_new:
            self._loads[name] = Load()
            for key, pod in self._homeless.pop(name, {}).items():
                self.pod_changed(key, pod, now)

    def node_gone(self, name: str) -> None:
        """Its pods stay as they are: whether they are lost is for others to say."""
        self._nodes.pop(name, None)
        self._loads.pop(name, None)
        for key in [key for key, life in self._lives.items() if life.pod.spec.nodeName == name]:
            del self._lives[key]

    def pod_changed(self, key: str, pod: Pod, now: float) -> None:
        node = pod.spec.nodeName
        if not node:
            return
        if node not in self._nodes:
            self._homeless.setdefault(node, {})[key] = pod
            return
        life = self._lives.get(key)
        if life is not None and life.pod.metadata.uid == pod.metadata.uid:
            self._seen_again(key, life, pod, now)
            return
        if life is not None:
            self.pod_gone(key)
        self._arrived(key, pod, now)

    def pod_gone(self, key: str) -> None:
        for waiting in self._homeless.values():
            if waiting.pop(key, None) is not None:
                return
        life = self._lives.pop(key, None)
        if life is not None:
            self._release(life)

    # -- what is to be done -------------------------------------------------------------------------------------------

    def next_time(self) -> float:
        """When the next step is due; infinity if nothing is planned."""
        if self._reports:
            return 0.0
        return self._planned[0][0] if self._planned else float("inf")

    def due(self, now: float) -> list[Action]:
        actions, self._reports = self._reports, []
        while self._planned and self._planned[0][0] <= now:
            _, _, key, step = heapq.heappop(self._planned)
            life = self._lives.get(key)
            if life is not None and life.step == step:
                actions += self._take_step(key, life, now)
        return actions

    # -- how pods live ------------------------------------------------------------------------------------------------

    def _arrived(self, key: str, pod: Pod, now: float) -> None:
        name = pod.spec.nodeName
        if pod.status.phase in _FINISHED:
            self._lives[key] = life = _Life(pod, _Stage.OVER, now, "")
            self._seen_again(key, life, pod, now)
            return
        load = self._loads[name]
        if pod.status.phase != "Running" and pod.metadata.deletionTimestamp is None:
            refusal = refuse_pod(pod, self._nodes[name], load, self._gates)
            if refusal is not None:
                self._lives[key] = _Life(pod, _Stage.OVER, now, "")
                self._reports.append(Report(pod, "Warning", refusal.reason, refusal.message))
                status = lifecycle.rejected_status(refusal, now)
                self._reports.append(WriteStatus(key, pod.metadata.uid, status))
                return
        load.add(pod)
        started = pod.status.startTime
        runs = pod.status.phase == "Running"
        since = _seconds(started) if runs and started else now
        address = pod.status.podIP or pod_address(next(self._addresses))
        life = self._lives[key] = _Life(pod, _Stage.RUNNING if runs else _Stage.STARTING, since, address)
        if pod.metadata.deletionTimestamp is not None:
            self._stop(key, life, now)
        elif runs:
            self._plan_end(key, life)
        else:
            self._plan(key, life, now + life.script.start_delay)

    def _seen_again(self, key: str, life: _Life, pod: Pod, now: float) -> None:
        life.pod = pod
        if pod.status.phase in _FINISHED and life.stage is not _Stage.OVER:
            self._end(life)
        if pod.metadata.deletionTimestamp is not None and life.stage is not _Stage.STOPPING:
            self._stop(key, life, now)

    def _stop(self, key: str, life: _Life, now: float) -> None:
        grace = life.pod.metadata.deletionGracePeriodSeconds
        takes = 0.0 if life.stage is _Stage.OVER else life.script.stop_delay
        life.stage = _Stage.STOPPING if life.stage is not _Stage.OVER else _Stage.OVER
        if life.stage is _Stage.STOPPING:
            self._reports.extend(
                Report(life.pod, "Normal", "Killing", f"Stopping container {container.name}")
                for container in life.pod.spec.containers
            )
        self._plan(key, life, now + (min(takes, grace) if grace is not None else takes))

    def _take_step(self, key: str, life: _Life, now: float) -> list[Action]:
        pod, uid = life.pod, life.pod.metadata.uid
        if pod.metadata.deletionTimestamp is not None:
            return [Remove(key, uid)]
        if life.stage in (_Stage.STARTING, _Stage.BACKING_OFF):
            return self._start(key, life, now)
        if life.stage is _Stage.GETTING_READY:
            life.stage = _Stage.RUNNING
            self._plan_end(key, life)
            return [WriteStatus(key, uid, self._running(life, is_ready=True))]
        if life.stage is _Stage.RUNNING:
            return self._exit(key, life, now)
        return []

    def _start(self, key: str, life: _Life, now: float) -> list[Action]:
        life.since = now
        is_ready = not life.script.ready_delay
        life.stage = _Stage.RUNNING if is_ready else _Stage.GETTING_READY
        if is_ready:
            self._plan_end(key, life)
        else:
            self._plan(key, life, now + life.script.ready_delay)
        reports: list[Action] = [
            Report(life.pod, "Normal", "Started", f"Started container {container.name}")
            for container in life.pod.spec.containers
        ]
        return [WriteStatus(key, life.pod.metadata.uid, self._running(life, is_ready=is_ready)), *reports]

    def _exit(self, key: str, life: _Life, now: float) -> list[Action]:
        pod, script, uid = life.pod, life.script, life.pod.metadata.uid
        deadline = pod.spec.activeDeadlineSeconds
        if deadline is not None and now >= life.since + deadline:
            self._end(life)
            return [WriteStatus(key, uid, lifecycle.overdue_status(pod, now))]
        policy = pod.spec.restartPolicy
        if policy == "Always" or (policy == "OnFailure" and script.exit_code):
            life.last = lifecycle.exited(life.since, now, script.exit_code)
            life.restarts += 1
            life.stage = _Stage.BACKING_OFF
            seconds = min(_MOST_BACKOFF, _FIRST_BACKOFF << min(life.restarts - 1, 10))
            self._plan(key, life, now + seconds)
            host = self._host(life)
            status = lifecycle.waiting_status(pod, host, life.address, now, life.last, life.restarts, seconds)
            return [WriteStatus(key, uid, status), Report(pod, "Warning", "BackOff", _backing_off(pod))]
        self._end(life)
        return [WriteStatus(key, uid, lifecycle.finished_status(pod, life.since, now, script, life.restarts))]

    def _running(self, life: _Life, *, is_ready: bool) -> Raw:
        return lifecycle.running_status(
            life.pod,
            self._host(life),
            life.address,
            life.since,
            is_ready=is_ready,
            restarts=life.restarts,
            last=life.last,
        )

    def _plan_end(self, key: str, life: _Life) -> None:
        """When the containers exit or the pod's time is up, whichever is first."""
        ends = [life.script.completes_after, life.pod.spec.activeDeadlineSeconds]
        if ends := [seconds for seconds in ends if seconds is not None]:
            self._plan(key, life, life.since + min(ends))

    def _plan(self, key: str, life: _Life, at: float) -> None:
        life.step += 1
        heapq.heappush(self._planned, (at, next(self._numbers), key, life.step))

    def _end(self, life: _Life) -> None:
        """It uses nothing any more, and what was planned for it is void."""
        self._release(life)
        life.stage = _Stage.OVER
        life.step += 1

    def _release(self, life: _Life) -> None:
        load = self._loads.get(life.pod.spec.nodeName)
        if load is not None and life.stage is not _Stage.OVER:
            load.remove(life.pod)

    def _host(self, life: _Life) -> str:
        return host_address(self._nodes.get(life.pod.spec.nodeName))


def _backing_off(pod: Pod) -> str:
    names = ", ".join(container.name for container in pod.spec.containers)
    return f"Back-off restarting failed container {names} in pod {pod.metadata.name}_{pod.metadata.namespace}"


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
