"""Work on large documents in one thread beside the event loop, so that other clients are answered meanwhile.

One document is worked on at a time, and none for a client that has gone or was timed out. The thread shares Python's
interpreter lock: while it works, the event loop gets the lock within half a millisecond. A function whose result is no
longer wanted is ended by an exception raised in the thread, as Ctrl-C is in the main thread, but never inside an
import, which holds locks that are not its own. The thread is not waited for when the process ends. Kubernetes:
goroutines, with the context of the request.
"""

import asyncio
import gc
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from queue import SimpleQueue
from time import perf_counter
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from moorage.model.api_error import too_many_requests

Job = tuple["asyncio.Future[Any]", Callable[..., Any], tuple[Any, ...]]

_SWITCH_SECONDS = 0.0005
_IMPORT_SECONDS = 0.01
_IMPORTING = "<frozen importlib._bootstrap>"


class AbandonedError(BaseException):
    """Raised in the thread, inside a function whose result is no longer wanted."""


class JobThread:
    """The thread. All methods but the last few are called on the event loop."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        #: What the thread works on. It changes, and is looked at for an exception to be raised, with the lock.
        self._current: asyncio.Future[Any] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def put(self, done: "asyncio.Future[Any]", function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Call a function when those before it have returned, unless the future is cancelled by then."""
        self._jobs.put((done, function, arguments))

    def abandon(self, done: "asyncio.Future[Any]") -> None:
        """End the function whose result a cancelled future was for, if it is being called."""
        with self._lock:
            if self._current is not done:
                return
            if not _is_importing(self._thread.ident):
                _raise_in(self._thread.ident, AbandonedError)
                return
        done.get_loop().call_later(_IMPORT_SECONDS, self.abandon, done)

    # What follows runs in the thread.

    def _work(self) -> None:
        while True:
            self._do(*self._jobs.get())

    def _do(self, done: "asyncio.Future[Any]", function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        if done.cancelled():
            return
        interval, collects = sys.getswitchinterval(), gc.isenabled()
        sys.setswitchinterval(_SWITCH_SECONDS)
        gc.disable()  # a look at a million new objects would stop the event loop, and none of them is garbage yet
        result: Any = None
        failure: BaseException | None = None
        try:
            result, failure = self._call(done, function, arguments)
        except AbandonedError as error:
            failure = error  # after the function had returned
        with self._lock:  # at the latest: from here on nothing is raised
            self._current = None
        sys.setswitchinterval(interval)
        if collects:
            gc.enable()
        try:
            done.get_loop().call_soon_threadsafe(_settle, done, result, failure)
        except RuntimeError:
            return  # the loop is closed

    def _call(
        self, done: "asyncio.Future[Any]", function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> tuple[Any, BaseException | None]:
        """Return what a function returns, and what it raises. May raise AbandonedError itself."""
        with self._lock:
            self._current = done
        result: Any = None
        failure: BaseException | None = None
        try:
            if not done.cancelled():
                result = function(*arguments)
        except BaseException as error:
            failure = error
        with self._lock:
            self._current = None
        if done.cancelled():
            _raise_in(self._thread.ident, None)  # what was to be raised, and was not yet, is not
        return result, failure


def _is_importing(thread: int | None) -> bool:
    frame = sys._current_frames().get(thread or 0)
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False


def _raise_in(thread: int | None, error: type[BaseException] | None) -> None:
    """Have an exception raised in a thread, or none after all."""
    import ctypes

    wanted = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread or 0), wanted)


def _settle(done: "asyncio.Future[Any]", result: Any, failure: BaseException | None) -> None:
    if done.done():
        return
    if failure is not None:
        done.set_exception(failure)
    else:
        done.set_result(result)


Result = TypeVar("Result")
Item = TypeVar("Item")

#: How long one task may work on many items before it lets others work.
SLICE_SECONDS = 0.002
_AT_A_TIME = 2
_MAX_WAITING = 100
#: A document of fewer bytes, objects and lists, or values is never large: it is admitted in some milliseconds.
_FEW_BYTES = 8 * 1024
_FEW_CONTAINERS, _FEW_VALUES = 1_000, 4_000
_FEW_PROTOBUF_BYTES = 4 * 1024
_FEW_YAML_BYTES = 128 * 1024


def is_large(text: bytes) -> bool:
    """Return whether work on a document, given as JSON or YAML, may take so long that others should not wait for it."""
    if len(text) <= _FEW_BYTES:
        return False
    containers = text.count(b"{") + text.count(b"[")
    return containers > _FEW_CONTAINERS or text.count(b",") > _FEW_VALUES or text.count(b"\n") > _FEW_VALUES


def is_large_body(body: bytes, content_type: str) -> bool:
    """Return the same of the body of a request, which may be protobuf, or YAML, of which long values take long, too."""
    if len(body) <= _FEW_PROTOBUF_BYTES:
        return False
    if "yaml" in content_type and len(body) > _FEW_YAML_BYTES:
        return True
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


class LongWork:
    """The thread, started when it is first needed, and the jobs that wait for it."""

    def __init__(self) -> None:
        self._waiting = 0
        self._thread: JobThread | None = None
        self._of_tasks: dict[asyncio.Task[Any], asyncio.Future[Any]] = {}

    async def run(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function in the thread. Raises what it raises, and ApiError 429 if too many jobs wait already.

        A function whose caller is cancelled is not called, or ended where it is: others wait for the thread.
        """
        if self._waiting >= _MAX_WAITING:
            raise too_many_requests("too many large requests, please try again later")
        if self._thread is None:
            self._thread = JobThread("moorage-long-work")
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        task = asyncio.current_task()
        if task is not None:
            self._of_tasks[task] = done
        self._waiting += 1
        self._thread.put(done, function, arguments)
        try:
            return await done
        except asyncio.CancelledError:
            self._thread.abandon(done)
            raise
        finally:
            self._waiting -= 1
            if task is not None:
                del self._of_tasks[task]

    def abandon(self, task: "asyncio.Task[Any]") -> None:
        """Cancel a task if it waits for the thread: its client has gone. Others go on, and write what they do."""
        done = self._of_tasks.get(task)
        if done is not None:
            done.cancel()

    async def read(self, function: Callable[..., Result], body: bytes, content_type: str, *arguments: Any) -> Result:
        """Call a function that reads the body of a request: at once, or in the thread if the body is large."""
        if is_large_body(body, content_type):
            return await self.run(function, body, content_type, *arguments)
        return function(body, content_type, *arguments)
