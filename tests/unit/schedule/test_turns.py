"""Groups that wait: how many attempts an event costs, whose turn it is, and what those hear who are not tried."""

from typing import Any

import msgspec
import pytest
from tests.unit.schedule.clusters import node
from tests.unit.schedule.test_cycle import Bench

from moorage.schedule.turns import TELLING_SECONDS
from moorage.schedule.waiting_pods import QueueState


@pytest.fixture
def bench() -> Bench:
    """A full node, and a hundred pods that are alike and wait."""
    made = Bench(node("n", {"kubernetes.io/hostname": "n"}))
    for number in range(4):
        made.put("n", f"there{number}", cpu="1")
    for number in range(100):
        made.add(f"w{number}", cpu="1")
    assert len(made.play()) == 100
    return made


def waiting(bench: Bench, name: str) -> Any:
    found = bench.scheduler.queue.get(f"default/{name}")
    assert found is not None
    return found


def test_an_event_costs_an_attempt_more_than_it_places(bench: Bench) -> None:
    bench.scheduler.pod_gone("default/there0", 20.0)
    assert bench.play(20.0) == [("w0", "n"), ("w1", "")]
    bench.scheduler.node_added(node("m"), 40.0)
    assert bench.play(40.0) == [("w1", "m"), ("w2", "m"), ("w3", "m"), ("w4", "m"), ("w5", "")]


def test_those_not_tried_back_off_as_if_they_had_been(bench: Bench) -> None:
    for number in range(3):
        bench.scheduler.pod_gone(f"default/there{number}", 20.0)
        bench.play(20.0)
    assert bench.scheduler.queue.next_time() > 20.0
    bench.scheduler.queue.activate("default/w50")
    tried = waiting(bench, "w50")
    assert (tried.unschedulable, tried.since, tried.backoff_until, tried.attempts) == (4, 20.0, 28.0, 1)


def test_the_next_goes_on_for_one_that_is_deleted_before_its_turn(bench: Bench) -> None:
    bench.scheduler.pod_gone("default/there0", 20.0)
    assert bench.place("w0") is QueueState.ACTIVE
    bench.scheduler.delete("default/w0", 20.0)
    assert bench.play(20.0) == [("w1", "n"), ("w2", "")]


def test_the_next_goes_on_for_one_that_changes_before_its_turn(bench: Bench) -> None:
    bench.scheduler.pod_gone("default/there0", 20.0)
    bench.scheduler.update(bench.record("w0", cpu="9"), 20.0)
    assert bench.play(20.0) == [("w1", "n"), ("w2", ""), ("w0", "")]


def test_all_wait_for_what_keeps_the_first_from_a_node(bench: Bench) -> None:
    taint = {"key": "spot", "effect": "NoSchedule"}
    bench.scheduler.node_added(node("m", status={"allocatable": {"cpu": "9", "pods": "9"}}, taints=[taint]), 20.0)
    assert bench.play(20.0) == [("w0", "")]
    assert waiting(bench, "w99").rejected_by == {"NodeResourcesFit", "TaintToleration"}
    bench.scheduler.node_changed(node("m", status={"allocatable": {"cpu": "2", "pods": "9"}}), 28.0)
    assert bench.play(28.0) == [("w0", "m"), ("w1", "m"), ("w2", "")]


def test_all_are_told_of_new_reasons_in_the_end(bench: Bench) -> None:
    bench.scheduler.node_added(node("m", status={"allocatable": {"cpu": "0", "pods": "9"}}), 20.0)
    bench.scheduler.node_changed(node("m", status={"allocatable": {"cpu": "1", "pods": "0"}}), 20.0)
    bench.scheduler.node_added(node("full", status={"allocatable": {"cpu": "1", "pods": "9"}}), 20.0)
    assert bench.play(20.0) == [("w0", "full"), ("w1", "")]
    assert bench.scheduler.queue.next_time() == 20.0 + TELLING_SECONDS
    assert len(bench.play(20.0 + TELLING_SECONDS)) == 98
    assert bench.play(20.0 + 2 * TELLING_SECONDS) == []


def test_the_time_to_tell_pods_passes_although_all_of_them_are_gone(bench: Bench) -> None:
    bench.scheduler.node_added(node("m", status={"allocatable": {"cpu": "0", "pods": "9"}}), 20.0)
    bench.scheduler.node_changed(node("m", status={"allocatable": {"cpu": "1", "pods": "0"}}), 20.0)
    bench.scheduler.node_added(node("full", status={"allocatable": {"cpu": "1", "pods": "9"}}), 20.0)
    assert bench.play(20.0) == [("w0", "full"), ("w1", "")]
    for number in range(1, 100):
        bench.scheduler.queue.remove(f"default/w{number}")
    assert bench.scheduler.queue.next_time() == 20.0 + TELLING_SECONDS
    assert bench.play(20.0 + TELLING_SECONDS) == []
    assert bench.scheduler.queue.next_time() == float("inf")  # otherwise the scheduler looks again without a pause


def test_a_nominated_pod_is_tried_for_itself(bench: Bench) -> None:
    old = waiting(bench, "w7").record.pod
    pod = msgspec.structs.replace(old, status=msgspec.structs.replace(old.status, nominatedNodeName="n"))
    record = bench.cluster.record("default/w7", pod)
    bench.scheduler.renominate(record, old, 20.0)
    bench.scheduler.pod_gone("default/there0", 20.0)
    assert ("w7", "n") in bench.play(20.0)
