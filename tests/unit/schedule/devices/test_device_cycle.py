"""Pods with ResourceClaims in the scheduling cycle: errors, waiting for claims, events, deallocation."""

from typing import Any

import pytest
from tests.unit.schedule.devices.worlds import World, allocated

from moorage.model.gates import gates_from
from moorage.model.types.devices import ResourceSlice
from moorage.schedule.cycle import Bind, NoNode
from moorage.schedule.framework.plugin import check_plugin
from moorage.schedule.waiting_pods import QueueState

BROKEN = 'device.attributes["gpu.example.com"].model == "x"'


def no_node(world: World, now: float = 0.0) -> NoNode:
    action = world.step(now)
    assert isinstance(action, NoNode)
    return action


def bound(world: World, now: float = 0.0) -> str:
    action = world.step(now)
    assert isinstance(action, Bind), getattr(action, "message", action)
    return action.node


# -- errors ---------------------------------------------------------------------------------------------------------


def test_an_error_of_the_allocator_fails_the_attempt_and_names_the_pods_own_claim() -> None:
    world = World("a", selector=BROKEN)
    for name in ("one", "two"):
        world.claim(name)
        world.pod(f"pod-{name}", name)
    for name in ("one", "two"):
        action = no_node(world)
        assert action.record.key == f"default/pod-{name}"
        assert action.is_error
        assert action.message.startswith(
            'running "DynamicResources" filter plugin: class gpu: selector #0: CEL runtime'
        )
        assert (action.condition.reason, action.rejected_by) == ("SchedulerError", frozenset())
        assert action.pod.place is QueueState.BACKOFF


def test_an_error_names_the_claim_whose_selector_fails() -> None:
    world = World("a")
    for name in ("one", "two"):
        world.claim(name, selectors=[{"cel": {"expression": BROKEN}}])
        world.pod(f"pod-{name}", name)
    for name in ("one", "two"):
        assert f"claim default/{name}: selector #0: CEL runtime error" in no_node(world).message


def test_an_error_on_a_node_that_others_refuse_does_no_harm() -> None:
    world = World("a", selector="device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].ok")
    world.node("b")
    world.slice("b", 1, attributes={"ok": {"bool": True}})
    world.claim("c")
    world.pod("p", "c", nodeSelector={"example.com/name": "b"})
    assert bound(world) == "b"


# -- waiting for claims ------------------------------------------------------------------------------------------------


def test_a_pod_waits_a_moment_for_its_claim_and_is_then_told() -> None:
    world = World("a")
    world.pod("p", "c")
    assert world.step() is None
    assert world.scheduler.queue.next_time() == 1.0
    action = no_node(world, 1.0)
    assert action.message.startswith('0/1 nodes are available: could not find resource claim "default/c".')
    assert action.rejected_by == {"DynamicResources"}
    world.node("b", now=1.0)  # does not help as long as the claim is not there
    assert world.step(10.0) is None
    world.claim("c", now=11.0)
    assert bound(world, 11.0) == "a"


def test_a_claim_that_comes_lets_its_pod_in_at_once() -> None:
    world = World("a")
    world.pod("p", "c")
    assert world.step() is None
    world.claim("other")
    assert world.step() is None
    world.claim("c")
    assert bound(world) == "a"


# -- events ------------------------------------------------------------------------------------------------------------


def test_devices_that_are_freed_wake_a_pod() -> None:
    world = World("a", devices=1)
    world.claim("holder", allocated("a"))
    world.claim("c")
    world.pod("p", "c")
    assert "cannot allocate all claims" in no_node(world).message
    world.claim("holder", now=5.0)
    assert bound(world, 5.0) == "a"


@pytest.mark.parametrize("gone", [False, True])
def test_a_promise_is_not_given_twice_and_is_free_again_when_taken_back(gone: bool) -> None:
    world = World("a", devices=1)
    for name in ("one", "two"):
        world.claim(name)
        world.pod(f"pod-{name}", name)
    first = world.step()
    assert isinstance(first, Bind)
    assert "cannot allocate all claims" in no_node(world).message
    if gone:
        world.feed.gone("ResourceClaim", world.claims["one"], 2.0)
        world.cluster.remove_pod(first.record)
    world.scheduler.bind_failed(first, 3.0)
    assert bound(world, 3.0) == "a"


def test_a_second_pod_of_a_promised_claim_waits_until_it_is_written() -> None:
    world = World("a")
    world.claim("c")
    world.pod("one", "c")
    world.pod("two", "c")
    assert bound(world) == "a"
    assert world.step() is None
    world.claim("c", allocated("a"), now=0.5)
    assert bound(world, 0.5) == "a"


def test_a_pod_of_a_promised_claim_that_is_not_written_is_told_so_after_a_second() -> None:
    world = World("a")
    world.claim("c")
    world.pod("one", "c")
    world.pod("two", "c")
    assert bound(world) == "a"
    assert world.step() is None
    assert world.scheduler.queue.next_time() <= 2.0
    assert no_node(world, 2.0).message.startswith(
        "0/1 nodes are available: resource claim default/c is in the process of being allocated."
    )
    world.claim("c", allocated("a"), now=4.0)
    assert bound(world, 4.0) == "a"


# -- deallocation ------------------------------------------------------------------------------------------------------


def test_a_claim_that_keeps_its_only_pod_from_all_nodes_is_deallocated() -> None:
    world = World("a", "b")
    consumer = {"resource": "pods", "name": "p", "uid": "uid-p"}
    world.claim("c", {**allocated("gone"), "reservedFor": [consumer]})
    world.pod("p", "c")
    action = no_node(world)
    assert action.claim is not None
    assert action.claim.claim == ("default", "c")
    assert "resourceclaim not available on the node" in action.message
    assert "deallocation of ResourceClaim completed" in action.message


@pytest.mark.parametrize("users", [["q"], ["p", "q"], ["q", "p"], ["p", "p"], ["q", "q"]])
def test_a_claim_that_others_use_or_that_lists_its_pod_twice_stays_allocated(users: list[str]) -> None:
    world = World("a", "b")
    consumers = [{"resource": "pods", "name": name, "uid": f"uid-{name}"} for name in users]
    world.claim("c", {**allocated("gone"), "reservedFor": consumers})
    world.pod("p", "c")
    action = no_node(world)
    assert action.claim is None
    assert "still not schedulable" in action.message


def test_a_failed_binding_condition_makes_a_claim_unusable_everywhere() -> None:
    world = World("a", "b")
    conditions: dict[str, Any] = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}
    status = allocated("a", selects=False, **conditions)
    failed = [{"type": "Failed", "status": "True", "reason": "Broken", "message": "smoke"}]
    status["devices"] = [{"driver": "gpu.example.com", "pool": "a", "device": "gpu-0", "conditions": failed}]
    world.claim("c", status)
    world.pod("p", "c")
    action = no_node(world)
    assert action.claim is not None
    assert "2 resourceclaim not available on the node" in action.message


# -- claims that take too long ----------------------------------------------------------------------------------------


def test_searches_given_up_leave_less_to_those_on_other_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moorage.schedule.plugins.devices.device_needs._ALLOWANCES", ((200, 100), (240, 20)))
    monkeypatch.setattr("moorage.schedule.plugins.devices.device_needs._LAST_ALLOWANCE", 5)
    world = World()
    for number in range(6):  # two counters, of which every choice of eight devices needs too much of one
        name = f"n{number}"
        world.node(name)
        devices = [
            {
                "name": f"d{i}",
                "attributes": {"x": {"int": number}},
                "consumesCounters": [
                    {"counterSet": "c", "counters": {"a": {"value": str(1 + i % 9)}, "b": {"value": str(10 - i % 9)}}}
                ],
            }
            for i in range(24)
        ]
        counters = {"a": {"value": "40"}, "b": {"value": "40"}}
        for part in ({"devices": devices}, {"sharedCounters": [{"name": "c", "counters": counters}]}):
            pool = {"name": name, "generation": 1, "resourceSliceCount": 2}
            spec = {"driver": "gpu.example.com", "nodeName": name, "pool": pool, **part}
            raw = {"metadata": {"name": f"{name}-{next(iter(part)).lower()}"}, "spec": spec}
            world.take("ResourceSlice", ResourceSlice, raw)
    world.claim("c", count=8)
    world.pod("p", "c")
    message = no_node(world).message
    for steps, nodes in ((100, 2), (20, 2), (5, 2)):
        assert f"{nodes} gave up allocating devices after {steps} steps" in message


ERRORS = {"key": "errors", "value": "many", "effect": "NoSchedule"}
BELOW = {"key": "errors", "operator": "Lt", "value": "10", "effect": "NoSchedule"}
NUMBERS = "TaintTolerationComparisonOperators"


@pytest.mark.parametrize(
    ("off", "tolerations", "why"),
    [
        ("", [BELOW], " ({errors: many} is not a 64-bit integer)"),
        ("", [{**BELOW, "operator": "SemverLt"}], " ({errors: many} is not a semantic version)"),
        (
            "",
            [{"expression": "int(taint.value) < 10"}],
            " (the expression failed: type conversion error from 'string' to 'int')",
        ),
        ("", [{**BELOW, "key": "other"}], ""),
        ("", [{**BELOW, "operator": "Equal"}], ""),
        (NUMBERS, [BELOW], f" (operator Lt needs the feature gate {NUMBERS} in the scheduler)"),
    ],
)
def test_the_reason_names_a_taint_of_a_device_that_cannot_be_compared(off: str, tolerations: Any, why: str) -> None:
    gates = gates_from({"AllAlpha": True, **({off: False} if off else {})})
    world = World(gates=gates)
    for name in ("a", "b"):
        world.node(name)
        world.slice(name, 2, taints=[ERRORS])
    world.claim("c", tolerations=tolerations)
    world.pod("p", "c")
    action = no_node(world)
    assert action.message.startswith(f"0/2 nodes are available: 2 cannot allocate all claims{why}. ")
    (item,) = (
        item
        for item in world.scheduler.engines["default-scheduler"].candidates(action.record.shape).filters
        if item.plugin.name == "DynamicResources"
    )
    check_plugin(item.plugin, world.cluster, action.record.shape, item.prepared)
    found = item.plugin.unreadable(item.prepared.want, world.cluster)
    told = [(one.found.source, one.found.key, one.facts["claim"]) for one in found]
    assert told == ([("device-taint", "errors", "c")] if why and not off else [])


def test_a_taint_that_another_toleration_matches_is_no_obstacle() -> None:
    world = World("a", devices=1, gates=gates_from({"AllAlpha": True}))
    world.node("b")
    world.slice("b", 1, taints=[ERRORS])
    world.claim("c", count=2, tolerations=[BELOW, {"key": "errors", "operator": "Exists"}])
    world.pod("p", "c")
    assert no_node(world).message.startswith("0/2 nodes are available: 2 cannot allocate all claims. ")
