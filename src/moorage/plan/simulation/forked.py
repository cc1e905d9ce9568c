"""Run functions in forked copies of this process, which may spoil whatever they have, and return their results."""

import gc
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any, NoReturn

import msgspec

from moorage.telemetry.logs import get_logger

_LOG = get_logger("dashboard")
#: A copy that uses no processor, or hardly gets one, ends after this many times its seconds.
_PATIENCE = 20


class CopyFailed(Exception):
    """Why there is no result: one line for the user."""


class Copy:
    """A forked copy of this process, which waits to be asked once. `work` may spoil whatever it has.

    It ends when it is closed, or with this process.
    """

    def __init__(self, work: Callable[[Any], Any], seconds: float = 0.0) -> None:
        """Fork. With `seconds`, the copy ends when it has used that much processor time. Raises CopyFailed."""
        asked, asking = os.pipe()
        reading, writing = os.pipe()
        try:
            self._pid = _fork()
        except OSError as error:
            for descriptor in (asked, asking, reading, writing):
                os.close(descriptor)
            raise CopyFailed(f"a process cannot be started: {error}") from None
        if not self._pid:
            gc.disable()  # which would copy the memory that both have
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C is answered by the process that asks
            os.close(reading)
            os.close(asking)
            run_and_exit(lambda: _answer(asked, writing, work, seconds))
        os.close(writing)
        os.close(asked)
        self._asking, self._answers = os.fdopen(asking, "wb"), os.fdopen(reading, "rb")

    def ask(self, argument: Any) -> Any:
        """Return what the copy returns for an argument; both must be plain data. Raises CopyFailed."""
        self.start(argument)
        return self.result()

    def start(self, argument: Any) -> None:
        """Let the copy work, without waiting for it."""
        with suppress(BrokenPipeError):
            self._asking.write(msgspec.json.encode(argument))
            self._asking.close()

    def result(self) -> Any:
        """Wait for what the copy returns. Raises CopyFailed."""
        output = self._answers.read()
        why = why_ended(self._wait())
        if why or not output:
            raise CopyFailed(f"the process that computed this {why or 'ended'}")
        result, problem = msgspec.json.decode(output)
        if problem:
            raise CopyFailed(problem)
        return result

    def _wait(self) -> int:
        self._answers.close()
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self) -> None:
        """End the copy if it was not asked."""
        with suppress(BrokenPipeError):
            self._asking.close()
        if self._pid:
            self._wait()


def processor_seconds() -> float:
    """Return the processor time that this process and its ended children have used."""
    return sum(os.times()[:4])


def in_fork(work: Callable[[], Any], seconds: float = 0.0) -> Any:
    """Return what a function returns in a copy of this process; it must be plain data. Raises CopyFailed.

    With `seconds`, it ends when it has used that much processor time: a busy machine gives the same answer.
    """
    with closing(Copy(lambda _: work(), seconds)) as copy:
        return copy.ask(None)


def _fork() -> int:
    """Fork. The copy uses nothing that a thread of this process could have locked, so that threads do not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _answer(asked: int, writing: int, work: Callable[[Any], Any], seconds: float) -> None:
    with os.fdopen(asked, "rb") as stream:
        question = stream.read()
    if not question:
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds * _PATIENCE)
    try:
        output = msgspec.json.encode((work(msgspec.json.decode(question)), ""))
    except Exception as error:
        _LOG.exception("A part of a page could not be computed")
        output = msgspec.json.encode((None, f"unexpected error: {type(error).__name__}: {error}".splitlines()[0]))
    with os.fdopen(writing, "wb") as stream:
        stream.write(output)


def run_and_exit(work: Callable[[], None]) -> NoReturn:
    """Run a function and end the process, without what the parent would do at its end."""
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def why_ended(code: int) -> str:
    """Say why a process ended, from its exit code as `subprocess` has it; empty if all is well."""
    if not code:
        return ""
    if code == -signal.SIGKILL:
        return "was killed (signal 9): perhaps memory ran out"
    return f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"
