"""Real processes of `moorage apiserver`, `scheduler` and `kubelet`, for tests that start, kill and restart them.

In: a directory. Out: processes, each with its own log. Whatever still runs at the end is stopped with SIGTERM and must
end cleanly, without a traceback in any log.
"""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

STOP_SECONDS = 120
WAIT_SECONDS = 240.0
Process = subprocess.Popen[str]
T = TypeVar("T")


class Components:
    """See the module. `kubeconfig` is what all of them use."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.kubeconfig = directory, directory / "kubeconfig"
        self.port = free_port()
        self._running: list[tuple[Process, Path]] = []
        self._logs: list[Path] = []

    def start(self, *arguments: str) -> Process:
        log = self.directory / f"{len(self._logs)}-{arguments[0]}.log"
        self._logs.append(log)
        with log.open("w") as output:
            command = [sys.executable, "-m", "moorage", *arguments]
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, text=True)
        self._running.append((process, log))
        return process

    def api_server(self, *options: str) -> Process:
        """Ready when this returns; on the same port and data as before."""
        self.kubeconfig.unlink(missing_ok=True)
        kept = ("--data-dir", str(self.directory / "data"), "--port", str(self.port))
        process = self.start("apiserver", *kept, "--write-kubeconfig", str(self.kubeconfig), *options)
        until(lambda: self.kubeconfig.exists() or process.poll() is not None)
        assert process.poll() is None, self.said()
        return process

    def scheduler(self, *options: str) -> Process:
        """Leads for as long as the server is away, if that is not long; others take over soon after it dies."""
        quick = ("--leader-elect-lease-duration", "12s", "--leader-elect-renew-deadline", "10s")
        election = (*quick, "--leader-elect-retry-period", "200ms", "--metrics-port", "-1")
        return self.start("scheduler", "--kubeconfig", str(self.kubeconfig), *election, *options)

    def kubelet(self, *options: str) -> Process:
        return self.start("kubelet", "--kubeconfig", str(self.kubeconfig), "--metrics-port", "-1", *options)

    def stop(self, process: Process) -> None:
        """Cleanly."""
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_SECONDS) == 0, self.said()
        self.forget(process)

    def kill(self, process: Process) -> None:
        process.kill()
        process.wait(STOP_SECONDS)
        self.forget(process)

    def log_of(self, process: Process) -> Path:
        return next(log for running, log in self._running if running is process)

    def forget(self, process: Process) -> None:
        self._running = [one for one in self._running if one[0] is not process]

    def said(self) -> str:
        return "\n".join(f"--- {log.name}\n{log.read_text()}" for log in self._logs)

    def stop_all(self) -> None:
        for process, _ in reversed(self._running):
            self.stop(process)
        assert "Traceback" not in self.said(), self.said()

    def kill_all(self) -> None:
        for process, _ in self._running:
            process.kill()
            process.wait()


@contextmanager
def components(directory: Path) -> Iterator[Components]:
    made = Components(directory)
    try:
        yield made
        made.stop_all()
    finally:
        made.kill_all()


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


def until(holds: Callable[[], T]) -> T:
    """What the function says once it says something. There is no event to wait for in another process."""
    end = time.monotonic() + WAIT_SECONDS
    while not (found := holds()):
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)
    return found
