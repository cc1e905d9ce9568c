"""Answer questions of many tabs with few children: the newest of a tab wins, equal ones share an answer.

A slider that is dragged asks many times a second, and each question costs a child process. So:

- a newer question of the same session, tab and name takes the place of the older one, whose child is cancelled unless
  another tab reads its answer, too;
- questions with equal arguments about the same generation of the input are one run: a tab that joins later is first
  given the parts that are there already;
- complete answers are kept, least recently used first out, within bounds of number and size, until there is another
  generation. Errors are not kept.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import Any, TypeAlias

import msgspec

Part: TypeAlias = dict[str, Any]
AskSimulator: TypeAlias = Callable[[str, dict[str, Any]], AsyncGenerator[Part, None]]
#: Generation, question and arguments as sorted JSON.
RunKey: TypeAlias = tuple[int, str, bytes]

#: An argument that names the browser's tab; it is not passed on.
TAB = "tab"
SUPERSEDED: Part = {"error": "a newer question of this tab took its place", "superseded": True, "done": True}

_canonical = msgspec.json.Encoder(order="deterministic")


class _Reading:
    """One ask of a tab: woken by news of its run, and when a newer ask of the tab takes its place."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.superseded = False

    def supersede(self) -> None:
        self.superseded = True
        self.news.set()


class _Run:
    """One child's answer as far as it has come, and who reads it."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.ended = False
        self.failure: Exception | None = None
        self.readers: set[_Reading] = set()
        self.task: asyncio.Task[None] | None = None

    def tell(self) -> None:
        for reading in self.readers:
            reading.news.set()


class Coalescer:
    """Stand between the ask route and `Simulator.ask`."""

    def __init__(
        self, ask: AskSimulator, generation: Callable[[], int], *, most_answers: int = 64, most_bytes: int = 64 << 20
    ) -> None:
        self._ask = ask
        self._generation = generation
        self._most_answers = most_answers
        self._most_bytes = most_bytes
        self._runs: dict[RunKey, _Run] = {}
        self._newest: dict[tuple[str, str, str], _Reading] = {}
        self._answers: OrderedDict[RunKey, tuple[list[Part], int]] = OrderedDict()
        self._bytes = 0

    @property
    def running(self) -> int:
        """Return how many children are at work."""
        return len(self._runs)

    @property
    def kept(self) -> int:
        """Return how many complete answers are kept."""
        return len(self._answers)

    async def ask(
        self, question: str, arguments: dict[str, Any], *, session: str = "", tab: str = ""
    ) -> AsyncGenerator[Part, None]:
        """Yield the answer's parts; closing the iterator leaves the run, and the last to leave cancels it.

        An ask whose place was taken ends with `SUPERSEDED`. That happens to none without a tab, which may be named here
        or among the arguments.
        """
        named = arguments.get(TAB)
        tab = tab or (named if isinstance(named, str) else "")
        arguments = {name: value for name, value in arguments.items() if name != TAB}
        reading = _Reading()
        place = (session, question, tab)
        if tab:
            older = self._newest.get(place)
            if older is not None:
                older.supersede()
            self._newest[place] = reading
        try:
            async with aclosing(self._read(question, arguments, reading)) as parts:
                async for part in parts:
                    yield part
        finally:
            if self._newest.get(place) is reading:
                del self._newest[place]

    async def close(self) -> None:
        """Cancel all children, and forget all answers."""
        tasks = [run.task for run in self._runs.values() if run.task is not None]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        self._forget_answers()

    async def _read(self, question: str, arguments: dict[str, Any], reading: _Reading) -> AsyncGenerator[Part, None]:
        key = (self._generation(), question, _canonical.encode(arguments))
        kept = self._kept_answer(key)
        if kept is not None:
            for part in kept:
                yield part
            return
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = _Run()
            run.task = asyncio.create_task(self._carry_out(run, key, question, arguments))
        run.readers.add(reading)
        try:
            given = 0
            while not reading.superseded:
                if given < len(run.parts):
                    given += 1
                    yield run.parts[given - 1]
                elif run.ended:
                    if run.failure is not None:
                        raise run.failure
                    return
                else:
                    reading.news.clear()
                    await reading.news.wait()
            yield SUPERSEDED
        finally:
            run.readers.discard(reading)
            if not run.readers:
                self._abandon(run, key)

    async def _carry_out(self, run: _Run, key: RunKey, question: str, arguments: dict[str, Any]) -> None:
        try:
            async with aclosing(self._ask(question, arguments)) as parts:
                async for part in parts:
                    run.parts.append(part)
                    run.tell()
            self._keep_answer(key, [part for part in run.parts if "progress" not in part])
        except Exception as problem:  # whatever the simulator raises is each reader's to report
            run.failure = problem
        finally:
            run.ended = True
            if self._runs.get(key) is run:
                del self._runs[key]
            run.tell()

    def _abandon(self, run: _Run, key: RunKey) -> None:
        """Cancel a run that no tab reads any more; the next equal question starts a new one."""
        if self._runs.get(key) is run:
            del self._runs[key]
        if run.task is not None and not run.ended:
            run.task.cancel()

    def _kept_answer(self, key: RunKey) -> list[Part] | None:
        if self._answers and next(iter(self._answers))[0] != key[0]:
            self._forget_answers()
        kept = self._answers.get(key)
        if kept is None:
            return None
        self._answers.move_to_end(key)
        return kept[0]

    def _keep_answer(self, key: RunKey, parts: list[Part]) -> None:
        # A generation that came meanwhile may have given this answer: then it is for its readers only.
        if self._generation() != key[0] or not parts or not parts[-1].get("done") or "error" in parts[-1]:
            return
        if self._answers and next(iter(self._answers))[0] != key[0]:
            self._forget_answers()
        size = sum(len(msgspec.json.encode(part)) for part in parts)
        if size > self._most_bytes:
            return
        self._answers[key] = (parts, size)
        self._bytes += size
        while len(self._answers) > self._most_answers or self._bytes > self._most_bytes:
            _, (_, dropped) = self._answers.popitem(last=False)
            self._bytes -= dropped

    def _forget_answers(self) -> None:
        self._answers.clear()
        self._bytes = 0
