"""Ask a simulated cluster questions: load its input into processes of its own, which are restarted if they die."""

import asyncio
import importlib
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from itertools import count
from typing import Any

import msgspec

from moorage.dashboard.questions.base import Part, Question
from moorage.dashboard.simulator.answering import MAX_ARGUMENTS
from moorage.dashboard.simulator.channel import Channel, ProcessGone
from moorage.dashboard.simulator.processes import Generation, GenerationInfo, ZygoteProcess
from moorage.dashboard.simulator.spec import InputSpec
from moorage.dashboard.state.progress import Progress, Report
from moorage.telemetry.logs import get_logger

#: How long an answer may take, and how long loading and planning may go on without a sign of progress.
QUESTION_SECONDS, LOAD_SECONDS = 30.0, 600.0
#: How many questions are answered at the same time, and what each may add to memory.
AT_ONCE, MEMORY = 2, 2 << 30
#: A larger part is not taken.
MAX_PART = 64 << 20
#: The first and the longest pause before a process that died is restarted.
_PAUSE, _LONGEST_PAUSE = 0.05, 30.0
_TRIES = 2
_ENDED = "the simulator has ended"
_LOG = get_logger("dashboard")


class _NoAnswer(Exception):
    """Why there is none: one line for the user."""


class _Lost(Exception):
    """The process with the cluster died before it answered anything: another one may answer."""


class Simulator:
    """The simulated cluster of a dashboard. `questions` is the module that has their table."""

    def __init__(
        self,
        *,
        seconds: float = QUESTION_SECONDS,
        at_once: int = AT_ONCE,
        memory: int = MEMORY,
        questions: str = "moorage.dashboard.questions",
        report: Report = lambda progress: None,
    ) -> None:
        """`report` hears what is done while a cluster is loaded that nothing can be asked of yet."""
        self._seconds, self._memory, self._module = seconds, memory, questions
        self._questions: Mapping[str, Question] = importlib.import_module(questions).QUESTIONS
        self._turns = asyncio.Semaphore(at_once)
        self._numbers, self._generations = count(1), count(1)
        self._zygote: ZygoteProcess | None = None
        self._reader: Channel | None = None
        self._starting = asyncio.Lock()
        self._reviver: asyncio.Task[None] | None = None
        self._current: Generation | None = None
        self._problem = ""
        self._spec: InputSpec | None = None
        self._waiting: InputSpec | None = None  # it is loaded next
        self._wanted = self._tried = 0  # specs so far
        self._loader: asyncio.Task[None] | None = None
        self._deaths = 0  # of generations since the last call of `load`
        self._news = asyncio.Event()
        self._is_stopped = False
        self._report = report
        self._deadline: asyncio.Timeout | None = None  # of the load that is under way

    @property
    def generation(self) -> GenerationInfo:
        """Which state answers now, and what is wrong with the newest."""
        info = self._current.info if self._current is not None else GenerationInfo()
        return msgspec.structs.replace(info, problem=self._problem, loading=self._is_loading)

    @property
    def pid(self) -> int | None:
        """The process group of the simulator; None before the start."""
        return self._zygote.pid if self._zygote is not None else None

    @property
    def _is_loading(self) -> bool:
        return self._tried < self._wanted

    def _announce(self) -> None:
        """Wake all that wait for something to change."""
        self._news.set()
        self._news = asyncio.Event()

    async def start(self) -> None:
        """Start the process that others are forked from, and wait until it is ready. Raises OSError."""
        await self._running_zygote()

    async def stop(self) -> None:
        """End all processes; questions under way end with an error."""
        self._is_stopped = True
        for task in (self._loader, self._reviver):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        zygote, self._zygote = self._zygote, None
        if zygote is not None:
            await zygote.end()
        for channel in (self._reader, self._current):
            if channel is not None:
                channel.close()
        self._announce()

    # -- loading ------------------------------------------------------------------------------------------------------

    async def load(self, spec: InputSpec) -> None:
        """Make a new generation; return when it answers, or when `generation` says what is wrong with it.

        Of specs that come while another one is being loaded only the newest is loaded next.
        """
        self._deaths = 0
        number = self._want(spec)
        while self._tried < number and not self._is_stopped:
            await self._news.wait()

    def _want(self, spec: InputSpec, pause: float = 0.0) -> int:
        self._spec = self._waiting = spec
        self._wanted += 1
        if self._loader is None or self._loader.done():
            self._loader = asyncio.create_task(self._load_waiting(pause))
        return self._wanted

    async def _load_waiting(self, pause: float) -> None:
        await asyncio.sleep(pause)
        while self._waiting is not None:
            spec, number = self._waiting, self._wanted
            self._waiting = None
            await self._load(spec)
            self._tried = number
            self._announce()

    async def _load(self, spec: InputSpec) -> None:
        for _ in range(_TRIES):
            try:
                forker = await self._forker(is_live=spec.live is not None)
                generation = Generation(next(self._generations), spec, forker, self._lost, self._progressed)
            except (OSError, ProcessGone) as error:
                self._problem = f"the simulator cannot be started: {error}"
                if self._zygote is not None:
                    self._zygote.channel.close()  # it may have died a moment ago: the next try starts another one
                continue
            if await self._is_usable(generation) or not forker.is_closed:
                return

    async def _forker(self, *, is_live: bool) -> Channel:
        """Return what forks generations; for a live cluster one that knows the objects of the generation before.

        Raises OSError and ProcessGone.
        """
        zygote = await self._running_zygote()
        if not is_live:
            return zygote.channel
        if self._reader is None or self._reader.is_closed:
            ours, theirs = socket.socketpair()
            self._reader = Channel(ours, "the process that reads the cluster")
            zygote.channel.send({"reader": True}, theirs)
        return self._reader

    async def _is_usable(self, generation: Generation) -> bool:
        """Make a generation and let it answer from now on, if it can."""
        if self._current is None:  # the first one may be asked as soon as it can answer anything
            self._current = generation
            generation.built.ready.add_done_callback(lambda _: self._announce())
        is_usable = False
        try:
            async with asyncio.timeout(LOAD_SECONDS) as self._deadline:
                is_usable = await generation.make()
        except TimeoutError:
            generation.problem = f"loading and planning made no progress for {LOAD_SECONDS:.0f} s"
        finally:
            self._deadline = None
            self._report(None)
            if not is_usable:
                generation.close()
                if self._current is generation:
                    self._current = None
        self._problem = generation.problem
        if is_usable and self._current is not generation:
            if self._current is not None:
                self._current.retire()
            self._current = generation
        return is_usable

    def _progressed(self, progress: Progress) -> None:
        """Give a load that goes on more time, and say how far it is where questions wait for it."""
        if self._deadline is not None and not self._deadline.expired():
            self._deadline.reschedule(asyncio.get_running_loop().time() + LOAD_SECONDS)
        if self._current is None or not self._current.info.made:
            self._report(progress)

    # -- processes that die -------------------------------------------------------------------------------------------

    async def _running_zygote(self) -> ZygoteProcess:
        async with self._starting:
            if self._zygote is not None and not self._zygote.channel.is_closed:
                return self._zygote
            if self._zygote is not None:
                await self._zygote.end()
            self._zygote = await ZygoteProcess.start(self._module, self._memory, self._zygote_died)
            if "ready" not in await self._zygote.channel.ready:
                raise OSError(f"its process {await self._zygote.why_ended()}")
            return self._zygote

    def _zygote_died(self) -> None:
        """Start another one, unless it died at its start. Clusters that are loaded go on without it."""
        if not self._is_stopped and self._zygote is not None and self._zygote.channel.ready.done():
            _LOG.warning("The process that simulated clusters are forked from died; starting another one")
            self._reviver = asyncio.create_task(self._revive())

    async def _revive(self) -> None:
        try:
            await self._running_zygote()
        except OSError as error:
            self._problem = f"the simulator cannot be started: {error}"

    def _lost(self, generation: Generation) -> None:
        """Load the last input again, after a process that held it has died."""
        if generation is self._current and not self._is_stopped:
            _LOG.warning("A process with a simulated cluster died; loading it again", generation=generation.number)
            if self._spec is not None and not self._is_loading:
                self._want(self._spec, min(_PAUSE * 2**self._deaths, _LONGEST_PAUSE))
                self._deaths += 1

    # -- asking -------------------------------------------------------------------------------------------------------

    async def ask(
        self, question: str, arguments: dict[str, Any], *, seconds: float = 0.0
    ) -> AsyncGenerator[Part, None]:
        """Yield the parts of an answer, the last with `done`; closing the iterator ends the process that computes it.

        Waits for the first generation to be loaded, and for its turn. `seconds` is how long it may take then; one that
        says how far it is, in parts with `progress`, may go on for as long as loading.
        """
        known = self._questions.get(question)
        body = msgspec.json.encode({"question": question, "arguments": arguments})
        if known is None:
            yield _error(f"there is no question {question!r}; there are {', '.join(self._questions)}")
            return
        if len(body) > MAX_ARGUMENTS:
            yield _error(f"the question is larger than {MAX_ARGUMENTS >> 20} MiB")
            return
        for _ in range(_TRIES):
            try:
                async with aclosing(self._ask(body, seconds or self._seconds, settled=known.settled)) as parts:
                    async for part in parts:
                        if trace := part.pop("traceback", ""):
                            _LOG.error("A question failed", question=question, traceback=trace)
                        yield part
                return
            except _NoAnswer as problem:
                yield _error(str(problem))
                return
            except _Lost:
                continue
        yield _error("the process with the simulated cluster died, again and again")

    async def _ask(self, body: bytes, seconds: float, *, settled: bool) -> AsyncGenerator[Part, None]:
        """Yield the parts of an answer. Raises _NoAnswer and _Lost."""
        generation, channel = await self._turn(settled=settled)
        try:
            async with aclosing(self._parts(channel, body, seconds)) as parts:
                async for part in parts:
                    yield part
        finally:
            generation.leave()
            self._turns.release()

    async def _turn(self, *, settled: bool) -> tuple[Generation, Channel]:
        """Wait for a turn and for a cluster that answers, and use it. Raises _NoAnswer."""
        while True:
            while self._ready(settled=settled) is None:
                if self._is_stopped:
                    raise _NoAnswer(_ENDED)
                if not self._is_loading:
                    raise _NoAnswer(self._problem or "no cluster is loaded")
                await self._news.wait()
            await self._turns.acquire()
            generation = self._ready(settled=settled)
            if generation is not None:
                generation[0].use()
                return generation
            self._turns.release()

    def _ready(self, *, settled: bool) -> tuple[Generation, Channel] | None:
        generation = self._current
        channel = generation.channel(settled=settled) if generation is not None else None
        return (generation, channel) if generation is not None and channel is not None else None

    async def _parts(self, channel: Channel, body: bytes, seconds: float) -> AsyncGenerator[Part, None]:
        clock = asyncio.get_running_loop().time
        deadline, latest = clock() + seconds, clock() + max(seconds, LOAD_SECONDS)
        number, is_done, is_begun = next(self._numbers), False, False
        ours, theirs = socket.socketpair()
        channel.expect_end(number)
        try:
            channel.send({"ask": number}, theirs)
        except ProcessGone:
            ours.close()
            channel.forget_end(number)
            await channel.wait_closed()  # else the next try would ask the same process
            raise _Lost from None
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=MAX_PART)
        try:
            writer.write(body)
            writer.write_eof()
            while not is_done:
                try:
                    async with asyncio.timeout_at(deadline):
                        line = await reader.readline()
                except TimeoutError:
                    raise _NoAnswer(f"took longer than {seconds:g} s") from None
                except ValueError:
                    raise _NoAnswer(f"the answer is larger than {MAX_PART >> 20} MiB") from None
                except OSError:
                    line = b""
                if not line.endswith(b"\n"):
                    break
                part: Part = msgspec.json.decode(line)
                if "progress" in part:
                    deadline = min(clock() + seconds, latest)
                else:
                    is_done, is_begun = bool(part.get("done")), True
                yield part
            if not is_done:
                why = await channel.why_ended(number)
                if self._is_stopped:
                    raise _NoAnswer(_ENDED)
                if channel.is_closed and not is_begun:
                    raise _Lost
                raise _NoAnswer(f"the process that computed the answer {why or 'ended'}")
        finally:
            channel.forget_end(number)
            if not is_done:
                with suppress(ProcessGone):
                    channel.send({"cancel": number})
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()


def _error(text: str) -> Part:
    return {"error": text, "done": True}
