"""Compute something in a forked copy of the process, so that it may spoil what it is computed from."""

import os
from collections.abc import Callable
from typing import Any

import msgspec

from moorage.dashboard.simulator.children import run_and_exit, why_ended
from moorage.telemetry.logs import get_logger

_LOG = get_logger("dashboard")


class CopyFailed(Exception):
    """Why there is no result: one line for the user."""


def in_fork(work: Callable[[], Any]) -> Any:
    """Return what a function returns in a copy of this process; it must be plain data. Raises CopyFailed."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        run_and_exit(lambda: _write(writing, work))
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        found = stream.read()
    _, status = os.waitpid(pid, 0)
    why = why_ended(os.waitstatus_to_exitcode(status))
    if why or not found:
        raise CopyFailed(f"the process that computed this {why or 'ended'}")
    result, problem = msgspec.json.decode(found)
    if problem:
        raise CopyFailed(problem)
    return result


def _write(descriptor: int, work: Callable[[], Any]) -> None:
    try:
        made = msgspec.json.encode((work(), ""))
    except Exception as error:
        _LOG.exception("A part of a page could not be computed")
        made = msgspec.json.encode((None, f"unexpected error: {type(error).__name__}: {error}".splitlines()[0]))
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(made)
