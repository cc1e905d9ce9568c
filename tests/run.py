"""Run pytest, and end every process that the tests leave behind, also after Ctrl-C.

Tests start clusters, browsers and etcd members, some of them in sessions of their own, which an interrupted test does
not end. This process becomes the parent of all of them when their own parent dies (Linux: a child subreaper), and ends
what is left when pytest has ended. A first Ctrl-C lets pytest end its tests; a second one ends everything at once.

With `--beside COMMAND` as its first arguments it runs that command at the same time, with a lower priority; what it
writes is shown after the tests, and if it fails, this program fails.
"""

import ctypes
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

_PR_SET_CHILD_SUBREAPER = 36
#: Seconds that pytest has to end its tests after an interrupt, and processes have after SIGTERM.
_PATIENCE, _GRACE = 30.0, 3.0
_POLL = 0.05


def main(arguments: list[str]) -> int:
    """Run pytest with these arguments. Return its exit code, else that of the command beside it; 130 if interrupted."""
    _adopt_orphans()
    beside = None
    if arguments[:1] == ["--beside"]:
        beside, arguments = Beside(shlex.split(arguments[1])), arguments[2:]
    pytest = subprocess.Popen([sys.executable, "-m", "pytest", *arguments])
    interrupts: list[float] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupts.append(time.monotonic())
        if number != signal.SIGINT:  # a terminal sends SIGINT to pytest, too
            pytest.send_signal(signal.SIGINT)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    while pytest.poll() is None:
        if len(interrupts) > 1 or (interrupts and time.monotonic() > interrupts[0] + _PATIENCE):
            pytest.kill()
        time.sleep(_POLL)
    while beside is not None and beside.is_running() and not interrupts:
        time.sleep(_POLL)
    checked = 0 if beside is None or interrupts else beside.show()
    left = _end_descendants()
    if left:
        print(f"ended {left} processes that the tests left behind", file=sys.stderr)
    return 130 if interrupts else pytest.returncode or checked


class Beside:
    """A command that runs beside the tests. Its output is kept until it is shown at the end."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 — it is read when the command has ended
        self._process = subprocess.Popen(["nice", *command], stdout=self._output, stderr=subprocess.STDOUT)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def show(self) -> int:
        """Show what it wrote, now that it has ended, and return its exit code."""
        code = self._process.wait()
        self._output.seek(0)
        sys.stdout.flush()
        print(f"$ {shlex.join(self._command)}", flush=True)
        shutil.copyfileobj(self._output, sys.stdout.buffer)
        print(f"exit code {code}" if code else "passed", flush=True)
        return code


def _adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends. Elsewhere than on Linux there is no such thing."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _end_descendants() -> int:
    """Send SIGTERM, then SIGKILL, to every descendant until there is none. Return how many there were."""
    ended: set[int] = set()
    deadline = time.monotonic() + _GRACE
    while processes := _descendants():
        number = signal.SIGKILL if time.monotonic() > deadline else signal.SIGTERM
        for process in processes:
            if process not in ended or number == signal.SIGKILL:
                ended.add(process)
                _send(process, number)
        time.sleep(_POLL)
    return len(ended)


def _send(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)
        os.kill(process, signal.SIGCONT)  # a stopped process does not die of SIGTERM


def _descendants() -> list[int]:
    """Return the living descendants of this process; dead children are reaped."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        process = int(stat.parent.name)
        if state != "Z":
            parents[process] = int(parent)
        elif int(parent) == os.getpid():
            _reap(process)
    below = {os.getpid()}
    while added := {process for process, parent in parents.items() if parent in below} - below:
        below |= added
    return sorted(below - {os.getpid()})


def _reap(process: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(process, os.WNOHANG)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
