"""Describe one change of the state by the rows before and after it, and carry it out or back on dictionaries of rows.

`Delta` is the informer's word for one object; a `RowsDelta` is all that changed from one sequence number to the next.
"""

from typing import Any, NamedTuple

import msgspec

from moorage.watch.happenings import Happening

#: A node as `/api/state` has it; its key is `name`.
NodeRow = dict[str, Any]


class PodRow(NamedTuple):
    """A pod as a delta of `/api/changes` has it. `key` is `namespace/name`; no workload or node is empty."""

    key: str
    workload: str
    node: str
    phase: str


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
