"""Programs beside a test, each with its own log; none outlives the test, and none may end before it is told to."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

STOP_SECONDS = 30
_LAST_WORDS = 1000  # characters of a log

Process = subprocess.Popen[bytes]


class Programs:
    """See the module."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._running: list[Process] = []
        self._logs: dict[Process, Path] = {}

    def start(self, command: str, *options: str) -> Process:
        name = "-".join(options[1:3]) if options[:1] == ("-m",) else Path(command).name
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

    def ended_by_themselves(self) -> list[str]:
        """Return how each program that nobody stopped has ended, with the last that it said."""
        ended = [process for process in self._running if process.poll() is not None]
        return [
            f"{self._logs[process].name}: exit {process.returncode}: {self.log(process)[-_LAST_WORDS:]}"
            for process in ended
        ]

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
        ended = made.ended_by_themselves()
        made.stop_all()
    assert not ended, "\n".join(ended)
