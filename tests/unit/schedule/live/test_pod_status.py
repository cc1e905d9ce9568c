"""What is written into a pod's status, and what is not."""

import asyncio

from tests.unit.schedule.live.fake_api import FakeApi, Fate
from tests.unit.schedule.live.running import settle

from moorage.client.pacing import BackgroundCalls
from moorage.model.kinds import KINDS
from moorage.model.types.pod import PodCondition
from moorage.schedule.live.pod_status import PodStatusWriter

KEY = "default/p"


def condition(message: str) -> PodCondition:
    return PodCondition(type="PodScheduled", status="False", reason="Unschedulable", message=message)


def writer(api: FakeApi) -> PodStatusWriter:
    times = iter(["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "2026-01-01T00:00:03Z"])
    return PodStatusWriter(api, BackgroundCalls(4), asyncio.sleep, lambda: next(times))


async def test_unchanged_condition_is_written_once() -> None:
    api = FakeApi()
    pod = api.pod("p").view
    status = writer(api)
    assert status.say(KEY, pod, condition("no room"), "n1")
    assert not status.say(KEY, pod, condition("no room"), "n1")  # although `pod` is what it was before
    await settle()
    assert status.say(KEY, pod, condition("still no room"), "n1")
    await settle()
    raw = api.raw(KEY)["status"]
    assert raw["nominatedNodeName"] == "n1"
    assert [(one["message"], one["lastTransitionTime"]) for one in raw["conditions"]] == [
        ("still no room", "2026-01-01T00:00:01Z")
    ]
    assert [verb for verb, _ in api.calls] == ["patch", "patch"]


async def test_only_the_newest_condition_follows_a_pending_patch() -> None:
    api = FakeApi()
    pod = api.pod("p").view
    status = writer(api)
    for message in ("one", "two", "three"):
        status.say(KEY, pod, condition(message))
    await settle()
    assert api.raw(KEY)["status"]["conditions"][0]["message"] == "three"
    assert len(api.calls) <= 2


async def test_a_lost_patch_is_sent_again_and_one_that_stays_lost_is_forgotten() -> None:
    api = FakeApi()
    pod = api.pod("p").view
    status = writer(api)
    fates = [Fate.LOST, Fate.ERROR]
    api.fate = lambda verb, key: fates.pop() if fates else Fate.OK
    status.say(KEY, pod, condition("one"))
    await settle(5)
    assert api.raw(KEY)["status"]["conditions"][0]["message"] == "one"
    api.fate = lambda verb, key: Fate.LOST
    status.say(KEY, pod, condition("two"))
    await settle(60)
    api.fate = lambda verb, key: Fate.OK
    assert status.say(KEY, api.objects[KINDS.POD][KEY].view, condition("two"))
    await settle()
    assert api.raw(KEY)["status"]["conditions"][0]["message"] == "two"


async def test_replaced_pod_is_not_patched() -> None:
    api = FakeApi()
    old = api.pod("p").view
    api.drop(KINDS.POD, KEY)
    api.pod("p")
    writer(api).say(KEY, old, condition("one"))
    await settle(60)
    assert "status" not in api.raw(KEY)
