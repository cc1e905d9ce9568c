"""Answer what the page of a node asks: what would still fit there."""

from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.dashboard.questions.base import BadQuestion, Base, Part
from moorage.plan.explain.target import TargetError
from moorage.plan.look.room import room_on


def room(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part: how many more pods of each workload fit on the node `node`, and the largest pod that does."""
    name = arguments.get("node")
    if not isinstance(name, str) or not name:
        raise BadQuestion('room takes {"node": NAME}')
    try:
        found = room_on(base.simulation, name)
    except TargetError as error:
        raise BadQuestion(str(error)) from None
    yield {**msgspec.to_builtins(found), "done": True}
