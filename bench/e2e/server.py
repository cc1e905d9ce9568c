"""A `moorage up` of its own for one workload: a process, its kubeconfig, and what it costs.

In: a folder, options of the command. Out: a server that answers, how long that took, and its CPU time and memory as the
kernel counts them (`/proc`, where there is one). It is stopped whatever happens; one that died is reported with the end
of its log. As in upstream's scheduler_perf there are no kubelets.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from bench.e2e.problems import RunFailed
from bench.process import ENVIRONMENT, ROOT
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.loading import load_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from moorage.client.kubeconfig.access import Access

START_SECONDS = 120.0
STOP_SECONDS = 60.0
LOG_LINES = 20
_POLL_SECONDS = 0.002
_FATE_POLLS = 20
_FATE_SECONDS = 0.1


class Server:
    """See the module. `options` come after `moorage up`; started anew it finds what it kept in `folder`."""

    def __init__(self, folder: Path, options: Sequence[str] = ()) -> None:
        self._kubeconfig, self._log = folder / "kubeconfig", folder / "server.log"
        self._command = [sys.executable, "-m", "moorage", "up", "--no-simulate", "--nodes", "0", "--port", "0"]
        # What the figures are compared with has an API server, its store and a scheduler, and nothing else.
        self._command += [] if "--controllers" in options else ["--controllers", ""]
        self._command += ["--data-dir", str(folder / "data"), "--write-kubeconfig", str(self._kubeconfig), *options]
        self._process: subprocess.Popen[bytes] | None = None
        self._spawned = 0.0

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    async def start(self) -> Access:
        """The process is there and has written its kubeconfig. Raises RunFailed."""
        self._kubeconfig.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self._spawned = perf_counter()
            self._process = subprocess.Popen(
                self._command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        while not self._kubeconfig.exists():
            self.check()
            if self.seconds_since_start() > START_SECONDS:
                raise RunFailed(f"the server was not ready within {START_SECONDS:g} seconds{self._log_tail()}")
            await asyncio.sleep(_POLL_SECONDS)
        try:
            return load_access(str(self._kubeconfig))
        except KubeconfigError as error:
            raise RunFailed(f"the server's kubeconfig: {error}") from None

    def seconds_since_start(self) -> float:
        return perf_counter() - self._spawned

    def check(self) -> None:
        """Raises RunFailed if the process has ended."""
        if self._process is None:
            raise RunFailed("the server was not started")
        if self._process.poll() is not None:
            raise RunFailed(self._how_it_is())

    async def fate(self) -> str:
        """What has become of a server that somebody has trouble with; one that is about to end is given time."""
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
        return f"the server {how}{self._log_tail()}"

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

    def _log_tail(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
        return "; the end of its log:" + "".join(f"\n    {line}" for line in lines) if lines else "; its log is empty"

    # -- what it costs ------------------------------------------------------------------------------------------------

    def cpu_seconds(self) -> float:
        """All of its threads so far; 0 where nobody counts."""
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0

    def memory(self) -> int:
        """Bytes in memory now; 0 where nobody counts."""
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
