"""Copies of a process that are asked later, and clusters that go on without changes."""

from __future__ import annotations

import os
import time
from contextlib import closing

import pytest
from tests.unit.plan.planning import Plan, Raw, node, workload

from moorage.plan.difference import counterfactual
from moorage.plan.difference.comparison import NO_CHANGES
from moorage.plan.node_changes import LabelChange, TaintChange
from moorage.plan.report.departures import anyway
from moorage.plan.simulation import forked
from moorage.plan.simulation.forked import Copy, CopyFailed, in_fork
from moorage.plan.what_if import Changes

SPOT = {"key": "fp", "value": "3", "effect": "NoExecute"}
PATIENT: Raw = {"tolerations": [{"key": "fp", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}]}
CLUSTER = (node("spot", taints=[SPOT]), node("calm", "1"), workload("Deployment", "web", pods=PATIENT, replicas=3))
IDLE = Changes(labels=(LabelChange("calm", "a", "b"),))


def test_a_copy_knows_what_was_when_it_was_made() -> None:
    known = ["before"]
    with closing(Copy(lambda more: [*known, *more])) as copy:
        known.append("after")
        assert copy.ask(["asked"]) == ["before", "asked"]


def test_a_copy_that_is_not_asked_ends() -> None:
    copy = Copy(lambda _: None)
    pid = copy._pid
    copy.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_why_a_copy_has_no_answer() -> None:
    with pytest.raises(CopyFailed, match=r"unexpected error: ZeroDivisionError"):
        in_fork(lambda: 1 // 0)
    with pytest.raises(CopyFailed, match=r"exited with code 3"):
        in_fork(lambda: os._exit(3))


def test_a_copy_ends_when_it_has_used_its_processor_time() -> None:
    def work_for_ever() -> None:
        while True:
            pass

    with pytest.raises(CopyFailed, match="was ended by signal"):
        in_fork(work_for_ever, 0.05)


def test_a_copy_that_waits_for_the_processor_is_waited_for() -> None:
    def wait() -> int:
        time.sleep(0.3)  # as on a machine on which others work
        return 1

    assert in_fork(wait, 0.2) == 1


def test_a_process_that_cannot_be_started_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(forked, "_fork", fails)
    with pytest.raises(CopyFailed, match="Resource temporarily unavailable"):
        in_fork(lambda: 1)


@pytest.mark.parametrize("forks", [True, False])
def test_what_happens_anyway_is_no_difference(forks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counterfactual, "_can_fork", lambda: forks)
    difference = Plan(*CLUSTER).what_if(IDLE)
    assert difference.sentence.startswith(f"{NO_CHANGES}; ")
    assert difference.anyway
    assert not difference.departures
    assert not difference.is_worse


def test_without_a_process_the_input_is_planned_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(forked, "_fork", fails)
    monkeypatch.setattr(counterfactual, "_can_fork", lambda: True)
    assert Plan(*CLUSTER).what_if(IDLE).is_empty


def test_a_copy_goes_on_only_if_something_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a copy went on")

    monkeypatch.setattr(Copy, "ask", refuse)
    monkeypatch.setattr(counterfactual, "_can_fork", lambda: True)
    calm = Plan(node("n1"), node("n2"), workload("Deployment", "web", replicas=2))
    assert calm.what_if(Changes(drains=("n1",))).sentence == "1 pod moves"
    with pytest.raises(AssertionError, match="a copy went on"):
        Plan(*CLUSTER).what_if(IDLE)


def test_pods_that_leave_sooner_say_when_they_would_leave() -> None:
    patient = {"tolerations": [{**PATIENT["tolerations"][0], "operator": "Equal", "value": "3"}]}
    plan = Plan(node("spot", taints=[SPOT]), workload("Deployment", "web", pods=patient), node("calm", "0"))
    difference = plan.what_if(Changes(taints=(TaintChange("spot", "fp", "9", "NoExecute"),)))
    (sooner,) = difference.evicted
    assert sooner.after_seconds == 0
    assert sooner.without == "without the changes: evicted after 30 s: fp=3 is tolerated for 30 s"


def test_loops_are_told_only_if_they_go_on() -> None:
    spot = (node("spot", taints=[SPOT]), workload("Deployment", "web", pods=PATIENT))
    for change, again in (
        (Changes(labels=(LabelChange("spot", "a", "b"),)), True),
        (Changes(cordons=("spot",)), False),
    ):
        groups = [group.counted for group in anyway(Plan(*spot).what_if(change))]
        assert groups == [f"1 pod evicted{', again every 30 s' if again else ''}"]
