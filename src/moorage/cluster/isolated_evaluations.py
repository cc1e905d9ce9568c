"""Evaluate expensive expressions in a worker process, one account after another, within a budget for each.

The account with the lowest cost so far has its turn next, so a pod with a thousand questions does not make others wait
for all of them. The worker starts with the first question and ends after a while without any; a question that takes too
long costs the worker its life and is answered by an error. Components see `Undecided` and are called back.

The worker is a plain child with pipes: it ends with its parent, because its stdin ends, and has a session of its own,
so that Ctrl-C in a terminal reaches the parent only. Kubernetes: none.
"""

import asyncio
import heapq
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import count, islice
from typing import Protocol

import msgspec

from moorage.match.evaluation.accounts import (
    BUDGET,
    Account,
    CelAnswer,
    CelQuestion,
    Compute,
    Evaluations,
    Undecided,
    budget_text,
)
from moorage.match.evaluation.worker import INTERNAL_ERROR, LENGTH_BYTES, encode_message
from moorage.telemetry.logs import get_logger
from moorage.telemetry.metrics import Metrics

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
        except (
            OSError,
            EOFError,
            RuntimeError,
            msgspec.DecodeError,
        ) as error:  # uvloop: RuntimeError if its pipe is closed
            raise WorkerGone(str(error)) from None

    async def kill(self) -> None:
        """Kill it and wait until it is gone."""
        with suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        transport = getattr(self._process, "_transport", None)
        if transport is not None:
            transport.close()


#: After this a budget is renewed; a pod that has no node is tried again after as long.
BUDGET_SECONDS = 300.0
#: A single evaluation ends itself sooner; what does not is killed.
ANSWER_SECONDS = 15.0
_STARTING_SECONDS = 30.0
_IDLE_SECONDS = 60.0
_RESTART_SECONDS = 1.0
_BATCH = 16
_ANSWERS_KEPT = 65_536
_TRIES = 2  # of a question whose worker dies
_LOST_KEPT = 1024
_TIMED_OUT = "operation cancelled: time limit exceeded"
_LOST = "operation cancelled: the process that evaluated it ended"
_LOG = get_logger("evaluations")


class IsolatedEvaluations(Evaluations):
    """Evaluations in a worker process. Needs a running event loop from the first question on."""

    compiles_long = False

    def __init__(self, start: Callable[[], Awaitable[Worker]] = WorkerProcess.start) -> None:
        super().__init__()
        self._start = start
        self._worker: Worker | None = None
        self._is_fresh = False  # it has answered nothing yet
        self._queue: list[tuple[int, int, Account]] = []
        self._numbers = count()
        self._answers: OrderedDict[CelQuestion, CelAnswer] = OrderedDict()
        self._lost: Counter[CelQuestion] = Counter()
        self._wakened = asyncio.Event()
        self._pump: asyncio.Task[None] | None = None
        self._renewals: dict[Account, asyncio.TimerHandle] = {}
        self._is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        with suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
        self.results: Counter[str] = Counter()
        self.starts = 0

    # -- asking -------------------------------------------------------------------------------------------------------

    def decide(
        self, account: Account, question: CelQuestion, compute: Compute, *, patiently: bool = False
    ) -> CelAnswer:
        known = account.answers.get(question) or self._recall(account, question)
        if known is not None:
            return known
        loop = self._running_loop()
        if account.spent >= BUDGET and not self._renew(account, loop.time()):
            if patiently:
                self._call_at_renewal(account, loop)
                raise Undecided((account,))
            self.given_up += 1
            return CelAnswer(budget_text(BUDGET, "the pod's"), gave_up=True)
        if not account.is_full:
            account.asked[question] = None
        self._enqueue(account)
        raise Undecided((account,))

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop; in a search for devices, which has a thread, the loop that waits for it."""
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            if self._loop is None:
                raise
        return self._loop

    def _recall(self, account: Account, question: CelQuestion) -> CelAnswer | None:
        """Return the answer that another account was given."""
        answer = self._answers.get(question)
        if answer is not None:
            self._answers.move_to_end(question)
            account.note(question, answer._replace(cost=0))
        return answer

    def _renew(self, account: Account, now: float) -> bool:
        if account.spent_since is None or now < account.spent_since + BUDGET_SECONDS:
            return False
        account.spent, account.spent_since = 0, None
        return True

    def _call_at_renewal(self, account: Account, loop: asyncio.AbstractEventLoop) -> None:
        if account not in self._renewals:
            when = (loop.time() if account.spent_since is None else account.spent_since) + BUDGET_SECONDS

            def renewed() -> None:
                del self._renewals[account]
                account.call_waiters()

            self._renewals[account] = loop.call_at(when, renewed)

    def _enqueue(self, account: Account) -> None:
        if account.is_queued or self._is_closed:
            return
        account.is_queued = True
        heapq.heappush(self._queue, (account.spent, next(self._numbers), account))
        self._wakened.set()
        if self._pump is None or self._pump.done():
            self._pump = self._running_loop().create_task(self._work())

    @property
    def waiting(self) -> int:
        """Return how many questions have no answer yet."""
        return sum(len(account.asked) for _, _, account in self._queue)

    # -- answering ----------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        """Give one account after another its turn, until there is nothing to do for a while."""
        try:
            while True:
                self._wakened.clear()
                if not self._queue:
                    try:
                        async with asyncio.timeout(_IDLE_SECONDS):
                            await self._wakened.wait()
                    except TimeoutError:
                        if not self._queue:
                            return
                    continue
                account = heapq.heappop(self._queue)[2]
                account.is_queued = False
                if account.is_waited_for:
                    await self._turn(account)
                else:  # the pods are gone, or something else helped them
                    account.asked.clear()
                    account.waiters.clear()
        finally:
            await self._end_worker()

    async def _turn(self, account: Account) -> None:
        """Ask some of an account's questions; tell those who wait when all of them have an answer."""
        worker = await self._working()
        if worker is not None:
            questions = list(islice(account.asked, _BATCH))
            try:
                await self._ask(worker, account, questions)
            except (WorkerGone, TimeoutError) as error:
                unanswered = next((question for question in questions if question in account.asked), None)
                if unanswered is not None:
                    self._blame(account, unanswered, is_late=isinstance(error, TimeoutError))
                await self._end_worker()
        if account.spent >= BUDGET:
            account.spent_since = asyncio.get_running_loop().time()
            account.asked.clear()
        if account.asked:
            self._enqueue(account)
        else:
            account.call_waiters()

    async def _ask(self, worker: Worker, account: Account, questions: list[CelQuestion]) -> None:
        answers = worker.ask(questions)
        for question in questions:
            async with asyncio.timeout(_STARTING_SECONDS if self._is_fresh else ANSWER_SECONDS):
                answer = await anext(answers, None)
            if answer is None:
                return
            self._is_fresh = False
            self.results["failed" if isinstance(answer.value, str) else "answered"] += 1
            if isinstance(answer.value, str) and answer.value.startswith(INTERNAL_ERROR):
                _LOG.error(
                    "An expression could not be evaluated", expression=question.expression[:200], err=answer.value
                )
            self._note(account, question, answer)
            if account.spent >= BUDGET:
                break
        async with asyncio.timeout(ANSWER_SECONDS * len(questions)):
            async for _ in answers:  # the rest of a turn that nothing is paid for any more
                pass

    def _note(self, account: Account, question: CelQuestion, answer: CelAnswer) -> None:
        account.asked.pop(question, None)
        account.note(question, answer)
        self._lost.pop(question, None)
        self._answers[question] = answer
        if len(self._answers) > _ANSWERS_KEPT:
            self._answers.popitem(last=False)

    def _blame(self, account: Account, question: CelQuestion, *, is_late: bool) -> None:
        """Give a question up that takes too long, or whose worker died twice."""
        if len(self._lost) >= _LOST_KEPT:
            self._lost.clear()
        self._lost[question] += 1
        if is_late or self._lost[question] >= _TRIES:
            self.results["timed out" if is_late else "lost"] += 1
            text = _TIMED_OUT if is_late else _LOST
            _LOG.warning("An expression was not evaluated", expression=question.expression[:200], err=text)
            self._note(account, question, CelAnswer(text, BUDGET // 4))

    async def _working(self) -> Worker | None:
        """Return the worker, started if need be; None, after a moment, if that is not possible now."""
        if self._worker is None:
            try:
                self._worker = await self._start()
            except OSError as error:
                _LOG.error("A process for expensive expressions cannot be started; retrying", err=str(error))
                await asyncio.sleep(_RESTART_SECONDS)
                return None
            self._is_fresh = True
            self.starts += 1
        return self._worker

    async def _end_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.kill()

    async def close(self) -> None:
        """End the worker; questions stay without an answer."""
        self._is_closed = True
        for timer in self._renewals.values():
            timer.cancel()
        if self._pump is not None:
            self._pump.cancel()
            with suppress(asyncio.CancelledError):
                await self._pump


def add_evaluation_metrics(metrics: Metrics, evaluations: IsolatedEvaluations) -> None:
    """Count what the worker process evaluates."""
    metrics.counter_function(
        "moorage_expression_evaluations_total",
        "Evaluations of expensive expressions in the worker process, by result: answered, failed, timed out, lost.",
        lambda: {(result,): float(number) for result, number in evaluations.results.items()},
        ("result",),
    )
    metrics.counter_function(
        "moorage_expression_evaluations_refused_total",
        "Expensive expressions that were not evaluated because a pod's budget is used up.",
        lambda: float(evaluations.given_up),
    )
    metrics.gauge_function(
        "moorage_expression_evaluations_waiting",
        "Expensive expressions that wait for their evaluation.",
        lambda: float(evaluations.waiting),
    )
    metrics.counter_function(
        "moorage_expression_worker_starts_total",
        "Starts of the process that evaluates expensive expressions.",
        lambda: float(evaluations.starts),
    )
