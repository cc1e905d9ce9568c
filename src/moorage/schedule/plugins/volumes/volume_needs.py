"""Find what a pod's claims need of a node: bound volumes within reach, and volumes to take or to provision there.

Kubernetes: volumebinding/binder.go; and FindMatchingVolume, which goes through all volumes for each claim and node.
"""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Mapping, Set
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.columns.codes import Interner
from moorage.columns.node_table import NodeTable
from moorage.columns.pod_classes import Label, label_needed
from moorage.columns.selector_masks import NodePredicate, SoleSlot, any_of, label_predicate, selector_predicate
from moorage.columns.storage import Storage
from moorage.match.comparison import Unreadable, with_obstacle
from moorage.match.label_selector import compile_label_selector, conjunction
from moorage.match.node_selector import NodeSelectorMatcher, compile_node_selector, gate_obstacle
from moorage.match.requirement import IN, SelectorError, compile_requirement
from moorage.match.volumes.claims import SELECTED_NODE, ClaimFacts, claim_class
from moorage.match.volumes.csi_migration import moved_affinity
from moorage.match.volumes.volume_matching import ClaimMatcher, capacity_of
from moorage.model.gates import GateSet
from moorage.model.quantity import Quantity
from moorage.model.types.node import NodeSelector
from moorage.model.types.storage import CSIStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.schedule.framework.plugin import Mask, UnreadableOn
from moorage.schedule.framework.unreadable_labels import UnreadableLabels

EVERYWHERE = 0
Slots = NDArray[np.int64]
NODE_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_STORAGE = "storage"
_FEW_CODES = 256
_CODES_PER_VOLUME = 2


def required_of(volume: PersistentVolume) -> NodeSelector | None:
    affinity = volume.spec.nodeAffinity
    return affinity.required if affinity is not None else None


class VolumeTopology:
    """From which nodes volumes can be reached, evaluated once per distinct node affinity, which has a code.

    Five thousand local disks have five thousand affinities, each for one host, so codes are filed under the label
    values they ask for: a slot is asked only about those that name one of its labels. `generation` moves when all
    codes are new, because most of the old ones were of volumes that are gone. Kubernetes: CheckNodeAffinity.
    """

    def __init__(self, nodes: NodeTable, gates: GateSet) -> None:
        self._nodes = nodes
        self._gates = gates
        self.generation = 0
        self._begin()

    def _begin(self) -> None:
        self._codes: Interner[bytes] = Interner(b"")
        self._matchers: list[NodeSelectorMatcher | None] = [None]
        self._slots: list[tuple[int, Slots] | None] = [None]
        self._filed: dict[Label, list[int]] = {}
        self._filed_keys: dict[str, None] = {}
        self._unfiled: list[int] = []

    def tidy(self, volumes: int) -> None:
        """Begin again if there are many more codes than volumes."""
        if len(self._codes) > _FEW_CODES + _CODES_PER_VOLUME * volumes:
            self.generation += 1
            self._begin()

    def code(self, required: NodeSelector | None) -> int:
        """Return the code of an affinity; `EVERYWHERE` for a volume without one."""
        if required is None:
            return EVERYWHERE
        code = self._codes.intern(msgspec.msgpack.encode(required))
        if code == len(self._matchers):
            matcher = self.compile(required)
            self._matchers.append(matcher)
            self._slots.append(None)
            self._file(code, matcher)
        return code

    def compile(self, required: NodeSelector) -> NodeSelectorMatcher:
        """Compile an affinity over labels only: Kubernetes asks it about a node without a name."""
        matcher = compile_node_selector(required, self._gates)
        terms = tuple(msgspec.structs.replace(term, fields=()) for term in matcher.terms)
        return msgspec.structs.replace(matcher, terms=terms)

    def predicate(self, matcher: NodeSelectorMatcher) -> NodePredicate:
        return selector_predicate(matcher, self._nodes)

    def _file(self, code: int, matcher: NodeSelectorMatcher) -> None:
        needed = [label_needed(term.labels) for term in matcher.terms if not term.errors]
        if any(labels is None for labels in needed):
            self._unfiled.append(code)
            return
        for label in dict.fromkeys(label for labels in needed for label in labels or ()):
            self._filed.setdefault(label, []).append(code)
            self._filed_keys[label[0]] = None

    def slots(self, code: int) -> Slots:
        """Return the slots that match a code other than `EVERYWHERE`."""
        kept = self._slots[code]
        matcher = self._matchers[code]
        if matcher is not None and (kept is None or kept[0] != self._nodes.generation):
            reached = np.flatnonzero(self.predicate(matcher).mask() & self._nodes.alive)
            kept = self._slots[code] = (self._nodes.generation, reached)
        return kept[1] if kept is not None else np.flatnonzero(self._nodes.alive)

    def codes_at(self, slot: int) -> list[int]:
        """Return the codes that match a slot, `EVERYWHERE` among them."""
        labels = self._nodes.node(slot).metadata.labels
        candidates = list(self._unfiled)
        for key in self._filed_keys:
            if key in labels:
                candidates += self._filed.get((key, labels[key]), ())
        return [EVERYWHERE, *(code for code in dict.fromkeys(candidates) if self._match(code, labels))]

    def _match(self, code: int, labels: Mapping[str, str]) -> bool:
        matcher = self._matchers[code]
        return matcher is None or matcher.match(labels, "")

    def explain(self, code: int, slot: int) -> str | None:
        matcher = self._matchers[code]
        return None if matcher is None else matcher.explain(self._nodes.node(slot).metadata.labels, "")

    def compares(self, code: int) -> bool:
        matcher = self._matchers[code]
        return matcher is not None and matcher.compares

    def unreadable(self, code: int, slot: int) -> Unreadable | None:
        """Describe the label of a node that a volume's affinity cannot compare; None if it can compare all."""
        matcher = self._matchers[code]
        return None if matcher is None else matcher.unreadable(self._nodes.node(slot).metadata.labels, "")

    def unreadable_labels(self, matcher: NodeSelectorMatcher) -> UnreadableLabels:
        return UnreadableLabels(matcher, self._nodes)

    def gate_obstacle(self, required: NodeSelector | None) -> str | None:
        """Return which operator of an affinity needs which gate that is off in the scheduler."""
        return gate_obstacle(required, self._gates, "the scheduler")


class BoundVolume:
    """A bound volume, and from which nodes it can be reached."""

    __slots__ = (
        "_matcher",
        "_moved",
        "_moved_matcher",
        "_plugin",
        "_predicate",
        "_reason",
        "_sole",
        "_unreadable",
        "claim",
        "volume",
    )

    def __init__(self, claim: str, volume: PersistentVolume, topology: VolumeTopology) -> None:
        self.claim = claim
        self.volume = volume
        required = required_of(volume)
        self._matcher: NodeSelectorMatcher | None = topology.compile(required) if required is not None else None
        self._predicate = topology.predicate(self._matcher) if self._matcher is not None else None
        self._unreadable = topology.unreadable_labels(self._matcher) if self._matcher is not None else None
        self._reason = with_obstacle(NODE_CONFLICT, topology.gate_obstacle(required))
        # On nodes where a driver took over, the driver's own labels count.
        moved = moved_affinity(volume)
        self._plugin = moved[0] if moved is not None else ""
        self._moved_matcher = topology.compile(moved[1]) if moved is not None else None
        self._moved = topology.predicate(self._moved_matcher) if self._moved_matcher is not None else None
        self._sole = SoleSlot(self._predicate) if self._predicate is not None and moved is None else None

    @property
    def is_everywhere(self) -> bool:
        return self._predicate is None and self._moved is None

    def mask(self, cluster: Cluster) -> Mask:
        near = np.ones(cluster.nodes.slots.capacity, np.bool_) if self._predicate is None else self._predicate.mask()
        if self._moved is None:
            return near
        return np.where(cluster.storage.attachments.moved(self._plugin) > 0, self._moved.mask(), near)

    def sole_slot(self, cluster: Cluster) -> int | None:
        """Return the only slot within reach, as of a local disk; -1 if there is none, None if several may be."""
        return None if self._sole is None else self._sole.find(cluster.nodes)

    def explain(self, cluster: Cluster, slot: int) -> str | None:
        matcher = self._moved_matcher if self._is_moved(cluster, slot) else self._matcher
        return None if matcher is None else matcher.explain(cluster.nodes.node(slot).metadata.labels, "")

    def reasons(self, cluster: Cluster, slots: Slots) -> Counter[str]:
        """Count why slots are out of reach: a gate that is off, and labels that cannot be compared, are named."""
        if self._moved is None:
            return Counter() if self._unreadable is None else self._unreadable.reasons(slots, self._reason)
        is_moved = cluster.storage.attachments.moved(self._plugin)[slots] > 0
        counted = Counter({NODE_CONFLICT: int(np.count_nonzero(is_moved))})
        return (
            counted if self._unreadable is None else counted + self._unreadable.reasons(slots[~is_moved], self._reason)
        )

    def unreadable(self) -> list[UnreadableOn]:
        """Return the labels of nodes that the volume's affinity cannot compare."""
        return self._unreadable.everywhere() if self._unreadable is not None else []

    def _is_moved(self, cluster: Cluster, slot: int) -> bool:
        return self._moved is not None and bool(cluster.storage.attachments.moved(self._plugin)[slot])


_Entry = tuple[int, str]  # capacity and name


class VolumePool:
    """The volumes that a claim could be bound to, smallest first, kept up to date as they are taken.

    They are those that name the claim in claimRef if there are any (`reserved`), else the free ones.
    """

    def __init__(self, matcher: ClaimMatcher, reserved: bool, topology: VolumeTopology) -> None:
        self.matcher = matcher
        self._accepts: Callable[[PersistentVolume], bool] = matcher.reserved if reserved else matcher.free
        self._topology = topology
        self._by_code: dict[int, list[_Entry]] = {}
        self._place_of: dict[str, tuple[int, _Entry]] = {}

    def fill(self, storage: Storage) -> None:
        self._by_code.clear()
        self._place_of.clear()
        for name in storage.in_class(self.matcher.storage_class):
            volume = storage.volumes[name]
            if self._accepts(volume):
                code = self._topology.code(required_of(volume))
                entry = capacity_of(volume), name
                self._place_of[name] = code, entry
                self._by_code.setdefault(code, []).append(entry)
        for entries in self._by_code.values():
            entries.sort()

    def follow(self, name: str, volume: PersistentVolume | None) -> dict[int, tuple[int, int]]:
        """Take in a changed or deleted volume; return, for the codes concerned, how many there were and are."""
        concerned: dict[int, tuple[int, int]] = {}
        old = self._place_of.pop(name, None)
        if old is not None:
            code, entry = old
            entries = self._by_code[code]
            concerned[code] = len(entries), len(entries) - 1
            del entries[bisect_left(entries, entry)]
            if not entries:
                del self._by_code[code]
        if volume is not None and self._accepts(volume):
            code = self._topology.code(required_of(volume))
            entry = capacity_of(volume), name
            self._place_of[name] = code, entry
            entries = self._by_code.setdefault(code, [])
            concerned[code] = concerned.get(code, (len(entries), 0))[0], len(entries) + 1
            insort(entries, entry)
        return concerned

    def counts(self, capacity: int, most: int) -> NDArray[np.int64]:
        """Return how many volumes each slot can choose from; counts above `most` may be larger or equal to it."""
        counts = np.zeros(capacity, np.int64)
        for code, entries in self._by_code.items():
            few = min(len(entries), most)
            if code == EVERYWHERE:
                counts += few
            else:
                counts[self._topology.slots(code)] += few
        return counts

    def best(self, codes: list[int], taken: Set[str]) -> str | None:
        """Return the smallest free volume that a slot with these codes can reach."""
        best: _Entry | None = None
        for code in codes:
            for entry in self._by_code.get(code, ()):
                if entry[1] not in taken:
                    if best is None or entry < best:
                        best = entry
                    break
        return best[1] if best is not None else None

    def some(self, most: int) -> list[str]:
        """Return a few volumes, each with another node affinity."""
        return [entries[0][1] for entries in islice(self._by_code.values(), most)]

    def codes(self, most: int) -> list[int]:
        """Return the codes of a few node affinities, those of `some`."""
        return list(islice(self._by_code, most))

    def __contains__(self, name: str) -> bool:
        return name in self._place_of


class Need:
    """A claim that waits for its pod: the volumes it could have, and where one could be provisioned.

    `index` is the claim's among the pod's. With a `selected` node, a volume is being provisioned there already.
    """

    def __init__(self, index: int, facts: ClaimFacts, claim: PersistentVolumeClaim, topology: VolumeTopology) -> None:
        self.index = index
        self.claim = claim
        self.selected = claim.metadata.annotations.get(SELECTED_NODE)
        self.matcher = ClaimMatcher(claim)
        self.pool = None if self.selected is not None else VolumePool(self.matcher, facts.is_reserved, topology)
        self.storage_class: StorageClass | None = facts.storage_class
        provisioner = facts.storage_class.provisioner if facts.storage_class is not None else ""
        self.provisioner = "" if provisioner == _NO_PROVISIONER else provisioner
        self._allowed: NodePredicate | None = None
        self._spacious: tuple[int, NodePredicate | None] = (-1, None)
        self._pools: list[tuple[NodePredicate, int]] = []  # pools with enough space, by name, and their capacity

    def can_be_made(self, cluster: Cluster) -> Mask:
        """Return the slots for which a volume can be provisioned."""
        capacity = cluster.nodes.slots.capacity
        if not self.provisioner:
            return np.zeros(capacity, np.bool_)
        allowed, spacious = self._allowed_topologies(cluster), self._with_space(cluster)
        masks = [predicate.mask() for predicate in (allowed, spacious) if predicate is not None]
        if self.selected is not None:
            masks.append(_only(capacity, cluster.nodes.slot_of.get(self.selected)))
        return np.logical_and.reduce(masks) if masks else np.ones(capacity, np.bool_)

    def obstacle(self, cluster: Cluster, slot: int) -> tuple[str, str] | None:
        """Return why no volume can be provisioned for a slot: the reason and its detail."""
        node = cluster.nodes.node(slot).metadata.name
        if self.selected is not None and self.selected != node:
            return BIND_CONFLICT, f'a volume is being made for node "{self.selected}"'
        if not self.provisioner:
            return BIND_CONFLICT, f"{self._class} has no provisioner to make one"
        allowed, spacious = self._allowed_topologies(cluster), self._with_space(cluster)
        if allowed is not None and not allowed.at(slot):
            return BIND_CONFLICT, f"{self._class} does not make volumes for this node: allowedTopologies"
        if spacious is not None and not spacious.at(slot):
            size = self.matcher.requested
            return NOT_ENOUGH_SPACE, f"{self._class} has no pool within reach of this node with {size} left"
        return None

    def pool_capacity(self, cluster: Cluster, slot: int) -> int | None:
        """Return the capacity of the pool where a volume is made for a slot; None if the driver does not report it."""
        if self._with_space(cluster) is None:
            return None
        return next((capacity for part, capacity in self._pools if part.at(slot)), None)

    @property
    def _class(self) -> str:
        return f'storage class "{claim_class(self.claim)}"'

    def _allowed_topologies(self, cluster: Cluster) -> NodePredicate | None:
        terms = self.storage_class.allowedTopologies if self.storage_class is not None else ()
        if terms and self._allowed is None:
            parts: list[NodePredicate] = []
            for term in terms:
                try:
                    requirements = [compile_requirement(e.key, IN, e.values) for e in term.matchLabelExpressions]
                except SelectorError:
                    continue
                if requirements:
                    parts.append(label_predicate(conjunction(requirements), cluster.nodes))
            self._allowed = any_of(tuple(parts), cluster.nodes)
        return self._allowed

    def _with_space(self, cluster: Cluster) -> NodePredicate | None:
        """Return the nodes that reach a pool with enough space; None if the driver does not report it."""
        storage = cluster.storage
        if self._spacious[0] != storage.capacity_generation:
            driver = storage.drivers.get(self.provisioner)
            reports_capacity = driver is not None and bool(driver.spec.storageCapacity)
            requests = self.claim.spec.resources.requests
            predicate: NodePredicate | None = None
            if reports_capacity and _STORAGE in requests:
                self._pools = [
                    (part, capacity.capacity.value() if capacity.capacity is not None else 0)
                    for _, capacity in sorted(storage.capacities.items())
                    if capacity.storageClassName == claim_class(self.claim)
                    and (limit := largest_volume(capacity)) is not None
                    and limit.value() >= requests[_STORAGE].value()
                    and (part := _access(capacity, cluster)) is not None
                ]
                predicate = any_of(tuple(part for part, _ in self._pools), cluster.nodes)
            self._spacious = storage.capacity_generation, predicate
        return self._spacious[1]


def largest_volume(capacity: CSIStorageCapacity) -> Quantity | None:
    """Return the size of the largest volume that can be provisioned; None if it is not reported."""
    return capacity.maximumVolumeSize if capacity.maximumVolumeSize is not None else capacity.capacity


def _access(capacity: CSIStorageCapacity, cluster: Cluster) -> NodePredicate | None:
    if capacity.nodeTopology is None:
        return None
    try:
        return label_predicate(compile_label_selector(capacity.nodeTopology), cluster.nodes)
    except SelectorError:
        return None


def _only(capacity: int, slot: Any) -> Mask:
    mask = np.zeros(capacity, np.bool_)
    if slot is not None:
        mask[slot] = True
    return mask
