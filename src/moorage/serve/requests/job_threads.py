"""Call functions in threads beside the event loop, one at a time in each, and end those whose result is not wanted.

The threads share Python's interpreter lock: while one of them works, the event loop gets the lock within half a
millisecond for each of them. A function whose result is no longer wanted is ended by an exception raised in the thread,
as Ctrl-C is in the main thread, but never inside an import, which holds locks that are not its own. The threads are not
waited for when the process ends. Kubernetes: goroutines, with the context of the request.
"""

import asyncio
import gc
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

Job = tuple["asyncio.Future[Any]", Callable[..., Any], tuple[Any, ...]]

_SWITCH_SECONDS = 0.0005
_IMPORT_SECONDS = 0.01
#: New objects that are looked through in some 50 ms.
_MANY_OBJECTS = 500_000
_IMPORTING = "<frozen importlib._bootstrap>"


class AbandonedError(BaseException):
    """Raised in the thread, inside a function whose result is no longer wanted."""


class _Pace:
    """Settings of the interpreter while any thread works: others get the lock quickly, and no garbage is collected.

    A look at a million new objects would stop the event loop, and hardly any of them is garbage yet. Where threads work
    without a pause, the garbage of functions that have returned is collected when there are many new objects.
    """

    def __init__(self) -> None:
        self._lock, self._working = threading.Lock(), 0
        self._interval, self._collects = 0.0, False

    def begin(self) -> None:
        with self._lock:
            self._working += 1
            if self._working == 1:
                self._interval, self._collects = sys.getswitchinterval(), gc.isenabled()
                sys.setswitchinterval(_SWITCH_SECONDS)
                gc.disable()

    def end(self) -> None:
        with self._lock:
            self._working -= 1
            if self._working == 0:
                sys.setswitchinterval(self._interval)
                if self._collects:
                    gc.enable()
            elif self._collects and gc.get_count()[0] > _MANY_OBJECTS:
                gc.collect(0)


_PACE = _Pace()


class JobThread:
    """A thread. `freed` is called on the event loop whenever it can begin another function."""

    def __init__(self, name: str, freed: "Callable[[JobThread], None]") -> None:
        self._jobs: SimpleQueue[Job] = SimpleQueue()
        self._freed = freed
        #: What the thread works on. It changes, and is looked at for an exception to be raised, with the lock.
        self._current: asyncio.Future[Any] | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def begin(self, done: "asyncio.Future[Any]", function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Call a function, unless the future is cancelled by then."""
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
        result: Any = None
        failure: BaseException | None = None
        _PACE.begin()
        try:
            result, failure = self._call(done, function, arguments)
        except AbandonedError as error:
            failure = error  # after the function had returned
        with self._lock:  # at the latest: from here on nothing is raised
            self._current = None
        _PACE.end()
        try:
            done.get_loop().call_soon_threadsafe(self._settle, done, result, failure)
        except RuntimeError:  # the loop is closed
            self._freed(self)

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

    def _settle(self, done: "asyncio.Future[Any]", result: Any, failure: BaseException | None) -> None:
        """Hand the result over, on the event loop."""
        if not done.done():
            if failure is not None:
                done.set_exception(failure)
            else:
                done.set_result(result)
        self._freed(self)


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
