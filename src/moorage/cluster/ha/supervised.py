"""Keep a process running: restart it with growing pauses when it ends, and stop it within bounded time.

What it writes goes to its own log. It is tied to this process: it does not outlive it (see `tether`). Kubernetes: the
kubelet's restarts of static pods, with their back-off.
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from moorage.cluster.ha import tether
from moorage.telemetry.logs import get_logger

FIRST_DELAY, LAST_DELAY = 0.2, 10.0
#: A process that ran for this many seconds is started again without a long delay.
RAN_WELL = 20.0
_LARGE_LOG = 8 * 1024 * 1024
_LAST_BYTES = 4096
_LOG = get_logger("supervisor")


class SupervisedProcess:
    """One process by name. `command` is asked for the command line before each start, since ports may change."""

    def __init__(
        self, name: str, command: Callable[[], Sequence[str]], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name, self.log = name, log
        self.starts = 0
        #: How often it has ended by itself, and how, the last time.
        self.ends, self.ending = 0, ""
        self._command, self._environment = command, dict(os.environ if environment is None else environment)
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int:
        """Its number; 0 while it does not run."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else 0

    @property
    def last_words(self) -> str:
        """The last line that it wrote."""
        try:
            with self.log.open("rb") as log:
                log.seek(max(0, self.log.stat().st_size - _LAST_BYTES))
                lines = [line.strip() for line in log.read().decode("utf-8", "replace").splitlines()]
        except OSError:
            return ""
        return next((line for line in reversed(lines) if line), "")

    async def run(self) -> None:
        """Run it again and again, until it is stopped."""
        delay = FIRST_DELAY
        while not self._stopping.is_set():
            started = time.monotonic()
            code = await self._run_once()
            if self._stopping.is_set():
                return
            self.ends += 1
            self.ending = _ending(code)
            delay = FIRST_DELAY if time.monotonic() - started >= RAN_WELL else delay
            _LOG.error(
                "A process has ended and is started again",
                name=self.name,
                ended=self.ending,
                seconds=f"{delay:g}",
                log=str(self.log),
            )
            await asyncio.sleep(delay)
            delay = min(delay * 2, LAST_DELAY)

    async def _run_once(self) -> int | None:
        """Return its exit status; None if it could not be started."""
        command = (sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), *self._command())
        self.starts += 1
        output = -1
        try:
            if self.log.exists() and self.log.stat().st_size > _LARGE_LOG:
                self.log.replace(self.log.with_name(f"{self.log.name}.old"))
            output = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # a Ctrl-C on the terminal is for this process, which stops all in order
                env=self._environment,
            )
        except OSError as error:
            _LOG.error("A process cannot be started", name=self.name, err=error.strerror or str(error))
            return None
        finally:
            if output >= 0:
                os.close(output)
        if self._stopping.is_set():
            self._signal(signal.SIGTERM)
        return await self._process.wait()

    async def stop(self, seconds: float, *, may_be_killed: bool = False) -> None:
        """Ask it to end, and kill it with all that it has started if it has not ended by then, which is logged."""
        self._stopping.set()
        process = self._process
        if process is None or process.returncode is not None:
            return
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(seconds):
                await process.wait()
        except TimeoutError:
            if not may_be_killed:
                _LOG.error("A process did not end in time and is killed", name=self.name, seconds=f"{seconds:g}")
            self._signal(signal.SIGKILL)
            await process.wait()

    def kill(self) -> None:
        """Kill it with all that it has started; do not start it again."""
        self._stopping.set()
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        pid = self.pid
        if not pid:
            return
        with suppress(ProcessLookupError, PermissionError):
            if number is signal.SIGKILL:
                os.killpg(pid, number)
            else:
                os.kill(pid, number)


def _ending(code: int | None) -> str:
    if code is None:
        return "could not be started"
    if code >= 0:
        return f"exit status {code}"
    with suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"
