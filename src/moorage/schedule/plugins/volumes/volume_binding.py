"""VolumeBinding: filter out nodes where the pod's claims cannot be served, and choose a volume for each claim.

A node passes if every bound volume can be reached from it and every claim that waits for its pod finds a volume there,
the smallest that will do, or can have one made. What is found for the node that is chosen is promised to the pod, so
that no other gets it. With the gate StorageCapacityScoring, a node scores by how much of its volumes or of its pool the
claims would use, the less the better unless `shape` says otherwise.
Kubernetes: pkg/scheduler/framework/plugins/volumebinding.
Differs: Semver* operators behind their gate, which the reason names where it is off, as it names a label's value that
cannot be compared; evaluated once per distinct node affinity; a claim that a pod names twice needs one volume; of
several pools that a node reaches, the first by name counts for its score.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape
from moorage.columns.storage import VolumeDecision
from moorage.match.comparison import with_obstacle
from moorage.match.node_selector import label_obstacle
from moorage.match.volumes.claims import ClaimFacts, ClaimState, claim_class
from moorage.match.volumes.volume_matching import capacity_of
from moorage.model.gates import STORAGE_CAPACITY_SCORING, GateSet
from moorage.schedule.framework.events import Event, EventKind, on
from moorage.schedule.framework.plugin import (
    SKIP,
    ChosenSlots,
    Code,
    Mask,
    Plugin,
    Prepared,
    UnreadableOn,
    Verdict,
    unresolvable,
)
from moorage.schedule.plugins.node_resources_fit import broken_line
from moorage.schedule.plugins.volumes.volume_needs import (
    BIND_CONFLICT,
    EVERYWHERE,
    BoundVolume,
    Need,
    VolumeTopology,
    required_of,
)

UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
VOLUME_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
#: Points of utilization in percent and scores up to 10: a node whose storage is used less is better.
DEFAULT_SHAPE = ((0, 10), (100, 0))
_FEW = 64
_MENTIONED = 3


class _Choice(NamedTuple):
    """A claim and the volume it gets; without a name, one is provisioned."""

    need: Need
    volume: str | None


class _Found(NamedTuple):
    """What all claims get on one node, or what prevents it."""

    choices: tuple[_Choice, ...] = ()
    reason: str = ""
    need: Need | None = None
    detail: str = ""


class _Want:
    """Volumes to reach and claims to serve, smallest first, with the volumes to choose from kept up to date."""

    def __init__(
        self,
        bound: tuple[BoundVolume, ...],
        missing: tuple[str, str] | None,
        needs: tuple[Need, ...],
        topology: VolumeTopology,
        scores: bool = False,
    ) -> None:
        self.bound = bound
        self._scores = scores  # every volume that comes or goes may change a score
        self.missing = missing  # the claim and volume, if a bound volume is not there
        self.needs = needs
        self.choosing = sum(need.pool is not None for need in needs)
        self.topology = topology
        self.epoch = 0
        self._position = -1
        self._generation = topology.generation

    def catch_up(self, cluster: Cluster) -> None:
        """Update the pools with the volumes that changed."""
        changed = cluster.storage.changed
        generation = self.topology.generation
        if not self.choosing or (changed.position == self._position and generation == self._generation):
            return
        storage = cluster.storage
        self.topology.tidy(len(storage.volumes))
        if self._generation != self.topology.generation:
            self._generation, self._position = self.topology.generation, -1
        names = changed.since(self._position) if self._position >= 0 else None
        self._position = changed.position
        if names is None:
            self.epoch += 1
            for need in self.needs:
                if need.pool is not None:
                    need.pool.fill(storage)
            return
        for name in dict.fromkeys(names):
            for need in self.needs:
                if need.pool is not None:
                    concerned = need.pool.follow(name, storage.volumes.get(name))
                    self.epoch += self._scores and bool(concerned)
                    for code, (before, now) in concerned.items():
                        if min(before, now) < self.choosing:
                            self._touch(code, cluster)

    def _touch(self, code: int, cluster: Cluster) -> None:
        """Have slots asked again that have more or fewer volumes to choose from than they need."""
        slots = None if code == EVERYWHERE else self.topology.slots(code)
        if slots is None or len(slots) > _FEW:
            self.epoch += 1
        else:
            for slot in slots.tolist():
                cluster.nodes.changes.note(slot)

    def find(self, cluster: Cluster, slot: int) -> _Found:
        """Return a volume for each claim, or the first claim without one."""
        if not self.needs:
            return _Found()
        taken: dict[str, None] = {}
        codes = self.topology.codes_at(slot)
        choices = []
        to_be_made = [need for need in self.needs if need.pool is None]
        for need in self.needs:
            if need.pool is None:
                continue
            volume = need.pool.best(codes, taken.keys())
            if volume is None:
                to_be_made.append(need)
            else:
                taken[volume] = None
                choices.append(_Choice(need, volume))
        for need in to_be_made:
            obstacle = need.obstacle(cluster, slot)
            if obstacle is not None:
                return _Found((), obstacle[0], need, obstacle[1])
            choices.append(_Choice(need, None))
        return _Found(tuple(choices))


def is_own_claim(want: Any, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether the event's claim may be one of the pod's."""
    metadata = event.new.metadata
    return bool(metadata.namespace == shape.namespace) and any(facts.may_be(metadata.name) for facts in shape.claims)


class VolumeBinding(Plugin[_Want]):
    """The VolumeBinding plugin."""

    name = "VolumeBinding"
    answers_by_needs = True
    reads_values = True
    requeue_on = (
        on(EventKind.NODE_ADDED, EventKind.NODE_LABELS),
        on(EventKind.CLAIM_ADDED, EventKind.CLAIM_CHANGED, hint=is_own_claim),
        on(EventKind.VOLUME_ADDED, EventKind.VOLUME_CHANGED),
        on(EventKind.STORAGE_CLASS_ADDED, EventKind.STORAGE_CLASS_CHANGED),
        on(EventKind.CSI_NODE_ADDED, EventKind.CSI_NODE_CHANGED),
        on(EventKind.STORAGE_CAPACITY),
    )

    def __init__(self, gates: GateSet, shape: Sequence[tuple[int, int]] = DEFAULT_SHAPE) -> None:
        self._gates = gates
        self._scores, self._shape = gates.enabled(STORAGE_CAPACITY_SCORING), shape
        self._topologies: WeakKeyDictionary[Cluster, VolumeTopology] = WeakKeyDictionary()

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        if not shape.claims:
            return SKIP
        topology = self._topologies.get(cluster)
        if topology is None:
            topology = self._topologies[cluster] = VolumeTopology(cluster.nodes, self._gates)
        rejection = _rejection(shape)
        if rejection is not None:
            return Prepared(_Want((), None, (), topology), rejection=rejection)
        bound: list[BoundVolume] = []
        missing: tuple[str, str] | None = None
        needs: list[Need] = []
        for index, facts in enumerate(shape.claims):
            claim = facts.claim
            if claim is None:
                continue
            if facts.state is ClaimState.DELAYED:
                needs.append(Need(index, facts, claim, topology))
            elif facts.volume is None:
                missing = missing or (facts.use.name, claim.spec.volumeName)
            elif missing is None:
                bound.append(BoundVolume(facts.use.name, facts.volume, topology))
        bound = [volume for volume in bound if not volume.is_everywhere]
        if not bound and missing is None and not needs:
            return SKIP
        needs.sort(key=lambda need: need.matcher.requested)
        scores = self._scores and bool(needs)
        return Prepared(_Want(tuple(bound), missing, tuple(needs), topology, scores), scores=scores)

    def epoch(self, want: _Want, cluster: Cluster) -> tuple[int, int]:
        want.catch_up(cluster)
        return want.epoch, cluster.storage.capacity_generation

    # -- filter -------------------------------------------------------------------------------------------------

    def filter(self, want: _Want, cluster: Cluster) -> Mask:
        if want.missing is not None:
            return np.zeros(cluster.nodes.slots.capacity, np.bool_)
        mask = self._within_reach(want, cluster)
        return self._served(want, cluster, mask) if want.needs else mask

    def _within_reach(self, want: _Want, cluster: Cluster) -> Mask:
        """Return the slots from which all bound volumes can be reached."""
        mask = np.ones(cluster.nodes.slots.capacity, np.bool_)
        for volume in want.bound:
            mask &= volume.mask(cluster)
        return mask

    def _served(self, want: _Want, cluster: Cluster, among: Mask) -> Mask:
        """Return, among some slots, those with a volume for every claim that waits for its pod."""
        want.catch_up(cluster)
        capacity = cluster.nodes.slots.capacity
        mask = among.copy()
        # A claim that has as many volumes to choose from as there are claims gets one, whatever the others take.
        certain = np.ones(capacity, np.bool_)
        for need in want.needs:
            provisionable = need.can_be_made(cluster)
            if need.pool is None:
                mask &= provisionable
                continue
            counts = need.pool.counts(capacity, want.choosing)
            mask &= provisionable | (counts > 0)
            certain &= provisionable | (counts >= want.choosing)
        for slot in np.flatnonzero(mask & ~certain & cluster.nodes.alive).tolist():
            mask[slot] = not want.find(cluster, slot).reason
        return mask

    def sole_slot(self, want: _Want, cluster: Cluster) -> int | None:
        soles = (volume.sole_slot(cluster) for volume in want.bound)
        return next((slot for slot in soles if slot is not None), None)

    def withstands(self, want: _Want, cluster: Cluster, slot: int) -> bool:
        return self.filter_slot(want, cluster, slot)

    def explain(self, want: _Want, cluster: Cluster, slot: int) -> Verdict | None:
        want.catch_up(cluster)
        reasons: dict[str, None] = {}
        details: list[str] = []
        one = np.array([slot], np.int64)
        for volume in want.bound:
            why = volume.explain(cluster, slot)
            if why is not None:
                if not reasons:  # the event counts the first one; the details name all
                    reasons[next(iter(volume.reasons(cluster, one)))] = None
                details.append(f'volume "{volume.volume.metadata.name}" of claim "{volume.claim}": {why}')
        is_within_reach = not reasons
        choice = want.find(cluster, slot)
        if choice.need is not None:
            claim = choice.need.claim.metadata.name
            details.append(f'claim "{claim}": {_no_volume(choice.need, want, cluster, slot)}{choice.detail}')
            reasons[_with_labels(choice, want, slot)] = None
        if want.missing is not None and is_within_reach:
            details.append(f'claim "{want.missing[0]}" is bound to volume "{want.missing[1]}", which is not there')
            reasons[VOLUME_MISSING] = None
        if not reasons:
            return None
        return Verdict(Code.UNRESOLVABLE, tuple(reasons), tuple(details))

    def reasons(self, want: _Want, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        counted: Counter[str] = Counter()
        near = slots
        for volume in want.bound:
            passes = volume.mask(cluster)[near]
            counted.update(volume.reasons(cluster, near[~passes]))
            near = near[passes]
        if want.missing is not None:
            counted[VOLUME_MISSING] = len(near)
        if want.needs:
            every = np.ones(cluster.nodes.slots.capacity, np.bool_)
            unserved = slots[~self._served(want, cluster, every)[slots]]
            if any(need.provisioner or _compares(need, want) for need in want.needs):
                counted.update(_with_labels(want.find(cluster, slot), want, slot) for slot in unserved.tolist())
            else:
                counted[BIND_CONFLICT] = len(unserved)
        return +counted

    def unreadable(self, want: _Want, cluster: Cluster) -> Sequence[UnreadableOn]:
        return [found for volume in want.bound for found in volume.unreadable()]

    # -- score --------------------------------------------------------------------------------------------------

    def score_slot(self, want: _Want, cluster: Cluster, slot: int) -> int:
        want.catch_up(cluster)
        choices = want.find(cluster, slot).choices
        used = _used_volumes(choices, cluster) or _used_pools(choices, cluster, slot)
        if not used:
            return 0
        scores = [broken_line(self._shape, _percent(requested, capacity)) for requested, capacity in used.values()]
        return int(sum(scores) / len(scores) + 0.5)

    # -- reserve ------------------------------------------------------------------------------------------------

    def reserve(self, want: _Want, cluster: Cluster, record: PodRecord, slot: int) -> None:
        want.catch_up(cluster)
        node = cluster.nodes.node(slot).metadata.name
        decisions = []
        for need, volume in want.find(cluster, slot).choices:
            claim = (record.shape.namespace, record.claims[need.index].name)
            provisioner = "" if volume is not None else need.provisioner
            decisions.append(VolumeDecision(claim, node, volume or "", provisioner))
        cluster.storage.promise(record.key, tuple(decisions))

    def unreserve(self, want: _Want, cluster: Cluster, record: PodRecord) -> None:
        cluster.storage.release(record.key)


def _used_volumes(choices: Sequence[_Choice], cluster: Cluster) -> dict[str, tuple[int, int]]:
    """Return by storage class what claims ask for, and the capacity of the volumes that they would get."""
    used: dict[str, tuple[int, int]] = {}
    for need, name in choices:
        if name is not None:
            requested, capacity = used.get(claim_class(need.claim), (0, 0))
            size = capacity_of(cluster.storage.volumes[name])
            used[claim_class(need.claim)] = requested + need.matcher.requested.value(), capacity + size
    return used


def _used_pools(choices: Sequence[_Choice], cluster: Cluster, slot: int) -> dict[str, tuple[int, int]]:
    """Return by storage class what claims ask for, and the capacity of the pool in which volumes would be made."""
    used: dict[str, tuple[int, int]] = {}
    for need, _ in choices:
        capacity = need.pool_capacity(cluster, slot)
        if capacity is not None:
            requested = used.get(claim_class(need.claim), (0, 0))[0]
            used[claim_class(need.claim)] = requested + need.matcher.requested.value(), capacity
    return used


def _percent(requested: int, capacity: int) -> int:
    return 100 if capacity == 0 or requested > capacity else requested * 100 // capacity


def _compares(need: Need, want: _Want) -> bool:
    return need.pool is not None and any(want.topology.compares(code) for code in need.pool.codes(_MENTIONED))


def _with_labels(choice: _Found, want: _Want, slot: int) -> str:
    """Return the reason why a claim has no volume, with a label that a volume's affinity cannot compare."""
    pool = choice.need.pool if choice.need is not None else None
    if pool is None or choice.reason != BIND_CONFLICT:
        return choice.reason
    found = (label_obstacle(want.topology.unreadable(code, slot)) for code in pool.codes(_MENTIONED))
    return with_obstacle(choice.reason, next((why for why in found if why), None))


def _rejection(shape: Shape) -> Verdict | None:
    """Return what is wrong with a pod's claims before any node is looked at."""
    for facts in shape.claims:
        problem = _problem(facts, shape)
        if problem:
            return unresolvable(problem)
    waiting = [facts for facts in shape.claims if facts.state is ClaimState.IMMEDIATE]
    if not waiting:
        return None
    return unresolvable(UNBOUND_IMMEDIATE, *(f'claim "{facts.use.name}" is not bound' for facts in waiting))


def _problem(facts: ClaimFacts, shape: Shape) -> str:
    name = facts.use.name
    if facts.state is ClaimState.MISSING:
        if facts.use.ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return not_found(name)
    if facts.state is ClaimState.LOST and facts.claim is not None:
        volume = facts.claim.spec.volumeName
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    if facts.state is ClaimState.DELETED:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if facts.state is ClaimState.FOREIGN:
        return f"PVC {shape.namespace}/{name} was not created for pod {shape.namespace}/{facts.pod} (pod is not owner)"
    return ""


def not_found(claim: str) -> str:
    return f'persistentvolumeclaim "{claim}" not found'


def _no_volume(need: Need, want: _Want, cluster: Cluster, slot: int) -> str:
    """Describe why some existing volumes do not serve the claim."""
    if need.pool is None:
        return ""
    storage, topology = cluster.storage, want.topology
    reasons = []
    for name in need.pool.some(_MENTIONED):
        code = topology.code(required_of(storage.volumes[name]))
        reasons.append(f'volume "{name}": {topology.explain(code, slot) or "another claim of the pod takes it"}')
    for name in islice(storage.in_class(need.matcher.storage_class), _MENTIONED):
        if len(reasons) < _MENTIONED and name not in need.pool and (why := need.matcher.explain(storage.volumes[name])):
            reasons.append(f'volume "{name}" {why}')
    return "".join(f"{text}; " for text in reasons)
