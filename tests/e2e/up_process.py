"""A real `moorage up` that can be killed and started again, with everything it ever wrote.

In: a directory and options. Out: an `UpProcess`, ready. Where nothing is to be killed, `running_cluster` is simpler.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Self

READY = re.compile(r"The cluster is ready at (https://\S+:(\d+)),")
STOP_SECONDS = 120


class UpProcess:
    """Started when it is made; `output` is what all processes in the directory ever said on standard error."""

    def __init__(self, directory: Path, *options: str, port: int = 0) -> None:
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self._errors = (directory / "moorage.log").open("a+")
        command = [sys.executable, "-m", "moorage", "up", "-v", "0", "--port", str(port)]
        command += ["--write-kubeconfig", str(self.kubeconfig), *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self._errors, text=True)
        try:
            self.url, self.port = self._wait_until_ready()
        except BaseException:
            self.kill()
            self._errors.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        self._errors.seek(0)
        return self._errors.read()

    @property
    def complaints(self) -> list[str]:
        """Warnings, errors and tracebacks among all that."""
        return [line for line in self.output.splitlines() if not line.startswith("I")]

    def kill(self) -> None:
        """As a power cut would: nothing is said, nothing is finished."""
        self._process.kill()
        self._end()

    def terminate(self) -> int:
        """SIGTERM; the exit status."""
        self._process.terminate()
        try:
            return self._process.wait(STOP_SECONDS)
        finally:
            self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.kill()
        self._errors.close()

    def _wait_until_ready(self) -> tuple[str, int]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = READY.search(line)
            if found:
                return found[1], int(found[2])
        raise AssertionError(f"moorage up has ended:\n{self.output}")

    def _end(self) -> None:
        self._process.wait(STOP_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()


def run_up(*options: str) -> "subprocess.CompletedProcess[str]":
    """A `moorage up` that is expected to end by itself."""
    command = [sys.executable, "-m", "moorage", "up", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=STOP_SECONDS)
