"""Make one generation of the simulated cluster, and keep it for as long as questions need it."""

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from moorage.dashboard.simulator.answering import SETTLED
from moorage.dashboard.simulator.channel import Channel, Message, ProcessGone
from moorage.dashboard.simulator.spec import InputSpec, lines_of

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

    def __init__(self, number: int, spec: InputSpec, zygote: Channel, lost: Callable[["Generation"], None]) -> None:
        """Let the zygote fork it. Raises ProcessGone."""
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
        told = await self.built.ready
        self.problem = told.get("about", "")
        if "ready" not in told:
            self.problem = await self._why(told, _LOADS, self._zygote, self.number)
            return False
        told = await self.settled.ready
        if "ready" not in told:
            self.problem = await self._why(told, _PLANS, self.built, SETTLED)
        if self._has_died:
            self.problem = f"{_LOADS} or {_PLANS} died"
            return False
        self.info = GenerationInfo(self.number, self.spec.seq, time.time(), told.get("seconds", 0.0), self.problem)
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

    async def _why(self, told: Message, what: str, parent: Channel, number: int | str) -> str:
        if "problem" in told:
            return str(told["problem"])
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
