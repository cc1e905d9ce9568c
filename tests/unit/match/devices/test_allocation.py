"""Allocation under the gates that Kubernetes does not have: thresholds and versions of KEP-5471 and KEP-5721."""

from typing import Any

import pytest

from moorage.columns.devices.use import DeviceUse
from moorage.match.devices.allocation.allocate import allocate
from moorage.match.devices.allocation.explain import explain_request
from moorage.match.devices.allocation.features import AllocationError, SearchLimitError, allocator_features
from moorage.match.devices.allocation.offer import Offer
from moorage.match.devices.allocation.pools import DevicePool, gather_pools
from moorage.match.devices.allocation.published import AllocationNode, PublishedSlice
from moorage.match.devices.allocation.requests import compile_claim
from moorage.match.devices.allocation.search import ClaimToAllocate
from moorage.model.gates import GateSet, default_gates, gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.devices import DeviceClass, DeviceTaintRule, ResourceClaimSpec, ResourceSlice

ALL_ON = gates_from({"AllAlpha": True})
DRIVER = "gpu.example.com"
NODE = AllocationNode("n0", {"kernel": "6.8.0", "zone": "z1"})


def pools(gates: GateSet, devices: list[dict[str, Any]], *rules: dict[str, Any], **where: Any) -> list[DevicePool]:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "devices": devices, **(where or {"nodeName": "n0"})}
    published = convert_view({"metadata": {"name": "s"}, "spec": spec}, ResourceSlice)
    views = [convert_view({"metadata": {"name": "r"}, "spec": rule}, DeviceTaintRule) for rule in rules]
    return gather_pools([PublishedSlice(published, gates, views)], NODE, allocator_features(gates))


def claim(gates: GateSet, *tolerations: dict[str, Any]) -> ClaimToAllocate:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, "tolerations": list(tolerations)}
    spec = convert_view({"devices": {"requests": [{"name": "r0", "exactly": exactly}]}}, ResourceClaimSpec)
    return ClaimToAllocate("default/claim", compile_claim(spec, lambda _: DeviceClass(), gates))


def devices_given(found: list[DevicePool], wanted: ClaimToAllocate, gates: GateSet) -> list[str] | None:
    results = allocate(found, [wanted], DeviceUse(), NODE, allocator_features(gates))
    return None if results is None else [one["device"] for one in results[0]["devices"]["results"]]


def tainted(**errors: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "taints": [{"key": "errors", "value": value, "effect": "NoSchedule"}]}
        for name, value in errors.items()
    ]


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        ({"key": "errors", "operator": "Lt", "value": "5"}, ["good"]),
        ({"key": "errors", "operator": "Gt", "value": "5"}, ["bad"]),
        ({"key": "errors", "operator": "Lt", "value": "1"}, None),
        ({"expression": "taint.key == 'errors' && taint.value == '3'"}, ["good"]),
    ],
)
def test_a_device_beyond_the_threshold_is_never_allocated(
    toleration: dict[str, Any], expected: list[str] | None
) -> None:
    found = pools(ALL_ON, tainted(bad="9", good="3"))
    assert devices_given(found, claim(ALL_ON, toleration), ALL_ON) == expected
    off = default_gates()
    assert devices_given(pools(off, tainted(bad="9", good="3")), claim(off, toleration), off) is None


def test_explanation_has_the_inequality() -> None:
    wanted = claim(ALL_ON, {"key": "errors", "operator": "Lt", "value": "5"})
    request = wanted.compiled.requests[0][0]
    found = pools(ALL_ON, tainted(bad="9", good="3"))
    assert explain_request(request, found, DeviceUse(), NODE, allocator_features(ALL_ON)) == {
        "taint errors=9 is not tolerated: 9 < 5 is false (toleration Lt 5)": 1
    }


def test_a_rule_drains_an_old_driver() -> None:
    rule = {
        "deviceSelector": {"driver": DRIVER},
        "taint": {"key": "driver", "value": "1.4.0", "effect": "NoSchedule"},
    }
    found = pools(ALL_ON, [{"name": "d0"}], rule)
    old = {"key": "driver", "operator": "SemverLt", "value": "1.5.0"}
    new = {"key": "driver", "operator": "SemverGt", "value": "1.5.0"}
    assert devices_given(found, claim(ALL_ON, old), ALL_ON) == ["d0"]
    assert devices_given(found, claim(ALL_ON, new), ALL_ON) is None


@pytest.mark.parametrize(("version", "expected"), [("6.5.0", ["d0"]), ("6.9.0", None)])
def test_node_selectors_of_slices_compare_versions(version: str, expected: list[str] | None) -> None:
    newer = {"key": "kernel", "operator": "SemverGt", "values": [version]}
    where = {"nodeSelectorTerms": [{"matchExpressions": [newer]}]}
    found = pools(ALL_ON, [{"name": "d0"}], nodeSelector=where)
    assert devices_given(found, claim(ALL_ON), ALL_ON) == expected


def test_the_result_can_be_used_where_the_slice_can() -> None:
    newer = {"key": "kernel", "operator": "SemverGt", "values": ["6.5.0"]}
    where = {"nodeSelectorTerms": [{"matchExpressions": [newer]}]}
    found = pools(ALL_ON, [{"name": "d0"}], nodeSelector=where)
    results = allocate(found, [claim(ALL_ON)], DeviceUse(), NODE, allocator_features(ALL_ON))
    assert results is not None
    assert results[0]["nodeSelector"] == where


def paired(expression: str = "") -> ClaimToAllocate:
    """A claim for two devices of the same model, chosen by an expression."""
    selectors = [{"cel": {"expression": expression}}] if expression else []
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 2, "selectors": selectors}
    devices = {"requests": [{"name": "r0", "exactly": exactly}], "constraints": [{"matchAttribute": f"{DRIVER}/model"}]}
    spec = convert_view({"devices": devices}, ResourceClaimSpec)
    return ClaimToAllocate("default/claim", compile_claim(spec, lambda _: DeviceClass(), ALL_ON))


def modelled(*models: str, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"d{i}", "attributes": {"model": {"string": one}, **more}} for i, one in enumerate(models)]


def test_devices_of_one_model_are_found_among_others() -> None:
    gates = gates_from({"DRAListTypeAttributes": False})
    found = pools(gates, modelled("a", "b", "c", "b", "a"))
    assert devices_given(found, paired(), gates) == ["d0", "d4"]
    assert devices_given(found[:1], paired(f"device.attributes['{DRIVER}'].model != 'a'"), gates) == ["d1", "d3"]


def test_a_selector_that_fails_for_a_device_of_another_model_is_not_passed_over() -> None:
    gates = gates_from({"DRAListTypeAttributes": False})
    devices = modelled("a", "b", "a")
    for index in (0, 2):
        devices[index]["attributes"]["fast"] = {"bool": True}
    wanted = paired(f"device.attributes['{DRIVER}'].fast")
    with pytest.raises(AllocationError, match="no such key: fast"):
        devices_given(pools(gates, devices), wanted, gates)


def test_asking_many_pools_for_a_value_counts_as_steps_once() -> None:
    gates = gates_from({"DRAListTypeAttributes": False})
    features, found = allocator_features(gates), []
    for number in range(200):
        pool = {"name": f"p{number:03}", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "pool": pool, "nodeName": "n0", "devices": modelled(f"m{number}")}
        made = convert_view({"metadata": {"name": f"s{number:03}"}, "spec": spec}, ResourceSlice)
        found.append(PublishedSlice(made, gates))
    seen = gather_pools(found, NODE, features)
    with pytest.raises(SearchLimitError, match="after 211 steps"):  # 200 devices, and 16 pools a step
        allocate(seen, [paired()], DeviceUse(), NODE, features, max_steps=211)
    wanted = [paired()]
    assert allocate(seen, wanted, DeviceUse(), NODE, features, max_steps=212) is None
    assert allocate(Offer(seen), wanted, DeviceUse(), NODE, features, max_steps=212) is None
