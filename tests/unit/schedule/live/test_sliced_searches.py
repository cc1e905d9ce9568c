"""A claim with more combinations than can be tried in a moment: its pod waits, and nothing else does."""

from functools import partial
from typing import Any

import pytest
from tests.unit.schedule.live.fake_api import FakeApi
from tests.unit.schedule.live.running import running, settle
from tests.unit.schedule.live.test_claims import DRIVER, add_pod, status

from moorage.model.kinds import KINDS
from moorage.schedule.plugins.devices import device_needs, sliced_searches
from moorage.schedule.plugins.devices.sliced_searches import OutdatedSearch, Pause, SlicedCall, SlicedSearches


def counters_world(nodes: int, limit: str) -> FakeApi:
    """Two counters, of which every choice of eight devices needs much of both."""
    api = FakeApi()
    api.put(KINDS.DEVICE_CLASS, {"metadata": {"name": "gpu"}, "spec": {}})
    for number in range(nodes):
        name = f"n{number}"
        api.node(name, cpu="64")
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
        counters = {"a": {"value": limit}, "b": {"value": limit}}
        for part in ({"devices": devices}, {"sharedCounters": [{"name": "c", "counters": counters}]}):
            pool = {"name": name, "generation": 1, "resourceSliceCount": 2}
            spec = {"driver": DRIVER, "nodeName": name, "pool": pool, **part}
            api.put(KINDS.RESOURCE_SLICE, {"metadata": {"name": f"{name}-{next(iter(part)).lower()}"}, "spec": spec})
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 8}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    api.put(KINDS.RESOURCE_CLAIM, {"metadata": {"name": "many", "namespace": "default"}, "spec": spec})
    return api


@pytest.fixture
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_needs, "_ALLOWANCES", ((4_000, 2_000), (6_000, 800)))
    monkeypatch.setattr(device_needs, "_QUICK_STEPS", 50)


@pytest.mark.usefixtures("little_patience")
async def test_a_search_that_is_given_up_goes_on_beside_other_pods_and_says_its_bound() -> None:
    api = counters_world(6, "40")
    async with running(api) as live:
        add_pod(api, "pod-many", "many")
        api.pod("plain")
        await settle(30)
        assert api.nodes_of_pods()["plain"]
        assert not api.nodes_of_pods()["pod-many"]
        said = [(of, reason) for of, reason, _ in api.recorded]
        assert said.index(("plain", "Scheduled")) < said.index(("pod-many", "FailedScheduling"))
        note = next(note for of, _, note in api.recorded if of == "pod-many")
        assert "2 gave up allocating devices after 2000 steps: the claims' requests allow too many" in note
        assert len(live._sliced) == 0


@pytest.mark.usefixtures("little_patience")
async def test_what_a_long_search_finds_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[object] = []
    begin = SlicedSearches.begin

    def counted(self: SlicedSearches, call: SlicedCall[Any]) -> None:
        begun.append(call)
        begin(self, call)

    monkeypatch.setattr(SlicedSearches, "begin", counted)
    api = counters_world(1, "44")
    add_pod(api, "pod-many", "many")
    async with running(api):
        await settle(30)
        assert api.nodes_of_pods() == {"pod-many": "n0"}
        assert begun
        results = status(api, "many")["allocation"]["devices"]["results"]
        assert len({result["device"] for result in results}) == 8
        used = [int(result["device"][1:]) for result in results]
        assert sum(1 + one % 9 for one in used) <= 44
        assert sum(10 - one % 9 for one in used) <= 44


async def test_many_long_selectors_are_compiled_in_slices() -> None:
    api = FakeApi()
    api.put(KINDS.DEVICE_CLASS, {"metadata": {"name": "gpu"}, "spec": {}})
    api.node("n0", cpu="64")
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": "n0", "pool": pool, "devices": [{"name": "d"}]}
    api.put(KINDS.RESOURCE_SLICE, {"metadata": {"name": "n0"}, "spec": spec})
    long = " || ".join(f"device.driver == '{'x' * 200}{number}'" for number in range(40))
    selectors = [
        {"cel": {"expression": f"{long} || device.driver == '{DRIVER}' || {number} < 0"}} for number in range(3)
    ]
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, "selectors": selectors}
    claim = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    api.put(KINDS.RESOURCE_CLAIM, {"metadata": {"name": "many", "namespace": "default"}, "spec": claim})
    add_pod(api, "pod-many", "many")
    api.pod("plain")
    async with running(api):
        await settle(30)
        assert api.nodes_of_pods() == {"pod-many": "n0", "plain": "n0"}
        said = [of for of, reason, _ in api.recorded if reason == "Scheduled"]
        assert said == ["plain", "pod-many"]


def test_a_sliced_call_runs_only_while_it_is_resumed() -> None:
    seen: list[int] = []

    def count(pause: Pause) -> str:
        for number in range(3):
            seen.append(number)
            pause()
        return "done"

    call = SlicedCall(count, lambda: True)
    for number in range(1, 4):
        call.resume(0.0)
        assert len(seen) == number
        assert not call.is_done
    call.resume(0.0)
    assert (call.is_done, call.result()) == (True, "done")


def test_a_sliced_call_ends_when_its_result_is_not_wanted_any_more() -> None:
    def forever(pause: Pause) -> None:
        while True:
            pause()

    current = [True]
    call = SlicedCall(forever, lambda: current[0])
    call.resume(0.0)
    current[0] = False
    call.resume(0.0)
    assert call.is_done
    assert call.is_outdated
    with pytest.raises(OutdatedSearch):
        call.result()


def test_many_calls_take_turns_and_their_waiters_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sliced_searches, "_ACTIVE", 2)
    order: list[str] = []

    def counting(name: str) -> SlicedCall[Any]:
        def count(pause: Pause) -> None:
            for _ in range(2):
                order.append(name)
                pause()

        return SlicedCall(count, lambda: True)

    searches = SlicedSearches()
    called: list[str] = []
    for name in "abc":
        call = counting(name)
        call.account.waiters[name] = (partial(called.append, name), lambda: True)
        searches.begin(call)
    gone = counting("gone")
    gone.account.waiters["gone"] = (lambda: called.append("gone"), lambda: False)
    searches.begin(gone)
    while searches.work(0.0):
        pass
    assert "".join(order[:4]) == "abab"
    assert "gone" not in order
    assert set(called) >= {"a", "b", "c"}
    assert len(searches) == 0
