"""Expensive expressions are evaluated by a worker: turns, budgets, workers that hang or die, callers that go away."""

import asyncio
from collections.abc import Callable

import pytest
from tests.fake_worker import FakeWorker, evaluations

from moorage.cluster import isolated_evaluations as isolation
from moorage.cluster.isolated_evaluations import IsolatedEvaluations, add_evaluation_metrics
from moorage.match.evaluation.accounts import BUDGET, CelAnswer, CelQuestion, Undecided, taint_question
from moorage.model.types.node import Taint
from moorage.telemetry.metrics import Metrics


def not_here() -> CelAnswer:
    raise AssertionError("evaluated on the event loop")


def question(expression: str, key: str = "zz") -> CelQuestion:
    return taint_question(expression, Taint(key, "", "NoSchedule"))


def ask(found: IsolatedEvaluations, expression: str, *keys: str, still: Callable[[], bool] = lambda: True) -> list[str]:
    """Ask about taints with these keys; return what is called back, in order."""
    account = found.account((expression,))
    called: list[str] = []
    for key in keys or ("zz",):
        with pytest.raises(Undecided) as undecided:
            found.decide(account, question(expression, key), not_here)
        undecided.value.when_ready("test", lambda: called.append(expression), still)
    return called


def answer(found: IsolatedEvaluations, expression: str, key: str = "zz", *, patiently: bool = False) -> CelAnswer:
    return found.decide(found.account((expression,)), question(expression, key), not_here, patiently=patiently)


async def test_the_first_question_starts_the_worker_and_all_waiting_callers_get_its_answer() -> None:
    worker = FakeWorker()
    found = evaluations(worker)
    assert not worker.started
    called = ask(found, "slow", "zz", "other")
    assert found.waiting == 2
    await asyncio.sleep(1)
    assert called == ["slow"]
    assert answer(found, "slow").value is True
    assert answer(found, "slow", "other").value is False
    assert (worker.started, len(worker.asked)) == (1, 2)
    # Another pod with the same expression beside others does not have it evaluated again.
    assert found.decide(found.account(("slow", "b")), question("slow"), not_here).value is True
    await found.close()
    assert worker.killed == 1


async def test_the_account_that_has_cost_least_has_the_next_turn() -> None:
    worker = FakeWorker()
    found = evaluations(worker)
    ask(found, "greedy", *(f"k{number}" for number in range(12)))
    await asyncio.sleep(1.1)
    modest = ask(found, "modest", "a", "b")
    await asyncio.sleep(0.8)
    assert modest == ["modest"]
    assert [asked.expression for asked in worker.asked[4:8]].count("modest") == 2
    await found.close()


async def test_beyond_the_budget_the_answer_is_no_with_a_reason_until_it_is_renewed() -> None:
    worker = FakeWorker(lambda asked: CelAnswer(False, BUDGET // 2))
    found = evaluations(worker)
    called = ask(found, "dear", "a", "b", "c", "d")
    await asyncio.sleep(5)
    assert called == ["dear"]
    assert len(worker.asked) == 2
    assert answer(found, "dear", "a") == CelAnswer(False, BUDGET // 2)
    refused = answer(found, "dear", "c")
    assert refused.gave_up
    assert refused.value == (
        "not evaluated: the budget of 20000000 cost units for the pod's expensive expressions is used up"
    )
    await asyncio.sleep(isolation.BUDGET_SECONDS)
    ask(found, "dear", "c")
    await asyncio.sleep(1)
    assert answer(found, "dear", "c").value is False
    await found.close()


async def test_a_patient_caller_waits_for_the_next_budget() -> None:
    found = evaluations(FakeWorker(lambda asked: CelAnswer(False, BUDGET)))
    ask(found, "dear", "a", "b")
    await asyncio.sleep(5)
    called: list[str] = []
    with pytest.raises(Undecided) as undecided:
        answer(found, "dear", "b", patiently=True)
    undecided.value.when_ready("test", lambda: called.append("ready"))
    await asyncio.sleep(isolation.BUDGET_SECONDS - 10)
    assert called == []
    await asyncio.sleep(10)
    assert called == ["ready"]
    ask(found, "dear", "b")
    await found.close()


async def test_what_takes_too_long_is_killed_and_everything_else_is_answered() -> None:
    worker = FakeWorker()
    worker.hangs_at = "endless"
    found = evaluations(worker)
    ask(found, "endless")
    called = ask(found, "slow")
    await asyncio.sleep(isolation._STARTING_SECONDS + 2)
    assert answer(found, "endless").value == "operation cancelled: time limit exceeded"
    assert called == ["slow"]
    assert (worker.started, worker.killed) == (2, 1)
    metrics = Metrics()
    add_evaluation_metrics(metrics, found)
    text = metrics.render()[0].decode()
    assert 'moorage_expression_evaluations_total{result="timed out"} 1' in text
    assert "moorage_expression_worker_starts_total 2" in text
    await found.close()


@pytest.mark.parametrize(("deaths", "expected"), [(1, True), (2, "operation cancelled: the process")])
async def test_a_worker_that_dies_is_started_again_and_a_question_that_kills_it_twice_is_given_up(
    deaths: int, expected: object
) -> None:
    worker = FakeWorker()
    worker.dies = deaths
    found = evaluations(worker)
    called = ask(found, "slow")
    await asyncio.sleep(3)
    assert called == ["slow"]
    value = answer(found, "slow").value
    assert value is expected if expected is True else str(value).startswith(str(expected))
    assert worker.started == 2
    await found.close()


async def test_what_no_pod_waits_for_any_more_is_not_evaluated() -> None:
    worker = FakeWorker()
    found = evaluations(worker)
    ask(found, "slow", "a", still=lambda: False)
    await asyncio.sleep(3)
    assert worker.asked == []
    assert found.waiting == 0
    await found.close()


async def test_a_worker_that_cannot_be_started_is_tried_again() -> None:
    worker = FakeWorker()
    failures = [OSError("no more processes")]

    async def start() -> FakeWorker:
        if failures:
            raise failures.pop()
        return await worker.start()

    found = IsolatedEvaluations(start)
    called = ask(found, "slow")
    await asyncio.sleep(3)
    assert called == ["slow"]
    await found.close()


async def test_a_worker_without_work_ends_and_starts_again_when_there_is_some() -> None:
    worker = FakeWorker()
    found = evaluations(worker)
    ask(found, "slow")
    await asyncio.sleep(70)
    assert (worker.started, worker.killed) == (1, 1)
    called = ask(found, "other")
    await asyncio.sleep(1)
    assert called == ["other"]
    assert worker.started == 2
    await found.close()


async def test_a_mistake_of_the_worker_is_an_answer_and_an_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    worker = FakeWorker(lambda asked: CelAnswer("internal error: TypeError: no"))
    found = evaluations(worker)
    ask(found, "broken")
    await asyncio.sleep(1)
    assert answer(found, "broken").value == "internal error: TypeError: no"
    assert [record.levelname for record in caplog.records if "could not be evaluated" in record.message] == ["ERROR"]
    await found.close()
