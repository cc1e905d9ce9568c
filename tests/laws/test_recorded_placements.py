"""Pods are where they were: the benchmark's workloads in miniature, against what was recorded."""

import json

import pytest
from bench.perf.executor import Executor
from tests.laws import recorded_placements
from tests.laws.recorded_placements import RECORDED, miniatures, placements

WORKLOADS = {workload.name: workload for workload in miniatures()}
KNOWN: dict[str, str] = json.loads(RECORDED.read_text())


def test_every_workload_is_recorded() -> None:
    assert WORKLOADS.keys() == KNOWN.keys()


@pytest.mark.parametrize("name", sorted(WORKLOADS))
def test_pods_are_where_they_were(name: str) -> None:
    assert placements(WORKLOADS[name]) == KNOWN[name]


def test_another_seed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Executor
    monkeypatch.setattr(recorded_placements, "Executor", lambda workload, seed, timer: executor(workload, 1, timer))
    assert placements(WORKLOADS["SchedulingBasic"]) != KNOWN["SchedulingBasic"]
