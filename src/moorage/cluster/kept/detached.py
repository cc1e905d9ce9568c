"""Start `moorage up` as a process that goes on when this one ends, and wait until its cluster is ready.

The child has a session of its own and writes its output to the cluster's log; it says that it is ready through a pipe,
which closes if it ends before that.
"""

import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

#: Tells the child the number of its end of the pipe.
READY_VARIABLE = "MOORAGE_READY_FD"
_LARGE_LOG = 8 * 1024 * 1024
_LAST_LINES = 30
_STOP_SECONDS = 10.0
_END = b"\0"


class Detached(NamedTuple):
    """A child that is ready, or has ended with `code`; its notes or last words, and its part of the banner."""

    pid: int
    is_ready: bool
    code: int = 0
    said: str = ""
    banner: str = ""


def start_detached(arguments: Sequence[str], log: Path, *, keeps_input: bool, seconds: float) -> Detached:
    """Run `moorage` with these arguments. Raises OSError, and KeyboardInterrupt once the child has ended."""
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if log.exists() and log.stat().st_size > _LARGE_LOG:
        log.replace(log.with_name(f"{log.name}.old"))
    reading, writing = os.pipe()
    try:
        with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600), "ab") as output:
            begin = log.stat().st_size
            child = subprocess.Popen(
                [sys.executable, "-m", "moorage", *arguments],
                stdin=None if keeps_input else subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                pass_fds=(writing,),
                env={**os.environ, READY_VARIABLE: str(writing)},
            )
        os.close(writing)
        writing = -1
        with log.open("rb") as said:  # opened now: the log of a cluster that is not kept goes with it
            said.seek(begin)
            return _outcome(child, reading, said, seconds)
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


def _outcome(child: "subprocess.Popen[bytes]", reading: int, said: BinaryIO, seconds: float) -> Detached:
    try:
        until = time.monotonic() + seconds
        while not select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
            if time.monotonic() >= until:
                _end(child)
                return Detached(child.pid, False, 1, f"moorage: it was not ready after {seconds:g} seconds")
        banner = _read_all(reading)
        if banner.endswith(_END):
            child.returncode = 0  # it goes on: nothing is to be said of it at the end of this process
            notes = [line for line in _last_words(said).splitlines() if line.startswith("moorage: ")]
            return Detached(child.pid, True, 0, "\n".join(notes), banner.removesuffix(_END).decode())
        code = child.wait()
        return Detached(child.pid, False, code if code > 0 else 1, _last_words(said))
    except KeyboardInterrupt:
        _end(child)
        raise


def _read_all(reading: int) -> bytes:
    """Return what the child says up to its end mark; without one it has ended."""
    content = b""
    while not content.endswith(_END) and (piece := os.read(reading, 65536)):
        content += piece
    return content


def _end(child: "subprocess.Popen[bytes]") -> None:
    child.terminate()
    try:
        child.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _last_words(said: BinaryIO) -> str:
    lines = said.read(_LARGE_LOG).decode("utf-8", "replace").splitlines()
    return "\n".join(lines[-_LAST_LINES:])


def say_ready(banner: str = "") -> None:
    """Tell the parent, if this is a detached child, that the cluster is ready, and what to print besides."""
    number = os.environ.pop(READY_VARIABLE, "")
    if number.isdigit():
        with suppress(OSError), os.fdopen(int(number), "wb") as pipe:  # the parent may have gone
            pipe.write(banner.encode() + _END)


def is_detached_child() -> bool:
    return os.environ.get(READY_VARIABLE, "").isdigit()
