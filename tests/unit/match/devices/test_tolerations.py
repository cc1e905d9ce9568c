"""Device tolerations: the operators of pods' tolerations under the same gates, in the same words."""

from typing import Any

import pytest

from moorage.match.devices.eviction import tolerated_seconds
from moorage.match.devices.tolerations import DeviceTolerations, compile_device_tolerations, device_taints
from moorage.model.gates import GateSet, default_gates, gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import Device, DeviceTaint, DeviceTaintRule, DeviceToleration

ALL_ON = gates_from({"AllAlpha": True})


def tolerations(*raw: dict[str, Any], gates: GateSet = ALL_ON) -> DeviceTolerations:
    return compile_device_tolerations([convert_view(one, DeviceToleration) for one in raw], gates)


def taint(key: str, value: str, effect: str = "NoSchedule") -> DeviceTaint:
    return DeviceTaint(key, value, effect)


@pytest.mark.parametrize(
    ("toleration", "value", "expected"),
    [
        ({"key": "errors", "operator": "Lt", "value": "5"}, "4", True),
        ({"key": "errors", "operator": "Lt", "value": "5"}, "5", False),
        ({"key": "errors", "operator": "Gt", "value": "5"}, "6", True),
        ({"key": "errors", "operator": "Gt", "value": "5"}, "06", False),
        ({"key": "errors", "operator": "SemverLt", "value": "1.2.0"}, "1.1.9", True),
        ({"key": "errors", "operator": "SemverEq", "value": "1.2.0"}, "1.2.0", True),
        ({"expression": "taint.key == 'errors' && int(taint.value) < 5"}, "4", True),
        ({"expression": "taint.key == 'errors' && int(taint.value) < 5"}, "many", False),
    ],
)
def test_thresholds_versions_and_expressions(toleration: dict[str, Any], value: str, expected: bool) -> None:
    assert tolerations(toleration).tolerates(taint("errors", value)) is expected
    assert (tolerations(toleration).explain(taint("errors", value)) is None) is expected
    assert not tolerations(toleration, gates=default_gates()).tolerates(taint("errors", value))


def test_device_explanations_read_like_those_of_nodes() -> None:
    some = tolerations({"key": "errors", "operator": "Lt", "value": "5"})
    assert some.explain(taint("errors", "9")) == "taint errors=9 is not tolerated: 9 < 5 is false (toleration Lt 5)"
    assert some.unreadable(taint("errors", "x"))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([], 0.0),
        ([{"operator": "Exists"}], 0.0),
        ([{"operator": "Exists", "effect": "NoExecute"}], None),
        ([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}], 30.0),
        (
            [
                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
                {"operator": "Lt", "key": "errors", "value": "5", "effect": "NoExecute", "tolerationSeconds": 10},
            ],
            10.0,
        ),
        ([{"operator": "Lt", "key": "errors", "value": "2", "effect": "NoExecute", "tolerationSeconds": 10}], 0.0),
        ([{"expression": "taint.effect == 'NoExecute'", "tolerationSeconds": 7}], 7.0),
        ([{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -5}], 0.0),
    ],
)
def test_only_tolerations_of_no_execute_keep_a_pod(raw: list[dict[str, Any]], expected: float | None) -> None:
    assert tolerated_seconds(taint("errors", "3", "NoExecute"), tolerations(*raw)) == expected


def test_rules_add_to_the_taints_of_the_slice() -> None:
    def rule(name: str, selector: dict[str, str] | None) -> DeviceTaintRule:
        spec: dict[str, Any] = {"taint": {"key": name, "effect": "NoSchedule"}}
        if selector is not None:
            spec["deviceSelector"] = selector
        return convert_view({"metadata": {"name": name}, "spec": spec}, DeviceTaintRule)

    rules = [
        rule("all", {}),
        rule("none-given", None),
        rule("driver", {"driver": "d"}),
        rule("other", {"driver": "e"}),
        rule("device", {"driver": "d", "pool": "p", "device": "gpu-0"}),
        rule("other-device", {"device": "gpu-1"}),
    ]
    device = Device(name="gpu-0", taints=(taint("own", ""),))
    keys = [one.key for one in device_taints("d", "p", device, rules)]
    assert keys == ["own", "all", "none-given", "driver", "device"]
