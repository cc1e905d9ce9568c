"""The worker as a real process: answers, ends with its parent, and is replaced when it is killed."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest
import uvloop
from tests.fake_worker import SLOW

from moorage.cluster.isolated_evaluations import IsolatedEvaluations, WorkerGone, WorkerProcess
from moorage.match.evaluation.accounts import CelAnswer, Undecided, taint_question
from moorage.match.evaluation.worker import encode_message
from moorage.model.types.node import Taint

pytestmark = pytest.mark.real_time
ZZ, OTHER = Taint("zz", "", "NoSchedule"), Taint("a", "b", "NoSchedule")


async def test_it_answers_true_false_and_errors_and_survives_what_does_not_compile() -> None:
    worker = await WorkerProcess.start()
    asked = [
        taint_question(SLOW, ZZ),
        taint_question("int(taint.value) > 1", OTHER),
        taint_question("taint.key ==", OTHER),
        taint_question("taint.key == 'a'", OTHER),
    ]
    found: list[CelAnswer] = []
    while len(found) < len(asked):  # a turn may be over before all are answered
        found += [one async for one in worker.ask(asked[len(found) :])]
    await worker.kill()
    assert found[0].value is True
    assert found[0].cost > 100_000
    assert "type conversion error" in str(found[1].value) or "invalid" in str(found[1].value)
    assert str(found[2].value).startswith("the expression does not compile: 1:")
    assert found[3].value is True


def test_a_worker_that_is_gone_says_so() -> None:
    """On the event loop of `moorage up`, which has another error for a closed pipe than asyncio's own."""

    async def ask() -> None:
        worker = await WorkerProcess.start()
        await worker.kill()
        with pytest.raises(WorkerGone):
            await anext(worker.ask([taint_question(SLOW, ZZ)]))

    uvloop.run(ask())


async def test_killed_in_the_middle_of_its_work_it_is_replaced() -> None:
    workers: list[WorkerProcess] = []

    async def start() -> WorkerProcess:
        workers.append(await WorkerProcess.start())
        if len(workers) == 1:
            os.kill(workers[0].pid, signal.SIGKILL)
        return workers[-1]

    evaluations = IsolatedEvaluations(start)
    account = evaluations.account((SLOW,))
    ready = asyncio.Event()
    with pytest.raises(Undecided) as undecided:
        evaluations.decide(account, taint_question(SLOW, ZZ), lambda: CelAnswer(False))
    undecided.value.when_ready("test", ready.set)
    await asyncio.wait_for(ready.wait(), 60)
    assert evaluations.decide(account, taint_question(SLOW, ZZ), lambda: CelAnswer(False)).value is True
    assert len(workers) == 2
    await evaluations.close()
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker.pid, 0)


def test_it_ends_when_its_parent_is_gone_even_while_it_evaluates() -> None:
    command = [sys.executable, "-P", "-m", "moorage.match.evaluation.worker"]
    worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    assert worker.stdin is not None
    worker.stdin.write(encode_message([taint_question(SLOW, ZZ)] * 100))
    worker.stdin.close()
    assert worker.wait(60) == 0
