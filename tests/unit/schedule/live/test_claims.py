"""Pods with devices: what is written into their ResourceClaims before they are bound, and what becomes of it."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.schedule.live.fake_api import FakeApi, Fate
from tests.unit.schedule.live.running import running, settle

from moorage.model.gates import gates_from
from moorage.model.kinds import KINDS
from moorage.telemetry.metrics import Metrics

DRIVER = "gpu.example.com"
FINALIZER = "resource.kubernetes.io/delete-protection"
Raw = dict[str, Any]


def world(*claims: str, devices: int = 1, **device: Any) -> FakeApi:
    """A node with devices, a class, and for each claim a pod that uses it."""
    api = FakeApi()
    api.node("n1", cpu="64")
    publish(api, "n1", devices, **device)
    api.put(KINDS.DEVICE_CLASS, {"metadata": {"name": "gpu"}, "spec": {}})
    for name in claims:
        add_claim(api, name)
        add_pod(api, f"pod-{name}", name)
    return api


def publish(api: FakeApi, node: str, devices: int, **device: Any) -> None:
    spec = {
        "driver": DRIVER,
        "nodeName": node,
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"gpu-{i}", **device} for i in range(devices)],
    }
    api.put(KINDS.RESOURCE_SLICE, {"metadata": {"name": f"slice-{node}"}, "spec": spec})


def add_claim(api: FakeApi, name: str, **more: Any) -> None:
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    api.put(KINDS.RESOURCE_CLAIM, {"metadata": {"name": name, "namespace": "default"}, "spec": spec, **more})


def add_pod(api: FakeApi, name: str, claim: str) -> None:
    api.pod(name, cpu="100m", resourceClaims=[{"name": "gpu", "resourceClaimName": claim}])


def status(api: FakeApi, name: str) -> Raw:
    found: Raw = api.raw(f"default/{name}", KINDS.RESOURCE_CLAIM).get("status") or {}
    return found


def devices(api: FakeApi) -> list[str]:
    """All devices that are allocated."""
    allocations = [one.raw.get("status", {}).get("allocation") for one in api.objects[KINDS.RESOURCE_CLAIM].values()]
    return [result["device"] for found in allocations if found for result in found["devices"]["results"]]


def once(verb: str, key: str, fate: Fate, after: int = 0) -> Callable[[str, str], Fate]:
    """Let one call of this kind end differently, after so many that do not."""
    left = [after]

    def decide(called: str, about: str) -> Fate:
        if (called, about) != (verb, key):
            return Fate.OK
        left[0] -= 1
        return fate if left[0] == -1 else Fate.OK

    return decide


async def test_a_claim_is_allocated_and_reserved_before_its_pod_is_bound() -> None:
    api = world("c")
    async with running(api) as live:
        assert api.nodes_of_pods() == {"pod-c": "n1"}
        written = status(api, "c")
        assert api.raw("default/c", KINDS.RESOURCE_CLAIM)["metadata"]["finalizers"] == [FINALIZER]
        result = {"request": "r", "driver": DRIVER, "pool": "n1", "device": "gpu-0"}
        assert written["allocation"]["devices"] == {"results": [result]}
        assert written["allocation"]["allocationTimestamp"].endswith("Z")
        uid = api.raw("default/pod-c")["metadata"]["uid"]
        assert written["reservedFor"] == [{"resource": "pods", "name": "pod-c", "uid": uid}]
        about_claim = [verb for verb, key in api.calls if key == "default/c"]
        assert about_claim == ["patch", "patch"]
        assert [verb for verb, _ in api.calls][-1] == "bind"
        assert not live.scheduler.cluster.devices.promises


async def test_an_allocated_claim_is_reserved_for_every_pod_that_uses_it() -> None:
    api = world("c")
    add_pod(api, "second", "c")
    async with running(api):
        await settle(2)
        assert set(api.nodes_of_pods().values()) == {"n1"}
        assert [user["name"] for user in status(api, "c")["reservedFor"]] == ["pod-c", "second"]
        assert devices(api) == ["gpu-0"]


async def test_pods_that_reserve_a_claim_at_the_same_time_are_written_together() -> None:
    api = world("c")
    for number in range(5):
        add_pod(api, f"more-{number}", "c")
    async with running(api):
        await settle(2)
        assert set(api.nodes_of_pods().values()) == {"n1"}
        users = [user["name"] for user in status(api, "c")["reservedFor"]]
        assert sorted(users) == sorted(["pod-c", *(f"more-{number}" for number in range(5))])
        assert api.calls.count(("patch", "default/c")) == 3  # finalizer, allocation, all others


@pytest.mark.parametrize("is_on", [True, False])
async def test_pod_with_claims_names_its_node_before_it_is_bound(is_on: bool) -> None:
    """As bindingCycle where RunPreBindPreFlights succeeds: DynamicResources has claims to write."""
    api = world("c")
    api.pod("plain", cpu="100m")
    async with running(api, gates=gates_from({"NominatedNodeNameForExpectation": is_on})):
        await settle(2)
        assert set(api.nodes_of_pods().values()) == {"n1"}
        own_calls = [verb for verb, key in api.calls if key == "default/pod-c"]
        assert own_calls == (["patch", "bind"] if is_on else ["bind"])
        assert [verb for verb, key in api.calls if key == "default/plain"] == ["bind"]


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("fate", [Fate.LOST, Fate.UNANSWERED])
async def test_lost_answer_to_an_allocation_is_recovered(fate: Fate, after: int) -> None:
    api = world("c", "d", devices=2)
    api.fate = once("patch", "default/c", fate, after)
    async with running(api) as live:
        await settle(30)
        assert set(api.nodes_of_pods().values()) == {"n1"}
        assert sorted(devices(api)) == ["gpu-0", "gpu-1"]
        assert len(status(api, "c")["reservedFor"]) == 1
        assert not live.scheduler.cluster.devices.promises


async def test_a_conflict_is_resolved_with_the_newest_version() -> None:
    api = world("c")
    api.holds = True

    def meddle(verb: str, key: str) -> Fate:
        if (verb, key) == ("patch", "default/c") and not api.raw(key, KINDS.RESOURCE_CLAIM)["metadata"].get("labels"):
            raw = api.raw(key, KINDS.RESOURCE_CLAIM)
            api.put(KINDS.RESOURCE_CLAIM, {**raw, "metadata": {**raw["metadata"], "labels": {"a": "b"}}})
        return Fate.OK

    api.fate = meddle
    async with running(api):
        await settle(1)
        assert devices(api) == ["gpu-0"]
        assert api.raw("default/c", KINDS.RESOURCE_CLAIM)["metadata"]["labels"] == {"a": "b"}
        assert api.nodes_of_pods() == {"pod-c": "n1"}


async def test_a_claim_that_is_deleted_meanwhile_sends_the_pod_back() -> None:
    api = world("c")
    api.holds = True

    def delete(verb: str, key: str) -> Fate:
        if (verb, key) == ("patch", "default/c"):
            raw = api.raw(key, KINDS.RESOURCE_CLAIM)
            api.put(
                KINDS.RESOURCE_CLAIM,
                {**raw, "metadata": {**raw["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}},
            )
        return Fate.OK

    api.fate = delete
    async with running(api):
        await settle(0.5)
        said = 'running PreBind plugin "DynamicResources": claim default/c got deleted in the meantime'
        assert ("pod-c", "FailedScheduling", said) in api.recorded
        assert api.nodes_of_pods() == {"pod-c": ""}
        assert devices(api) == []


async def test_no_device_is_given_away_twice_while_the_watch_is_behind() -> None:
    api = world("c", "d", "e", devices=2)
    api.holds = True
    async with running(api) as live:
        await settle(20)
        assert sorted(devices(api)) == ["gpu-0", "gpu-1"]
        assert sorted(api.nodes_of_pods().values()) == ["", "n1", "n1"]
        api.release()
        await settle()
        assert sorted(devices(api)) == ["gpu-0", "gpu-1"]
        assert not live.scheduler.cluster.devices.promises


async def test_a_pod_that_cannot_be_bound_gives_its_reservation_back_and_keeps_the_allocation() -> None:
    api = world("c")
    api.fate = once("bind", "default/pod-c", Fate.ERROR)
    async with running(api):
        await settle(0.1)
        assert status(api, "c")["reservedFor"] == []
        assert devices(api) == ["gpu-0"]
        await settle(5)
        assert api.nodes_of_pods() == {"pod-c": "n1"}
        assert [user["name"] for user in status(api, "c")["reservedFor"]] == ["pod-c"]


async def test_a_pod_that_goes_away_while_its_claim_is_written_leaves_nothing() -> None:
    api = world("c", "d")

    def vanish(verb: str, key: str) -> Fate:
        if (verb, key) == ("patch", "default/c") and "default/pod-c" in api.objects[KINDS.POD]:
            api.drop(KINDS.POD, "default/pod-c")
        return Fate.OK

    api.fate = vanish
    async with running(api) as live:
        await settle(10)
        assert "pod-c" not in api.nodes_of_pods()
        assert not status(api, "c").get("reservedFor")
        assert len(devices(api)) == 1
        assert not live.scheduler.cluster.devices.promises


async def test_restarted_scheduler_uses_written_allocations() -> None:
    api = world("c", "d", devices=2)
    api.fate = lambda verb, key: Fate.LOST if verb == "bind" else Fate.OK
    async with running(api):
        await settle(1)
        assert sorted(devices(api)) == ["gpu-0", "gpu-1"]
    api.fate = lambda verb, key: Fate.OK
    async with running(api):
        await settle(1)
        assert set(api.nodes_of_pods().values()) == {"n1"}
        assert sorted(devices(api)) == ["gpu-0", "gpu-1"]
        assert len(status(api, "c")["reservedFor"]) == 1


# -- binding conditions ---------------------------------------------------------------------------------------------


def report(api: FakeApi, kind: str) -> None:
    """What a driver does: tell that a condition of the device is true."""
    raw = api.raw("default/c", KINDS.RESOURCE_CLAIM)
    condition = {"type": kind, "status": "True", "reason": "Said", "message": "so"}
    told = [{"driver": DRIVER, "pool": "n1", "device": "gpu-0", "conditions": [condition]}]
    api.put(KINDS.RESOURCE_CLAIM, {**raw, "status": {**raw["status"], "devices": told}})


CONDITIONS: Raw = {"bindingConditions": ["Ready"], "bindingFailureConditions": ["Failed"]}


async def test_a_pod_waits_until_its_device_is_ready() -> None:
    api = world("c", **CONDITIONS)
    async with running(api):
        await settle(60)
        assert api.nodes_of_pods() == {"pod-c": ""}
        said = "waiting for binding conditions for device on node n1"
        assert ("pod-c", "BindingConditionsPending", said) in api.recorded
        report(api, "Ready")
        await settle()
        assert api.nodes_of_pods() == {"pod-c": "n1"}


async def test_a_device_that_fails_is_deallocated() -> None:
    api = world("c", **CONDITIONS)
    async with running(api):
        report(api, "Failed")
        await settle(0.5)
        said = 'device binding failed: claim=c, reason=Said, message="so"'
        assert ("pod-c", "FailedScheduling", f'running PreBind plugin "DynamicResources": {said}') in api.recorded
        await settle(5)
        notes = [note for _, reason, note in api.recorded if reason == "FailedScheduling"]
        assert any("deallocation of ResourceClaim completed" in note for note in notes)
        report_ready = status(api, "c")
        assert not report_ready.get("devices")


async def test_a_device_that_is_not_ready_in_time_is_deallocated() -> None:
    api = world("c", **CONDITIONS)
    metrics = Metrics()
    async with running(api, metrics=metrics):
        await settle(610)
        wanted = f'allocations_total{{profile="default-scheduler",driver="{DRIVER}",status="timeout"}} 1'
        assert wanted in metrics.render()[0].decode()
        notes = [note for _, reason, note in api.recorded if reason == "FailedScheduling"]
        assert notes[0] == 'running PreBind plugin "DynamicResources": device binding timeout: claim=c'
        assert any("deallocation of ResourceClaim completed" in note for note in notes)


# -- extended resources -----------------------------------------------------------------------------------------------


def extended_world(**allocatable: str) -> FakeApi:
    """A node with a device that serves example.com/gpu, and a pod that requests one."""
    api = world()
    node = api.raw("n1", KINDS.NODE)
    api.put(KINDS.NODE, {**node, "status": {"allocatable": {**node["status"]["allocatable"], **allocatable}}})
    api.put(KINDS.DEVICE_CLASS, {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}})
    wanted = {"cpu": "100m", "example.com/gpu": "1"}
    container = {"name": "c", "image": "i", "resources": {"requests": wanted, "limits": wanted}}
    api.pod("user", containers=[container])
    return api


async def test_a_claim_is_made_for_an_extended_resource() -> None:
    api = extended_world()
    async with running(api) as live:
        assert api.nodes_of_pods() == {"user": "n1"}
        ((key, made),) = api.objects[KINDS.RESOURCE_CLAIM].items()
        assert key.startswith("default/user-extended-resources-")
        assert made.raw["metadata"]["annotations"] == {"resource.kubernetes.io/extended-resource-claim": "true"}
        assert [user["name"] for user in made.raw["status"]["reservedFor"]] == ["user"]
        assert devices(api) == ["gpu-0"]
        status = api.raw("default/user")["status"]["extendedResourceClaimStatus"]
        assert status["resourceClaimName"] == made.name
        assert status["requestMappings"] == [
            {"containerName": "c", "resourceName": "example.com/gpu", "requestName": "container-0-request-1"}
        ]
        assert not live.scheduler.cluster.devices.promises


async def test_a_node_that_has_the_resource_itself_needs_no_claim() -> None:
    api = extended_world(**{"example.com/gpu": "1"})
    async with running(api):
        assert api.nodes_of_pods() == {"user": "n1"}
        assert not api.objects[KINDS.RESOURCE_CLAIM]


@pytest.mark.parametrize("fate", [Fate.ERROR, Fate.LOST, Fate.UNANSWERED])
@pytest.mark.parametrize("verb", ["create", "patch", "bind"])
async def test_failures_leave_exactly_one_extended_claim(verb: str, fate: Fate) -> None:
    api = extended_world()
    left = [1]

    def fail(called: str, key: str) -> Fate:
        if called == verb and left[0]:
            left[0] = 0
            return fate
        return Fate.OK

    api.fate = fail
    async with running(api) as live:
        await settle(60)
        assert api.nodes_of_pods() == {"user": "n1"}
        assert len(api.objects[KINDS.RESOURCE_CLAIM]) == 1
        assert devices(api) == ["gpu-0"]
        assert not live.scheduler.cluster.devices.promises


async def test_without_devices_the_pod_waits_for_a_slice() -> None:
    api = extended_world()
    publish(api, "n1", 0)
    async with running(api):
        assert api.nodes_of_pods() == {"user": ""}
        publish(api, "n1", 1)
        await settle(2)
        assert api.nodes_of_pods() == {"user": "n1"}


async def test_a_class_that_serves_the_resource_lets_a_waiting_pod_in() -> None:
    api = extended_world()
    api.put(KINDS.DEVICE_CLASS, {"metadata": {"name": "gpu"}, "spec": {}})
    async with running(api):
        notes = [note for _, reason, note in api.recorded if reason == "FailedScheduling"]
        assert any("Insufficient example.com/gpu" in note for note in notes)
        api.put(KINDS.DEVICE_CLASS, {"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "example.com/gpu"}})
        await settle(2)
        assert api.nodes_of_pods() == {"user": "n1"}
