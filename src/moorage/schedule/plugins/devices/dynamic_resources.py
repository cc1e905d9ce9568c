"""DynamicResources: filter out nodes where the pod's ResourceClaims cannot be allocated or used, and allocate them.

What is found for the node that is chosen is promised to the pod, so that no other gets it.
Kubernetes: pkg/scheduler/framework/plugins/dynamicresources. Differs: one search for all nodes that offer the same
devices in the same use; thresholds, versions and expressions in device tolerations, and the reason names a taint that
cannot be compared; a bound on steps in place of a time-out.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape
from moorage.match.comparison import ABSENT, Objection, amount_gap, with_obstacle
from moorage.match.devices.allocation.explain import explain_request, tell_reasons
from moorage.match.devices.allocation.features import allocator_features
from moorage.match.devices.allocation.pools import DevicePool
from moorage.match.devices.allocation.requests import CompiledClaim, CompiledRequest, compile_claim
from moorage.match.devices.claims import DeviceClaimFacts, DeviceClaimState
from moorage.match.devices.extended_resources import SPECIAL_NAME
from moorage.match.devices.tolerations import as_taint
from moorage.match.evaluation.accounts import Evaluations
from moorage.match.taint_messages import describe_taint_with_effect
from moorage.match.tolerations import ProgramCache
from moorage.model.gates import DRA_PRIORITIZED_LIST, GateSet
from moorage.model.types.devices import DeviceClass, ResourceClaimSpec
from moorage.schedule.framework.events import EventKind, on
from moorage.schedule.framework.plugin import (
    SKIP,
    ChosenSlots,
    Code,
    Mask,
    Normalization,
    Plugin,
    PostFilterResult,
    Prepared,
    Scores,
    UnreadableOn,
    Verdict,
    unresolvable,
)
from moorage.schedule.plugins.devices.device_needs import AllocatedClaim, Answer, DeviceNeeds
from moorage.schedule.plugins.devices.extended_needs import CANNOT_FIT, STALE, ExtendedNeeds
from moorage.schedule.plugins.devices.sliced_searches import Pause, SlicedCall, SlicedSearches, undecided

CANNOT_ALLOCATE = "cannot allocate all claims"
DEALLOCATED = "deallocation of ResourceClaim completed"
DELETED = "deletion of ResourceClaim completed"
STILL_NOT_SCHEDULABLE = "still not schedulable"
NOT_AVAILABLE = "resourceclaim not available on the node"
_NO_SLOTS = np.zeros(0, np.int64)
_SPECS_KEPT = 4096
_MAX_REASONS = 50  # of one request on one node
_COMPILING_KEPT = 64
_SHORT_SPEC = 16 * 1024  # bytes, of which the selectors are compiled in a moment


class DynamicResources(Plugin[DeviceNeeds]):
    """The DynamicResources plugin."""

    name = "DynamicResources"
    answers_by_needs = True
    reads_values = True
    normalization = Normalization.UP
    refuses_with = Code.UNRESOLVABLE
    requeue_on = (
        on(EventKind.NODE_ADDED, EventKind.NODE_LABELS, EventKind.NODE_ALLOCATABLE),
        on(EventKind.RESOURCE_CLAIM_ADDED, EventKind.RESOURCE_CLAIM_CHANGED, EventKind.DEVICES_FREED),
        on(EventKind.OWN_CLAIMS),
        on(EventKind.DEVICE_CLASS_ADDED, EventKind.DEVICE_CLASS_CHANGED),
        on(EventKind.RESOURCE_SLICE_ADDED, EventKind.RESOURCE_SLICE_CHANGED),
    )

    def __init__(
        self, gates: GateSet, sliced: SlicedSearches | None = None, evaluations: Evaluations | None = None
    ) -> None:
        """With `sliced`, long searches are carried out in slices; pods wait for them and for `evaluations`."""
        super().__init__()
        self._programs = ProgramCache(evaluations=evaluations, patiently=True)
        self._sliced = sliced
        self._paused: dict[int, DeviceNeeds] = {}  # of shapes, by their number, with what was found so far
        self._gates = gates
        self._features = allocator_features(gates)
        self._compiled: dict[bytes, CompiledClaim] = {}
        self._compiling: dict[bytes, SlicedCall[Any]] = {}

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        if not shape.devices:
            return SKIP
        kept = self._paused.pop(shape.number, None)
        if kept is not None:
            return Prepared(kept, scores=kept.searches and kept.scores)
        problem = next((text for facts in shape.devices if (text := self._problem(facts))), "")
        if problem:
            return Prepared(DeviceNeeds((), (), shape.namespace, self._features), rejection=unresolvable(problem))
        waiting: list[tuple[DeviceClaimFacts, CompiledClaim]] = []
        allocated: list[AllocatedClaim] = []
        extended = next((facts for facts in shape.devices if facts.state is DeviceClaimState.EXTENDED), None)
        for facts in shape.devices:
            if facts is extended:
                continue
            assert facts.claim is not None
            if facts.state is DeviceClaimState.WAITING:
                waiting.append((facts, self._compile(facts.claim.spec, facts.classes, cluster)))
            elif facts.claim.status.allocation is not None:
                selector = facts.claim.status.allocation.nodeSelector
                allocated.append(AllocatedClaim(facts, selector, cluster, self._gates))
        if extended is None:
            needs = DeviceNeeds(tuple(waiting), tuple(allocated), shape.namespace, self._features)
        else:
            classes = tuple(device_class for _, device_class in extended.resources)
            compile_spec = partial(self._compile, classes=classes, cluster=cluster)
            claims = tuple(waiting), tuple(allocated)
            needs = ExtendedNeeds(*claims, shape, self._features, extended, compile_spec)
        if self._sliced is not None:
            needs.sliced, needs.paused = self._sliced, partial(self._pause, shape.number, needs)
        return Prepared(needs, scores=needs.searches and needs.scores)

    def _pause(self, number: int, needs: DeviceNeeds) -> None:
        """Keep what was found for a shape until its pod is tried again."""
        if len(self._paused) >= _SPECS_KEPT:
            self._paused.clear()
        self._paused[number] = needs

    def _problem(self, facts: DeviceClaimFacts) -> str:
        """Return what is wrong with a claim before any node is looked at."""
        if facts.problem or facts.claim is None or facts.state is not DeviceClaimState.WAITING:
            return facts.problem
        classes = iter(facts.classes)
        for request in facts.claim.spec.devices.requests:
            alternatives = (request.exactly,) if request.exactly is not None else request.firstAvailable
            where = f"resource claim {facts.claim.metadata.namespace}/{facts.name}, request {request.name}"
            if not alternatives:
                return f"{where}: unknown request type"
            if request.exactly is None and not self._gates.enabled(DRA_PRIORITIZED_LIST):
                return f"{where}: has subrequests, but the DRAPrioritizedList feature is disabled"
            for option in alternatives:
                name = request.name if option is request.exactly else f"{request.name}/{getattr(option, 'name', '')}"
                if next(classes) is None and option.deviceClassName:
                    return f"request {name}: device class {option.deviceClassName} does not exist"
        return ""

    def _compile(
        self, spec: ResourceClaimSpec, classes: tuple[DeviceClass | None, ...], cluster: Cluster
    ) -> CompiledClaim:
        """Compile a claim's spec, once for all claims of a template. Raises Undecided if it takes long."""
        key = msgspec.msgpack.encode((spec, classes), enc_hook=str)
        compiled = self._compiled.get(key)
        if compiled is None:
            if len(self._compiled) >= _SPECS_KEPT:
                self._compiled.clear()
            find = cluster.devices.classes.get
            if self._sliced is None or len(key) <= _SHORT_SPEC:
                compiled = compile_claim(spec, find, self._gates, programs=self._programs)
            else:
                compile_spec = partial(compile_claim, spec, find, self._gates, programs=self._programs)
                compiled = self._compile_in_slices(self._sliced, key, compile_spec)
            self._compiled[key] = compiled
        return compiled

    def _compile_in_slices(
        self, sliced: SlicedSearches, key: bytes, compile_spec: Callable[[Pause], CompiledClaim]
    ) -> CompiledClaim:
        """Compile a claim that may have many long selectors. Raises Undecided until that is done."""
        call = self._compiling.pop(key, None)
        if call is not None and call.is_done and not call.is_outdated:
            compiled: CompiledClaim = call.result()
            return compiled
        if call is None or call.is_done:
            call = SlicedCall(compile_spec, lambda: True)
            sliced.begin(call)
        if len(self._compiling) >= _COMPILING_KEPT:  # what is done and was not asked for again: its pods are gone
            self._compiling = {other: running for other, running in self._compiling.items() if not running.is_done}
        self._compiling[key] = call
        raise undecided(call)

    def epoch(self, want: DeviceNeeds, cluster: Cluster) -> Any:
        return want.epoch(cluster)

    # -- filter -------------------------------------------------------------------------------------------------

    def filter(self, want: DeviceNeeds, cluster: Cluster) -> Mask:
        mask = want.fits(cluster) if want.searches else np.ones(cluster.nodes.slots.capacity, np.bool_)
        for claim in want.allocated:
            mask = mask & claim.usable(cluster)
        return mask

    def filter_slot(self, want: DeviceNeeds, cluster: Cluster, slot: int) -> bool:
        if not all(claim.is_usable(slot) for claim in want.allocated):
            return False
        return not want.searches or want.answer(cluster, slot).fits

    def sole_slot(self, want: DeviceNeeds, cluster: Cluster) -> int | None:
        soles = (claim.sole_slot(cluster) for claim in want.allocated)
        return next((slot for slot in soles if slot is not None), None)

    def explain(self, want: DeviceNeeds, cluster: Cluster, slot: int) -> Verdict | None:
        if want.searches:
            answer = want.answer(cluster, slot)
            if answer.error:
                return Verdict(Code.UNRESOLVABLE, (answer.error,))
            if answer.problem in (STALE, CANNOT_FIT):
                return unresolvable(answer.problem)
            if not answer.fits:
                details, gaps = zip(*why_not_allocated(want, cluster, slot), strict=True)
                return Verdict(Code.UNRESOLVABLE, (_reason(want, cluster, slot, answer),), details, gaps)
        unusable = [claim.facts for claim in want.allocated if not claim.is_usable(slot)]
        if unusable:
            where = "is allocated, and its devices cannot be used on this node"
            return unresolvable(NOT_AVAILABLE, *(f'claim "{facts.name}" {facts.broken or where}' for facts in unusable))
        return None

    def reasons(self, want: DeviceNeeds, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        counted: Counter[str] = Counter()
        for slot in slots.tolist():
            answer = want.answer(cluster, slot) if want.searches else None
            if answer is not None and not answer.fits:
                counted[answer.error or _reason(want, cluster, slot, answer)] += 1
            elif not all(claim.is_usable(slot) for claim in want.allocated):
                counted[NOT_AVAILABLE] += 1
        return counted

    def unreadable(self, want: DeviceNeeds, cluster: Cluster) -> Sequence[UnreadableOn]:
        """Return the taints of devices that could not be compared; which nodes offer those is not kept."""
        return [
            UnreadableOn(found, _NO_SLOTS, {"taint": describe_taint_with_effect(as_taint(taint)), "claim": facts.name})
            for facts, compiled in want.waiting
            for alternatives in compiled.requests
            for request in alternatives
            for taint, found in request.tolerations.unread.items()
        ]

    def failure(self, want: DeviceNeeds, cluster: Cluster, record: PodRecord, passed: Callable[[], Mask]) -> str:
        if not want.searches:
            return ""
        return want.error(cluster, lambda needs: self._own_names(needs, cluster, record), passed)

    def _own_names(self, needs: DeviceNeeds, cluster: Cluster, record: PodRecord) -> list[str]:
        """Return the names of the pod's claims that are to be allocated; the shape has those of another pod."""
        own = _own_facts(cluster, record)
        return [own[facts.name].name for facts, _ in needs.waiting]

    def post_filter(
        self, want: DeviceNeeds, cluster: Cluster, record: PodRecord, passed: Callable[[], Mask]
    ) -> PostFilterResult:
        """Deallocate a claim that keeps the pod from a node and that no other pod uses."""
        facts = _own_facts(cluster, record)
        for claim in want.allocated:
            own = facts.get(claim.facts.name)
            if own is None or own.claim is None:
                continue
            users = [consumer.uid for consumer in own.claim.status.reservedFor]
            if users not in ([], [record.pod.metadata.uid]):
                continue
            candidates = passed() & want.fits(cluster) if want.searches else passed()
            if (candidates & ~claim.usable(cluster)).any():
                return PostFilterResult(DEALLOCATED, (record.shape.namespace, own.name))
        extended = cluster.devices.extended_claims.get(record.pod.metadata.uid)
        if extended is not None and isinstance(want, ExtendedNeeds):
            return PostFilterResult(DELETED, (extended.metadata.namespace, extended.metadata.name), delete=True)
        return PostFilterResult(STILL_NOT_SCHEDULABLE)

    # -- score --------------------------------------------------------------------------------------------------

    def score_slot(self, want: DeviceNeeds, cluster: Cluster, slot: int) -> int:
        return want.answer(cluster, slot).score

    def score(self, want: DeviceNeeds, cluster: Cluster, feasible: Mask) -> Scores:
        scores = np.zeros(cluster.nodes.slots.capacity, np.int64)
        for slot in np.flatnonzero(feasible).tolist():
            scores[slot] = want.answer(cluster, slot).score
        return scores

    # -- reserve ------------------------------------------------------------------------------------------------

    def reserve(self, want: DeviceNeeds, cluster: Cluster, record: PodRecord, slot: int) -> None:
        devices, needs = cluster.devices, want.needs_at(cluster, slot)
        if not needs.waiting:
            return
        names = self._own_names(needs, cluster, record)
        allocations = needs.allocate(cluster, slot, names)
        assert allocations is not None  # the node passed the filter, and nothing happened since
        devices.promises.release(record.key)
        for name, allocation in zip(names, allocations, strict=True):
            if name == SPECIAL_NAME:
                devices.promises.make_extended(record.key, allocation, want.made_at(cluster, slot))
            else:
                key = (record.shape.namespace, name)
                devices.promises.make(record.key, key, devices.claims[key].metadata.uid, allocation)

    def unreserve(self, want: DeviceNeeds, cluster: Cluster, record: PodRecord) -> None:
        cluster.devices.promises.release(record.key)


def _own_facts(cluster: Cluster, record: PodRecord) -> dict[str, DeviceClaimFacts]:
    """Return the facts about a pod's claims by the names of those of the pod that was the first of its shape."""
    facts = zip(record.shape.devices, cluster.devices.facts(record.pod), strict=False)
    return {first.name: own for first, own in facts}


def _reason(want: DeviceNeeds, cluster: Cluster, slot: int, answer: Answer) -> str:
    """Return the reason of a node that does not fit, with what keeps a taint of its devices from being compared."""
    if answer.problem:
        return answer.problem
    needs = want.needs_at(cluster, slot)
    requests = [one for _, compiled in needs.waiting for alternatives in compiled.requests for one in alternatives]
    hindered = [
        one for one in requests if one.tolerations.has_obstacles and not one.tolerations.tolerations.is_expensive
    ]
    if not hindered or not needs.features.device_taints:
        return CANNOT_ALLOCATE
    for pool in cluster.devices.pools_at(slot, needs.features):
        for device in pool.devices:
            for request in hindered if device.excluding else ():
                if request.why_unselected(device.description) is None:
                    for taint in device.excluding:
                        if not request.tolerations.tolerates(taint) and (why := request.tolerations.obstacle(taint)):
                            return with_obstacle(CANNOT_ALLOCATE, why)
    return CANNOT_ALLOCATE


def why_not_allocated(want: DeviceNeeds, cluster: Cluster, slot: int) -> list[Objection]:
    """Return an objection for each request that cannot be satisfied by itself, or one about all together."""
    want = want.needs_at(cluster, slot)
    pools = cluster.devices.pools_at(slot, want.features)
    objections = [(f"pool {pool} is {_state(pool)}", ABSENT) for pool in pools if pool.incomplete or pool.invalid]
    for facts, compiled in want.waiting:
        for alternatives in compiled.requests:
            where = f'claim "{facts.name}"'
            why = [_why_not(alternative, want, cluster, pools, slot, where) for alternative in alternatives]
            if all(text for text, _ in why):
                objections += why
    return objections or [(_together(want), ABSENT)]


def _state(pool: DevicePool) -> str:
    return f"invalid: {pool.invalid}" if pool.invalid else "incomplete: not all of its ResourceSlices are there"


def _why_not(
    request: CompiledRequest, want: DeviceNeeds, cluster: Cluster, pools: list[DevicePool], slot: int, where: str
) -> Objection:
    """Return why a request cannot be satisfied even alone; an empty text if it can."""
    number = sum(len(pool.devices) for pool in pools)
    devices = cluster.devices
    kept_out = explain_request(request, pools, devices.use, devices.node(slot), want.features)
    free = number - sum(kept_out.values())
    needed = max(request.count, 1)
    gap = amount_gap(min(free, needed), needed)
    if free >= needed and not request.all_devices:
        return "", gap
    where = f"{where}, request {request.full_name} (class {request.view.deviceClassName})"
    if not number:
        return f"{where}: the node has no devices", gap
    reasons = tell_reasons(kept_out, number, most=_MAX_REASONS)
    amount = "all matching devices are asked for" if request.all_devices else f"{free} of {needed} devices"
    if not reasons:
        return "" if request.all_devices else f"{where}: {amount}", gap
    return f"{where}: {amount}; {'; '.join(reasons)}", gap


def _together(want: DeviceNeeds) -> str:
    """Say what is left if every request could be satisfied alone."""
    constraints = [text for _, compiled in want.waiting for text in _constraints(compiled)]
    if constraints:
        return f"each request alone finds devices, but not together: {', '.join(constraints)}"
    return "each request alone finds devices, but there are not enough for all together"


def _constraints(compiled: CompiledClaim) -> list[str]:
    return [
        f"{name} {attribute}"
        for constraint in compiled.spec.devices.constraints
        for name, attribute in (
            ("matchAttribute", constraint.matchAttribute),
            ("distinctAttribute", constraint.distinctAttribute),
        )
        if attribute is not None
    ]
