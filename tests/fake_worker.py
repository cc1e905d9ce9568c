"""A worker for expensive expressions that evaluates nothing: it answers what a test says, after as long as it says."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from moorage.cluster.isolated_evaluations import IsolatedEvaluations, WorkerGone
from moorage.match.evaluation.accounts import CelAnswer, CelQuestion

#: Costs some 700,000 units and tolerates the taints whose key is zz.
SLOW = "lists.range(140000).all(x, x >= 0) && taint.key == 'zz'"
SECONDS = 0.25


def tolerates_zz(question: CelQuestion) -> CelAnswer:
    subject = question.subject
    assert isinstance(subject, tuple)
    return CelAnswer(subject[0] == "zz", 840_000)


class FakeWorker:
    """Answers in virtual time. `asked` has the questions in order; while `dies`, it ends at the next question."""

    def __init__(self, rule: Callable[[CelQuestion], CelAnswer] = tolerates_zz, seconds: float = SECONDS) -> None:
        self.asked: list[CelQuestion] = []
        self.started = self.killed = 0
        self.dies = 0
        self.hangs_at: str | None = None
        self._rule, self._seconds = rule, seconds

    async def start(self) -> "FakeWorker":
        self.started += 1
        return self

    async def ask(self, questions: Sequence[CelQuestion]) -> AsyncIterator[CelAnswer]:
        for question in questions:
            self.asked.append(question)
            if self.hangs_at is not None and self.hangs_at in question.expression:
                await asyncio.sleep(1000)
            await asyncio.sleep(self._seconds)
            if self.dies:
                self.dies -= 1
                raise WorkerGone("as the test says")
            yield self._rule(question)
            if self._seconds >= SECONDS:
                return  # a turn is over

    async def kill(self) -> None:
        self.killed += 1


def evaluations(worker: FakeWorker) -> IsolatedEvaluations:
    return IsolatedEvaluations(worker.start)
