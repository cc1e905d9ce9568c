"""What a simulated pod does with its life: how long it takes to start, when its containers exit, how long they take to
stop.

In: a pod's view; annotations under `simulate.moorage.dev/` say what differs from the defaults. Out: a `Script`.
Without any annotation a pod runs from the moment it is admitted until it is deleted, and stops at once; pods of Jobs
complete after a second. Kubernetes: KWOK's stages are the nearest thing.
"""

from typing import NamedTuple

from moorage.model.go.durations import DurationError, parse_duration
from moorage.model.types.container import Probe
from moorage.model.types.pod import Pod

START_DELAY = "simulate.moorage.dev/start-delay"
COMPLETES_AFTER = "simulate.moorage.dev/completes-after"
EXIT_CODE = "simulate.moorage.dev/exit-code"
STOP_DELAY = "simulate.moorage.dev/stop-delay"
_JOBS_TAKE = 1.0
_SECOND = 1_000_000_000
_DIGITS, _LONGEST = 3, 40


class Script(NamedTuple):
    """Seconds, and the code that containers exit with. Without `completes_after` the pod runs until it is deleted."""

    start_delay: float = 0.0
    ready_delay: float = 0.0
    completes_after: float | None = None
    exit_code: int = 0
    stop_delay: float = 0.0


def script_of(pod: Pod) -> Script:
    """Annotations that cannot be read count as absent."""
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
        stop_delay=_seconds(annotations.get(STOP_DELAY)) or 0.0,
    )


def _until_ready(pod: Pod) -> float:
    """Until the last container has answered its probes, each of which is asked first after its initial delay."""
    sidecars = (one for one in pod.spec.initContainers if one.restartPolicy == "Always")
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


def _seconds(text: str | None) -> float | None:
    """A duration such as `90s` or `1h30m`, or a plain number of seconds."""
    if not text or not text.isascii() or len(text) > _LONGEST:
        return None
    try:
        return max(0.0, float(text) if text.replace(".", "", 1).isdigit() else parse_duration(text) / _SECOND)
    except (DurationError, ValueError):
        return None
