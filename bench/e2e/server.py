"""A cluster of its own for one workload: its processes, a kubeconfig, and what they cost.

`moorage up` with its SQLite file, the same on a real etcd, or kube-apiserver and kube-scheduler on the same etcd
(`kubernetes`). In: a folder, options of `moorage up`. Out: a server that answers, how long that took, and CPU time and
memory of all processes together. As in upstream's scheduler_perf there are no kubelets.
"""

from __future__ import annotations

import asyncio
import sys
from time import perf_counter
from typing import TYPE_CHECKING

from bench.e2e.problems import RunFailed
from bench.e2e.programs import Program
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.loading import load_access

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from moorage.client.kubeconfig.access import Access

START_SECONDS = 120.0
_POLL_SECONDS = 0.002


class Server:
    """A `moorage up`. `options` come after it; started again it finds what it kept in `folder`."""

    def __init__(self, folder: Path, options: Sequence[str] = (), storage: Sequence[str] = ()) -> None:
        self.folder, self._kubeconfig = folder, folder / "kubeconfig"
        command = [sys.executable, "-m", "moorage", "up", "--no-simulate", "--nodes", "0", "--port", "0"]
        # What the figures are compared with has an API server, its store and a scheduler, and nothing else.
        command += [] if "--controllers" in options else ["--controllers", ""]
        command += ["--data-dir", str(folder / "data"), "--write-kubeconfig", str(self._kubeconfig), *options, *storage]
        self._moorage = Program("the server", command, folder / "server.log")
        self._spawned = 0.0

    @property
    def programs(self) -> tuple[Program, ...]:
        """Return what is started and stopped with the server, the last one first."""
        return (self._moorage,)

    @property
    def pid(self) -> int:
        return self.programs[0].pid

    async def start(self) -> Access:
        """Start the processes and wait for the kubeconfig. Raises RunFailed."""
        self._kubeconfig.unlink(missing_ok=True)
        self._spawned = perf_counter()
        self._moorage.start()
        while not self._kubeconfig.exists():
            self.wait_on()
            await asyncio.sleep(_POLL_SECONDS)
        try:
            return load_access(str(self._kubeconfig))
        except KubeconfigError as error:
            raise RunFailed(f"the server's kubeconfig: {error}") from None

    def wait_on(self) -> None:
        """Raises RunFailed if a process has ended, or the start takes too long."""
        self.check()
        if self.seconds_since_start() > START_SECONDS:
            tail = self.programs[0].log_tail()
            raise RunFailed(f"the server was not ready within {START_SECONDS:g} seconds{tail}")

    def seconds_since_start(self) -> float:
        return perf_counter() - self._spawned

    def check(self) -> None:
        """Raises RunFailed if a process has ended."""
        for program in self.programs:
            program.check()

    async def fate(self) -> str:
        """Say what has become of a server that gives trouble."""
        return "; ".join([await program.fate() for program in self.programs])

    def stop(self) -> None:
        """End the processes; the data stays."""
        for program in self.programs:
            program.stop()

    def close(self) -> None:
        """End what `stop` leaves running, too."""
        self.stop()

    # -- what it costs ------------------------------------------------------------------------------------------------

    def cpu_seconds(self) -> float:
        return sum(program.cpu_seconds() for program in self.programs)

    def memory(self) -> int:
        return sum(program.memory() for program in self.programs)

    def peak_memory(self) -> int:
        return sum(program.peak_memory() for program in self.programs)
