"""List the HorizontalPodAutoscalers: what they scale and by which metrics, their conditions, and their last scale.

Their status is that of the input. Where it has none, as in files, they have scaled in a fork of the cluster.
"""

from collections.abc import Iterator
from typing import Any

from moorage.client.protocol import Object
from moorage.dashboard.questions.base import Base, Part
from moorage.model.kinds import KINDS
from moorage.plan.autoscalers import AutoscalerLine, autoscaler_lines

MAX_ROWS = 500


def answer(base: Base, arguments: dict[str, Any]) -> Iterator[Part]:
    """Yield one part with a row for each autoscaler."""
    simulation = base.simulation
    found = list(simulation.world.all(KINDS.HORIZONTAL_POD_AUTOSCALER))
    is_played = any(not one.view.status.conditions for one in found)
    if is_played:
        simulation.settle()
    lines = {line.autoscaler: line for line in autoscaler_lines(simulation)}
    rows = [
        _row(one, lines[f"HorizontalPodAutoscaler {one.key}"])
        for one in simulation.world.all(KINDS.HORIZONTAL_POD_AUTOSCALER)
    ]
    rows.sort(key=lambda row: str(row["name"]))
    yield {
        "part": "horizontal",
        "rows": rows[:MAX_ROWS],
        "leftOut": max(len(rows) - MAX_ROWS, 0),
        "played": is_played,
        "done": True,
    }


def _row(found: Object, line: AutoscalerLine) -> dict[str, Any]:
    status = found.view.status
    return {
        "name": found.key,
        "target": line.target,
        "current": status.currentReplicas,
        "desired": status.desiredReplicas,
        "least": line.min_replicas,
        "most": line.max_replicas,
        "metrics": line.targets,
        "problem": line.problem,
        "lastScale": status.lastScaleTime,
        "scalings": [{"text": str(one), "reason": one.reason} for one in line.scalings[-20:]],
        "conditions": [
            {"type": one.type, "status": one.status, "reason": one.reason, "message": one.message}
            for one in status.conditions
        ],
    }
