"""Conditions, taints and labels of one node.

Kubernetes: nodeConditionToTaintKeyStatusMap, labelReconcileInfo, tryUpdateNodeHealth.
"""

from collections.abc import Mapping, Sequence

from moorage.control.framework.actions import Raw
from moorage.model.types.node import Node, NodeCondition

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"
READY = "Ready"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
#: Taint keys by type and status of a condition.
_TAINT_OF = {
    (READY, FALSE): NOT_READY,
    (READY, UNKNOWN): UNREACHABLE,
    ("MemoryPressure", TRUE): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", TRUE): "node.kubernetes.io/disk-pressure",
    ("NetworkUnavailable", TRUE): "node.kubernetes.io/network-unavailable",
    ("PIDPressure", TRUE): "node.kubernetes.io/pid-pressure",
}
_KEPT_FROM_CONDITIONS = frozenset({*_TAINT_OF.values(), UNSCHEDULABLE})
#: Conditions that the kubelet reports, which become Unknown when it is silent.
_REPORTED = (READY, "MemoryPressure", "DiskPressure", "PIDPressure")
#: Stable labels and their beta equivalents.
_SAME_LABELS = (
    ("kubernetes.io/os", "beta.kubernetes.io/os"),
    ("kubernetes.io/arch", "beta.kubernetes.io/arch"),
)
_EXCLUDED = "node.kubernetes.io/exclude-disruption"


def ready_condition(node: Node) -> NodeCondition | None:
    return next((condition for condition in node.status.conditions if condition.type == READY), None)


def zone_of(node: Node) -> str:
    """Return `region:zone`; empty if the node has neither."""
    labels = node.metadata.labels
    zone = labels.get("failure-domain.beta.kubernetes.io/zone", labels.get("topology.kubernetes.io/zone", ""))
    region = labels.get("failure-domain.beta.kubernetes.io/region", labels.get("topology.kubernetes.io/region", ""))
    return f"{region}:{zone}" if region or zone else ""


def counts_for_disruption(node: Node) -> bool:
    return _EXCLUDED not in node.metadata.labels


def wanted_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the beta labels that are missing or differ from the stable ones."""
    return {
        older: labels[newer] for newer, older in _SAME_LABELS if newer in labels and labels.get(older) != labels[newer]
    }


def has_taint(node: Node, key: str, effect: str) -> bool:
    return any(taint.key == key and taint.effect == effect for taint in node.spec.taints)


def with_condition_taints(taints: Sequence[Raw], node: Node, now: str) -> list[Raw]:
    """Return the taints with exactly those NoSchedule taints that the node's state asks for."""
    wanted = dict.fromkeys(
        key for one in node.status.conditions if (key := _TAINT_OF.get((one.type, one.status))) is not None
    )
    if node.spec.unschedulable:
        wanted[UNSCHEDULABLE] = None
    kept: list[Raw] = []
    for taint in taints:
        if taint.get("effect") == NO_SCHEDULE and taint["key"] in _KEPT_FROM_CONDITIONS:
            if taint["key"] not in wanted:
                continue
            del wanted[taint["key"]]
        kept.append(taint)
    return kept + [{"key": key, "effect": NO_SCHEDULE, "timeAdded": now} for key in wanted]


def with_no_execute(taints: Sequence[Raw], wanted: str | None, now: str) -> list[Raw]:
    """Return the taints with this NoExecute taint and not the opposite one; with neither for None."""
    kept = [
        taint
        for taint in taints
        if taint.get("effect") != NO_EXECUTE or taint["key"] not in (NOT_READY, UNREACHABLE) or taint["key"] == wanted
    ]
    if wanted is None or any(one["key"] == wanted and one.get("effect") == NO_EXECUTE for one in kept):
        return kept
    return [*kept, {"key": wanted, "effect": NO_EXECUTE, "timeAdded": now}]


def silent_conditions(node: Node, now: str) -> list[Raw]:
    """Return the conditions to change when a node has gone silent."""
    told = {condition.type: condition for condition in node.status.conditions}
    changed: list[Raw] = []
    for kind in _REPORTED:
        known = told.get(kind)
        if known is not None and known.status == UNKNOWN:
            continue
        said = {"type": kind, "status": UNKNOWN, "lastTransitionTime": now}
        if known is None:
            reason, message = "NodeStatusNeverUpdated", "Kubelet never posted node status."
            changed.append(
                {**said, "reason": reason, "message": message, "lastHeartbeatTime": node.metadata.creationTimestamp}
            )
        else:
            changed.append({**said, "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status."})
    return changed
