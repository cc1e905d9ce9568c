"""Nodes that are admitted by a template are what they would be if each were admitted for itself."""

from typing import Any

import pytest

from moorage.admit.admission import Admitted, Rejected, admit
from moorage.admit.raw import Raw
from moorage.admit.request import Request
from moorage.model.gates import default_gates
from moorage.serve.templates.nodes import NodeTemplates

AMOUNTS = {"cpu": "8", "memory": "32Gi"}


class Refused(Exception):
    """Admission refuses a node."""


class Usual:
    """Admits each node for itself, and counts."""

    def __init__(self) -> None:
        self.admitted = 0

    def __call__(self, raw: Raw, request: Request) -> Admitted:
        self.admitted += 1
        answer = admit(raw, None, default_gates(), request=request)
        if isinstance(answer, Rejected):
            raise Refused(str(answer.status["message"]))
        return answer


def node(name: Any, **metadata: Any) -> Raw:
    spec = {"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDRs": []}
    about = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": "Node", "metadata": about, "spec": spec, "status": {"capacity": AMOUNTS}}


def request(number: int) -> Request:
    return Request(uid=f"uid-{number}", timestamp=f"2026-01-01T00:00:0{number}Z")


ALIKE = [node("a", labels={"zone": "1"}), node("b", labels={"zone": "2", "disk": ""}), node("c", labels={"zone": "1"})]
DIFFERENT = [
    node("d"),
    node("e", labels={}),
    node("f", labels=None),
    node("g", labels={"zone": "1"}, annotations={"x": "y"}),
    node("h", labels={"zone": "1"}, finalizers=["example.com/x"]),
    {**node("i", labels={"zone": "1"}), "status": {"capacity": {"cpu": 8}}},
    {**node("j", labels={"zone": "1"}), "status": {"capacity": {"cpu": 8.0}}},
    node("k.", labels={"zone": "1"}),
    node("", labels={"zone": "1"}),
    node("l", labels={"zone": 1}),
    node("m", labels={"zone": "not a label"}),
    node(5, labels={"zone": "1"}),
]


def outcome(admits: Any, raw: Raw, number: int) -> Any:
    try:
        return admits(raw, request(number))
    except Refused as refusal:
        return str(refusal)


@pytest.mark.parametrize("second", [*ALIKE[1:], *DIFFERENT])
def test_a_node_after_a_similar_one_is_admitted_as_if_it_were_the_first(second: Raw) -> None:
    templates = NodeTemplates(Usual())
    outcome(templates.admit, ALIKE[0], 1)
    assert outcome(templates.admit, second, 2) == outcome(Usual(), second, 2)


def test_nodes_that_differ_by_name_and_labels_only_are_admitted_once() -> None:
    usual = Usual()
    templates = NodeTemplates(usual)
    for number, raw in enumerate(ALIKE):
        templates.admit(raw, request(number))
    assert usual.admitted == 1


def test_nodes_of_other_capacity_are_admitted_for_themselves() -> None:
    usual = Usual()
    templates = NodeTemplates(usual)
    templates.admit(ALIKE[0], request(1))
    templates.admit(DIFFERENT[5], request(2))
    assert usual.admitted == 2
