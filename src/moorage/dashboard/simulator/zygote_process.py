"""Start and end the process that all others of the simulator are forked from; log what they write."""

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from contextlib import suppress

from moorage.dashboard.simulator.channel import Channel
from moorage.dashboard.simulator.children import why_ended
from moorage.telemetry.logs import get_logger

_MODULE = "moorage.dashboard.simulator"
#: A process with threads must not fork: the libraries of numpy start none then.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_BYTES = 65_536
_LOG = get_logger("dashboard")


class ZygoteProcess:
    """The process, which has a process group of its own: Ctrl-C in a terminal reaches the server only."""

    def __init__(self, process: Process, channel: Channel, written: socket.socket) -> None:
        self._process, self.channel, self._written = process, channel, written
        written.setblocking(False)
        asyncio.get_running_loop().add_reader(written.fileno(), self._log)

    @classmethod
    async def start(cls, questions: str, memory: int, gone: Callable[[], None]) -> "ZygoteProcess":
        """Start it. Raises OSError."""
        (ours, theirs), (written, stderr) = socket.socketpair(), socket.socketpair()
        number = theirs.fileno()
        options = (str(number), "--questions", questions, "--memory", str(memory))
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", _MODULE, *options),
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=stderr.fileno(),
                pass_fds=(number,),
                start_new_session=True,
                env={**os.environ, **_ONE_THREAD},
            )
        except BaseException:
            ours.close()
            written.close()
            raise
        finally:
            theirs.close()
            stderr.close()
        return cls(process, Channel(ours, "the simulator", gone), written)

    @property
    def pid(self) -> int:
        return self._process.pid

    def _log(self) -> None:
        """Log what any of the processes writes; asyncio's own pipe would make `wait` wait for all of them."""
        with suppress(BlockingIOError):
            text = self._written.recv(_BYTES).decode("utf-8", "replace")
            if text:
                _LOG.warning("A process of the simulator wrote", text=text)
            else:
                self._close_log()

    def _close_log(self) -> None:
        if self._written.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._written.fileno())
            self._written.close()

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
        self._close_log()
