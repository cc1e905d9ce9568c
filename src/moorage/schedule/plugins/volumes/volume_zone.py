"""VolumeZone: filter out nodes in other zones than the pod's volumes.

A node with any zone or region label has to have, for each such label of each bound volume, one of the label's values.
Kubernetes: pkg/scheduler/framework/plugins/volumezone. Differs: evaluated once per distinct label value.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster
from moorage.columns.codes import ABSENT
from moorage.columns.shape import Shape
from moorage.match.volumes.claims import TOPOLOGY_LABELS, ClaimFacts, ClaimState, claim_class
from moorage.model.types.storage import PersistentVolume
from moorage.model.well_known.labels import BETA_REGION, BETA_ZONE, REGION, ZONE
from moorage.schedule.framework.events import EventKind, on
from moorage.schedule.framework.plugin import SKIP, Mask, Plugin, Prepared, Verdict, unresolvable
from moorage.schedule.plugins.volumes.volume_binding import is_own_claim, not_found

CONFLICT = "node(s) had no available volume zone"
_TODAYS = {BETA_ZONE: ZONE, BETA_REGION: REGION}
_DELIMITER = "__"


class Topology(msgspec.Struct, frozen=True):
    """A label of a volume and the values that a node may have."""

    volume: str
    key: str
    values: frozenset[str]


class VolumeZone(Plugin[tuple[Topology, ...]]):
    """The VolumeZone plugin."""

    name = "VolumeZone"
    answers_by_needs = True
    only_reason = CONFLICT
    requeue_on = (
        on(EventKind.NODE_ADDED, EventKind.NODE_LABELS),
        on(EventKind.CLAIM_ADDED, EventKind.CLAIM_CHANGED, hint=is_own_claim),
        on(EventKind.VOLUME_ADDED, EventKind.VOLUME_CHANGED),
        on(EventKind.STORAGE_CLASS_ADDED),
    )

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        topologies: list[Topology] = []
        for facts in shape.claims:
            if facts.use.ephemeral:
                continue
            if facts.volume is not None:
                topologies += topologies_of(facts.volume)
            elif problem := _problem(facts):
                return Prepared((), rejection=unresolvable(problem))
        return Prepared(tuple(topologies), scores=False) if topologies else SKIP

    def filter(self, want: tuple[Topology, ...], cluster: Cluster) -> Mask:
        nodes = cluster.nodes
        placed = np.zeros(nodes.slots.capacity, np.bool_)
        for label in TOPOLOGY_LABELS:
            placed |= nodes.label(label).codes != ABSENT
        near = np.ones(nodes.slots.capacity, np.bool_)
        for topology in want:
            codes = nodes.label(topology.key).codes
            answer = self._answer(topology, topology.key, cluster)
            if topology.key in _TODAYS:
                answer = np.where(codes == ABSENT, self._answer(topology, _TODAYS[topology.key], cluster), answer)
            near &= answer
        return near | ~placed

    def _answer(self, topology: Topology, key: str, cluster: Cluster) -> Mask:
        column = cluster.nodes.label(key)
        answers = np.zeros(len(column.values), np.bool_)
        answers[[code for value in topology.values if (code := column.values.code_of.get(value)) is not None]] = True
        return answers[column.codes]

    def withstands(self, want: tuple[Topology, ...], cluster: Cluster, slot: int) -> bool:
        return self.filter_slot(want, cluster, slot)

    def explain(self, want: tuple[Topology, ...], cluster: Cluster, slot: int) -> Verdict | None:
        labels = cluster.nodes.node(slot).metadata.labels
        if not any(label in labels for label in TOPOLOGY_LABELS):
            return None
        details = []
        for topology, value in elsewhere(want, labels):
            has = "is not there" if value is None else f'"{value}"'
            allowed = ", ".join(sorted(topology.values))
            details.append(f'volume "{topology.volume}": label "{topology.key}" {has} in [{allowed}] is false')
        return unresolvable(CONFLICT, *details) if details else None


def elsewhere(want: Iterable[Topology], labels: Mapping[str, str]) -> Iterator[tuple[Topology, str | None]]:
    """Yield the labels of volumes that a node does not have, each with the node's value."""
    for topology in want:
        value = labels.get(topology.key, labels.get(_TODAYS.get(topology.key, topology.key)))
        if value not in topology.values:
            yield topology, value


def topologies_of(volume: PersistentVolume) -> list[Topology]:
    """Return a volume's zone labels; malformed lists of zones are ignored."""
    topologies = []
    for key in TOPOLOGY_LABELS:
        value = volume.metadata.labels.get(key)
        if value is not None:
            values = frozenset(zone.strip() for zone in value.split(_DELIMITER))
            if "" not in values:
                topologies.append(Topology(volume.metadata.name, key, values))
    return topologies


def _problem(facts: ClaimFacts) -> str:
    """Return why a claim without a volume cannot be judged; empty if it need not be yet."""
    claim = facts.claim
    if not facts.use.name:
        return "PersistentVolumeClaim had no name"
    if claim is None:
        return not_found(facts.use.name)
    if claim.spec.volumeName:
        return f'persistentvolume "{claim.spec.volumeName}" not found'
    name = claim_class(claim)
    if not name:
        return "PersistentVolumeClaim had no pv name and storageClass name"
    if facts.storage_class is None:
        return f'storageclass.storage.k8s.io "{name}" not found'
    return "" if facts.state is ClaimState.DELAYED else "PersistentVolume had no name"
