"""Start and end the process that all others of the simulator are forked from; log what they write."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import suppress

from moorage.dashboard.simulator.channel import Channel
from moorage.dashboard.simulator.children import why_ended
from moorage.telemetry.logs import get_logger

_MODULE = "moorage.dashboard.simulator"
#: A process with threads must not fork: the libraries of numpy start none then.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_LONGEST_LINE = 1 << 16
_LOG = get_logger("dashboard")


class ZygoteProcess:
    """The process, which has a process group of its own: Ctrl-C in a terminal reaches the server only."""

    def __init__(self, process: Process, channel: Channel) -> None:
        self._process, self.channel = process, channel
        self._log = asyncio.create_task(self._log_lines())

    @classmethod
    async def start(cls, questions: str, memory: int, gone: Callable[[], None]) -> "ZygoteProcess":
        """Start it. Raises OSError."""
        ours, theirs = socket.socketpair()
        number = theirs.fileno()
        options = (str(number), "--questions", questions, "--memory", str(memory))
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", _MODULE, *options),
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=PIPE,
                pass_fds=(number,),
                start_new_session=True,
                env={**os.environ, **_ONE_THREAD},
                limit=_LONGEST_LINE,
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(process, Channel(ours, "the simulator", gone))

    @property
    def pid(self) -> int:
        return self._process.pid

    async def _log_lines(self) -> None:
        assert self._process.stderr is not None
        while True:
            try:
                line = await self._process.stderr.readline()
            except ValueError:  # a line without end
                continue
            if not line:
                return
            _LOG.warning("A process of the simulator wrote", line=line.decode("utf-8", "replace").rstrip())

    async def why_ended(self) -> str:
        """Wait for its end, and say why it ended."""
        return why_ended(await self._process.wait()) or "exited"

    async def end(self) -> None:
        """Kill it with all that were forked from it, and wait until it is gone. What outlived it is left alone."""
        if self._process.returncode is None and not self.channel.is_closed:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self.channel.close()
        await self._process.wait()
        self._log.cancel()
        with suppress(asyncio.CancelledError):
            await self._log
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
