"""Find CEL selectors of devices that have one answer for all, and taint rules that select all devices.

Such an expression does not look at the device, or cannot but agree.

Kubernetes: checks type and cost of a selector, nothing else.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from moorage.lint.subject import Complaint, Subject, device_requests
from moorage.match.cel.parse.syntax import Call, Ident, Literal, Node
from moorage.model.well_known.taints import NO_EXECUTE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.model.gates import GateSet
    from moorage.model.types.devices import DeviceSelector

_DEVICE = "device"
_LONGEST = 10 * 1024


def selectors_in(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield every selector of a class, a claim or a template, with its path."""
    if subject.kind == "DeviceClass":
        yield from _listed(subject.view.spec.selectors, "spec")
    for path, request in device_requests(subject.kind, subject.view):
        yield from _listed(request.selectors, path)


def _listed(selectors: tuple[DeviceSelector, ...], path: str) -> Iterator[tuple[str, str]]:
    for index, selector in enumerate(selectors):
        if selector.cel is not None:
            yield f"{path}.selectors[{index}].cel.expression", selector.cel.expression


def check_taint_rule(subject: Subject) -> Iterator[Complaint]:
    """Report a DeviceTaintRule without a selector, which taints all devices although it is documented to taint none."""
    if subject.kind == "DeviceTaintRule" and subject.view.spec.deviceSelector is None:
        evicts = " and evicts no pod" if subject.view.spec.taint.effect == NO_EXECUTE else ""
        yield Complaint(
            "device-taint-rule-unselective",
            "spec.deviceSelector",
            f"without a deviceSelector the scheduler sees this taint on every device of the cluster{evicts}, although "
            "the API's documentation says that no device matches",
            "name the devices by driver, pool or device; write deviceSelector: {} if all are meant",
        )


def check_selectors(subject: Subject, gates: GateSet) -> Iterator[Complaint]:
    for path, expression in selectors_in(subject):
        found = _verdict(expression, gates)
        if found is not None:
            yield Complaint("device-selector-constant", path, *found)


@lru_cache(maxsize=512)
def _verdict(expression: str, gates: GateSet) -> tuple[str, str] | None:
    """Return message and hint for a selector with one answer for all devices."""
    from moorage.lint.facts.expression_reading import nodes_of
    from moorage.match.cel.parse.parser import parse
    from moorage.match.cel.parse.syntax import Source
    from moorage.match.devices.selector import DeviceSelector as CompiledSelector
    from moorage.match.devices.selector import compile_device_selector

    if len(expression) > _LONGEST:
        return None
    compiled = compile_device_selector(expression, gates)
    root = parse(Source(expression))
    if not isinstance(compiled, CompiledSelector) or isinstance(root, list):
        return None
    if any(isinstance(node, Ident) and node.name == _DEVICE for node in nodes_of(root)):
        answer = _fixed(root)
        if answer is None:
            return None
        return _said(f"the selector is {str(answer).lower()} whatever the device is", answer)
    answer, failure = _evaluated(compiled)
    if failure:
        message = f"the selector does not look at the device, and fails every time: {failure}"
        return message, "such a failure ends the search for devices: compare device.driver, attributes or capacity"
    return _said(f"the selector does not look at the device: it is always {str(answer).lower()}", answer)


def _said(message: str, answer: bool) -> tuple[str, str]:
    if answer:
        return (
            f"{message}, so it excludes no device",
            "compare device.driver, device.attributes or device.capacity, or remove the selector",
        )
    return f"{message}, so no device matches", "compare device.driver, device.attributes or device.capacity"


def _evaluated(selector: object) -> tuple[bool, str]:
    from moorage.match.cel import CelError
    from moorage.match.devices.description import DeviceDescription
    from moorage.match.devices.selector import DeviceSelector as CompiledSelector

    assert isinstance(selector, CompiledSelector)
    try:
        return selector.matches(DeviceDescription("driver.example.com", False, (), ())), ""
    except CelError as error:
        return False, str(error)


def _fixed(node: Node) -> bool | None:
    """Return the answer if the constants of `&&`, `||` and `!` decide it."""
    if isinstance(node, Literal):
        return node.value if isinstance(node.value, bool) else None
    if not isinstance(node, Call):
        return None
    if node.function == "!_":
        inner = _fixed(node.args[0])
        return None if inner is None else not inner
    if node.function in ("_&&_", "_||_"):
        decides = node.function == "_||_"
        answers = [_fixed(part) for part in node.args]
        if decides in answers:
            return decides
        return None if None in answers else not decides
    return None
