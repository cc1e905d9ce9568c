"""Background calls are all made, whenever they are sent, and never too many at a time."""

import asyncio

from moorage.client.pacing import BackgroundCalls


async def test_calls_sent_when_all_runners_have_just_ended_are_made() -> None:
    calls, made = BackgroundCalls(2), list[int]()

    async def call() -> None:
        made.append(len(made))

    for _ in range(4):
        calls.send(call)
    # Nothing in the calls waits, so that this goes on in the very turn of the loop in which both runners end.
    await asyncio.sleep(0)
    calls.send(call)
    await asyncio.sleep(1.0)
    assert len(made) == 5
    assert not len(calls)


async def test_no_more_calls_than_allowed_are_made_at_a_time() -> None:
    calls, running, most = BackgroundCalls(3), 0, 0

    async def call() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(1.0)
        running -= 1

    for _ in range(10):
        calls.send(call)
    await asyncio.sleep(0.5)
    calls.send(call)
    await asyncio.sleep(10.0)
    assert most == 3
    assert not len(calls)


async def test_closing_drops_what_waits() -> None:
    calls, made = BackgroundCalls(1), list[str]()

    async def call() -> None:
        await asyncio.sleep(1.0)
        made.append("made")

    calls.send(call)
    calls.send(call)
    await calls.close()
    assert not made
    assert not len(calls)
