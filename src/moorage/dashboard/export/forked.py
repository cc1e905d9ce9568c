"""Compute something in a forked copy of the process, so that it may spoil what it is computed from."""

import os
from collections.abc import Callable
from typing import Any

import msgspec

from moorage.dashboard.simulator.children import run_and_exit


def in_fork(work: Callable[[], Any]) -> Any:
    """Return what a function returns in a copy of this process; it must be plain data. Raises RuntimeError."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        run_and_exit(lambda: _write(writing, work))
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        found = stream.read()
    if os.waitpid(pid, 0)[1] or not found:
        raise RuntimeError("a process that computes a part of the page has failed")
    return msgspec.json.decode(found)


def _write(descriptor: int, work: Callable[[], Any]) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(msgspec.json.encode(work()))
