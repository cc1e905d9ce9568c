"""Questions of many tabs need few children: the newest of a tab wins, and equal ones share an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, TypeAlias

import pytest

from moorage.dashboard.http.coalescing import SUPERSEDED, Coalescer

Part: TypeAlias = dict[str, Any]


class Children:
    """A simulator that says at once which child it is, and the rest when it is let."""

    def __init__(self) -> None:
        self.started: list[dict[str, Any]] = []
        self.cancelled: list[int] = []
        self.generation = 1
        self.finish = asyncio.Event()
        self.last: Part = {"part": "whatIf", "done": True}
        self.failure: Exception | None = None

    async def ask(self, question: str, arguments: dict[str, Any]) -> AsyncGenerator[Part, None]:
        self.started.append(arguments)
        child = len(self.started)
        ended = False
        try:
            yield {"part": "evictions", "child": child}
            await self.finish.wait()
            if self.failure is not None:
                raise self.failure
            ended = True
            yield {**self.last, "child": child}
        finally:
            if not ended:
                self.cancelled.append(child)


async def read(parts: AsyncGenerator[Part, None]) -> list[Part]:
    async with aclosing(parts):
        return [part async for part in parts]


def made(**bounds: int) -> tuple[Children, Coalescer]:
    children = Children()
    return children, Coalescer(children.ask, lambda: children.generation, **bounds)


async def settle() -> None:
    """Let every task that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_newer_question_of_the_tab_takes_the_place_of_the_older() -> None:
    children, coalescer = made()
    older = asyncio.create_task(read(coalescer.ask("what-if", {"value": 1, "tab": "a"}, session="s")))
    await settle()
    newer = asyncio.create_task(read(coalescer.ask("what-if", {"value": 2, "tab": "a"}, session="s")))
    assert await older == [{"part": "evictions", "child": 1}, SUPERSEDED]
    await settle()
    assert children.cancelled == [1]
    assert coalescer.running == 1
    children.finish.set()
    assert [part["child"] for part in await newer] == [2, 2]
    assert coalescer.running == 0
    assert children.started == [{"value": 1}, {"value": 2}], "the tab is not passed on"


@pytest.mark.parametrize(
    ("question", "session", "tab"),
    [("what-if", "s", "b"), ("what-if", "t", "a"), ("plan", "s", "a"), ("what-if", "s", "")],
    ids=["another tab", "another session", "another question", "no tab"],
)
async def test_others_do_not_take_its_place(question: str, session: str, tab: str) -> None:
    children, coalescer = made()
    first = asyncio.create_task(read(coalescer.ask("what-if", {"value": 1}, session="s", tab="a")))
    await settle()
    second = asyncio.create_task(read(coalescer.ask(question, {"value": 2}, session=session, tab=tab)))
    await settle()
    children.finish.set()
    assert [part.get("child") for part in await first] == [1, 1]
    assert [part.get("child") for part in await second] == [2, 2]
    assert children.cancelled == []


async def test_equal_questions_share_one_child_and_all_parts() -> None:
    children, coalescer = made()
    first = asyncio.create_task(read(coalescer.ask("what-if", {"a": 1, "b": {"c": 2, "d": 3}}, tab="a")))
    await settle()
    second = asyncio.create_task(read(coalescer.ask("what-if", {"b": {"d": 3, "c": 2}, "a": 1}, tab="b")))
    await settle()
    children.finish.set()
    assert await first == await second
    assert len(children.started) == 1


async def test_a_child_that_another_tab_reads_is_not_cancelled() -> None:
    children, coalescer = made()
    shared = [asyncio.create_task(read(coalescer.ask("what-if", {"value": 1}, tab=tab))) for tab in ("a", "b")]
    await settle()
    newer = asyncio.create_task(read(coalescer.ask("what-if", {"value": 2}, tab="a")))
    assert (await shared[0])[-1] == SUPERSEDED
    assert children.cancelled == []
    children.finish.set()
    assert [part["child"] for part in await shared[1]] == [1, 1]
    assert [part["child"] for part in await newer] == [2, 2]


async def test_asking_the_same_again_in_the_tab_keeps_the_child() -> None:
    children, coalescer = made()
    older = asyncio.create_task(read(coalescer.ask("what-if", {"value": 1}, tab="a")))
    await settle()
    newer = asyncio.create_task(read(coalescer.ask("what-if", {"value": 1}, tab="a")))
    await settle()
    assert (await older)[-1] == SUPERSEDED
    children.finish.set()
    assert [part["child"] for part in await newer] == [1, 1]
    assert children.cancelled == []


async def test_the_last_reader_that_leaves_cancels_the_child() -> None:
    children, coalescer = made()
    readers = [coalescer.ask("what-if", {"value": 1}) for _ in range(2)]
    for reader in readers:
        assert await anext(reader) == {"part": "evictions", "child": 1}
    await readers[0].aclose()
    await settle()
    assert children.cancelled == []
    await readers[1].aclose()
    await settle()
    assert children.cancelled == [1]
    assert coalescer.running == 0


async def test_a_complete_answer_is_given_again_until_there_is_another_generation() -> None:
    children, coalescer = made()
    children.finish.set()
    first = await read(coalescer.ask("what-if", {"value": 1}))
    assert await read(coalescer.ask("what-if", {"value": 1})) == first
    assert len(children.started) == 1
    children.generation = 2
    assert [part["child"] for part in await read(coalescer.ask("what-if", {"value": 1}))] == [2, 2]
    assert coalescer.kept == 1, "those of the first generation are forgotten"


async def test_an_answer_that_a_new_generation_overtook_is_not_kept() -> None:
    children, coalescer = made()
    reader = asyncio.create_task(read(coalescer.ask("what-if", {"value": 1})))
    await settle()
    children.generation = 2
    children.finish.set()
    assert len(await reader) == 2
    assert coalescer.kept == 0


async def test_least_recently_used_answers_go_first() -> None:
    children, coalescer = made(most_answers=2)
    children.finish.set()
    for value in (1, 2, 1, 3, 1, 2):
        await read(coalescer.ask("what-if", {"value": value}))
    assert [arguments["value"] for arguments in children.started] == [1, 2, 3, 2]


async def test_answers_are_bounded_by_their_size() -> None:
    children, coalescer = made(most_bytes=1000)
    children.finish.set()
    children.last = {"done": True, "text": "x" * 400}
    for value in range(5):
        await read(coalescer.ask("what-if", {"value": value}))
    assert coalescer.kept == 2
    children.last = {"done": True, "text": "x" * 2000}
    await read(coalescer.ask("what-if", {"value": 9}))
    assert coalescer.kept == 2, "what is too large alone drives nothing out"


@pytest.mark.parametrize("last", [{"error": "took longer than 30 s", "done": True}, {"part": "half"}])
async def test_errors_and_halves_are_not_kept(last: Part) -> None:
    children, coalescer = made()
    children.finish.set()
    children.last = last
    await read(coalescer.ask("what-if", {"value": 1}))
    await read(coalescer.ask("what-if", {"value": 1}))
    assert len(children.started) == 2


async def test_every_reader_gets_the_simulators_failure() -> None:
    children, coalescer = made()
    readers = [asyncio.create_task(read(coalescer.ask("what-if", {"value": 1}))) for _ in range(2)]
    await settle()
    children.failure = RuntimeError("the simulator has gone")
    children.finish.set()
    for reader in readers:
        with pytest.raises(RuntimeError, match="has gone"):
            await reader
    assert (coalescer.running, coalescer.kept) == (0, 0)


async def test_closing_cancels_all_children() -> None:
    children, coalescer = made()
    readers = [asyncio.create_task(read(coalescer.ask("what-if", {"value": value}))) for value in range(3)]
    await settle()
    await coalescer.close()
    assert sorted(children.cancelled) == [1, 2, 3]
    assert coalescer.running == 0
    for reader in readers:
        await reader
