"""A program beside a benchmark: a process with its log, and what it costs as the kernel counts it (`/proc`)."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from bench.e2e.problems import RunFailed
from bench.process import ENVIRONMENT, ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

STOP_SECONDS = 60.0
LOG_LINES = 20
_FATE_POLLS = 20
_FATE_SECONDS = 0.1


class Program:
    """A process that can be started again. It is stopped whatever happens; one that died is reported with its log."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name, self._command, self._log = name, [*command], log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def check(self) -> None:
        """Raises RunFailed if the process has ended."""
        if self._process is None:
            raise RunFailed(f"{self.name} was not started")
        if self._process.poll() is not None:
            raise RunFailed(self._how_it_is())

    async def fate(self) -> str:
        """Say what has become of a process that gives trouble; one that is about to end is given time."""
        for _ in range(_FATE_POLLS):
            if self._process is None or self._process.poll() is not None:
                break
            await asyncio.sleep(_FATE_SECONDS)
        return self._how_it_is()

    def _how_it_is(self) -> str:
        status = self._process.poll() if self._process is not None else 0
        if status is None:
            how = "still runs"
        else:
            how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        return f"{self.name} {how}{self.log_tail()}"

    def stop(self) -> None:
        """End the process and wait for it; one that does not want to end is killed."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except BaseException as interruption:
            process.kill()
            process.wait()
            if not isinstance(interruption, subprocess.TimeoutExpired):
                raise

    def log_tail(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
        return "; the end of its log:" + "".join(f"\n    {line}" for line in lines) if lines else "; its log is empty"

    def cpu_seconds(self) -> float:
        """Return the CPU time of all of its threads so far; 0 where there is no /proc."""
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0

    def memory(self) -> int:
        """Return the bytes in memory now; 0 where there is no /proc."""
        return self._status_bytes("VmRSS:")

    def peak_memory(self) -> int:
        return self._status_bytes("VmHWM:")

    def _status_bytes(self, name: str) -> int:
        lines = self._proc("status").splitlines()
        return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)

    def _proc(self, name: str) -> str:
        try:
            return Path(f"/proc/{self.pid}/{name}").read_text() if self._process is not None else ""
        except OSError:
            return ""
