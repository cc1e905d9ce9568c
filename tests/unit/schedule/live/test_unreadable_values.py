"""Values that cannot be compared: the metric, the log lines, and the Events about nodes."""

import io
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.unit.schedule.live.fake_api import FakeApi
from tests.unit.schedule.live.running import run_virtual, running, settle

from moorage.match.taint_messages import MAX_KEYS
from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.schedule.framework.plugin import MAX_UNREADABLE_TOLD
from moorage.schedule.live.unreadable_values import (
    EVENTS_A_MINUTE,
    MANY_PODS,
    MAX_NODES,
    REFRESHING,
    REWRITING,
    SETTLING,
)
from moorage.telemetry import logs
from moorage.telemetry.metrics import Metrics

GATES = gates_from({"AllAlpha": True})
HIGH = [{"key": "load", "value": "high", "effect": "NoSchedule"}]
BELOW = {"key": "load", "operator": "Lt", "value": "50"}
TEXT = "taint load=high is not a 64-bit integer: {} pods cannot compare it"


def affinity(operator: str, value: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "version", "operator": operator, "values": [value]}]}]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def play(api: FakeApi, story: Callable[[], Awaitable[None]], verbosity: int = 0) -> tuple[list[str], dict[str, float]]:
    """Run a story; return the log's lines, and what the metric counts."""
    metrics, stream = Metrics(), io.StringIO()

    async def whole() -> None:
        async with running(api, gates=GATES, metrics=metrics):
            await story()

    logs.configure(stream=stream, verbosity=verbosity)
    try:
        run_virtual(whole())
    finally:
        logs.configure()
    name = "scheduler_unreadable_values_total"
    text = metrics.render()[0].decode().splitlines()
    counted = {
        line.split(" ")[0][len(name) :]: float(line.rpartition(" ")[2]) for line in text if line.startswith(name)
    }
    return stream.getvalue().splitlines(), counted


@pytest.mark.parametrize(
    ("pod", "labels", "counted", "level", "facts"),
    [
        (
            {"tolerations": [BELOW]},
            '{source="taint",key="load",operator="Lt"}',
            2,
            "W",
            ['taint="load=high:NoSchedule"', 'err="taint value \\"high\\" is not a 64-bit integer"'],
        ),
        (
            {"tolerations": [{"key": "load", "operator": "SemverGt", "value": "1"}]},
            '{source="taint",key="load",operator="SemverGt"}',
            2,
            "E",
            ['taint="load=high:NoSchedule"', "is not a semantic version"],
        ),
        (
            {"tolerations": [{"expression": "int(taint.value) < 50"}]},
            '{source="taint",key="load",operator="expression"}',
            2,
            "E",
            ['taint="load=high:NoSchedule"', 'expression="int(taint.value) < 50"', "type conversion error"],
        ),
        (
            {"affinity": affinity("SemverGt", "1.0")},
            '{source="label",key="version",operator="SemverGt"}',
            2,
            "I",
            ['label="version=1.2.x"', "failed to parse label value as semantic version"],
        ),
        (
            {"affinity": affinity("Lt", "7")},
            '{source="label",key="version",operator="Lt"}',
            2,
            "I",
            ['label="version=1.2.x"', "failed to parse label value as integer"],
        ),
    ],
)
def test_values_are_counted_for_each_pod_and_logged_once_with_pod_and_node(
    pod: dict[str, Any], labels: str, counted: int, level: str, facts: list[str]
) -> None:
    api = FakeApi()
    api.node("bad", labels={"version": "1.2.x"}, taints=HIGH)
    api.node("bad-too", labels={"version": "1.2.x"}, taints=HIGH)
    api.node("good")
    api.pod("a", **pod)
    api.pod("b", **pod)
    lines, metric = play(api, settle, verbosity=4)
    assert metric == {labels: counted}
    (line,) = (line for line in lines if facts[0] in line)
    assert line.startswith(level)
    for fact in ('node="bad"', "moreNodes=1", 'pod="default/a"', *facts):
        assert fact in line


def test_taints_of_devices_are_counted_and_logged_too() -> None:
    api = FakeApi()
    api.node("n")
    api.put(KINDS.DEVICE_CLASS, {"metadata": {"name": "gpu"}, "spec": {}})
    devices = [{"name": "gpu-0", "taints": [{"key": "errors", "value": "many", "effect": "NoSchedule"}]}]
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "n", "pool": pool, "devices": devices}
    api.put(KINDS.RESOURCE_SLICE, {"metadata": {"name": "s"}, "spec": spec})
    below = {"key": "errors", "operator": "Lt", "value": "10"}
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, "tolerations": [below]}
    requests = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    api.put(KINDS.RESOURCE_CLAIM, {"metadata": {"name": "c", "namespace": "default"}, "spec": requests})
    for number in range(MANY_PODS):
        api.pod(f"p{number}", resourceClaims=[{"name": "c", "resourceClaimName": "c"}])

    async def story() -> None:
        await settle(2 * SETTLING)

    lines, metric = play(api, story)
    assert metric == {'{source="device-taint",key="errors",operator="Lt"}': MANY_PODS}
    (line,) = (line for line in lines if "failed to parse taint value" in line)
    for fact in ('taint="errors=many:NoSchedule"', 'claim="c"', 'pod="default/p0"'):
        assert fact in line
    assert api.rewritten == []


def test_pods_of_another_shape_are_logged_again() -> None:
    api = FakeApi()
    api.node("bad", taints=HIGH)
    api.pod("a", tolerations=[BELOW])
    api.pod("b", tolerations=[{**BELOW, "value": "60"}])
    lines, _ = play(api, settle)
    assert [pod for pod in ("a", "b", "c") if any(f'pod="default/{pod}"' in line for line in lines)] == ["a", "b"]


def test_the_metric_has_a_bounded_number_of_keys() -> None:
    api = FakeApi()
    keys = [f"key-{number}" for number in range(MAX_KEYS + 20)]
    api.node("bad", taints=[{"key": key, "value": "x", "effect": "NoSchedule"} for key in keys])
    for number, some in enumerate((keys[:40], keys[40:80], keys[80:])):
        api.pod(f"p{number}", tolerations=[{"key": key, "operator": "Lt", "value": "5"} for key in some])
    _, metric = play(api, settle)
    assert len(metric) == MAX_KEYS + 1
    assert metric['{source="taint",key="other",operator="Lt"}'] == 20


def test_one_attempt_tells_of_a_bounded_number_of_values() -> None:
    api = FakeApi()
    for number in range(3 * MAX_UNREADABLE_TOLD):
        taint = {"key": "load", "value": f"x{number}", "effect": "NoSchedule"}
        api.node(f"bad-{number}", labels={"version": f"1.x{number}"}, taints=[taint])
    api.pod("a", tolerations=[BELOW])
    api.pod("b", affinity=affinity("SemverGt", "1.0"), tolerations=[{"operator": "Exists"}])
    lines, metric = play(api, settle, verbosity=4)
    assert set(metric.values()) == {MAX_UNREADABLE_TOLD}
    assert len([line for line in lines if "failed to parse" in line]) == 2 * MAX_UNREADABLE_TOLD


# -- events about nodes -----------------------------------------------------------------------------------------------


def test_a_node_whose_taint_many_pods_cannot_compare_has_one_event() -> None:
    api = FakeApi()
    api.node("bad", taints=HIGH)
    for number in range(37):
        api.pod(f"p{number}", tolerations=[BELOW])

    async def story() -> None:
        await settle(SETTLING + 1)
        ((node, reason, name, note, count),) = api.rewritten
        assert (node, reason, note, count) == ("bad", "UnreadableTaint", TEXT.format(37), 1)
        api.pod("late", tolerations=[BELOW])
        await settle(REWRITING / 2)
        assert len(api.rewritten) == 1
        await settle(REWRITING)
        assert api.rewritten[1:] == [("bad", "UnreadableTaint", name, TEXT.format(38), 2)]
        await settle(REFRESHING - 2 * REWRITING)
        assert len(api.rewritten) == 2
        await settle(3 * REWRITING)
        assert api.rewritten[2:] == [("bad", "UnreadableTaint", name, TEXT.format(38), 3)]

    play(api, story)


def test_few_pods_are_no_event_until_there_are_many() -> None:
    api = FakeApi()
    api.node("bad", taints=HIGH)
    api.node("good")
    for number in range(MANY_PODS - 1):
        api.pod(f"p{number}", tolerations=[BELOW])
    api.pod("without")

    async def story() -> None:
        await settle(2 * SETTLING)
        assert api.rewritten == []
        api.pod("one-more", tolerations=[BELOW])
        await settle(2 * SETTLING)
        assert [note for _, _, _, note, _ in api.rewritten] == [TEXT.format(MANY_PODS)]

    play(api, story)


def test_a_taint_that_was_corrected_is_not_reported_again() -> None:
    api = FakeApi()
    api.node("bad", taints=HIGH)
    for number in range(4):
        api.pod(f"p{number}", tolerations=[BELOW])

    async def story() -> None:
        await settle(SETTLING + 1)
        assert len(api.rewritten) == 1
        api.node("bad", taints=[{**HIGH[0], "value": "20"}])
        await settle(2 * REFRESHING)
        assert len(api.rewritten) == 1
        assert set(api.nodes_of_pods().values()) == {"bad"}

    _, metric = play(api, story)
    assert metric == {'{source="taint",key="load",operator="Lt"}': 4}


def test_pods_that_are_gone_do_not_count() -> None:
    api = FakeApi()
    api.node("bad", taints=HIGH)
    for number in range(MANY_PODS):
        api.pod(f"p{number}", tolerations=[BELOW])

    async def story() -> None:
        await settle()
        api.drop(KINDS.POD, "default/p0")
        await settle(2 * SETTLING)
        assert api.rewritten == []

    play(api, story)


def test_many_nodes_with_one_taint_are_few_events_and_a_log_line() -> None:
    api = FakeApi()
    nodes = [f"bad-{number:03}" for number in range(200)]
    for name in nodes:
        api.node(name, taints=HIGH)
    for number in range(5):
        api.pod(f"p{number}", tolerations=[BELOW])

    async def story() -> None:
        await settle(2 * REWRITING)

    lines, _ = play(api, story)
    assert [node for node, *_ in api.rewritten] == nodes[:MAX_NODES]
    (line,) = (line for line in lines if "cannot compare it" in line)
    assert f"nodes=200 withEvent={MAX_NODES}" in line


def test_many_taints_are_a_bounded_number_of_events_a_minute() -> None:
    api = FakeApi()
    taints = MAX_UNREADABLE_TOLD
    assert taints > EVENTS_A_MINUTE
    for number in range(taints):
        api.node(f"bad-{number}", taints=[{**HIGH[0], "value": f"x{number}"}])
    for number in range(5):
        api.pod(f"p{number}", tolerations=[BELOW])

    async def story() -> None:
        await settle(SETTLING + 1)
        assert 0 < len(api.rewritten) <= EVENTS_A_MINUTE < taints
        await settle(6 * REWRITING)
        assert len({node for node, *_ in api.rewritten}) == taints

    play(api, story)
