"""Return a plan as plain data, for JSON and YAML.

`version` changes only if a field changes its meaning or goes; new fields may come at any time.
"""

from typing import Any

import msgspec

from moorage.lint.report.documents import encoded
from moorage.plan.difference.difference import Difference
from moorage.plan.outcome import NodeLine, Outcome
from moorage.plan.rollout import Rollout
from moorage.schedule.plugins.node_resources_fit import shown


def plain(outcome: Outcome, difference: Difference | None = None, rollout: Rollout | None = None) -> dict[str, Any]:
    document: dict[str, Any] = {
        "version": 1,
        "summary": summary(outcome),
        "pods": as_data(outcome.pods),
        "nodes": [_node(node) for node in outcome.nodes],
        "evicted": as_data(outcome.evicted),
        "evictionLoops": as_data(outcome.loops),
        "preempted": as_data(outcome.preempted),
        "failedCreates": as_data(outcome.failed),
        "notes": as_data(outcome.notes),
    }
    if outcome.autoscalers:
        document["autoscalers"] = as_data(outcome.autoscalers)
    if outcome.headroom:
        document["headroom"] = outcome.headroom
    if outcome.no_headroom:
        document["headroomUnknown"] = outcome.no_headroom
    if outcome.scaling is not None:
        document["autoscaling"] = as_data(outcome.scaling)
    if difference is not None:
        document["whatIf"] = difference_data(difference)
    if rollout is not None:
        document["rollout"] = as_data(rollout)
    return document


def as_data(value: object) -> Any:
    """Return structs as plain data, with tuples as lists."""
    return msgspec.json.decode(msgspec.json.encode(value))


def as_json(document: dict[str, Any]) -> str:
    """Write JSON, one pod, node or note a line, so that it can be searched line by line."""
    parts = []
    for name, value in document.items():
        if isinstance(value, list) and value:
            items = ",\n  ".join(encoded(item) for item in value)
            parts.append(f"{encoded(name)}: [\n  {items}\n ]")
        else:
            parts.append(f"{encoded(name)}: {encoded(value)}")
    return "{" + ",\n ".join(parts) + "\n}"


def as_yaml(document: dict[str, Any]) -> str:
    from moorage.model.text.yaml_writer import write_yaml

    return write_yaml(document, width=120).removesuffix("\n")


def summary(outcome: Outcome) -> dict[str, Any]:
    """Return the numbers of a plan: `pods` is the sum of the states."""
    counts = outcome.count()
    return {
        "nodes": len(outcome.nodes),
        "pods": sum(counts.values()),
        **{state.lower(): number for state, number in counts.items()},
        "failedWorkloads": len(outcome.failed),
        "rejectedObjects": outcome.rejected,
        "files": outcome.sources,
        "unreadable": outcome.unreadable,
        "passedOver": outcome.passed_over,
    }


def _node(node: NodeLine) -> dict[str, Any]:
    return {
        "name": node.name,
        "schedulable": node.schedulable,
        "taints": list(node.taints),
        "resources": {
            name: {
                "requested": shown(name, usage.requested),
                "allocatable": shown(name, usage.allocatable),
                "percent": usage.percent,
            }
            for name, usage in node.resources.items()
        },
        **({"devices": as_data(node.devices)} if node.devices else {}),
    }


def difference_data(difference: Difference) -> dict[str, Any]:
    return {
        "changes": list(difference.changes),
        "sentence": difference.sentence,
        "isWorse": difference.is_worse,
        "before": summary(difference.before),
        "after": summary(difference.after),
        "differences": as_data(difference.differences),
        "evicted": as_data(difference.evicted),
        "replaced": as_data(difference.replaced),
        "anyway": as_data(difference.anyway),
        "blocked": [{**as_data(one), "message": one.message} for one in difference.blocked],
        "placed": as_data(difference.placed),
        "pending": as_data(difference.pending),
        "failed": as_data(difference.failed),
        **({"upgrade": as_data(difference.upgrade)} if difference.upgrade is not None else {}),
        **({"diff": difference.diff.data()} if difference.diff is not None else {}),
    }
