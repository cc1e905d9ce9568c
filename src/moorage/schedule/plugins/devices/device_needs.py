"""Find what a pod's claims need of a node: devices to allocate there, and allocations usable from there.

Whether claims fit is searched for once per code of `Devices`, so once for all nodes that offer the same devices in the
same use, and kept in a table by code. When the use of devices changes that many nodes share, each code is searched
again, and the nodes are asked again only if an answer is another one.
"""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.columns.devices.devices import Devices
from moorage.columns.selector_masks import NodePredicate, SoleSlot, selector_predicate
from moorage.match.devices.allocation.allocate import FoundDevices, find_devices, new_uuid
from moorage.match.devices.allocation.features import AllocationError, AllocatorFeatures, SearchLimitError
from moorage.match.devices.allocation.offer import Place
from moorage.match.devices.allocation.requests import CompiledClaim
from moorage.match.devices.allocation.search import ClaimToAllocate, Hopeless
from moorage.match.devices.claims import DeviceClaimFacts
from moorage.match.devices.extended_resources import RequestsAndMappings
from moorage.match.evaluation.accounts import Undecided
from moorage.match.node_selector import compile_node_selector
from moorage.model.gates import GateSet
from moorage.model.types.node import NodeSelector
from moorage.schedule.plugins.devices.sliced_searches import Pause, SlicedCall, SlicedSearches, undecided

_MAX_ALTERNATIVES = 8
_UNKNOWN, _NO, _YES = -1, 0, 1
MAX_STEPS = 20_000
# How many steps a search may take, by how many the searches before it took in vain: other pods wait meanwhile.
_ALLOWANCES = ((2 * MAX_STEPS, MAX_STEPS), (4 * MAX_STEPS, 1_000))
_LAST_ALLOWANCE = 100
# What a search, and all slow ones of an attempt, may take before they are carried out in slices.
_QUICK_STEPS, _QUICK_SECONDS = 500, 0.02


def _generation(devices: Devices) -> tuple[int, int, int]:
    return (devices.class_generation, devices.wide_generation, devices.code_generation)


class Answer(msgspec.Struct, frozen=True):
    """Whether claims can be allocated on nodes of one code. `error` fails the whole attempt, not only the node."""

    fits: bool
    problem: str = ""
    error: str = ""
    score: int = 0
    found: FoundDevices | None = None  # on the node that was asked first
    places: Sequence[Sequence[Place]] = ()  # of the devices, for the other nodes of the code


_Outcome = tuple[bool, str, str, int, int]  # of an answer; and a slot of the code


class _Batch:
    """A search on several nodes in slices: what it depends on, where it is, and what it has found, by code."""

    def __init__(self, generation: tuple[int, int, int]) -> None:
        self.generation = generation
        self.slot = self.code = 0
        self.found: dict[int, tuple[Answer, int]] = {}  # with the slot where it was searched
        self.call: SlicedCall[None] | None = None


class AllocatedClaim:
    """A claim that is allocated already, and the nodes from which its devices can be used."""

    def __init__(
        self, facts: DeviceClaimFacts, selector: NodeSelector | None, cluster: Cluster, gates: GateSet
    ) -> None:
        self.facts = facts
        self.broken = facts.broken  # its devices cannot be used anywhere
        self.selector = selector
        self.predicate: NodePredicate | None = None
        if selector is not None:
            self.predicate = selector_predicate(compile_node_selector(selector, gates), cluster.nodes)
        self._sole = SoleSlot(self.predicate) if self.predicate is not None else None

    def sole_slot(self, cluster: Cluster) -> int | None:
        """Return the only slot from which it can be used; -1 if no node can use it, None if several may."""
        return None if self._sole is None else self._sole.find(cluster.nodes)

    def is_usable(self, slot: int) -> bool:
        return not self.broken and (self.predicate is None or self.predicate.at(slot))

    def usable(self, cluster: Cluster) -> NDArray[np.bool_]:
        """Return the slots of the nodes on which it can be used."""
        if self.broken or self.predicate is None:
            return np.full(cluster.nodes.slots.capacity, not self.broken, np.bool_)
        return self.predicate.mask()

    @property
    def score(self) -> int:
        """Return what its alternatives count in the score of every node."""
        claim = self.facts.claim
        if claim is None or claim.status.allocation is None:
            return 0
        named = {result.request for result in claim.status.allocation.devices.results}
        return sum(
            _MAX_ALTERNATIVES - index
            for request in claim.spec.devices.requests
            for index, subrequest in enumerate(request.firstAvailable)
            if f"{request.name}/{subrequest.name}" in named
        )


class DeviceNeeds:
    """The claims of one shape. `waiting` are to be allocated, in the pod's order, with the compiled spec of each."""

    def __init__(
        self,
        waiting: tuple[tuple[DeviceClaimFacts, CompiledClaim], ...],
        allocated: tuple[AllocatedClaim, ...],
        namespace: str,
        features: AllocatorFeatures,
        sliced: SlicedSearches | None = None,
        paused: Callable[[], None] = lambda: None,
    ) -> None:
        """Long searches are `sliced`, if that is not None: then `paused` is called, and Undecided raised."""
        self.sliced, self.paused = sliced, paused
        self._batch: _Batch | None = None
        self._slow_seconds = 0.0  # that searches of this attempt took which were not quick
        self._goes_on = False  # the attempt before this one was paused
        self.waiting = waiting
        self.allocated = allocated
        self.namespace = namespace
        self.features = features
        self._base_score = sum(claim_facts.score for claim_facts in allocated)
        self.scores = bool(self._base_score) or any(
            request[0].parent for _, claim in waiting for request in claim.requests
        )
        self._generation: tuple[int, int, int] = (-1, -1, -1)
        self._answers: dict[int, Answer] = {}
        # What nodes of each code were told; `_version` moves when that is not true any more.
        self._outcomes: dict[int, _Outcome] = {}
        self._settled: tuple[int, int, int] = (-1, -1, -1)
        self._version = 0
        self._has_begun = False  # the attempt, since `fits` was asked last
        self._in_vain = 0  # steps of searches that were given up
        self._failed: list[int] = []  # codes whose answer is an error
        self._table: NDArray[np.int8] = np.zeros(0, np.int8)
        self._hopeless: dict[int, Hopeless] = {}  # by code
        self._freedom: tuple[int, ...] = ()

    @property
    def searches(self) -> bool:
        """Return whether anything is to be allocated."""
        return bool(self.waiting)

    def needs_at(self, cluster: Cluster, slot: int) -> "DeviceNeeds":
        """Return what is needed on a node."""
        return self

    def made_at(self, cluster: Cluster, slot: int) -> RequestsAndMappings | None:
        """Return the claim for extended resources that a pod gets on a node; None if it needs none there."""
        return None

    # -- what nodes of a code can give ----------------------------------------------------------------------------

    def catch_up(self, cluster: Cluster) -> None:
        """Forget the answers if more than nodes changed."""
        devices = cluster.devices
        generation = _generation(devices)
        if generation == self._generation:
            return
        self._generation = generation
        self._answers.clear()
        self._batch = None
        self._failed.clear()
        self._table = np.zeros(0, np.int8)
        settled = (devices.class_generation, devices.code_generation, devices.wide_slices)
        if settled != self._settled:
            self._settled = settled
            self._outcomes.clear()

    def epoch(self, cluster: Cluster) -> object:
        """Return what all nodes' answers depend on beside their codes. Raises Undecided."""
        version = self.version(cluster)
        return self._settled, version

    def version(self, cluster: Cluster) -> int:
        """Return how often nodes were told what is not true any more. Raises Undecided."""
        self.catch_up(cluster)
        self._begin_attempt()
        if len(self._answers) < len(self._outcomes):
            self._collect()
            self._renew(cluster)
        return self._version

    def _renew(self, cluster: Cluster) -> None:
        """Search again for the codes that nodes still have."""
        devices = cluster.devices
        codes = [code for code in self._outcomes if code not in self._answers]
        slots = [devices.slot_with(code, self._outcomes[code][4]) for code in codes]
        asked = [slot for slot in slots if slot is not None]
        for code, slot in zip(codes, slots, strict=True):
            if slot is None:
                del self._outcomes[code]
            else:
                self._answer(cluster, slot, asked)

    def _begin_attempt(self) -> None:
        if not self._goes_on:
            self._in_vain = 0
        self._goes_on, self._slow_seconds, self._has_begun = False, 0.0, True

    def answer(self, cluster: Cluster, slot: int) -> Answer:
        """Return whether the claims can be allocated on a node. Raises Undecided."""
        self.catch_up(cluster)
        self._collect()
        return self._answer(cluster, slot, (slot,))

    def _answer(self, cluster: Cluster, slot: int, slots: Sequence[int]) -> Answer:
        """Return the answer for a slot; if it takes long, have all of these slots searched, and raise Undecided."""
        code = cluster.devices.code(slot)
        answer = self._answers.get(code)
        if answer is None:
            answer = self._search(cluster, slot) if self.sliced is None else self._search_quickly(cluster, slot)
            if answer is None:
                assert self.sliced is not None
                raise self._begin(self.sliced, cluster, slots)
            self._note(code, answer, slot)
        return answer

    def _note(self, code: int, answer: Answer, slot: int) -> None:
        self._answers[code] = answer
        if answer.error:
            self._failed.append(code)
        known = self._outcomes.get(code)
        outcome = (answer.fits, answer.problem, answer.error, answer.score, slot)
        if known is not None and known[:4] != outcome[:4]:
            self._version += 1
        self._outcomes[code] = outcome

    def fits(self, cluster: Cluster) -> NDArray[np.bool_]:
        """Return the answer for every slot, with one search for each code that was not seen before."""
        self.catch_up(cluster)
        self._collect()
        if not self._has_begun:
            self._begin_attempt()
        self._has_begun = False
        codes = cluster.devices.codes
        highest = int(codes.max(initial=0)) + 1
        if highest > len(self._table):
            table = np.full(max(highest, 2 * len(self._table)), _UNKNOWN, np.int8)
            table[: len(self._table)] = self._table
            self._table = table
        unknown = np.flatnonzero((self._table[codes] == _UNKNOWN) & cluster.nodes.alive).tolist()
        for slot in unknown:
            code = codes.item(slot)
            if self._table[code] == _UNKNOWN:
                self._table[code] = _YES if self._answer(cluster, slot, unknown).fits else _NO
        mask: NDArray[np.bool_] = self._table[codes] == _YES
        return mask

    def error(
        self, cluster: Cluster, names: Callable[["DeviceNeeds"], list[str]], passed: Callable[[], NDArray[np.bool_]]
    ) -> str:
        """Return the error that fails the attempt on the first node that the other plugins let pass; empty if none."""
        failed = self._failed
        if not failed:
            return ""
        slots = np.flatnonzero(passed() & np.isin(cluster.devices.codes, failed))
        if not len(slots):
            return ""
        try:  # again, for the error names the claims of the pod that came first
            self.allocate(cluster, slots.item(0), names(self))
        except AllocationError as error:
            return str(error)
        return ""

    def _search(self, cluster: Cluster, slot: int, pause: Pause | None = None) -> Answer:
        """Search on a node, with fewer steps if others were in vain."""
        allowed = self._allowed
        answer, is_given_up = self._try(cluster, slot, allowed, pause)
        if is_given_up:
            self._in_vain += allowed
        return answer

    @property
    def _allowed(self) -> int:
        return next((steps for spent, steps in _ALLOWANCES if self._in_vain < spent), _LAST_ALLOWANCE)

    # -- searches that take long ------------------------------------------------------------------------------------

    def _search_quickly(self, cluster: Cluster, slot: int) -> Answer | None:
        """Search on a node; return None if that takes long, or if searches before it did. Raises Undecided."""
        if self._batch is not None or self._slow_seconds > _QUICK_SECONDS:
            return None
        allowed, began = self._allowed, perf_counter()
        try:
            answer, is_given_up = self._try(cluster, slot, min(allowed, _QUICK_STEPS))
        except Undecided:
            self._pause()
            raise
        seconds = perf_counter() - began
        if seconds > _QUICK_SECONDS / 10:
            self._slow_seconds += seconds
        if not is_given_up:
            return answer
        if allowed > _QUICK_STEPS:
            return None
        self._in_vain += allowed
        return answer

    def _begin(self, sliced: SlicedSearches, cluster: Cluster, slots: Sequence[int]) -> Undecided:
        """Have slots searched in slices, unless that is being done; return what to raise meanwhile."""
        if self._batch is None:
            batch = _Batch(self._generation)
            devices = cluster.devices

            def search(pause: Pause) -> None:
                for slot in slots:
                    batch.slot, batch.code = slot, devices.code(slot)
                    if batch.code not in batch.found and batch.code not in self._answers:
                        answer = self._search(cluster, slot, pause)
                        batch.found[batch.code] = answer, slot
                        pause()

            def is_current() -> bool:
                return _generation(devices) == batch.generation and devices.code(batch.slot) == batch.code

            batch.call = SlicedCall(search, is_current)
            sliced.begin(batch.call)
            self._batch = batch
        self._pause()
        assert self._batch.call is not None
        return undecided(self._batch.call)

    def _pause(self) -> None:
        self._goes_on = True
        self.paused()

    def _collect(self) -> None:
        """Take the answers that were found in slices. Raises Undecided if they need an expression's evaluation."""
        batch = self._batch
        if batch is None or batch.call is None or not batch.call.is_done:
            return
        self._batch = None
        for code, (answer, slot) in batch.found.items():
            self._note(code, answer, slot)
        if not batch.call.is_outdated:
            try:
                batch.call.result()
            except Undecided:
                self._pause()
                raise

    def _try(self, cluster: Cluster, slot: int, allowed: int, pause: Pause | None = None) -> tuple[Answer, bool]:
        """Search with this many steps; return the answer, and whether the search was given up."""
        devices, claims = cluster.devices, self._claims([facts.name for facts, _ in self.waiting])
        offer, node = devices.offer(slot, self.features), devices.node(slot)
        try:
            hopeless = self._hopeless_at(devices, slot)
            devices_found = find_devices(offer, claims, devices.use, node, self.features, allowed, hopeless, pause)
            if devices_found is None:
                return Answer(False), False
            devices_found.check(claims, node.name)
        except AllocationError as error:
            is_given_up = isinstance(error, SearchLimitError)
            return (Answer(False, str(error)) if error.node_only else Answer(False, error=str(error))), is_given_up
        score = self._score(devices_found) if self.scores else 0
        return Answer(True, score=score, found=devices_found, places=devices_found.places(offer)), False

    def _claims(self, names: list[str]) -> list[ClaimToAllocate]:
        """Return the waiting claims under the names of a pod's own."""
        return [
            ClaimToAllocate(f"{self.namespace}/{name}", compiled)
            for name, (_, compiled) in zip(names, self.waiting, strict=True)
        ]

    def allocate(
        self, cluster: Cluster, slot: int, names: list[str], new_share_id: Callable[[], str] = new_uuid
    ) -> list[dict[str, Any]] | None:
        """Return an AllocationResult for each waiting claim, given their names; None if they do not fit.

        What was found for a node of the same code is repeated here. Raises AllocationError.
        """
        devices, claims, answer = cluster.devices, self._claims(names), self.answer(cluster, slot)
        offer, node = devices.offer(slot, self.features), devices.node(slot)
        if answer.found is not None:
            moved = answer.found.moved(answer.places, offer)
            return moved.results(claims, node.name, self.features, new_share_id)
        again = find_devices(offer, claims, devices.use, node, self.features, MAX_STEPS)  # for the error's names
        return None if again is None else again.results(claims, node.name, self.features, new_share_id)

    def _hopeless_at(self, devices: Devices, slot: int) -> Hopeless | None:
        """Return what earlier searches found in vain; only wide pools change without another code."""
        if not devices.pools.wide:
            return None
        if devices.freedom != self._freedom:
            self._hopeless.clear()
            self._freedom = devices.freedom
        return self._hopeless.setdefault(devices.code(slot), {})

    def _score(self, devices: FoundDevices) -> int:
        """Prefer nodes where earlier alternatives fit. Kubernetes: computeScore."""
        score = self._base_score
        for (_, compiled), picked in zip(self.waiting, devices.picked, strict=True):
            used = {device.request for device in picked}
            for alternatives in compiled.requests:
                for index, request in enumerate(alternatives):
                    if request.parent and request in used:
                        score += _MAX_ALTERNATIVES - index
        return score
