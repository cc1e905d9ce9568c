"""Container ports: numbers, names, protocols, and host ports that collide.

In: the ports of one container, or the containers of a pod. Out: field errors. Kubernetes: validateContainerPorts,
checkHostPortConflicts, validatePodHostNetworkDeps, ValidatePortNumOrName.
"""

from collections.abc import Sequence

from moorage.admit.remembered_names import remember
from moorage.model.field_error import AsJSON, FieldError, duplicate, invalid, not_supported, required
from moorage.model.names import port_name_errors, port_number_errors
from moorage.model.types.container import Container, ContainerPort

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MUST_MATCH = "must match `containerPort` when `hostNetwork` is true"


_port_name_errors = remember(port_name_errors)


def validate_container_ports(ports: tuple[ContainerPort, ...], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for index, port in enumerate(ports):
        at = f"{path}[{index}]"
        if port.name:
            if messages := _port_name_errors(port.name):
                errors += [invalid(f"{at}.name", port.name, message) for message in messages]
            elif port.name in names:
                errors.append(duplicate(f"{at}.name", port.name))
            else:
                names.add(port.name)
        if port.containerPort == 0:
            errors.append(required(f"{at}.containerPort"))
        elif not 1 <= port.containerPort <= 65535:
            errors += validate_port_number(port.containerPort, f"{at}.containerPort")
        if port.hostPort != 0:
            errors += validate_port_number(port.hostPort, f"{at}.hostPort")
        if not port.protocol:
            errors.append(required(f"{at}.protocol"))
        elif port.protocol not in _PROTOCOLS:
            errors.append(not_supported(f"{at}.protocol", AsJSON(port.protocol), _PROTOCOLS))
    return errors


def validate_port_number(number: int, path: str) -> list[FieldError]:
    if 1 <= number <= 65535:
        return []
    return [invalid(path, number, message) for message in port_number_errors(number)]


def validate_port_number_or_name(port: int | str, path: str) -> list[FieldError]:
    if isinstance(port, str):
        return [invalid(path, port, message) for message in _port_name_errors(port)]
    return validate_port_number(port, path)


def validate_host_port_conflicts(containers: Sequence[Container], path: str, first_index: int = 0) -> list[FieldError]:
    """Two ports may not ask for the same protocol, address and number of the host."""
    errors: list[FieldError] = []
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for port_index, port in enumerate(container.ports):
            if port.hostPort == 0:
                continue
            wanted = f"{port.protocol}/{port.hostIP}/{port.hostPort}"
            if wanted in taken:
                errors.append(duplicate(f"{path}[{index}].ports[{port_index}].hostPort", wanted))
            taken.add(wanted)
    return errors


def validate_host_network_ports(
    containers: tuple[Container, ...], path: str, *, resource_is_pod: bool
) -> list[FieldError]:
    """With the host's network a port is the host's port; a template may leave that to defaulting."""
    return [
        invalid(f"{path}[{index}].ports[{port_index}].hostPort", port.hostPort, _MUST_MATCH)
        for index, container in enumerate(containers)
        for port_index, port in enumerate(container.ports)
        if (resource_is_pod or port.hostPort != 0) and port.hostPort != port.containerPort
    ]
