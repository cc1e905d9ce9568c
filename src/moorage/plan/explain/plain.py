"""Return an explanation as plain data, for JSON.

`version` changes only if a field changes its meaning or goes; new fields may come at any time.
"""

from typing import Any

from moorage.plan.explain.explanation import Explanation
from moorage.plan.explain.remedies.change import Change
from moorage.plan.report.plain import as_data
from moorage.schedule.diagnosis import Refusal


def plain(told: Explanation) -> dict[str, Any]:
    return {
        "version": 1,
        "pod": told.pod,
        "workload": told.workload,
        "standing": told.standing.value,
        "node": told.node,
        "scheduler": told.scheduler,
        "priority": told.priority,
        "reason": told.reason,
        "message": told.message,
        "story": told.story,
        "nodes": told.nodes,
        "feasible": told.feasible,
        "tied": told.tied,
        "seed": told.seed,
        "weights": told.weights,
        "rejection": _refusal(told.rejection) if told.rejection is not None else None,
        "refused": [
            {"nodes": list(group.nodes), "refusals": [_refusal(one) for one in group.refusals]} for group in told.groups
        ],
        "scores": as_data(told.rows),
        "devices": as_data(told.devices),
        "preemption": as_data(told.preemption),
        "column": as_data(told.column),
        "suggestions": [{**_change(one.change), "nodes": list(one.nodes)} for one in told.suggestions],
        "together": {"node": told.together.node, "changes": [_change(one) for one in told.together.changes]}
        if told.together is not None
        else None,
        "notes": as_data(told.notes),
    }


def _refusal(refusal: Refusal) -> dict[str, Any]:
    return {"plugin": refusal.plugin, **as_data(refusal.verdict)}


def _change(change: Change) -> dict[str, Any]:
    return {"kind": change.kind.value, "summary": change.summary, "yaml": change.yaml, "command": change.command}
