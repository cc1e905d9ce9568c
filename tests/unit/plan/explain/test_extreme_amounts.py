"""Amounts near the ends of int64: a plan and an explanation of them are an answer, with suggestions tried."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest
from tests.unit.plan.planning import Plan, Raw, node, pod, running, written

from moorage.model.gates import gates_from
from moorage.plan.explain.explanation import explain_pod, plain
from moorage.plan.explain.target import find_target
from moorage.plan.explain.text import ExplanationText
from moorage.plan.planner import Planner, Settings

LARGE = ("9223372036854775807", "4611686018427387904", "1e30", "7Ei")


def asking(made: Raw, amount: str, containers: int, **fields: object) -> Raw:
    requests = {"cpu": amount, "memory": amount, "example.com/part": amount.replace("7Ei", "7")}
    resources = {"requests": requests, "limits": {"example.com/part": requests["example.com/part"]}}
    listed = [{"name": f"c{number}", "image": "i:1", "resources": resources} for number in range(containers)]
    return {**made, "spec": {**made["spec"], **fields, "containers": listed}}


def holding(name: str, amount: str) -> Raw:
    capacity = {"cpu": amount, "memory": amount, "pods": "20", "example.com/part": amount.replace("7Ei", "7")}
    return {**node(name), "status": {"capacity": capacity, "allocatable": capacity}}


@pytest.mark.parametrize(("amount", "containers"), list(product(LARGE, (1, 2, 3))))
def test_large_requests_are_planned_and_explained(amount: str, containers: int) -> None:
    there = asking(running("there", "huge"), amount, 2)
    documents = [node("small"), holding("huge", amount), there, asking(pod("p"), amount, containers, priority=0)]
    assert Plan(*documents).outcome is not None
    planner = Planner(Settings(gates_from({"AllAlpha": True})))
    planner.load(written(*documents))
    simulation = planner.build()
    explanation = explain_pod(simulation, planner.inventory, find_target(simulation, planner.inventory, "p"))
    assert list(ExplanationText().lines(explanation))
    assert msgspec.json.encode(plain(explanation))
