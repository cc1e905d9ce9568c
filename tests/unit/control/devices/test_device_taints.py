"""Eviction of pods that use tainted devices; in virtual time with the real API server."""

from typing import Any

import pytest
from tests.log_text import log_text
from tests.unit.control.devices.claimed import Claims, Raw, claim, context, device_slice, pod, rule
from tests.virtual_time import time_of_day

from moorage.control.device_taints.controller import DeviceTaintEvictionController
from moorage.model.gates import gates_from
from moorage.model.go.times import time_text
from moorage.model.kinds import KINDS

_RULES = gates_from({"DRADeviceTaintRules": True})
BROKEN = {"key": "broken", "value": "yes", "effect": "NoExecute"}


def controllers() -> list[DeviceTaintEvictionController]:
    return [DeviceTaintEvictionController(context(_RULES))]


async def running(cluster: Claims, *names: str, tolerations: list[Raw] | None = None) -> None:
    """Bind pods, each with a claim of its own name on the device of its own name."""
    for name in names:
        await cluster.make(claim(f"{name}-claim"), pod(name, "n", gpu=f"{name}-claim"))
        await cluster.allocate(f"{name}-claim", name, device=name, tolerations=tolerations)


async def taint(cluster: Claims, *tainted: str, taint: Raw = BROKEN) -> None:
    """Publish all devices anew, of which these have a taint."""
    document = device_slice("s", {name: [taint] if name in tainted else [] for name in ("a", "b", "c")})
    found = await cluster.client.get(KINDS.RESOURCE_SLICE, "s")
    await cluster.client.update(KINDS.RESOURCE_SLICE, {**found.raw, "spec": document["spec"]})


async def left(cluster: Claims) -> set[str]:
    return {one.name for one in await cluster.all(KINDS.POD)}


async def test_pods_that_use_a_tainted_device_are_evicted_at_once_and_others_are_not() -> None:
    kept = controllers()
    async with Claims.running(lambda: kept, gates=_RULES) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(device_slice("s", {"a": [], "b": [], "c": []}))
        await running(cluster, "a", "b")
        await cluster.settle()
        assert not cluster.events
        watched = cluster.client.watch(KINDS.POD, (await cluster.client.list_all(KINDS.POD)).revision)
        await taint(cluster, "a", taint={**BROKEN, "effect": "NoSchedule"})
        await cluster.settle()
        assert await left(cluster) == {"a", "b"}
        await taint(cluster, "a")
        await cluster.settle()
        assert await left(cluster) == {"b"}
        marked = (await anext(watched))[0].object.view
        (condition,) = (one for one in marked.status.conditions if one.type == "DisruptionTarget")
        assert (condition.status, condition.reason) == ("True", "DeletionByDeviceTaintManager")
        assert condition.message == "Device Taint manager: deleting due to NoExecute taint"
        assert cluster.messages("DeviceTaintManagerEviction") == ["Marking for deletion"]
        text = kept[0].context.metrics.render()[0].decode()
        assert "device_taint_eviction_controller_pod_deletions_total 1" in text
        assert "device_taint_eviction_controller_pod_deletion_duration_seconds_count 1" in text


@pytest.mark.parametrize("restarts", [False, True])
async def test_a_pod_stays_for_tolerationSeconds_after_the_taint_was_added(restarts: bool) -> None:
    async with Claims.running(controllers, gates=_RULES) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(device_slice("s", {"a": [], "b": [], "c": []}))
        tolerated = {"key": "broken", "operator": "Exists", "effect": "NoExecute"}
        await running(cluster, "a", tolerations=[{**tolerated, "tolerationSeconds": 60}])
        await running(cluster, "b", tolerations=[tolerated])
        await running(cluster, "c", tolerations=[{**tolerated, "effect": "NoSchedule"}])
        await taint(cluster, "a", "b", "c")
        await cluster.settle(30)
        assert await left(cluster) == {"a", "b"}
        if restarts:
            await cluster.restart()
        await cluster.settle(28)
        assert await left(cluster) == {"a", "b"}
        await cluster.settle(4)
        assert await left(cluster) == {"b"}


async def test_an_eviction_is_cancelled_when_the_taint_is_gone() -> None:
    async with Claims.running(controllers, gates=_RULES) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(device_slice("s", {"a": [], "b": [], "c": []}))
        tolerated = {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}
        await running(cluster, "a", tolerations=[tolerated])
        await taint(cluster, "a")
        await cluster.settle(5)
        await taint(cluster)
        await cluster.settle(60)
        assert await left(cluster) == {"a"}
        assert cluster.messages("DeviceTaintManagerEviction") == ["Cancelling deletion"]


async def test_a_threshold_that_no_longer_holds_evicts() -> None:
    gates = gates_from({"TaintTolerationComparisonOperators": True})
    async with Claims.running(lambda: [DeviceTaintEvictionController(context(gates))], gates=gates) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(device_slice("s", {"a": [], "b": [], "c": []}))
        below = {"key": "errors", "operator": "Lt", "value": "10", "effect": "NoExecute"}
        await running(cluster, "a", tolerations=[below])
        await taint(cluster, "a", taint={"key": "errors", "value": "9", "effect": "NoExecute"})
        await cluster.settle(5)
        assert await left(cluster) == {"a"}
        await taint(cluster, "a", taint={"key": "errors", "value": "10", "effect": "NoExecute"})
        await cluster.settle(5)
        assert not await left(cluster)


async def condition_of(cluster: Claims, name: str) -> Any:
    (condition,) = (await cluster.client.get(KINDS.DEVICE_TAINT_RULE, name)).view.status.conditions
    assert condition.type == "EvictionInProgress"
    return condition


async def test_a_rule_evicts_and_tells_its_progress() -> None:
    async with Claims.running(controllers, gates=_RULES) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(device_slice("s", {"a": [], "b": [], "c": []}))
        tolerated = {"key": "broken", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}
        await running(cluster, "a", "b")
        await running(cluster, "c", tolerations=[tolerated])
        await cluster.make(rule("bad", BROKEN, device="a"), rule("worse", BROKEN, device="c"))
        await cluster.settle(1)
        assert await left(cluster) == {"b", "c"}
        condition = await condition_of(cluster, "bad")
        assert (condition.status, condition.reason) == ("True", "PodsPendingEviction")
        assert condition.message == "1 pod needs to be evicted in 1 namespace."
        await cluster.settle(14)
        condition = await condition_of(cluster, "bad")
        assert (condition.status, condition.reason) == ("False", "Completed")
        assert condition.message == "1 pod evicted since starting the controller."
        assert (await condition_of(cluster, "worse")).message == "1 pod needs to be evicted in 1 namespace."
        await cluster.settle(30)
        assert (await condition_of(cluster, "worse")).reason == "Completed"
        assert await left(cluster) == {"b"}


async def test_a_rule_without_effect_tells_what_it_would_do() -> None:
    async with Claims.running(controllers, gates=_RULES) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(device_slice("s", {"a": [], "b": [], "c": []}))
        await running(cluster, "a", "b")
        await cluster.make(
            rule("maybe", {**BROKEN, "effect": "None"}, driver="gpu.example.com"),
            rule("other", {**BROKEN, "effect": "NoSchedule"}, driver="gpu.example.com"),
        )
        await cluster.settle(5)
        condition = await condition_of(cluster, "maybe")
        assert (condition.status, condition.reason) == ("False", "NoEffect")
        assert condition.message == (
            "3 published devices selected. 2 allocated devices selected. 2 pods would be evicted in 1 namespace "
            "if the effect was NoExecute. This information will not be updated again. "
            "Recreate the DeviceTaintRule to trigger an update."
        )
        condition = await condition_of(cluster, "other")
        assert (condition.reason, condition.message) == (
            "OtherEffect",
            "Eviction only happens for the NoExecute effect.",
        )
        assert await left(cluster) == {"a", "b"}


async def test_a_rule_whose_time_came_while_the_controller_was_stopped_evicts_when_it_starts() -> None:
    async with Claims.running(controllers, gates=_RULES) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(device_slice("s", {"a": [], "b": [], "c": []}))
        await running(cluster, "a")
        await cluster.stop()
        await cluster.make(rule("bad", {**BROKEN, "timeAdded": time_text(time_of_day() - 100)}, device="a"))
        await cluster.start()
        await cluster.settle(1)
        assert not await left(cluster)


async def test_without_their_gate_rules_are_not_watched() -> None:
    (controller,) = [DeviceTaintEvictionController(context())]
    assert KINDS.DEVICE_TAINT_RULE not in controller.watches
    assert not DeviceTaintEvictionController(context(gates_from({"DRADeviceTaints": False}))).watches
    async with Claims.running(lambda: [controller]) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(device_slice("s", {"a": []}))
        await running(cluster, "a")
        await cluster.make(rule("bad", BROKEN, device="a"))
        await cluster.settle(5)
        assert await left(cluster) == {"a"}


@pytest.mark.parametrize(
    ("operator", "value", "said"),
    [
        ("Lt", "many", "failed to parse taint value as integer for numeric comparison"),
        ("SemverLt", "x.y", "failed to parse taint value as semantic version"),
    ],
)
async def test_a_device_taint_that_cannot_be_compared_is_logged_once(
    operator: str, value: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    gates = gates_from({"AllAlpha": True})
    async with Claims.running(lambda: [DeviceTaintEvictionController(context(gates))], gates=gates) as cluster:
        assert isinstance(cluster, Claims)
        await cluster.make(device_slice("s", {"a": [], "b": [], "c": []}))
        below = {"key": "errors", "operator": operator, "value": "10", "effect": "NoExecute"}
        await running(cluster, "a", tolerations=[below])
        await taint(cluster, "a", taint={"key": "errors", "value": value, "effect": "NoExecute"})
        await cluster.settle(5)
        assert not await left(cluster)
    (line,) = (line for line in log_text(caplog).splitlines() if said in line)
    assert 'component="device-taint-eviction-controller"' in line
    assert '/a" taint="errors=' in line
    assert 'pod="default/a"' in line
