"""Work on large documents beside the event loop, so that other clients are answered meanwhile, and fairly between them.

Each client, which is a user, has a queue of its own; threads take from these in turn, and a client can never occupy all
threads: one that sends what takes a minute keeps others waiting for at most what they have sent themselves. Nothing is
done for a client that has gone or was timed out. Kubernetes: API priority and fairness, queues for each flow.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextvars import ContextVar
from time import perf_counter
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from moorage.model.api_error import too_many_requests
from moorage.serve.requests.job_threads import JobThread

#: The user whose request the current task handles; components of this process have none.
CLIENT: ContextVar[str] = ContextVar("CLIENT", default="")

Result = TypeVar("Result")
Item = TypeVar("Item")

#: How long one task may work on many items before it lets others work.
SLICE_SECONDS = 0.002
_AT_A_TIME = 2
#: Threads, and how many of them one client may occupy.
_MAX_THREADS, _MAX_THREADS_OF_CLIENT = 8, 3
_MAX_WAITING, _MAX_WAITING_OF_CLIENT = 400, 100
#: A document of fewer bytes is never large, one of more always: functions that read a text take up to a microsecond
#: for each character. Between them it depends on the objects and lists, and on the values.
_FEW_BYTES, _MANY_BYTES = 8 * 1024, 64 * 1024
_FEW_CONTAINERS, _FEW_VALUES = 1_000, 4_000
_FEW_PROTOBUF_BYTES = 4 * 1024


def is_large(text: bytes) -> bool:
    """Return whether work on a document, given as JSON or YAML, may take so long that others should not wait for it."""
    if len(text) <= _FEW_BYTES:
        return False
    if len(text) > _MANY_BYTES:
        return True
    containers = text.count(b"{") + text.count(b"[")
    return containers > _FEW_CONTAINERS or text.count(b",") > _FEW_VALUES or text.count(b"\n") > _FEW_VALUES


def is_large_body(body: bytes, content_type: str) -> bool:
    """Return the same of the body of a request, which may be protobuf."""
    if len(body) <= _FEW_PROTOBUF_BYTES:
        return False
    return "protobuf" in content_type or is_large(body)


class _Turns:
    """Tasks that wait for their next slice. Two of them go on in each turn of the loop, however many there are."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()

    def wait(self) -> "asyncio.Future[None]":
        if not self._waiting:
            self._loop.call_soon(self._go_on)
        turn: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(turn)
        return turn

    def _go_on(self) -> None:
        for _ in range(min(_AT_A_TIME, len(self._waiting))):
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
        if self._waiting:
            self._loop.call_soon(self._go_on)


_turns: "WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns]" = WeakKeyDictionary()


async def next_turn() -> None:
    """Yield until earlier long tasks have run."""
    loop = asyncio.get_running_loop()
    turns = _turns.get(loop)
    if turns is None:
        turns = _turns[loop] = _Turns(loop)
    await turns.wait()


async def in_slices(items: Sequence[Item]) -> AsyncIterator[tuple[int, Item]]:
    """Yield items with their places; other tasks run every two milliseconds."""
    until = perf_counter() + SLICE_SECONDS
    for place, item in enumerate(items):
        yield place, item
        if not place & 7 and perf_counter() >= until:
            await next_turn()
            until = perf_counter() + SLICE_SECONDS


class _Job(NamedTuple):
    client: str
    done: "asyncio.Future[Any]"
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class LongWork:
    """The threads, each started when it is first needed, and the jobs that wait for them."""

    def __init__(self) -> None:
        self._idle: list[JobThread] = []
        self._threads = 0
        #: Clients with jobs that wait, the one whose turn is next first.
        self._queues: dict[str, deque[_Job]] = {}
        #: How many threads work for each client, and which works for which future.
        self._busy: Counter[str] = Counter()
        self._working: dict[JobThread, _Job] = {}
        self._of_tasks: dict[asyncio.Task[Any], asyncio.Future[Any]] = {}

    async def run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function in a thread. Raises what it raises, and ApiError 429 if too many jobs wait already.

        A function whose caller is cancelled is not called, or ended where it is.
        """
        client = CLIENT.get()
        queue = self._queues.get(client, ())
        if len(queue) >= _MAX_WAITING_OF_CLIENT or sum(map(len, self._queues.values())) >= _MAX_WAITING:
            raise too_many_requests("too many large requests, please try again later")
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        task = asyncio.current_task()
        if task is not None:
            self._of_tasks[task] = done
        self._queues.setdefault(client, deque()).append(_Job(client, done, function, arguments))
        self._dispatch()
        try:
            return await done
        except asyncio.CancelledError:
            for thread, job in self._working.items():
                if job.done is done:
                    thread.abandon(done)
            raise
        finally:
            if task is not None:
                del self._of_tasks[task]

    def abandon(self, task: "asyncio.Task[Any]") -> None:
        """Cancel a task if it waits for a thread: its client has gone. Others go on, and write what they do."""
        done = self._of_tasks.get(task)
        if done is not None:
            done.cancel()

    async def read(self, function: Callable[..., Result], body: bytes, content_type: str, *arguments: Any) -> Result:
        """Call a function that reads the body of a request: at once, or in a thread if the body is large."""
        if is_large_body(body, content_type):
            return await self.run(function, body, content_type, *arguments)
        return function(body, content_type, *arguments)

    def _dispatch(self) -> None:
        """Begin as many jobs as there are threads for."""
        while (self._idle or self._threads < _MAX_THREADS) and (job := self._next_job()) is not None:
            if self._idle:
                thread = self._idle.pop()
            else:
                self._threads += 1
                thread = JobThread(f"moorage-long-work-{self._threads}", self._free)
            self._working[thread] = job
            self._busy[job.client] += 1
            thread.begin(job.done, job.function, job.arguments)

    def _next_job(self) -> _Job | None:
        """Take a job of the client whose turn it is, of those who do not occupy their share of threads."""
        for client, queue in list(self._queues.items()):
            while queue and queue[0].done.done():
                queue.popleft()  # its client has gone
            if not queue:
                del self._queues[client]
            elif self._busy[client] < _MAX_THREADS_OF_CLIENT:
                job = queue.popleft()
                del self._queues[client]
                if queue:
                    self._queues[client] = queue  # behind the others
                return job
        return None

    def _free(self, thread: JobThread) -> None:
        client = self._working.pop(thread).client
        self._busy[client] -= 1
        if not self._busy[client]:
            del self._busy[client]
        self._idle.append(thread)
        self._dispatch()
