"""The live scheduler as a whole, over a fake API."""

import asyncio
from collections.abc import Awaitable, Callable

from tests.unit.schedule.live.fake_api import POD, FakeApi, Fate
from tests.unit.schedule.live.running import Clock, running, settle

from moorage.schedule.live.loop import LiveScheduler

Story = Callable[[FakeApi, LiveScheduler, Clock], Awaitable[None]]


def play(api: FakeApi, story: Story) -> None:
    async def whole() -> None:
        clock = Clock()
        async with running(api, clock) as live:
            await story(api, live, clock)

    asyncio.run(whole())


def test_pods_get_nodes_and_say_so() -> None:
    async def story(api: FakeApi, live: LiveScheduler, clock: Clock) -> None:
        assert api.nodes_of_pods() == {"early": "n1"}
        api.pod("late")
        await settle()
        assert api.nodes_of_pods() == {"early": "n1", "late": "n1"}
        assert ("late", "Scheduled", "Successfully assigned default/late to n1") in api.recorded
        assert len(live.assumptions) == 0

    async def prepared() -> None:
        api = FakeApi()
        api.node("n1")
        api.pod("early")
        async with running(api, clock := Clock()) as live:
            await story(api, live, clock)

    asyncio.run(prepared())


def test_a_pod_without_a_node_says_why_once_and_goes_when_there_is_room() -> None:
    async def whole() -> None:
        api = FakeApi()
        api.node("n1", cpu="1")
        api.pod("big", cpu="2")
        async with running(api, clock := Clock()):
            await settle()
            text = "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."
            failures = [note for name, reason, note in api.recorded if reason == "FailedScheduling"]
            assert failures and failures[0].startswith("0/1 nodes are available: 1 Insufficient cpu."), text
            condition = api.raw("default/big")["status"]["conditions"][0]
            assert (condition["type"], condition["status"], condition["reason"]) == (
                "PodScheduled",
                "False",
                "Unschedulable",
            )
            assert condition["message"] == failures[0]
            assert [call for call in api.calls if call[0] == "patch"] == [("patch", "default/big")]
            api.node("n2", cpu="2")
            await settle()
            await clock.pass_time(20)
            assert api.nodes_of_pods() == {"big": "n2"}

    asyncio.run(whole())
