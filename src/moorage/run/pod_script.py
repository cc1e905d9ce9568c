"""Behaviour of a simulated pod, by annotations under `simulate.moorage.dev/`: delays and exit code.

By default a pod starts at once, runs until it is deleted and stops at once; pods of Jobs complete after a second.
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
    """Delays in seconds, and the exit code. Without `completes_after` the pod runs until it is deleted."""

    start_delay: float = 0.0
    ready_delay: float = 0.0
    completes_after: float | None = None
    exit_code: int = 0
    stop_delay: float = 0.0


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
        stop_delay=_seconds(annotations.get(STOP_DELAY)) or 0.0,
    )


def _until_ready(pod: Pod) -> float:
    """Return the seconds until the last container has passed its probes."""
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
    """Parse a duration such as `90s` or `1h30m`, or a plain number of seconds."""
    if not text or not text.isascii() or len(text) > _LONGEST:
        return None
    try:
        return max(0.0, float(text) if text.replace(".", "", 1).isdigit() else parse_duration(text) / _SECOND)
    except (DurationError, ValueError):
        return None
