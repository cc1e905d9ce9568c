"""Make the rows of nodes and pods that the page shows, and describe changes by the rows before and after them.

Rows are the same for a live cluster and a simulated one. `Delta` is the informer's word for one object; a `RowsDelta`
is all that changed from one sequence number to the next, and can be carried out or taken back.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from moorage.columns.resources import CPU, MEMORY, PODS, amounts
from moorage.control.framework.workloads import is_ready
from moorage.match.eviction_clock import Deadline
from moorage.match.taint_eviction import When
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.plan.devices import DeviceCount
from moorage.watch.happenings import Happening

#: A node as `/api/state` has it; its key is `name`.
NodeRow = dict[str, Any]


class RowDeadline(NamedTuple):
    """When a NoExecute taint makes a pod leave its node, and because of what.

    `due` is a time of a live cluster, seconds after its beginning in a simulated one, and -1 for at once.
    """

    due: int
    because: str


class PodRow(NamedTuple):
    """A pod as a delta of `/api/changes` has it. `key` is `namespace/name`; no workload or node is empty.

    `labels` are one text, `app=web,tier=front`, which pods with the same labels share.
    """

    key: str
    workload: str
    node: str
    phase: str
    deadline: RowDeadline | None = None
    labels: str = ""


class RowsDelta(msgspec.Struct, frozen=True):
    """What changed: pairs of the row before (None: it is new) and after (None: it is gone), and what is told of it.

    A key comes at most once in `nodes` and in `pods`, and both rows of a pair have the same key.
    """

    seq: int
    time: float
    nodes: list[tuple[NodeRow | None, NodeRow | None]] = []
    pods: list[tuple[PodRow | None, PodRow | None]] = []
    happenings: list[Happening] = []

    @property
    def size(self) -> int:
        """How many rows changed, or were told of."""
        return len(self.nodes) + len(self.pods) + len(self.happenings)


class Rows(NamedTuple):
    """The rows of a state by their keys."""

    nodes: dict[str, NodeRow]
    pods: dict[str, PodRow]


def redo(rows: Rows, delta: RowsDelta) -> None:
    """Change the rows as the delta says."""
    for old_node, new_node in delta.nodes:
        if new_node is not None:
            rows.nodes[new_node["name"]] = new_node
        elif old_node is not None:
            rows.nodes.pop(old_node["name"], None)
    for old_pod, new_pod in delta.pods:
        if new_pod is not None:
            rows.pods[new_pod.key] = new_pod
        elif old_pod is not None:
            rows.pods.pop(old_pod.key, None)


def undo(rows: Rows, delta: RowsDelta) -> None:
    """Change the rows back to what they were before the delta."""
    redo(rows, inverse(delta))


def inverse(delta: RowsDelta) -> RowsDelta:
    return RowsDelta(
        delta.seq,
        delta.time,
        [(new, old) for old, new in delta.nodes],
        [(new, old) for old, new in delta.pods],
    )


NOWHERE = AT_ONCE = -1
_MAIN = (CPU, MEMORY, PODS)
#: So many sets of labels are kept to be shared. StatefulSets give each pod its own.
_MAX_LABEL_TEXTS = 16_384


def node_row(node: Node, used: Mapping[str, int], devices: Mapping[str, DeviceCount]) -> NodeRow:
    """Return the row of a node. `used` is what its pods take of each resource, `devices` are counted by driver."""
    metadata, there = node.metadata, amounts(node.status.allocatable)
    names = dict.fromkeys((*_MAIN, *there, *(name for name, amount in used.items() if amount)))
    return {
        "name": metadata.name,
        "labels": dict(metadata.labels),
        "taints": [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.spec.taints],
        "ready": is_ready(node),
        "schedulable": not node.spec.unschedulable,
        "created": metadata.creationTimestamp or "",
        "version": node.status.nodeInfo.kubeletVersion,
        "resources": {name: [used.get(name, 0), there.get(name, 0)] for name in names},
        "devices": {driver: [count.in_use, count.published] for driver, count in devices.items()},
    }


def row_deadline(found: Deadline | None, start: float = 0.0) -> RowDeadline | None:
    """Return the deadline of a row, counted from `start`; None if the pod does not have to leave."""
    if found is None or not found.leaves:
        return None
    return RowDeadline(AT_ONCE if found.when is When.NOW else max(0, round(found.due - start)), found.because)


def pod_row(pod: Pod, workload: str, deadline: RowDeadline | None = None) -> PodRow:
    """Return the row of a pod; `workload` is the one it belongs to, as `Deployment default/web`, or empty."""
    metadata = pod.metadata
    phase = "Terminating" if metadata.deletionTimestamp is not None else pod.status.phase or "Pending"
    labels = _label_text(tuple(sorted(metadata.labels.items()))) if metadata.labels else ""
    return PodRow(f"{metadata.namespace}/{metadata.name}", workload, pod.spec.nodeName, phase, deadline, labels)


@lru_cache(_MAX_LABEL_TEXTS)
def _label_text(labels: tuple[tuple[str, str], ...]) -> str:
    """Return labels as one text: of pods of one template the same object, not only an equal one."""
    return ",".join(f"{key}={value}" for key, value in labels)


def pod_table(rows: Iterable[PodRow]) -> dict[str, Any]:
    """Return the rows with each workload, node and set of labels named once. A row has their indexes, or -1.

    A row ends with its deadline if it has one.
    """
    workloads: dict[str, int] = {}
    nodes: dict[str, int] = {}
    label_sets: dict[str, int] = {}
    table = [
        [
            key,
            workloads.setdefault(workload, len(workloads)) if workload else NOWHERE,
            nodes.setdefault(node, len(nodes)) if node else NOWHERE,
            phase,
            label_sets.setdefault(labels, len(label_sets)) if labels else NOWHERE,
            *([deadline] if deadline is not None else ()),
        ]
        for key, workload, node, phase, deadline, labels in rows
    ]
    return {"workloads": list(workloads), "nodes": list(nodes), "labels": list(label_sets), "rows": table}


def rows_of_table(table: Mapping[str, Any]) -> dict[str, PodRow]:
    """Return the rows that a table was made of, by key."""

    def named(kind: str, index: int) -> str:
        return str(table[kind][index]) if index >= 0 else ""

    return {
        key: PodRow(
            key,
            named("workloads", workload),
            named("nodes", node),
            phase,
            RowDeadline(*rest[0]) if rest else None,
            named("labels", labels),
        )
        for key, workload, node, phase, labels, *rest in table["rows"]
    }


def told_pod(old: PodRow | None, new: PodRow) -> list[Any]:
    """Return a row as a delta tells it: labels that are the same as before are null."""
    return [*new[:-1], None if old is not None and old.labels == new.labels else new.labels]
