"""Explain one node: how full it is, which pods are on it, and of all others whether they could be, and why not.

It is what `moorage explain node/NAME` tells.
"""

from collections.abc import Iterator
from typing import Any

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.plan.explain.node import explain_node, plain_node
from moorage.plan.explain.target import TargetError


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: the explanation of the node `node`; with `alone`, no pod is placed before."""
    name, alone = arguments.get("node"), arguments.get("alone", False)
    if not isinstance(name, str) or not name or not isinstance(alone, bool):
        raise BadQuestion('node takes {"node": NAME} and "alone", true or false')
    try:
        told = explain_node(base.simulation, base.planner.inventory, name, alone=alone)
    except TargetError as error:
        raise BadQuestion(str(error)) from None
    yield {"explanation": plain_node(told), "done": True}
