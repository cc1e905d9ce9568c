"""An explanation as plain data, which JSON writes down.

`version` changes only if a field changes its meaning or goes; new fields may come at any time.
"""

from typing import Any

from moorage.plan.explain.explanation import Column, Explanation
from moorage.plan.explain.remedies.change import Change
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
        "scores": [{"nodes": list(row.nodes), "scores": row.scores, "total": row.total} for row in told.rows],
        "preemption": _preemption(told),
        "column": _column(told.column) if told.column is not None else None,
        "suggestions": [{**_change(one.change), "nodes": list(one.nodes)} for one in told.suggestions],
        "together": {"node": told.together.node, "changes": [_change(one) for one in told.together.changes]}
        if told.together is not None
        else None,
        "notes": [
            {"level": n.level.value, "object": n.subject, "message": n.message, "file": n.source, "line": n.line}
            for n in told.notes
        ],
    }


def _refusal(refusal: Refusal) -> dict[str, Any]:
    verdict = refusal.verdict
    return {
        "plugin": refusal.plugin,
        "code": verdict.code.value,
        "reasons": list(verdict.reasons),
        "details": list(verdict.details),
    }


def _preemption(told: Explanation) -> dict[str, Any] | None:
    if told.preemption is None:
        return None
    one = told.preemption
    return {"node": one.node, "victims": list(one.victims), "violations": one.violations, "message": one.message}


def _column(column: Column) -> dict[str, Any]:
    return {
        "node": column.node,
        "fits": column.fits,
        "plugins": [
            {
                "plugin": cell.plugin,
                "answer": cell.answer.value,
                "reasons": list(cell.reasons),
                "details": list(cell.details),
            }
            for cell in column.cells
        ],
        "scores": column.scores,
        "total": column.total,
        "rank": column.rank,
    }


def _change(change: Change) -> dict[str, Any]:
    return {"kind": change.kind.value, "summary": change.summary, "yaml": change.yaml, "command": change.command}
