"""Device selectors: one evaluation for equal devices, errors that stay errors, gates."""

from typing import Any

import pytest

from moorage.match.cel import CelError
from moorage.match.devices.description import DeviceDescription, describe_device
from moorage.match.devices.selector import DeviceSelector, SelectorProblem, compile_device_selector
from moorage.model.gates import DRA_CONSUMABLE_CAPACITY, DRA_LIST_TYPE_ATTRIBUTES, GateSet, default_gates
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import Device

DRIVER = "gpu.example.com"


def description(**fields: Any) -> DeviceDescription:
    return describe_device(DRIVER, convert_view({"name": "any", **fields}, Device))


def selector(expression: str, gates: GateSet | None = None, stored: bool = False) -> DeviceSelector:
    found = compile_device_selector(expression, gates or default_gates(), stored)
    assert isinstance(found, DeviceSelector), found
    return found


def test_equal_devices_are_evaluated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated: list[DeviceDescription] = []
    evaluate = DeviceSelector.evaluate_with_cost

    def counting(self: DeviceSelector, device: DeviceDescription) -> tuple[bool, int]:
        evaluated.append(device)
        return evaluate(self, device)

    monkeypatch.setattr(DeviceSelector, "evaluate_with_cost", counting)
    h100 = selector(f'device.attributes["{DRIVER}"].model == "h100" || 1 == 2')
    devices = [description(name=f"gpu-{n}", attributes={"model": {"string": "h100"}}) for n in range(8)]
    assert all(h100.matches(device) for device in devices)
    assert len(evaluated) == 1
    assert not h100.matches(description(attributes={"model": {"string": "a100"}}))
    assert len(evaluated) == 2


def test_devices_that_selectors_cannot_tell_apart_are_equal() -> None:
    assert description(name="a", taints=[{"key": "k", "effect": "NoSchedule"}]) == description(name="b")
    assert description(capacity={"memory": {"value": "1Gi"}}) != description(capacity={"memory": {"value": "2Gi"}})
    assert description(allowMultipleAllocations=True) != description()


def test_a_failure_is_remembered_and_raised_every_time() -> None:
    failing = selector(f'device.attributes["{DRIVER}"].nosuch == 1')
    for _ in range(2):
        with pytest.raises(CelError, match="no such key: nosuch"):
            failing.matches(description())


@pytest.mark.parametrize("expression", ["device.foo == 1", "1 +", "device.driver"])
def test_selectors_that_do_not_compile_are_reported(expression: str) -> None:
    found = compile_device_selector(expression, default_gates())
    assert isinstance(found, SelectorProblem)
    assert found.detail
    assert not found.internal


def test_constants_that_cannot_be_computed_are_an_internal_error() -> None:
    found = compile_device_selector("int('x') == 1", default_gates())
    assert isinstance(found, SelectorProblem)
    assert found.internal


def test_gates_decide_what_new_expressions_may_use() -> None:
    gates = default_gates()
    without = gates.with_gate(DRA_CONSUMABLE_CAPACITY, False)
    shared = "device.allowMultipleAllocations"
    assert isinstance(compile_device_selector(shared, without), SelectorProblem)
    assert selector(shared, without, stored=True).matches(description(allowMultipleAllocations=True))
    includes = f'device.attributes["{DRIVER}"].tags.includes("x")'
    assert isinstance(compile_device_selector(includes, gates), SelectorProblem)
    lists = gates.with_gate(DRA_LIST_TYPE_ATTRIBUTES, True)
    tagged = description(attributes={"tags": {"strings": ["w", "x"]}})
    assert selector(includes, lists).matches(tagged)
    with pytest.raises(CelError, match="attribute tags: unsupported attribute value"):
        selector(includes, gates, stored=True).matches(tagged)


def test_an_unknown_domain_is_empty_and_not_in_the_map() -> None:
    device = description(attributes={"model": {"string": "h100"}})
    assert selector('size(device.attributes["other.io"]) == 0').matches(device)
    assert not selector('"other.io" in device.attributes').matches(device)
    assert selector(f'"{DRIVER}" in device.attributes').matches(device)
