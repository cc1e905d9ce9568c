"""The question `next-value`: the next value whose answer is another one."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.dashboard.questions.tipping.test_tipping import base_of, risky, tolerating
from tests.unit.plan.planning import node, running, workload

from moorage.dashboard.questions import QUESTIONS
from moorage.dashboard.questions.base import parts_of
from moorage.dashboard.questions.tipping import rehearsals

Raw = dict[str, Any]
CLUSTER = [
    risky("n1", "3"),
    node("calm"),
    running("here", "n1", **tolerating("Lt", "9")),
    running("too", "n1", **tolerating("Lt", "20")),
    running("elsewhere", "calm", **tolerating("Lt", "5")),
]


def move(value: str, direction: int, *others: Raw, documents: list[Raw] | None = None) -> Raw:
    taint = {"taint": {"nodes": ["n1"], "key": "risk", "value": value, "effect": "NoExecute"}}
    arguments = {"changes": [*others, taint], "at": len(others), "direction": direction}
    (part,) = parts_of(QUESTIONS["next-value"], base_of(*(documents or CLUSTER)), arguments)
    return part


@pytest.mark.parametrize(
    ("value", "direction", "following"),
    [("3", 1, "9"), ("4", 1, "9"), ("9", 1, "20"), ("20", 1, None), ("20", -1, "19"), ("9", -1, "8"), ("8", -1, None)],
)
def test_only_values_count_at_which_something_changes(value: str, direction: int, following: str | None) -> None:
    """5 is a threshold of a pod elsewhere: nothing happens there."""
    part = move(value, direction)
    assert part["value"] == following
    assert part["complete"]
    assert part["done"]


def test_pods_that_could_land_on_the_node_count() -> None:
    """At 4 the pod that waits, and the one that a drain evicts, get this node."""
    waits = workload("Deployment", "a", "100m", tolerating("Lt", "5") | {"nodeSelector": {"pool": "spot"}})
    assert move("9", -1, documents=[risky("n1", "9", pool="spot"), waits])["value"] == "4"
    moves = workload("Deployment", "a", "100m", tolerating("Lt", "5"))
    assert move("9", -1, {"drain": "calm"}, documents=[risky("n1", "9"), node("calm"), moves])["value"] == "4"


def test_a_bound_is_kept_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsals, "MAX_TRIES", 1)
    part = move("3", 1, {"drain": "calm"})
    assert part["value"] is None
    assert not part["complete"]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"changes": [], "at": 0, "direction": 1},
        {"changes": [{"drain": "n1"}], "at": 0, "direction": 1},
        {"changes": [{"label": {"nodes": "all", "key": "x", "value": None}}], "at": 0, "direction": 1},
        {"changes": [{"label": {"nodes": "all", "key": "x", "value": "3"}}], "at": 0, "direction": 2},
        {"changes": ["x"], "at": 0, "direction": 1},
        {"changes": [{"label": {"nodes": "all", "key": "x", "value": "3"}}], "at": True, "direction": 0},
    ],
)
def test_bad_arguments_are_one_line(arguments: Raw) -> None:
    (part,) = parts_of(QUESTIONS["next-value"], base_of(*CLUSTER), arguments)
    assert "\n" not in part["error"]
