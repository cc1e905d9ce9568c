"""A small cluster for the playground, and questions to it in few words."""

from typing import Any

from tests.unit.plan.planning import node, running, written

from moorage.dashboard.questions import QUESTIONS, Base
from moorage.dashboard.questions.base import parts_of
from moorage.model.gates import GateSet, all_gates
from moorage.plan.planner import Planner, Settings


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": key, "value": value, "effect": effect}


CLUSTER = (
    node("high", taints=[taint("sla", "950")], kernel="6.1.0"),
    node("low", taints=[taint("sla", "800", "NoExecute")], kernel="5.4"),
    node("odd", taints=[taint("sla", "007"), taint("soft", "", "PreferNoSchedule")], kernel="custom"),
    node("plain", pool="a"),
    running("db", "plain", labels={"app": "db"}),
)


def base_of(gates: GateSet | None = None) -> Base:
    planner = Planner(Settings(all_gates() if gates is None else gates))
    planner.load(written(*CLUSTER))
    return Base(planner, planner.build())


def ask(base: Base, kind: str, text: str, **arguments: Any) -> dict[str, Any]:
    """All parts of the answer as one."""
    merged: dict[str, Any] = {}
    for part in parts_of(QUESTIONS["playground"], base, {"kind": kind, "text": text, **arguments}):
        merged |= part
    return merged
