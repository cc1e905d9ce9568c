"""Run a function in a forked copy of this process, which may spoil whatever it has, and return its result."""

import gc
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import msgspec

from moorage.telemetry.logs import get_logger

_LOG = get_logger("dashboard")


class CopyFailed(Exception):
    """Why there is no result: one line for the user."""


def in_fork(work: Callable[[], Any], seconds: float = 0.0) -> Any:
    """Return what a function returns in a copy of this process; it must be plain data. Raises CopyFailed.

    With `seconds`, the copy ends after this time, whatever it does.
    """
    reading, writing = os.pipe()
    pid = _fork()
    if not pid:
        gc.disable()  # which would copy the memory that both have
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        os.close(reading)
        run_and_exit(lambda: _write(writing, work))
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        output = stream.read()
    _, status = os.waitpid(pid, 0)
    why = why_ended(os.waitstatus_to_exitcode(status))
    if why or not output:
        raise CopyFailed(f"the process that computed this {why or 'ended'}")
    result, problem = msgspec.json.decode(output)
    if problem:
        raise CopyFailed(problem)
    return result


def _fork() -> int:
    """Fork. The copy uses nothing that a thread of this process could have locked, so that threads do not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _write(descriptor: int, work: Callable[[], Any]) -> None:
    try:
        output = msgspec.json.encode((work(), ""))
    except Exception as error:
        _LOG.exception("A part of a page could not be computed")
        output = msgspec.json.encode((None, f"unexpected error: {type(error).__name__}: {error}".splitlines()[0]))
    with os.fdopen(descriptor, "wb") as stream:
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
