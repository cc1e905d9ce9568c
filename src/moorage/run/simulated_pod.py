"""One pod on a simulated node: which stage of its life it is in, and when the next one is due.

In: the pod, as it arrives or is found after a restart. Out: a `SimulatedPod`, which knows the next step, its time, and
what its containers are doing. Time is an argument. Kubernetes: a pod worker of pkg/kubelet, and the back-off of
client-go's util/flowcontrol.
"""

from datetime import datetime
from enum import Enum, auto
from typing import Any

from moorage.model.types.pod import Pod
from moorage.run import pod_status as lifecycle
from moorage.run.pod_script import Script, script_of
from moorage.run.pod_status import Doing

Raw = dict[str, Any]

NEVER = float("inf")
FINISHED = frozenset({"Succeeded", "Failed"})
FIRST_BACKOFF, MAX_BACKOFF = 10, 300
#: Containers that ran for so long are started again at once, as if they had never failed.
_GOOD_RUN = 2 * MAX_BACKOFF
TERMINATED, KILLED = 128 + 15, 128 + 9


class Stage(Enum):
    """Where a pod is. OVER: it uses nothing any more. REMOVED: its deletion was asked for."""

    STARTING = auto()
    RUNNING = auto()
    BACKING_OFF = auto()
    STOPPING = auto()
    OVER = auto()
    REMOVED = auto()


class Step(Enum):
    """What comes next in a pod's life."""

    OVERDUE = auto()
    EXIT = auto()
    GET_READY = auto()
    START = auto()
    REMOVE = auto()
    NOTHING = auto()


class SimulatedPod:
    """See the module. `version` tells a planned step from one that was planned before something else happened."""

    __slots__ = (
        "address",
        "at",
        "backoff",
        "began",
        "counted",
        "is_ready",
        "last",
        "pod",
        "restarts",
        "script",
        "since",
        "stage",
        "version",
    )

    def __init__(self, pod: Pod, stage: Stage, now: float, address: str = "") -> None:
        self.pod, self.stage, self.address = pod, stage, address
        self.script: Script = script_of(pod)
        self.began = self.since = now  # when the pod came here, and when its containers were started last
        self.at = NEVER  # when containers start again, or have stopped
        self.counted: Pod | None = None  # as which the pod counts against its node
        self.is_ready = False
        self.restarts = self.backoff = self.version = 0
        self.last: Raw | None = None

    def next_step(self) -> tuple[float, Step]:
        """When it is due and what it is; the first of several."""
        if self.stage is Stage.STOPPING:
            return self.at, Step.REMOVE
        if self.stage in (Stage.OVER, Stage.REMOVED):
            return NEVER, Step.NOTHING
        if self.stage is Stage.RUNNING:
            ready = NEVER if self.is_ready else self.since + self.script.ready_delay
            after = self.script.completes_after
            exits = NEVER if after is None else self.since + after
            due, step = (exits, Step.EXIT) if exits <= ready else (ready, Step.GET_READY)
        else:
            due, step = self.at, Step.START
        deadline = self.pod.spec.activeDeadlineSeconds
        if deadline is not None and self.began + deadline <= due:
            return self.began + deadline, Step.OVERDUE
        return due, step

    # -- what happens -------------------------------------------------------------------------------------------------

    def start(self, now: float) -> None:
        self.stage, self.since, self.at = Stage.RUNNING, now, NEVER
        self.is_ready = not self.script.ready_delay

    def restarts_after_exit(self) -> bool:
        policy = self.pod.spec.restartPolicy
        return policy == "Always" or (policy == "OnFailure" and self.script.exit_code != 0)

    def exit(self, now: float) -> bool:
        """The containers have exited and will be started again: whether at once, or after they have waited."""
        self.last = lifecycle.exited(self.since, now, self.script.exit_code)
        self.is_ready = False
        at_once = not self.backoff or now - self.since >= _GOOD_RUN
        if at_once:
            self.backoff = FIRST_BACKOFF
            self.restarts += 1
            self.start(now)
            return True
        self.stage, self.at = Stage.BACKING_OFF, now + self.backoff
        return False

    def start_again(self, now: float) -> None:
        self.backoff = min(self.backoff * 2, MAX_BACKOFF)
        self.restarts += 1
        self.start(now)

    def stop(self, now: float) -> None:
        """The pod is to go; asked again, it may be given less time than before."""
        grace = self.pod.metadata.deletionGracePeriodSeconds
        takes = self.script.stop_delay if grace is None else min(self.script.stop_delay, grace)
        self.at = now + takes if self.stage is not Stage.STOPPING else min(self.at, now + takes)
        self.stage, self.is_ready = Stage.STOPPING, False

    def follow(self, pod: Pod) -> None:
        """Somebody has annotated the pod: from now on it does what that says."""
        self.script = script_of(pod)
        if self.stage is Stage.STARTING:
            self.at = self.began + self.script.start_delay

    # -- what there is to say -----------------------------------------------------------------------------------------

    def doing(self) -> Doing:
        """As long as the pod is not over."""
        state, phase = lifecycle.running(self.since), "Running"
        if self.stage is Stage.STARTING:
            state, phase = lifecycle.creating(), "Pending"
        elif self.stage is Stage.BACKING_OFF:
            state = lifecycle.backing_off(self.backoff)
        return Doing(phase, state, self.began, self.is_ready, self.restarts, self.last)

    def ended(self, now: float, code: int, reason: tuple[str, str] = ("", "")) -> Doing:
        """All containers have exited for good."""
        phase = "Failed" if code or reason[0] else "Succeeded"
        terminated = lifecycle.exited(self.since, now, code)
        if self.stage is Stage.STARTING:
            return Doing(phase, lifecycle.creating(), self.began, reason=reason)
        if self.stage is Stage.BACKING_OFF and self.last is not None:
            terminated = self.last
        return Doing(phase, {"terminated": terminated}, self.began, False, self.restarts, self.last, reason)

    def stopped(self, now: float) -> Doing:
        """The containers were told to stop, and did, or were killed when their time was up."""
        grace = self.pod.metadata.deletionGracePeriodSeconds
        return self.ended(now, TERMINATED if grace is None or grace >= self.script.stop_delay else KILLED)


def life_found(pod: Pod, now: float) -> SimulatedPod:
    """A pod that runs, and did so before this process began: it goes on where it was."""
    status = pod.status
    life = SimulatedPod(pod, Stage.RUNNING, now, status.podIP)
    life.began = life.since = _seconds(status.startTime, now)
    life.is_ready = any(one.type == "ContainersReady" and one.status == "True" for one in status.conditions)
    if not status.containerStatuses:
        return life
    container = status.containerStatuses[0]
    life.restarts = container.restartCount
    if life.restarts:
        life.backoff = min(FIRST_BACKOFF << min(life.restarts - 1, 10), MAX_BACKOFF)
    ended = container.lastState.terminated
    if ended is not None:
        life.last = lifecycle.exited(_seconds(ended.startedAt, now), _seconds(ended.finishedAt, now), ended.exitCode)
    if container.state.running is not None:
        life.since = _seconds(container.state.running.startedAt, life.since)
    elif container.state.waiting is not None and ended is not None:
        life.stage, life.at = Stage.BACKING_OFF, _seconds(ended.finishedAt, now) + life.backoff
    return life


def _seconds(text: str | None, otherwise: float) -> float:
    """The time of day that a status says, if it says one that can be read."""
    if not text:
        return otherwise
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return otherwise
