"""Start a cluster's process in the background, find it again and stop it, and never another one that got its number.

A running cluster holds the lock of its directory; the record beside it names the process by number and start time. A
process in the background has a session of its own and writes its output to the cluster's log; it reports that it is
ready through a pipe, which closes if it ends before that.
"""

import fcntl
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from moorage.client.kubeconfig.private_file import write_private
from moorage.cluster.kept.places import PROCESS_FILE
from moorage.model.go.times import time_text
from moorage.store.data_directory import LOCK_FILE

_LOOK_EVERY = 0.05


class ProcessRecord(msgspec.Struct, frozen=True):
    """The process of a cluster, and where clients find the cluster."""

    pid: int
    started: str
    url: str = ""
    kubeconfig: str = ""
    context: str = ""
    since: str = ""


def start_time_of(pid: int) -> str:
    """Return what tells a process from all others of the same number; empty if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return _start_time_by_ps(pid)
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else f"{boot}/{fields[19]}"


def _start_time_by_ps(pid: int) -> str:
    if Path("/proc/self/stat").exists():
        return ""
    with suppress(OSError, subprocess.SubprocessError):
        printed = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, timeout=5)
        return printed.stdout.strip()
    return ""


def record_this_process(directory: Path, url: str, kubeconfig: Path, context: str) -> None:
    """Raises OSError."""
    pid = os.getpid()
    since = time_text(time.time())
    record = ProcessRecord(pid, start_time_of(pid), url, str(kubeconfig.absolute()), context, since)
    write_private(directory / PROCESS_FILE, msgspec.json.encode(record) + b"\n")


def forget_this_process(directory: Path) -> None:
    with suppress(OSError):
        (directory / PROCESS_FILE).unlink(missing_ok=True)


def running_process(directory: Path) -> ProcessRecord | None:
    """Return the process that runs the cluster; one that is still starting has no address yet."""
    try:
        record = msgspec.json.decode((directory / PROCESS_FILE).read_bytes(), type=ProcessRecord)
    except (OSError, msgspec.MsgspecError):
        record = None
    if record is not None and record.started and start_time_of(record.pid) == record.started:
        return record
    pid = _holder_of_lock(directory)
    return ProcessRecord(pid, start_time_of(pid)) if pid else None


def _holder_of_lock(directory: Path) -> int:
    """Return the process that holds the directory's lock, 0 if none does."""
    try:
        lock = os.open(directory / LOCK_FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        written = os.read(lock, 20).strip()
        return int(written) if written.isdigit() else 0
    except OSError:
        return 0
    finally:
        os.close(lock)
    return 0


def end_process(record: ProcessRecord, seconds: float, *, kills: bool) -> bool:
    """Ask the process to end and wait for it; with `kills`, kill it if it has not. Return whether it has ended."""
    for number in (signal.SIGTERM, signal.SIGKILL) if kills else (signal.SIGTERM,):
        _send(record, number)
        if not record.started:
            return True  # it ended while it was looked for
        until = time.monotonic() + seconds
        while start_time_of(record.pid) == record.started:
            if time.monotonic() >= until:
                break
            time.sleep(_LOOK_EVERY)
        else:
            return True
    return False


def _send(record: ProcessRecord, number: signal.Signals) -> None:
    """Send a signal to the process of the record; another one of its number gets none."""
    if not hasattr(os, "pidfd_open"):
        if record.started and start_time_of(record.pid) == record.started:
            with suppress(ProcessLookupError):
                os.kill(record.pid, number)
        return
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(record.pid)
        try:
            if record.started and start_time_of(record.pid) == record.started:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


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


def _outcome(child: "subprocess.Popen[bytes]", reading: int, output: BinaryIO, seconds: float) -> Detached:
    try:
        until = time.monotonic() + seconds
        while not select.select([reading], [], [], max(0.0, until - time.monotonic()))[0]:
            if time.monotonic() >= until:
                _end(child)
                return Detached(child.pid, False, 1, f"moorage: it was not ready after {seconds:g} seconds")
        banner = _read_all(reading)
        if banner.endswith(_END):
            child.returncode = 0  # it goes on: nothing is to be said of it at the end of this process
            notes = [line for line in _last_words(output).splitlines() if line.startswith("moorage: ")]
            return Detached(child.pid, True, 0, "\n".join(notes), banner.removesuffix(_END).decode())
        code = child.wait()
        return Detached(child.pid, False, code if code > 0 else 1, _last_words(output))
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


def _last_words(output: BinaryIO) -> str:
    lines = output.read(_LARGE_LOG).decode("utf-8", "replace").splitlines()
    return "\n".join(lines[-_LAST_LINES:])


def say_ready(banner: str = "") -> None:
    """Tell the parent, if this is a detached child, that the cluster is ready, and what to print besides."""
    number = os.environ.pop(READY_VARIABLE, "")
    if number.isdigit():
        with suppress(OSError), os.fdopen(int(number), "wb") as pipe:  # the parent may have gone
            pipe.write(banner.encode() + _END)


def is_detached_child() -> bool:
    return os.environ.get(READY_VARIABLE, "").isdigit()
