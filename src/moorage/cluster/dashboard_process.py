"""Run `moorage dashboard` beside a cluster, in a process of its own that ends with it and cannot hold it up."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.ha import tether
from moorage.cluster.ha.commands import child_environment

_START_SECONDS = 600.0  # it ends by itself where it hears nothing of the cluster
_STOP_SECONDS = 5.0
_TOKEN = "?token="


class DashboardProcess:
    """One dashboard. `tell` is called with each further address that it prints, and if it ends by itself."""

    def __init__(self, *, port: int, allow_changes: bool, tell: Callable[[str], None]) -> None:
        self._port, self._allow_changes, self._tell = port, allow_changes, tell
        self._process: asyncio.subprocess.Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self.address = ""

    async def start(self, kubeconfig: Path, context: str) -> None:
        """Wait until it is ready. Raises CannotStart."""
        moorage = (sys.executable, "-P", "-m", "moorage")
        options = ["--kubeconfig", str(kubeconfig.absolute()), "--context", context, "--port", str(self._port)]
        options += ["--allow-changes"] if self._allow_changes else []
        command = (*moorage, "dashboard", "--no-open", *options)
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", tether.__file__, str(os.getpid()), *command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C on the terminal is for the cluster, which stops it
            env=child_environment(),
        )
        try:
            async with asyncio.timeout(_START_SECONDS):
                self.address = await self._next_address(self._process)
        except TimeoutError:
            raise CannotStart(f"the dashboard was not ready within {_START_SECONDS:.0f} s") from None
        if not self.address:
            raise CannotStart("the dashboard has ended; it says why above")
        self._reading = asyncio.create_task(self._read_on(self._process))

    async def stop(self) -> None:
        process = self._process
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if process is None or process.returncode is not None:
            return
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _read_on(self, process: asyncio.subprocess.Process) -> None:
        while address := await self._next_address(process):
            self._tell(f"The dashboard's address was used. To let another browser in, open\n\n  {address}\n")
        await process.wait()
        self._tell("The dashboard has ended; the cluster goes on.")

    async def _next_address(self, process: asyncio.subprocess.Process) -> str:
        """Return the next address that it prints; empty if it has ended."""
        if process.stdout is None:
            return ""
        while line := await process.stdout.readline():
            text = line.decode("utf-8", "replace").strip()
            if _TOKEN in text:
                return text
        return ""
