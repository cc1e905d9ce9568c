"""Start, ask and kill a worker process.

It is a plain child with pipes. It ends with its parent, however that ends, because its stdin ends; it has a session of
its own, so that Ctrl-C in a terminal reaches the parent only.
"""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Protocol

import msgspec

from moorage.match.evaluation.questions import CelAnswer, CelQuestion
from moorage.match.evaluation.worker import LENGTH_BYTES, encode_message

_MODULE = "moorage.match.evaluation.worker"
_ANSWER = msgspec.json.Decoder(list[bool | str | int])


class WorkerGone(Exception):
    """The worker ended in the middle of its work."""


class Worker(Protocol):
    """What evaluates. `ask` yields answers in order, to as many of the questions as fit into a turn."""

    def ask(self, questions: Sequence[CelQuestion]) -> AsyncIterator[CelAnswer]: ...

    async def kill(self) -> None: ...


class WorkerProcess:
    """A running worker."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> "WorkerProcess":
        """Start one. Raises OSError."""
        command = (sys.executable, "-P", "-m", _MODULE)
        return cls(
            await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, start_new_session=True
            )
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    async def ask(self, questions: Sequence[CelQuestion]) -> AsyncIterator[CelAnswer]:
        """Yield answers until the turn is over. Raises WorkerGone."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(encode_message(questions))
            await stdin.drain()
            while True:
                size = int.from_bytes(await stdout.readexactly(LENGTH_BYTES), "big")
                message = _ANSWER.decode(await stdout.readexactly(size))
                if not message:
                    return
                value, cost = message
                yield CelAnswer(value if isinstance(value, str) else bool(value), int(cost))
        except (OSError, EOFError, msgspec.DecodeError) as error:
            raise WorkerGone(str(error)) from None

    async def kill(self) -> None:
        """Kill it and wait until it is gone."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()
