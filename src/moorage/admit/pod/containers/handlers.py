"""Probes and lifecycle hooks: exactly one action each, and sensible numbers.

In: a `Probe` or `Lifecycle` of a container, the pod's grace period. Out: field errors. Kubernetes: validateHandler,
validateProbe and the three kinds of probe, validateLifecycle, validateStopSignal.
"""

from moorage.admit.metadata import NOT_NEGATIVE
from moorage.admit.pod.containers.ports import validate_port_number_or_name
from moorage.model.field_error import AsJSON, FieldError, forbidden, invalid, not_supported, required
from moorage.model.names import http_header_name_errors
from moorage.model.types.container import ExecAction, HTTPGetAction, Lifecycle, LifecycleHandler, Probe, SleepAction
from moorage.model.types.pod import PodOS

_SEVERAL = "may not specify more than 1 handler type"
_SCHEMES = ("HTTP", "HTTPS")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_SIGNALS_FOR_WINDOWS = ("SIGKILL", "SIGTERM")
_SIGNALS_FOR_LINUX = tuple(
    sorted(
        [
            *(
                f"SIG{name}"
                for name in [
                    "ABRT",
                    "ALRM",
                    "BUS",
                    "CHLD",
                    "CLD",
                    "CONT",
                    "FPE",
                    "HUP",
                    "ILL",
                    "INT",
                    "IO",
                    "IOT",
                    "KILL",
                    "PIPE",
                    "POLL",
                    "PROF",
                    "PWR",
                    "QUIT",
                    "SEGV",
                    "STKFLT",
                    "STOP",
                    "SYS",
                    "TERM",
                    "TRAP",
                    "TSTP",
                    "TTIN",
                    "TTOU",
                    "URG",
                    "USR1",
                    "USR2",
                    "VTALRM",
                    "WINCH",
                    "XCPU",
                    "XFSZ",
                    "RTMIN",
                    "RTMAX",
                ]
            ),
            *(f"SIGRTMIN+{number}" for number in range(1, 16)),
            *(f"SIGRTMAX-{number}" for number in range(1, 15)),
        ]
    )
)


def validate_liveness_or_startup_probe(probe: Probe, path: str) -> list[FieldError]:
    errors = _validate_probe(probe, path)
    if probe.successThreshold != 1:
        errors.append(invalid(f"{path}.successThreshold", probe.successThreshold, "must be 1"))
    return errors


def validate_readiness_probe(probe: Probe, path: str) -> list[FieldError]:
    errors = _validate_probe(probe, path)
    if probe.terminationGracePeriodSeconds is not None:
        seconds_path = f"{path}.terminationGracePeriodSeconds"
        errors.append(invalid(seconds_path, probe.terminationGracePeriodSeconds, "must not be set for readinessProbes"))
    return errors


def _validate_probe(probe: Probe, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    actions = 0
    if probe.exec is not None:
        actions += 1
        errors += _validate_exec(probe.exec, f"{path}.exec")
    if probe.httpGet is not None:
        errors += (
            [forbidden(f"{path}.httpGet", _SEVERAL)]
            if actions
            else _validate_http_get(probe.httpGet, f"{path}.httpGet")
        )
        actions += 1
    if probe.tcpSocket is not None:
        errors += (
            [forbidden(f"{path}.tcpSocket", _SEVERAL)]
            if actions
            else validate_port_number_or_name(probe.tcpSocket.port, f"{path}.tcpSocket.port")
        )
        actions += 1
    if probe.grpc is not None:
        errors += (
            [forbidden(f"{path}.grpc", _SEVERAL)]
            if actions
            else validate_port_number_or_name(probe.grpc.port, f"{path}.grpc.port")
        )
        actions += 1
    if not actions:
        errors.append(required(path, "must specify a handler type"))
    counts = [getattr(probe, name) for name in _COUNTS]
    if min(counts) < 0:
        named = zip(_COUNTS, counts, strict=True)
        errors += [invalid(f"{path}.{name}", count, NOT_NEGATIVE) for name, count in named if count < 0]
    seconds = probe.terminationGracePeriodSeconds
    if seconds is not None and seconds <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    return errors


def validate_lifecycle(lifecycle: Lifecycle, path: str, grace_period: int | None, os: PodOS | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if lifecycle.postStart is not None:
        errors += _validate_hook(lifecycle.postStart, f"{path}.postStart", grace_period)
    if lifecycle.preStop is not None:
        errors += _validate_hook(lifecycle.preStop, f"{path}.preStop", grace_period)
    if lifecycle.stopSignal is not None:
        errors += _validate_stop_signal(lifecycle.stopSignal, f"{path}.stopSignal", os)
    return errors


def _validate_hook(hook: LifecycleHandler, path: str, grace_period: int | None) -> list[FieldError]:
    errors: list[FieldError] = []
    actions = 0
    if hook.exec is not None:
        actions += 1
        errors += _validate_exec(hook.exec, f"{path}.exec")
    if hook.httpGet is not None:
        errors += (
            [forbidden(f"{path}.httpGet", _SEVERAL)] if actions else _validate_http_get(hook.httpGet, f"{path}.httpGet")
        )
        actions += 1
    if hook.tcpSocket is not None:
        errors += (
            [forbidden(f"{path}.tcpSocket", _SEVERAL)]
            if actions
            else validate_port_number_or_name(hook.tcpSocket.port, f"{path}.tcpSocket.port")
        )
        actions += 1
    if hook.sleep is not None:
        errors += (
            [forbidden(f"{path}.sleep", _SEVERAL)]
            if actions
            else _validate_sleep(hook.sleep, f"{path}.sleep", grace_period)
        )
        actions += 1
    if not actions:
        errors.append(required(path, "must specify a handler type"))
    return errors


def _validate_exec(action: ExecAction, path: str) -> list[FieldError]:
    return [] if action.command else [required(f"{path}.command")]


def _validate_http_get(action: HTTPGetAction, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if not action.path:
        errors.append(required(f"{path}.path"))
    errors += validate_port_number_or_name(action.port, f"{path}.port")
    if action.scheme not in _SCHEMES:
        errors.append(not_supported(f"{path}.scheme", AsJSON(action.scheme), _SCHEMES))
    for header in action.httpHeaders:
        errors += [
            invalid(f"{path}.httpHeaders", header.name, message) for message in http_header_name_errors(header.name)
        ]
    return errors


def _validate_sleep(action: SleepAction, path: str, grace_period: int | None) -> list[FieldError]:
    if grace_period is None or 0 <= action.seconds <= grace_period:
        return []
    detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
    return [invalid(path, action.seconds, detail)]


def _validate_stop_signal(signal: str, path: str, os: PodOS | None) -> list[FieldError]:
    if os is None:
        return [forbidden(path, "may not be set for containers with empty `spec.os.name`")]
    if os.name == "windows" and signal not in _SIGNALS_FOR_WINDOWS:
        return [not_supported(path, AsJSON(signal), _SIGNALS_FOR_WINDOWS)]
    if os.name == "linux" and signal not in _SIGNALS_FOR_LINUX:
        return [not_supported(path, AsJSON(signal), _SIGNALS_FOR_LINUX)]
    return []
