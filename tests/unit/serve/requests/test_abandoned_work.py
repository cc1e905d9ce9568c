"""Long work that no client waits for: it is not begun, or ended where it is, and what comes after it is done."""

import asyncio
import gc
import sys
import threading
from contextlib import suppress
from itertools import count

import pytest
from tests.unit.serve.http.serving import closing_clients, connect, serving

from moorage.serve.http.messages import Request, Response
from moorage.serve.requests import job_threads, long_work
from moorage.serve.requests.long_work import LongWork

pytestmark = pytest.mark.real_time


@pytest.fixture(autouse=True)
def _collecting() -> None:
    """Begin with the garbage collector on: long work that an earlier test left behind may have turned it off."""
    gc.enable()


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let functions wait for each other."""
    monkeypatch.setattr(long_work, "_MAX_THREADS", 1)


class Endless:
    """A function that works until it is ended, and says when it begins and how it ends."""

    def __init__(self) -> None:
        self.begun, self.ended = threading.Event(), threading.Event()
        self.error: BaseException | None = None

    def __call__(self) -> None:
        self.begun.set()
        try:
            for _ in count():
                pass
        except BaseException as error:
            self.error = error
            raise
        finally:
            self.ended.set()

    async def wait(self) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.begun.wait)


async def cancelled(task: "asyncio.Task[object]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_a_function_under_way_is_ended_with_its_caller_and_the_next_is_called() -> None:
    work, endless = LongWork(), Endless()
    interval = sys.getswitchinterval()
    task = asyncio.create_task(work.run(endless))
    await endless.wait()
    after = asyncio.create_task(work.run(threading.get_ident))
    await cancelled(task)
    assert await after != threading.get_ident()
    assert endless.ended.is_set()
    assert isinstance(endless.error, job_threads.AbandonedError)
    assert await work.run(int, "7") == 7
    assert gc.isenabled()
    assert sys.getswitchinterval() == interval


async def test_a_function_that_was_not_begun_is_not_called() -> None:
    work, released, called = LongWork(), threading.Event(), list[int]()
    first = asyncio.create_task(work.run(released.wait))
    second = asyncio.create_task(work.run(called.append, 1))
    await asyncio.sleep(0)
    await cancelled(second)
    released.set()
    await first
    assert await work.run(len, called) == 0


async def test_only_the_function_of_the_caller_is_ended() -> None:
    work, endless = LongWork(), Endless()
    task = asyncio.create_task(work.run(endless))
    await endless.wait()
    others = [asyncio.create_task(work.run(lambda number=number: number)) for number in range(20)]
    for number, other in enumerate(others):
        if number % 2:
            await cancelled(other)
    assert not endless.ended.is_set()
    await cancelled(task)
    assert await asyncio.gather(*others[::2]) == list(range(0, 20, 2))


async def test_callers_that_leave_at_any_moment_leave_the_thread_working() -> None:
    work = LongWork()
    for turns in range(300):
        task = asyncio.create_task(work.run(sum, range(turns * 50)))
        for _ in range(turns % 7):
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            assert await task == sum(range(turns * 50))
        assert await work.run(int, str(turns)) == turns
    assert gc.isenabled()


async def test_nothing_is_raised_in_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    work, endless, importing = LongWork(), Endless(), [True, True, False]
    monkeypatch.setattr(job_threads, "_is_importing", lambda thread: importing.pop(0))
    task = asyncio.create_task(work.run(endless))
    await endless.wait()
    await cancelled(task)
    assert not endless.ended.is_set()
    assert await work.run(int, "7") == 7
    assert importing == []


def test_an_import_is_seen_on_the_stack() -> None:
    def frames_of(code: str, file: str) -> bool:
        seen: list[bool] = []

        def look() -> None:
            seen.append(job_threads._is_importing(threading.get_ident()))

        exec(compile(code, file, "exec"), {"look": look})
        return seen[0]

    assert frames_of("look()", "<frozen importlib._bootstrap>")
    assert not frames_of("look()", "elsewhere.py")


@pytest.mark.real_time(loop="uvloop")
async def test_long_work_for_a_client_that_has_gone_is_ended() -> None:
    work, endless = LongWork(), Endless()

    async def handler(request: Request) -> Response:
        await work.run(endless)
        return Response(200, b"")

    async with closing_clients(), serving(handler) as server:
        server.client_gone = work.abandon
        client = await connect(server)
        client.send("POST /a")
        await endless.wait()
        client.vanish()
        assert await work.run(int, "7") == 7
        while server.tasks:
            await asyncio.sleep(0.001)
    assert isinstance(endless.error, job_threads.AbandonedError)
