"""Plan NodeClaims for pods: on nodes there are, on NodeClaims planned before, else on a new one.

A NodeClaim leaves open which kind of node it becomes until it is launched: each pod narrows the kinds that hold all its
pods, and the cheapest one is launched. Kubernetes: Karpenter, pkg/controllers/provisioning/scheduling (Scheduler.Solve,
NodeClaim.CanAdd). Differs: on nodes there are, a pod goes where kube-scheduler would put it, not to the first node that
takes it; preferences of pods are not turned into requirements.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from moorage.autoscale.karpenter.spread_domains import SpreadDomains
from moorage.autoscale.node_kinds import Amounts, NodeKinds, Takers
from moorage.autoscale.snapshot import Snapshot, Trial
from moorage.autoscale.topology_keys import affinity_keys, keys_read_by
from moorage.columns.cluster import PodRecord
from moorage.columns.resources import CPU, MEMORY, amount
from moorage.model.go.integers import INT64_MAX
from moorage.model.well_known.labels import HOSTNAME
from moorage.pools.growth import Growth
from moorage.pools.node_template import Pool
from moorage.schedule.candidates import NO_SLOT
from moorage.schedule.framework.plugin import Mask


class Remaining:
    """What a NodePool may still start: nodes, and capacity of the resources that it has limits of."""

    def __init__(self, growth: Growth, kinds: NodeKinds) -> None:
        self.growth = growth
        more = growth.more_nodes
        self.nodes = INT64_MAX if more is None else more
        self.amounts = np.full(len(kinds.resources), INT64_MAX, np.int64)
        for name, limit in growth.pool.limits.items():
            if name in kinds.resources:
                used = growth.used.get(name)
                left = amount(name, limit) - (amount(name, used) if used is not None else 0)
                self.amounts[kinds.resources.index(name)] = max(left, 0)
        self._limited = np.flatnonzero(self.amounts < INT64_MAX)
        self._kinds = kinds

    def allowed(self) -> Mask:
        """Return the kinds of node of which one more is within the limits."""
        mask = np.zeros(len(self._kinds.kinds), np.bool_)
        if self.nodes > 0:
            own = self._kinds.of_pool[self.growth.pool.name]
            columns = self._limited
            capacity = self._kinds.capacity[own]
            mask[own] = (capacity[:, columns] <= self.amounts[columns]).all(axis=1) if len(columns) else True
        return mask

    def take(self, mask: Mask) -> None:
        """Count one more node, of the largest of these kinds."""
        self.nodes -= 1
        if len(self._limited):
            largest = self._kinds.capacity[mask].max(axis=0)
            self.amounts[self._limited] -= largest[self._limited]


class PlannedClaim:
    """A NodeClaim that is planned: the kinds of node that it may become, and the pods that it is for."""

    def __init__(self, pool: Pool, name: str, mask: Mask, kinds: NodeKinds) -> None:
        self.pool, self.name, self.mask = pool, name, mask
        self.used: Amounts = np.zeros(len(kinds.resources), np.int64)
        self.records: list[PodRecord] = []
        self.number = -1  # of the kind that is in the snapshot
        self.slot = NO_SLOT
        self.full_for: set[int] = set()


class ClaimPlan:
    """Finds places for pods in a trial, with new NodeClaims where no node has room."""

    def __init__(
        self,
        snapshot: Snapshot,
        kinds: NodeKinds,
        trial: Trial,
        growths: Mapping[str, Growth],
        *,
        without: Collection[int] = (),
    ) -> None:
        """Pods are put on none of the slots of `without`."""
        self._snapshot, self._kinds, self._trial = snapshot, kinds, trial
        self._remaining = {
            name: Remaining(growth, kinds) for name, growth in growths.items() if growth.pool.replicas is None
        }
        self._pools = sorted((r.growth.pool for r in self._remaining.values()), key=lambda p: (-p.weight, p.name))
        self.claims: list[PlannedClaim] = []
        self.unplaced: list[PodRecord] = []
        #: By the key of a pod: the node that it is placed on, if that is there already.
        self.placed: dict[str, str] = {}
        self._hopeless: set[int] = set()
        self._names = 0
        self._taken = set(without)  # and the slots of planned NodeClaims
        self._keys: tuple[int, set[str]] = (-1, set())
        self._groups: dict[frozenset[str], list[Mask]] = {}
        self._domains = SpreadDomains(snapshot, kinds)

    def solve(self, records: Iterable[PodRecord], *, patient: bool = True) -> None:
        """Find a place for each pod, the largest first. Those that fail are tried again while others find one.

        Unless `patient`, it ends with the first pod that fits nowhere and never will, or the second new NodeClaim.
        """
        left = sorted(records, key=size_of)
        while left:
            failed: list[PodRecord] = []
            for record in left:
                if not self._add(record):
                    failed.append(record)
                    if not patient and record.shape.number in self._hopeless:
                        break
                elif not patient and len(self.claims) > 1:
                    return
            if len(failed) == len(left) or all(record.shape.number in self._hopeless for record in failed):
                left = failed
                break
            left = failed
        self.unplaced += left

    def _add(self, record: PodRecord) -> bool:
        snapshot = self._snapshot
        candidates = snapshot.candidates(record)
        if record.shape.number in self._hopeless:
            return False
        slot = self._trial.best(record, self._taken)
        if slot != NO_SLOT:
            self._trial.put(record, slot)
            self._domains.placed(record, slot)
            self.placed[record.key] = snapshot.cluster.nodes.node(slot).metadata.name
            return True
        further = any(not item.plugin.local for item in candidates.deciding) or bool(keys_read_by(record.pod.spec))
        answer = self._kinds.answer(record)
        for claim in sorted(self.claims, key=lambda one: len(one.records)):
            if self._fits(claim, record, answer, further=further):
                return True
        if self._start_claim(record, answer, further=further):
            return True
        if not further:
            self._hopeless.add(record.shape.number)
        return False

    def _start_claim(self, record: PodRecord, answer: Takers, *, further: bool) -> bool:
        for pool in self._pools:
            remaining = self._remaining[pool.name]
            mask = remaining.allowed() & answer.accepted
            if not mask.any():
                continue
            self._names += 1
            claim = PlannedClaim(pool, f"{pool.name}/{self._names}", mask, self._kinds)
            if self._fits(claim, record, answer, further=further):
                remaining.take(claim.mask)
                self.claims.append(claim)
                self._taken.add(claim.slot)
                return True
        return False

    def _fits(self, claim: PlannedClaim, record: PodRecord, answer: Takers, *, further: bool) -> bool:
        """Add a pod to a NodeClaim if one of its kinds holds it beside those that it has."""
        if record.shape.number in claim.full_for:
            return False
        kinds = self._kinds
        used = claim.used + answer.asked
        mask = claim.mask & answer.accepted
        own = np.flatnonzero(mask)
        asked = answer.asked > 0
        fitting = (kinds.room[own][:, asked] >= used[asked]).all(axis=1)
        mask = np.zeros_like(mask)
        mask[own[fitting]] = True
        groups = self._domains.groups(record, answer.accepted, self._groups_of(record)) if further else [None]
        for group in groups:
            chosen = mask if group is None else mask & group
            number = kinds.cheapest_of(chosen)
            if number < 0:
                continue
            mark = self._trial.mark()
            before = claim.number, claim.slot
            self._become(claim, number)
            if before[1] != NO_SLOT and claim.slot != before[1]:
                self._taken.discard(before[1])
                self._taken.add(claim.slot)
            if self._trial.passes(record, claim.slot):
                self._trial.put(record, claim.slot)
                self._domains.placed(record, claim.slot)
                claim.mask, claim.used = chosen, used
                claim.records.append(record)
                return True
            self._trial.undo(mark)
            claim.number, claim.slot = before
            if claim.slot != NO_SLOT:  # what was undone may have put the node into another slot
                claim.slot = self._snapshot.cluster.nodes.slot_of[claim.name]
                self._taken.add(claim.slot)
        if not further:
            claim.full_for.add(record.shape.number)
        return False

    def _become(self, claim: PlannedClaim, number: int) -> None:
        """Let the node of a NodeClaim in the snapshot be of another kind."""
        if claim.number == number:
            return
        if claim.slot != NO_SLOT:
            self._trial.remove_node(claim.name)
        kinds = self._kinds
        kind = kinds.kinds[number]
        claim.slot = self._trial.add_node(kind.template.view(claim.name, kinds.features))
        claim.number = number
        daemons = kinds.daemon_records(kind, claim.name, self._snapshot)
        for record in (*daemons, *claim.records):
            self._trial.put(record, claim.slot)

    def _groups_of(self, record: PodRecord) -> Sequence[Mask]:
        """Return the kinds of node, those together that no pod can tell apart by where they are; the cheapest first."""
        shapes = self._snapshot.cluster.shapes
        if self._keys[0] != len(shapes):
            self._keys = len(shapes), {key for shape in shapes for key in affinity_keys(shape.spec.affinity)}
        keys = frozenset((self._keys[1] | keys_read_by(record.pod.spec)) - {HOSTNAME})
        groups = self._groups.get(keys)
        if groups is None:
            found: dict[tuple[str | None, ...], Mask] = {}
            for number in self._kinds.cheapest.tolist():
                labels = self._kinds.kinds[number].template.labels
                facts = tuple(labels.get(key) for key in sorted(keys))
                found.setdefault(facts, np.zeros(len(self._kinds.kinds), np.bool_))[number] = True
            groups = self._groups[keys] = list(found.values())
        return groups


def size_of(record: PodRecord) -> tuple[int, int, str, str]:
    """Return what pods are sorted by: the largest first, then the oldest."""
    requests = record.shape.requests
    metadata = record.pod.metadata
    return -requests.get(CPU, 0), -requests.get(MEMORY, 0), metadata.creationTimestamp or "", metadata.uid
