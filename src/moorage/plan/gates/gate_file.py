"""Read a file that says which feature gates components have: one after the other, if it is an order to switch them.

    kube-apiserver: {TaintTolerationCEL: true}
    kubelet: TaintTolerationCEL=true

names components (`all` is every one) with all gates that they are started with; others are at their defaults. Each
component is a step, in the order of the file. A list says the steps itself; components in one of its entries are
switched at once, and one may come again.
"""

from collections.abc import Iterator, Mapping

from moorage.model.gates import Component, GateError, GateSet, gates_from, parse_feature_gates
from moorage.model.text.decode_error import DecodeError
from moorage.model.text.documents import read_values

MAX_STEPS = 50
_ALL = "all"
_COMPONENTS: dict[str, tuple[Component, ...]] = {component.value: (component,) for component in Component}
_COMPONENTS |= {component.value.removeprefix("kube-"): (component,) for component in Component}
_COMPONENTS[_ALL] = tuple(Component)

#: What one step switches.
Switch = dict[Component, GateSet]


class GateFileError(Exception):
    """Why a file of gates cannot be used: one line for the user."""


def read_gate_file(text: bytes, source: str) -> list[Switch]:
    """Return the steps of a file, in their order. Raises GateFileError."""
    try:
        values = [value for value in read_values(text, source) if value.raw is not None]
    except DecodeError as error:
        raise GateFileError(f"{source}:{error.line}: {error.reason}") from None
    if len(values) != 1:
        held = f"{len(values)} documents" if values else "nothing"
        raise GateFileError(f"{source}: holds {held}; it should be one mapping of components, or a list of them")
    if values[0].duplicates:
        raise GateFileError(f"{source}: {values[0].duplicates[0]}")
    steps = list(_steps(values[0].raw, source))
    if not steps:
        raise GateFileError(f"{source}: names no component")
    if len(steps) > MAX_STEPS:
        raise GateFileError(f"{source}: has {len(steps):,} steps, more than {MAX_STEPS}")
    return steps


def _steps(raw: object, source: str) -> Iterator[Switch]:
    if isinstance(raw, Mapping):
        for name, gates in raw.items():
            yield _switch({name: gates}, source)
    elif isinstance(raw, list):
        for number, entry in enumerate(raw, 1):
            if not isinstance(entry, Mapping) or not entry:
                raise GateFileError(f"{source}: step {number} is not a mapping such as {{kubelet: {{GATE: true}}}}")
            yield _switch(entry, f"{source}: step {number}")
    else:
        raise GateFileError(f"{source}: is not a mapping of components, or a list of them")


def _switch(entry: Mapping[object, object], where: str) -> Switch:
    made: Switch = {}
    for name, gates in entry.items():
        components = _COMPONENTS.get(name) if isinstance(name, str) else None
        if components is None:
            known = ", ".join([*(component.value for component in Component), _ALL])
            raise GateFileError(f"{where}: {name!r} is not a component; there are {known}")
        try:
            read = gates_from(_settings(gates))
        except GateError as error:
            raise GateFileError(f"{where}: {name}: {error}") from None
        made |= dict.fromkeys(components, read)
    return made


def _settings(gates: object) -> dict[str, bool]:
    """Return the settings of one component. Raises GateError."""
    if gates is None:
        return {}
    if isinstance(gates, str):
        return parse_feature_gates(gates)
    if not isinstance(gates, Mapping):
        raise GateError('gates are a mapping such as {GATE: true}, or a text such as "GATE=true"')
    for name, value in gates.items():
        if not isinstance(value, bool):
            raise GateError(f"the value of {name} is {value!r}, and neither true nor false")
    return {str(name): bool(value) for name, value in gates.items()}
