"""Start the processes of the simulator, and end them when no question needs them: the zygote, and generations."""

import asyncio
import os
import signal
import socket
import sys
import time
from asyncio.subprocess import DEVNULL, Process
from collections.abc import Callable
from contextlib import suppress

import msgspec

from moorage.dashboard.simulator.answering import SETTLED
from moorage.dashboard.simulator.channel import Channel, Message, ProcessGone
from moorage.dashboard.simulator.spec import InputSpec, lines_of
from moorage.dashboard.state.progress import Progress
from moorage.plan.simulation.forked import why_ended
from moorage.telemetry.logs import get_logger

_MODULE = "moorage.dashboard.simulator.zygote"
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


#: So many objects are encoded before others have their turn on the event loop.
_AT_ONCE = 100
_LOADS, _PLANS = "the process that loads the cluster", "the process that plans the cluster"


class GenerationInfo(msgspec.Struct, frozen=True):
    """Which state of the cluster answers questions: its `seq`, when it was ready, and how long that took.

    `number` is 0 before there is any. `problem` says what is wrong with the newest input; where it cannot be loaded
    at all, the generation before it goes on answering.
    """

    number: int = 0
    seq: int = 0
    made: float = 0.0
    seconds: float = 0.0
    problem: str = ""
    loading: bool = False


class Generation:
    """Two processes and what is known of them. It stays until it is retired and no question uses it."""

    def __init__(
        self,
        number: int,
        spec: InputSpec,
        zygote: Channel,
        lost: Callable[["Generation"], None],
        report: Callable[[Progress], None] = lambda progress: None,
    ) -> None:
        """Let the zygote fork it; `report` hears what it does until it is made. Raises ProcessGone."""
        self.number, self.spec = number, spec
        self.info = GenerationInfo(number, spec.seq)
        self.problem = ""
        self._zygote = zygote
        self._lost = lost
        self._users = 0
        self._is_retired = self._has_died = False
        (ours, built), (others, settled), (self._sender, receiver) = (socket.socketpair() for _ in range(3))
        self.built = Channel(ours, _LOADS, lambda: self._ended(self.built))
        self.settled = Channel(others, _PLANS, lambda: self._ended(self.settled))
        self.built.on_progress = self.settled.on_progress = report
        self.built.expect_end(SETTLED)
        zygote.expect_end(number)
        try:
            zygote.send({"load": number}, built, settled, receiver)
        except ProcessGone:
            self._sender.close()
            self.close()
            raise

    async def make(self) -> bool:
        """Send the input and wait until the cluster has settled. Return whether it can be asked anything."""
        await self._send()
        report = await self.built.ready
        self.problem = report.get("about", "")
        if "ready" not in report:
            self.problem = await self._why(report, _LOADS, self._zygote, self.number)
            return False
        report = await self.settled.ready
        if "ready" not in report:
            self.problem = await self._why(report, _PLANS, self.built, SETTLED)
        if self._has_died:
            self.problem = f"{_LOADS} or {_PLANS} died"
            return False
        self.info = GenerationInfo(self.number, self.spec.seq, time.time(), report.get("seconds", 0.0), self.problem)
        return True

    async def _send(self) -> None:
        with suppress(OSError):  # it has ended, and `ready` tells why
            _, writer = await asyncio.open_unix_connection(sock=self._sender)
            try:
                for number, line in enumerate(lines_of(self.spec)):
                    writer.write(line)
                    if not number % _AT_ONCE:
                        await writer.drain()
                        await asyncio.sleep(0)
                writer.write_eof()
                await writer.drain()
            finally:
                writer.close()
            await writer.wait_closed()

    async def _why(self, report: Message, what: str, parent: Channel, number: int | str) -> str:
        if "problem" in report:
            return str(report["problem"])
        return f"{what} {await parent.why_ended(number) or 'ended'}"

    def _ended(self, channel: Channel) -> None:
        if not self._is_retired and _was_ready(channel):
            self._has_died = True
            if self.info.made:
                self._lost(self)

    # -- users --------------------------------------------------------------------------------------------------------

    def channel(self, *, settled: bool) -> Channel | None:
        """Return the channel of the process to ask; None if it does not answer (yet, or any more)."""
        channel = self.settled if settled else self.built
        return channel if _was_ready(channel) and not channel.is_closed else None

    def use(self) -> None:
        self._users += 1

    def leave(self) -> None:
        self._users -= 1
        self._close_if_unused()

    def retire(self) -> None:
        """Let it end as soon as no question uses it."""
        self._is_retired = True
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._is_retired and not self._users:
            self.close()

    def close(self) -> None:
        """End both processes, whatever they do."""
        self._is_retired = True
        self.built.close()
        self.settled.close()
        self._zygote.forget_end(self.number)


def _was_ready(channel: Channel) -> bool:
    return channel.ready.done() and "ready" in channel.ready.result()
