"""Follow the life cycle of one simulated pod: stage, next step and its time. Kubernetes: a pod worker of pkg/kubelet.

Annotations under `simulate.moorage.dev/` set delays and the exit code. By default a pod starts at once, runs until it
is deleted and stops at once; pods of Jobs complete after a second.
"""

from enum import Enum, auto
from typing import Any, NamedTuple

from moorage.model.go.times import DurationError, parse_duration, seconds_of
from moorage.model.text.readers import reads_text
from moorage.model.types.container import Probe
from moorage.model.types.pod import Pod
from moorage.run import pod_status as lifecycle
from moorage.run import shutdown
from moorage.run.admission import Refusal
from moorage.run.last_result_cache import remember_last
from moorage.run.pod_status import Doing, PodResize

START_DELAY = "simulate.moorage.dev/start-delay"
COMPLETES_AFTER = "simulate.moorage.dev/completes-after"
EXIT_CODE = "simulate.moorage.dev/exit-code"
STOP_DELAY = "simulate.moorage.dev/stop-delay"
_JOBS_TAKE, _STATEFUL_SETS_TAKE = 1.0, 0.5
_SECOND = 1_000_000_000
_DIGITS, _LONGEST = 3, 40


class Script(NamedTuple):
    """Delays in seconds, and the exit code. Without `completes_after` the pod runs until it is deleted."""

    start_delay: float = 0.0
    ready_delay: float = 0.0
    completes_after: float | None = None
    exit_code: int = 0
    stop_delay: float = 0.0


@remember_last("metadata.annotations", "metadata.ownerReferences", "spec.containers", "spec.initContainers")
def script_of(pod: Pod) -> Script:
    """Return the pod's script; malformed annotations count as absent."""
    annotations = pod.metadata.annotations
    completes_after = _seconds(annotations.get(COMPLETES_AFTER))
    if completes_after is None and any(owner.kind == "Job" for owner in pod.metadata.ownerReferences):
        completes_after = _JOBS_TAKE
    code = annotations.get(EXIT_CODE, "")
    reads = code.isascii() and code.isdigit() and len(code) <= _DIGITS
    return Script(
        start_delay=_seconds(annotations.get(START_DELAY)) or 0.0,
        ready_delay=_until_ready(pod),
        completes_after=completes_after,
        exit_code=min(int(code), 255) if reads else 0,
        stop_delay=_until_stopped(pod),
    )


def _until_stopped(pod: Pod) -> float:
    """Return the seconds that containers take to stop.

    A name that a StatefulSet gives again at once would look to `kubectl delete` like a pod that never goes.
    """
    annotated = _seconds(pod.metadata.annotations.get(STOP_DELAY))
    if annotated is None:
        return (
            _STATEFUL_SETS_TAKE if any(owner.kind == "StatefulSet" for owner in pod.metadata.ownerReferences) else 0.0
        )
    return annotated


def _until_ready(pod: Pod) -> float:
    """Return the seconds until the last container has passed its probes."""
    sidecars = (container for container in pod.spec.initContainers if container.is_sidecar)
    return max(
        (
            _until_passed(container.startupProbe) + _until_passed(container.readinessProbe)
            for container in (*pod.spec.containers, *sidecars)
        ),
        default=0.0,
    )


def _until_passed(probe: Probe | None) -> float:
    if probe is None:
        return 0.0
    return float(probe.initialDelaySeconds + max(0, probe.successThreshold - 1) * probe.periodSeconds)


@reads_text("1", "0", ".", "s", "h")
def _seconds(text: str | None) -> float | None:
    """Parse a duration such as `90s` or `1h30m`, or a plain number of seconds."""
    if not text or not text.isascii() or len(text) > _LONGEST:
        return None
    try:
        return max(0.0, float(text) if text.replace(".", "", 1).isdigit() else parse_duration(text) / _SECOND)
    except (DurationError, ValueError):
        return None


Raw = dict[str, Any]

NEVER = float("inf")
FIRST_BACKOFF, MAX_BACKOFF = 10, 300
#: Seconds of running after which the back-off is reset.
_GOOD_RUN = 2 * MAX_BACKOFF
#: Seconds from the binding until a refusal is in the pod's status: the kubelet's watch, its sync loop and the queue of
#: its status manager. A workload that replaces refused pods is as fast as that, instead of as fast as this machine.
REFUSAL_DELAY = 1.0
TERMINATED, KILLED = 128 + 15, 128 + 9


class PodStage(Enum):
    """PodStage of a pod. REFUSED: its status is about to say so. OVER: it has released its resources.

    REMOVED: its deletion was requested. SHUTTING_DOWN: its node shuts down, and its containers stop.
    """

    REFUSED = auto()
    STARTING = auto()
    RUNNING = auto()
    BACKING_OFF = auto()
    STOPPING = auto()
    SHUTTING_DOWN = auto()
    OVER = auto()
    REMOVED = auto()


class PodStep(Enum):
    """What comes next in a pod's life."""

    REFUSE = auto()
    OVERDUE = auto()
    EXIT = auto()
    GET_READY = auto()
    START = auto()
    REMOVE = auto()
    SHUT_DOWN = auto()
    NOTHING = auto()


class SimulatedPod:
    """One pod. `version` invalidates steps planned before the last change."""

    __slots__ = (
        "address",
        "at",
        "backoff",
        "began",
        "counted",
        "found",
        "grace",
        "is_ready",
        "last",
        "pod",
        "refusal",
        "resize",
        "restarts",
        "script",
        "since",
        "stage",
        "version",
    )

    def __init__(self, pod: Pod, stage: PodStage, now: float, address: str = "") -> None:
        self.pod, self.stage, self.address = pod, stage, address
        self.script: Script = script_of(pod)
        self.began = self.since = now  # when the pod arrived, and when its containers started last
        self.at = NEVER  # when containers start again or have stopped
        self.counted: Pod | None = None  # the pod as counted in the node's load
        self.refusal: Refusal | None = None  # why the kubelet does not take the pod
        self.resize: PodResize | None = None  # what the containers have, if the pod was resized
        self.found, self.grace = stage, 0  # what a shutdown of the node found, and the seconds it gives
        self.is_ready = False
        self.restarts = self.backoff = self.version = 0
        self.last: Raw | None = None

    def next_step(self) -> tuple[float, PodStep]:
        """Return the next step and when it is due."""
        stage = self.stage
        if stage is PodStage.RUNNING:
            ready = NEVER if self.is_ready else self.since + self.script.ready_delay
            after = self.script.completes_after
            exits = NEVER if after is None else self.since + after
            due, step = (exits, PodStep.EXIT) if exits <= ready else (ready, PodStep.GET_READY)
        elif stage is PodStage.STOPPING:
            return self.at, PodStep.REMOVE
        elif stage is PodStage.SHUTTING_DOWN:
            return self.at, PodStep.SHUT_DOWN
        elif stage is PodStage.REFUSED:
            return self.at, PodStep.REFUSE
        elif stage is PodStage.OVER or stage is PodStage.REMOVED:
            return NEVER, PodStep.NOTHING
        else:
            due, step = self.at, PodStep.START
        deadline = self.pod.spec.activeDeadlineSeconds
        if deadline is not None and self.began + deadline <= due:
            return self.began + deadline, PodStep.OVERDUE
        return due, step

    def refuse(self, refusal: Refusal, now: float) -> None:
        """Have the pod's status say so after the time that this takes a kubelet."""
        self.stage, self.refusal, self.at = PodStage.REFUSED, refusal, now + REFUSAL_DELAY

    def start(self, now: float) -> None:
        self.stage, self.since, self.at = PodStage.RUNNING, now, NEVER
        self.is_ready = not self.script.ready_delay

    def restarts_after_exit(self) -> bool:
        policy = self.pod.spec.restartPolicy
        return policy == "Always" or (policy == "OnFailure" and self.script.exit_code != 0)

    def exit(self, now: float) -> bool:
        """Record that the containers exited; return whether they restart at once or after a back-off."""
        self.last = lifecycle.exited(self.since, now, self.script.exit_code)
        self.is_ready = False
        at_once = not self.backoff or now - self.since >= _GOOD_RUN
        if at_once:
            self.backoff = FIRST_BACKOFF
            self.restarts += 1
            self.start(now)
            return True
        self.stage, self.at = PodStage.BACKING_OFF, now + self.backoff
        return False

    def start_again(self, now: float) -> None:
        self.backoff = min(self.backoff * 2, MAX_BACKOFF)
        self.restarts += 1
        self.start(now)

    def stop(self, now: float) -> None:
        """Begin to stop; a second request may shorten the grace period."""
        grace = self.pod.metadata.deletionGracePeriodSeconds
        takes = self.script.stop_delay if grace is None else min(self.script.stop_delay, grace)
        self.at = now + takes if self.stage is not PodStage.STOPPING else min(self.at, now + takes)
        self.stage, self.is_ready = PodStage.STOPPING, False

    @property
    def is_active(self) -> bool:
        """Whether the kubelet has taken the pod, and it has not ended."""
        return self.stage not in (PodStage.REFUSED, PodStage.OVER, PodStage.REMOVED)

    def shut_down(self, now: float, seconds: int) -> None:
        """Begin to stop because the node shuts down; a pod that is stopping already goes on."""
        if self.stage in (PodStage.STOPPING, PodStage.SHUTTING_DOWN):
            return
        own = self.pod.spec.terminationGracePeriodSeconds
        self.grace = seconds if own is None else min(seconds, own)
        self.at = now + (min(self.script.stop_delay, self.grace) if self.stage is not PodStage.STARTING else 0.0)
        self.found, self.stage, self.is_ready = self.stage, PodStage.SHUTTING_DOWN, False

    def shut_down_state(self, now: float) -> Doing:
        """Return the final state of a pod whose node shuts down."""
        self.stage = self.found
        return self.ended(now, TERMINATED if self.grace >= self.script.stop_delay else KILLED, shutdown.TERMINATED)

    def follow(self, pod: Pod) -> None:
        """Apply changed annotations."""
        self.script = script_of(pod)
        if self.stage is PodStage.STARTING:
            self.at = self.began + self.script.start_delay

    def doing(self) -> Doing:
        """Return what the containers do while the pod is not finished."""
        state, phase = lifecycle.running(self.since), "Running"
        if self.stage is PodStage.STARTING:
            state, phase = lifecycle.creating(), "Pending"
        elif self.stage is PodStage.BACKING_OFF:
            state = lifecycle.backing_off(self.backoff)
        return Doing(phase, state, self.began, self.is_ready, self.restarts, self.last)

    def ended(self, now: float, code: int, reason: tuple[str, str] = ("", "")) -> Doing:
        """Return the final state of all containers."""
        phase = "Failed" if code or reason[0] else "Succeeded"
        terminated = lifecycle.exited(self.since, now, code)
        if self.stage is PodStage.STARTING:
            return Doing(phase, lifecycle.creating(), self.began, reason=reason)
        if self.stage is PodStage.BACKING_OFF and self.last is not None:
            terminated = self.last
        return Doing(phase, {"terminated": terminated}, self.began, False, self.restarts, self.last, reason)

    def stopped(self, now: float) -> Doing:
        """Return the final state after deletion: terminated, or killed at the end of the grace period."""
        grace = self.pod.metadata.deletionGracePeriodSeconds
        return self.ended(now, TERMINATED if grace is None or grace >= self.script.stop_delay else KILLED)


def life_found(pod: Pod, now: float) -> SimulatedPod:
    """Continue a pod that was running before this process started."""
    status = pod.status
    life = SimulatedPod(pod, PodStage.RUNNING, now, status.podIP)
    life.began = life.since = seconds_of(status.startTime) or now
    life.is_ready = any(
        condition.type == "ContainersReady" and condition.status == "True" for condition in status.conditions
    )
    if not status.containerStatuses:
        return life
    container = status.containerStatuses[0]
    life.restarts = container.restartCount
    if life.restarts:
        life.backoff = min(FIRST_BACKOFF << min(life.restarts - 1, 10), MAX_BACKOFF)
    ended = container.lastState.terminated
    if ended is not None:
        life.last = lifecycle.exited(
            seconds_of(ended.startedAt) or now, seconds_of(ended.finishedAt) or now, ended.exitCode
        )
    if container.state.running is not None:
        life.since = seconds_of(container.state.running.startedAt) or life.since
    elif container.state.waiting is not None and ended is not None:
        life.stage, life.at = PodStage.BACKING_OFF, (seconds_of(ended.finishedAt) or now) + life.backoff
    return life
