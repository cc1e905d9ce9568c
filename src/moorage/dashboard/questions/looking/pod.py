"""Answer what the panel of a pod asks: what it tolerates, why it is here or waits, what if it had to move."""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.model.kinds import KINDS
from moorage.plan.explain.groups import plain_refusal
from moorage.plan.explain.target import TargetError
from moorage.plan.look.moving import explain_move
from moorage.plan.look.placement import explain_placement
from moorage.plan.look.tolerated import tolerated_taints
from moorage.plan.look.waiting import why_it_waits
from moorage.plan.node_changes import ChangeError


def tolerations(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: the tolerations of the pod `pod` with the taints that they match; it is on the node `node`."""
    key, node = _key(arguments, "tolerations"), arguments.get("node") or ""
    if not isinstance(node, str):
        raise BadQuestion("tolerations: node must be a name")
    simulation, world = base.simulation, base.simulation.world
    pod = world.view(KINDS.POD, key)
    if pod is None:
        pod = next((found.view for found in simulation.history if found.key == key), None)
    if pod is None:
        raise BadQuestion(f"there is no pod {key!r} in the simulated cluster")
    nodes = (found.view for found in world.all(KINDS.NODE))
    matched = tolerated_taints(
        pod, world.view(KINDS.NODE, node) if node else None, nodes, simulation.settings, simulation.evaluations
    )
    yield {**msgspec.to_builtins(matched), "done": True}


def placement(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: why the pod `pod` is on its node."""
    key = _key(arguments, "placement")
    try:
        told = explain_placement(base.simulation, base.planner.inventory, key)
    except TargetError as error:
        raise BadQuestion(str(error)) from None
    plain = {**msgspec.to_builtins(told), "refusals": [plain_refusal(refusal) for refusal in told.refusals]}
    yield {**plain, "done": True}


def waiting(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: why the pod `pod` has no node, in one sentence; or which one it gets in the simulated cluster."""
    key = _key(arguments, "waiting")
    line = next((line for line in base.plan.pods if line.key == key and line.is_present), None)
    if line is None:
        raise BadQuestion(f"there is no pod {key!r} in the simulated cluster")
    yield {"node": line.node, "sentence": "" if line.node else f"{why_it_waits(base.simulation, line)}.", "done": True}


def move(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: what would become of the pod `pod` if it had to leave its node now."""
    key = _key(arguments, "move")
    try:
        moved = explain_move(base.planner, base.simulation, base.plan, key)
    except ChangeError as error:
        raise BadQuestion(str(error)) from None
    yield {**msgspec.to_builtins(moved), "done": True}


def _key(arguments: dict[str, Any], question: str) -> str:
    key = arguments.get("pod")
    if not isinstance(key, str) or key.count("/") != 1 or not all(key.split("/")):
        raise BadQuestion(f'{question} takes {{"pod": "NAMESPACE/NAME"}}')
    return key
