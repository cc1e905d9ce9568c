"""Programs beside a test, each with its own log; none outlives the test."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STOP_SECONDS = 30

Process = subprocess.Popen[bytes]


class Programs:
    """See the module."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._running: list[Process] = []
        self._logs: dict[Process, Path] = {}

    def start(self, command: str, *options: str) -> Process:
        name = options[1] if options[:1] == ("-m",) and len(options) > 1 else Path(command).name
        log = self.directory / f"{len(self._logs)}-{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen([command, *options], stdout=output, stderr=subprocess.STDOUT)
        self._running.append(process)
        self._logs[process] = log
        return process

    def moorage(self, *arguments: str) -> Process:
        return self.start(sys.executable, "-m", "moorage", *arguments)

    def stop(self, process: Process) -> None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._running.remove(process)

    def log(self, process: Process) -> str:
        return self._logs[process].read_text(errors="replace")

    def stop_all(self) -> None:
        """Stop the last first: a server outlives its clients."""
        for process in reversed(self._running[:]):
            self.stop(process)


@contextmanager
def programs_in(directory: Path) -> Iterator[Programs]:
    made = Programs(directory)
    try:
        yield made
    finally:
        made.stop_all()
