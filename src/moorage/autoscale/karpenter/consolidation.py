"""Find nodes that can go because their pods fit elsewhere, or on one cheaper node.

First all empty nodes, then several nodes at a time by halving the search, then one node at a time.
Kubernetes: Karpenter, pkg/controllers/disruption (Emptiness, MultiNodeConsolidation, SingleNodeConsolidation,
computeConsolidation, filterOutSameInstanceType, balanced scores). Differs: a replacement counts against the limits of
its NodePool while the nodes that it replaces are still there.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import gcd

import msgspec
import numpy as np

from moorage.autoscale.karpenter.candidates import Candidate
from moorage.autoscale.karpenter.claims import ClaimPlan, size_of
from moorage.autoscale.node_kinds import Amounts, NodeKind, NodeKinds
from moorage.autoscale.snapshot import Snapshot, Trial
from moorage.columns.cluster import PodRecord
from moorage.columns.resources import PODS
from moorage.pools.growth import Growth
from moorage.pools.instance_types import ON_DEMAND, SPOT
from moorage.schedule.framework.plugin import Mask

MAX_AT_A_TIME = 100
SPOT_CHOICES = 15
_BALANCED, _BALANCED_K = "Balanced", 2
_SAVINGS = 1e-9
#: Sums of sizes of pods are listed up to this many units of what they have in common.
_MOST_UNITS = 4096


class Command(msgspec.Struct, frozen=True, eq=False):
    """Nodes to disrupt, and the kind of node that replaces them, if one does."""

    candidates: tuple[Candidate, ...]
    replacement: NodeKind | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(candidate.name for candidate in self.candidates)

    @property
    def decision(self) -> str:
        return "replace" if self.replacement is not None else "delete"

    @property
    def savings(self) -> float:
        price = self.replacement.template.price if self.replacement is not None else 0.0
        return sum(candidate.price for candidate in self.candidates) - (price or 0.0)


class NotPossible(msgspec.Struct, frozen=True):
    """Why nodes cannot go."""

    reason: str


_TOO_MUCH = NotPossible("not all pods would schedule on other nodes and a new one")


class Totals(msgspec.Struct, frozen=True):
    """What all nodes of a NodePool cost an hour, and what it would cost to disrupt them."""

    price: float
    cost: float


class Consolidator:
    """Tries the removal of nodes on a snapshot from which the nodes that leave are gone already."""

    def __init__(
        self,
        snapshot: Snapshot,
        kinds: NodeKinds,
        trial: Trial,
        growths: Mapping[str, Growth],
        totals: Mapping[str, Totals],
        *,
        spot_to_spot: bool = False,
        held: Mapping[str, Sequence[PodRecord]] | None = None,
    ) -> None:
        """`held` are the imagined pods for which there is room on a node, by its name."""
        self._snapshot, self._kinds, self._trial = snapshot, kinds, trial
        self._growths, self._totals, self._spot_to_spot = growths, totals, spot_to_spot
        labels = [kind.template.capacity_type for kind in kinds.kinds]
        self._spot = np.array([label == SPOT for label in labels], np.bool_)
        self._fits: dict[int, tuple[Amounts, int]] = {}
        self._held = held or {}
        self._on_demand = np.array([label == ON_DEMAND for label in labels], np.bool_)

    def several(self, candidates: Sequence[Candidate]) -> Command | None:
        """Return the most of the first candidates that can go together, at least two."""
        lowest, highest = 1, min(len(candidates) - 1, MAX_AT_A_TIME)
        best: Command | None = None
        while lowest <= highest:
            middle = (lowest + highest) // 2
            first = candidates[: middle + 1]
            found = _TOO_MUCH if self._needs_too_much(first) else self.compute(first)
            if isinstance(found, Command) and self._is_approved(found):
                best, lowest = found, middle + 1
            else:
                highest = middle - 1
        return best

    def one(self, candidate: Candidate) -> Command | NotPossible:
        found = self.compute((candidate,))
        if isinstance(found, Command) and not self._is_approved(found):
            return NotPossible("Savings are too small for the disruption of its pods")
        return found

    def compute(self, candidates: Sequence[Candidate]) -> Command | NotPossible:
        """Say whether the pods of these nodes fit on the others, or on those and one new, cheaper node."""
        if reason := self._lacks_room(candidates):
            return NotPossible(reason)
        price = sum(candidate.price for candidate in candidates)
        if not (self._kinds.prices < price - _SAVINGS).any() and self._needs_too_much(candidates):
            return NotPossible("Can't replace with a cheaper node")
        with self._without(candidates) as (records, slots):
            if reason := self._hopeless(records, slots, price):
                return NotPossible(reason)
            plan = ClaimPlan(self._snapshot, self._kinds, self._trial, self._growths, without=slots)
            plan.solve(records, patient=False)
            if plan.unplaced:
                first = plan.unplaced[0]
                return NotPossible(f"not all pods would schedule, {first.key} fits on no node")
            held = self._held_on(candidates)
            if held:  # as there, pods of buffers that fit nowhere do not keep a node
                plan.solve(held)
            if len(plan.claims) > 1:
                return NotPossible(f"Can't remove without creating {len(plan.claims)} candidates")
            if not plan.claims:
                return Command(tuple(candidates))
            return self._replaced(tuple(candidates), plan.claims[0].mask)

    def _held_on(self, candidates: Sequence[Candidate]) -> list[PodRecord]:
        return [record for candidate in candidates for record in self._held.get(candidate.name, ())]

    def _lacks_room(self, candidates: Sequence[Candidate]) -> str:
        """Return why these nodes stay if the others have too little room for pods of one shape; else an empty text.

        It is counted once for each shape how many of its pods each node has room for, whatever else comes there.
        """
        first: dict[int, PodRecord] = {}
        asked: Counter[int] = Counter()
        for candidate in candidates:
            for record in candidate.records:
                first.setdefault(record.shape.number, record)
                asked[record.shape.number] += 1
        slots = [self._snapshot.cluster.nodes.slot_of[candidate.name] for candidate in candidates]
        price = sum(candidate.price for candidate in candidates)
        for number, count in asked.items():
            known = self._fits.get(number)
            if known is None:
                fits = self._room_for(first[number])
                known = self._fits[number] = fits, int(fits.sum())
            fits, total = known
            if count > total - int(fits[slots[0]] if len(slots) == 1 else fits[slots].sum()):
                mask = self._cheaper(self._kinds.answer(first[number]).accepted, price)
                if not mask.any():
                    return "Can't replace with a cheaper node"
        return ""

    def _needs_too_much(self, candidates: Sequence[Candidate]) -> bool:
        """Return whether the pods of these nodes need more than the others and one cheaper node have together.

        Only nodes count that have room for one of the pods at least, each with what its pods can add up to. To place
        the pods would end the same way.
        """
        nodes = self._snapshot.cluster.nodes
        shapes = Counter(record.shape for candidate in candidates for record in candidate.records)
        needs = Counter[str]({PODS: shapes.total()})
        sizes: dict[str, set[int]] = {PODS: {1}}
        distinct: dict[tuple[tuple[str, int], ...], None] = {}
        for shape, number in shapes.items():
            requests = tuple((name, amount) for name, amount in shape.requests.items() if amount and name != PODS)
            distinct.setdefault(requests)
            for name, amount in requests:
                needs[name] += amount * number
                sizes.setdefault(name, set()).add(amount)
        takes = np.zeros(len(nodes.free(PODS)), np.bool_)
        for requests in distinct:
            fits = nodes.free(PODS) > 0
            for name, amount in requests:
                fits = fits & (nodes.free(name) >= amount)
            takes |= fits
        takes[[nodes.slot_of[candidate.name] for candidate in candidates]] = False
        cheaper = self._kinds.prices < sum(candidate.price for candidate in candidates) - _SAVINGS
        for name, total in needs.items():
            left = total - int(most_of(nodes.free(name)[takes], sizes[name]).sum())
            if left > 0 and left > int(most_of(self._rooms(name, cheaper), sizes[name]).max(initial=0)):
                return True
        return False

    def _rooms(self, name: str, kinds: Mask) -> Amounts:
        if name not in self._kinds.resources:
            return np.zeros(0, np.int64)
        rooms: Amounts = self._kinds.room[kinds, self._kinds.resources.index(name)]
        return rooms

    def _room_for(self, record: PodRecord) -> Amounts:
        """Return for each slot how many pods like one it has room for, none where the scheduler refuses it."""
        nodes = self._snapshot.cluster.nodes
        feasible = self._snapshot.candidates(record).feasible()
        fits = np.where(feasible, nodes.free(PODS)[: len(feasible)], 0)
        for name, amount in record.shape.requests.items():
            if name != PODS:
                fits = np.minimum(fits, np.maximum(nodes.free(name)[: len(feasible)], 0) // amount)
        return fits.astype(np.int64)

    def _hopeless(self, records: Sequence[PodRecord], slots: set[int], price: float) -> str:
        """Return why no one cheaper node can take the pods that fit on no other; empty if one may.

        Nodes that are planned cost far more than this sum, and nearly all nodes of a full cluster end here.
        """
        trial, kinds = self._trial, self._kinds
        mark = trial.mark()
        try:
            left = []
            for record in sorted(records, key=size_of):
                if not trial.place(record, slots):
                    if not self._cheaper(kinds.answer(record).accepted, price).any():
                        return "Can't replace with a cheaper node"
                    left.append(record)
        finally:
            trial.undo(mark)
        if not left:
            return ""
        answers = [kinds.answer(record) for record in left]
        asked = np.sum([answer.asked for answer in answers], axis=0)
        mask = (kinds.room[:, asked > 0] >= asked[asked > 0]).all(axis=1)
        for answer in answers:
            mask &= answer.accepted
        if not mask.any():
            return "not all pods would schedule on other nodes and a new one"
        return "" if self._cheaper(mask, price).any() else "Can't replace with a cheaper node"

    @contextmanager
    def _without(self, candidates: Sequence[Candidate]) -> Iterator[tuple[list[PodRecord], set[int]]]:
        """Have nodes without their pods inside the block; yield the pods, and the slots that are not for them."""
        trial, mark = self._trial, self._trial.mark()
        records = [record for candidate in candidates for record in candidate.records]
        try:
            for record in (*records, *self._held_on(candidates)):
                trial.lift(record)
            yield records, {trial.block(candidate.name) for candidate in candidates}
        finally:
            trial.undo(mark)

    def _replaced(self, candidates: tuple[Candidate, ...], mask: Mask) -> Command | NotPossible:
        price = sum(candidate.price for candidate in candidates)
        are_spot = all(c.kind is not None and c.kind.template.capacity_type == SPOT for c in candidates)
        if are_spot and bool((mask & self._spot).any()):
            if not self._spot_to_spot:
                return NotPossible("SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node")
            mask = mask & self._spot
        mask = self._cheaper(mask, price)
        if not mask.any():
            return NotPossible("Can't replace with a cheaper node")
        if are_spot and bool((mask & self._spot).any()) and len(candidates) == 1:
            types = {self._kinds.kinds[number].template.instance_type for number in np.flatnonzero(mask)}
            if len(types) < SPOT_CHOICES:
                text = "cheaper instance type options than the current candidate to consolidate"
                return NotPossible(f"SpotToSpotConsolidation requires {SPOT_CHOICES} {text}, got {len(types)}")
        if not are_spot and bool((mask & self._spot).any()) and bool((mask & self._on_demand).any()):
            mask = mask & self._spot
        if len(candidates) > 1:
            mask = self._of_other_types(candidates, mask)
            if not mask.any():
                return NotPossible("Can't replace with a cheaper node")
        return Command(candidates, self._kinds.kinds[self._kinds.cheapest_of(mask)])

    def _cheaper(self, mask: Mask, price: float) -> Mask:
        return mask & (self._kinds.prices < price - _SAVINGS)

    def _of_other_types(self, candidates: Sequence[Candidate], mask: Mask) -> Mask:
        """Leave out kinds that are not cheaper than a candidate of a type that they could be: it would be kept."""
        prices: dict[str, float] = {}
        for candidate in candidates:
            if candidate.kind is not None:
                name = candidate.kind.template.instance_type
                prices[name] = min(prices.get(name, float("inf")), candidate.price)
        there = {self._kinds.kinds[number].template.instance_type for number in np.flatnonzero(mask)}
        highest = min((price for name, price in prices.items() if name in there), default=float("inf"))
        return self._cheaper(mask, highest) if highest < float("inf") else mask

    def _is_approved(self, command: Command) -> bool:
        """Return whether what is saved is worth what is disrupted, in each pool that asks for a balance."""
        total = sum(candidate.price for candidate in command.candidates)
        for name in {c.pool.name for c in command.candidates if c.disruption.policy == _BALANCED}:
            own = [candidate for candidate in command.candidates if candidate.pool.name == name]
            share = sum(candidate.price for candidate in own) / total if total > 0 else 1.0
            if not is_balanced(command.savings * share, sum(c.cost for c in own), self._totals[name]):
                return False
        return True


def is_balanced(savings: float, cost: float, totals: Totals) -> bool:
    """Return whether the share of a pool's price that is saved is at least half the share that is disrupted."""
    if totals.price <= 0 or totals.cost <= 0 or savings <= 0:
        return False
    disrupted = cost / totals.cost
    return disrupted == 0 or (savings / totals.price) / disrupted >= 1 / _BALANCED_K


def most_of(free: Amounts, sizes: Collection[int]) -> Amounts:
    """Return how much of each amount pods of these sizes can add up to at most, however many there are of each."""
    free = np.maximum(free, 0)
    unit = gcd(*sizes)
    limit = int(free.max(initial=0)) // unit
    if limit > _MOST_UNITS:
        return free
    reached = np.zeros(limit + 1, np.bool_)
    reached[0] = True
    for total in range(limit + 1):
        if reached[total]:
            for size in sizes:
                if total + size // unit <= limit:
                    reached[total + size // unit] = True
    most = np.maximum.accumulate(np.where(reached, np.arange(limit + 1), 0))
    found: Amounts = most[free // unit] * unit
    return found
