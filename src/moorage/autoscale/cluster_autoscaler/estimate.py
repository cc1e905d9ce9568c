"""Say how many nodes of a group some pods need: first fit, the largest pods first, on nodes of the group's template.

Kubernetes: Cluster Autoscaler, estimator/binpacking_estimator.go and decreasing_pod_orderer.go.
"""

from collections.abc import Sequence

import msgspec

from moorage.autoscale.node_kinds import NodeKind, NodeKinds
from moorage.autoscale.snapshot import Snapshot
from moorage.columns.cluster import PodRecord
from moorage.columns.resources import CPU, MEMORY, amounts
from moorage.model.well_known.labels import HOSTNAME
from moorage.schedule.candidates import NO_SLOT


class Option(msgspec.Struct, frozen=True, eq=False):
    """Say how many nodes a node group could add, and for which pods."""

    kind: NodeKind
    nodes: int
    records: tuple[PodRecord, ...]

    @property
    def pool(self) -> str:
        return self.kind.pool.name


class _Shape(msgspec.Struct):
    """Where to try the next pod of a shape: nodes before `first` take none any more."""

    first: int = 0
    is_over: bool = False


def estimate(
    snapshot: Snapshot, kinds: NodeKinds, kind: NodeKind, groups: Sequence[Sequence[PodRecord]], most: int
) -> Option:
    """Return how many nodes of a kind the pods need, up to a limit; each group has pods that are alike."""
    with snapshot.trial() as trial:
        slots: list[int] = []
        names: list[str] = []
        has_pods: set[int] = set()
        placed: list[PodRecord] = []

        def add_node() -> int:
            name = f"{kind.pool.name}/new-{len(slots) + 1}"
            slot = trial.add_node(kind.template.view(name, kinds.features))
            for daemon in kinds.daemon_records(kind, name, snapshot):
                trial.put(daemon, slot)
            slots.append(slot)
            names.append(name)
            return slot

        for group in sorted(groups, key=lambda group: -_score(group[0], kind)):
            if not group:
                continue
            further = _looks_further(snapshot, group[0])
            is_spread = any(one.topologyKey == HOSTNAME for one in group[0].pod.spec.topologySpreadConstraints)
            state = _Shape()
            for record in group:
                slot = NO_SLOT
                for position in range(0 if further else state.first, len(slots)):
                    if trial.passes(record, slots[position]):
                        slot = slots[position]
                        break
                    if not further:
                        state.first = position + 1
                if slot == NO_SLOT and is_spread and slots:
                    # A pod on another node there is may let the next ones onto the new nodes.
                    other = trial.best(record, {slots[-1]})
                    if other != NO_SLOT:
                        trial.put(record, other)
                        has_pods.add(other)  # as there, this node counts as one more
                        placed.append(record)
                        continue
                if slot == NO_SLOT:
                    # An empty node that did not take the pod is followed by no other.
                    if len(slots) >= most or (slots and slots[-1] not in has_pods):
                        break
                    slot = add_node()
                    if not trial.passes(record, slot):
                        break
                trial.put(record, slot)
                has_pods.add(slot)
                placed.append(record)
        nodes = min(len(has_pods), most)
    return Option(kind, nodes, tuple(placed))


def _looks_further(snapshot: Snapshot, record: PodRecord) -> bool:
    candidates = snapshot.candidates(record)
    candidates.best()
    return any(not item.plugin.local for item in candidates.deciding)


def _score(record: PodRecord, kind: NodeKind) -> float:
    """Return the share of a node that a pod asks for: that of its CPU and that of its memory together."""
    allocatable, score = amounts(kind.template.allocatable), 0.0
    for name in (CPU, MEMORY):
        if allocatable.get(name, 0) > 0:
            score += record.shape.requests.get(name, 0) / allocatable[name]
    return score
