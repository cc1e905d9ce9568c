"""What goes on while pods are scheduled: churn, and deletions at a given rate.

In: operations and their templates. Out: requests at their times, until the workload is over. As upstream, a create of
churn that the server refuses is nothing to stop for. Kubernetes: runChurnOp and runDeletePodsOp in executor.go.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from bench.e2e.documents import wire_document
from bench.e2e.requests import facts_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence

    from bench.e2e.requests import Raw, Requests
    from bench.e2e.sender import Sender
    from bench.perf.operations import Churn
    from bench.perf.templates import Template
    from moorage.model.kinds import Kind

_CHURN_MILLISECONDS = 500
_REFUSALS = tuple(range(400, 500))
_GONE = (404, 409)


class Background:
    """See the module. `prepare` makes a document one that the server takes."""

    def __init__(self, requests: Requests, sender: Sender, prepare: Callable[[Raw], Awaitable[Raw]]) -> None:
        self._requests, self._sender, self._prepare = requests, sender, prepare
        self._tasks: list[asyncio.Task[None]] = []

    def check(self) -> None:
        """Raises what went wrong meanwhile."""
        for task in self._tasks:
            if task.done():
                task.result()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def send_at(self, per_second: int, requests: Sequence[bytes]) -> asyncio.Task[None]:
        """Send the requests one by one, as many in a second; as fast as can be for 0."""
        return self._start(self._send_at(per_second, requests))

    async def _send_at(self, per_second: int, requests: Sequence[bytes]) -> None:
        ticks = _every(1 / per_second if per_second else 0.0)
        for request in requests:
            await anext(ticks)
            await self._sender.one(request, *_GONE)

    def churn(self, operation: Churn, templates: Sequence[Template], namespace: str) -> None:
        work = self._create if operation.mode == "create" else self._recreate
        self._start(work(operation, templates, namespace))

    async def _create(self, operation: Churn, templates: Sequence[Template], namespace: str) -> None:
        count = 0
        async for _ in _every(_interval(operation)):
            for template in templates:
                await self._make(template, count, namespace)
            count += 1
            if operation.number and count >= operation.number:
                return

    async def _recreate(self, operation: Churn, templates: Sequence[Template], namespace: str) -> None:
        count = 0
        alive: dict[tuple[int, int], tuple[Kind, str]] = {}
        async for _ in _every(_interval(operation)):
            for number, template in enumerate(templates):
                place = (number, count % operation.number)
                there = alive.pop(place, None)
                if there is not None:
                    await self._sender.one(self._requests.delete(*there, namespace), *_GONE)
                elif name := await self._make(template, count, namespace):
                    alive[place] = (facts_of(wire_document(template.document())), name)
            count += 1

    async def _make(self, template: Template, index: int, namespace: str) -> str:
        """One object; returns its name, or nothing if the server did not want it."""
        document = await self._prepare(wire_document(template.document(index, 1)))
        answer = await self._sender.one(self._requests.create(document, namespace), *_REFUSALS)
        return str(msgspec.json.decode(answer.body)["metadata"]["name"]) if answer.status < 300 else ""

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.append(task)
        return task


def _interval(operation: Churn) -> float:
    return (operation.intervalMilliseconds or _CHURN_MILLISECONDS) / 1000


async def _every(interval: float) -> AsyncIterator[None]:
    """Ticks, the first after an interval; those that were missed are left out, as Go's tickers do."""
    loop = asyncio.get_running_loop()
    due = loop.time() + interval
    while True:
        await asyncio.sleep(max(0.0, due - loop.time()))
        yield
        due = max(due + interval, loop.time())
