"""Validate probes, lifecycle hooks and container ports, host ports that collide included.

Kubernetes: validateHandler, validateProbe, validateLifecycle, validateStopSignal, validateContainerPorts,
checkHostPortConflicts, validatePodHostNetworkDeps.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from moorage.admit.metadata import NOT_NEGATIVE, remember
from moorage.model import field_error as field
from moorage.model.field_error import FieldError, FieldErrors
from moorage.model.names import http_header_name_errors, port_name_errors, port_number_errors
from moorage.model.types import container as views
from moorage.model.types.pod import PodOS

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MUST_MATCH = "must match `containerPort` when `hostNetwork` is true"


_port_name_errors = remember(port_name_errors)


def validate_container_ports(ports: tuple[views.ContainerPort, ...], path: str) -> FieldErrors:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if port.name:
            if messages := _port_name_errors(port.name):
                yield from [field.invalid(f"{at}.name", port.name, message) for message in messages]
            elif port.name in names:
                yield field.duplicate(f"{at}.name", port.name)
            else:
                names.add(port.name)
        if port.containerPort == 0:
            yield field.required(f"{at}.containerPort")
        elif not 1 <= port.containerPort <= 65535:
            yield from validate_port_number(port.containerPort, f"{at}.containerPort")
        if port.hostPort != 0:
            yield from validate_port_number(port.hostPort, f"{at}.hostPort")
        yield from field.required_one_of(port.protocol, _PROTOCOLS, f"{at}.protocol")


def validate_port_number(number: int, path: str) -> list[FieldError]:
    if 1 <= number <= 65535:
        return []
    return [field.invalid(path, number, message) for message in port_number_errors(number)]


def validate_port_number_or_name(port: int | str, path: str) -> list[FieldError]:
    if isinstance(port, str):
        return [field.invalid(path, port, message) for message in _port_name_errors(port)]
    return validate_port_number(port, path)


def validate_host_port_conflicts(containers: Sequence[views.Container], path: str) -> FieldErrors:
    """Two ports may not ask for the same protocol, address and number of the host."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for port_index, port in enumerate(container.ports):
            if port.hostPort == 0:
                continue
            wanted = f"{port.protocol}/{port.hostIP}/{port.hostPort}"
            if wanted in taken:
                yield field.duplicate(f"{path}[{index}].ports[{port_index}].hostPort", wanted)
            taken.add(wanted)


def validate_host_network_ports(
    containers: tuple[views.Container, ...], path: str, *, resource_is_pod: bool
) -> list[FieldError]:
    """With the host's network a port is the host's port; a template may leave that to defaulting."""
    return [
        field.invalid(f"{path}[{index}].ports[{port_index}].hostPort", port.hostPort, _MUST_MATCH)
        for index, container in enumerate(containers)
        for port_index, port in enumerate(container.ports)
        if (resource_is_pod or port.hostPort != 0) and port.hostPort != port.containerPort
    ]


_SEVERAL = "may not specify more than 1 handler type"
_SCHEMES = ("HTTP", "HTTPS")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_SIGNALS_FOR_WINDOWS = ("SIGKILL", "SIGTERM")
_SIGNAL_NAMES = (
    "ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP "
    "SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX"
)
_SIGNALS_FOR_LINUX = tuple(
    sorted(
        [
            *(f"SIG{name}" for name in _SIGNAL_NAMES.split()),
            *(f"SIGRTMIN+{number}" for number in range(1, 16)),
            *(f"SIGRTMAX-{number}" for number in range(1, 15)),
        ]
    )
)


def validate_probe(probe: views.Probe, path: str, *, of_readiness: bool) -> FieldErrors:
    yield from _validate_one_action(probe, path, _PROBE_ACTIONS)
    counts = [getattr(probe, name) for name in _COUNTS]
    if min(counts) < 0:
        named = zip(_COUNTS, counts, strict=True)
        yield from [field.invalid(f"{path}.{name}", count, NOT_NEGATIVE) for name, count in named if count < 0]
    seconds = probe.terminationGracePeriodSeconds
    if seconds is not None and seconds <= 0:
        yield field.invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0")
    if of_readiness and seconds is not None:
        yield field.invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must not be set for readinessProbes")
    elif not of_readiness and probe.successThreshold != 1:
        yield field.invalid(f"{path}.successThreshold", probe.successThreshold, "must be 1")


def validate_lifecycle(
    lifecycle: views.Lifecycle, path: str, grace_period: int | None, os: PodOS | None
) -> FieldErrors:
    if lifecycle.postStart is not None:
        yield from _validate_hook(lifecycle.postStart, f"{path}.postStart", grace_period)
    if lifecycle.preStop is not None:
        yield from _validate_hook(lifecycle.preStop, f"{path}.preStop", grace_period)
    if lifecycle.stopSignal is not None:
        yield from _validate_stop_signal(lifecycle.stopSignal, f"{path}.stopSignal", os)


def _validate_hook(hook: views.LifecycleHandler, path: str, grace_period: int | None) -> FieldErrors:
    validate_sleep = partial(_validate_sleep, grace_period=grace_period)
    return _validate_one_action(hook, path, {**_ACTIONS, "sleep": validate_sleep})


def _validate_one_action(
    handler: views.Probe | views.LifecycleHandler,
    path: str,
    actions: Mapping[str, Callable[[Any, str], FieldErrors]],
) -> FieldErrors:
    given = [name for name in actions if getattr(handler, name) is not None]
    if not given:
        yield field.required(path, "must specify a handler type")
    for name in given[:1]:
        yield from actions[name](getattr(handler, name), f"{path}.{name}")
    for name in given[1:]:
        yield field.forbidden(f"{path}.{name}", _SEVERAL)


def _validate_exec(action: views.ExecAction, path: str) -> list[FieldError]:
    return [] if action.command else [field.required(f"{path}.command")]


def _validate_http_get(action: views.HTTPGetAction, path: str) -> FieldErrors:
    if not action.path:
        yield field.required(f"{path}.path")
    yield from validate_port_number_or_name(action.port, f"{path}.port")
    yield from field.one_of(action.scheme, _SCHEMES, f"{path}.scheme")
    for header in action.httpHeaders:
        for message in http_header_name_errors(header.name):
            yield field.invalid(f"{path}.httpHeaders", header.name, message)


def _validate_port(action: views.TCPSocketAction | views.GRPCAction, path: str) -> list[FieldError]:
    return validate_port_number_or_name(action.port, f"{path}.port")


_ACTIONS: Mapping[str, Callable[[Any, str], FieldErrors]] = {
    "exec": _validate_exec,
    "httpGet": _validate_http_get,
    "tcpSocket": _validate_port,
}
_PROBE_ACTIONS = {**_ACTIONS, "grpc": _validate_port}


def _validate_sleep(action: views.SleepAction, path: str, grace_period: int | None) -> list[FieldError]:
    if grace_period is None or 0 <= action.seconds <= grace_period:
        return []
    detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
    return [field.invalid(path, action.seconds, detail)]


def _validate_stop_signal(signal: str, path: str, os: PodOS | None) -> list[FieldError]:
    if os is None:
        return [field.forbidden(path, "may not be set for containers with empty `spec.os.name`")]
    supported = {"windows": _SIGNALS_FOR_WINDOWS, "linux": _SIGNALS_FOR_LINUX}.get(os.name)
    return [] if supported is None else field.one_of(signal, supported, path)
