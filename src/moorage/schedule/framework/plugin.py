"""Define plugins, their verdicts and profiles: prepare a pod's shape, then filter, explain and score nodes.

The law all plugins obey: `filter(...)[slot]` is true exactly when `explain(..., slot)` is None.
Kubernetes: PreFilter and PreScore are `prepare`, the rest is named alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape
from moorage.match.comparison import ABSENT, Unreadable
from moorage.match.devices.claims import ClaimKey
from moorage.schedule.framework.events import Requeue


class Code(StrEnum):
    """Whether evicting pods could undo the refusal."""

    UNSCHEDULABLE = "Unschedulable"
    UNRESOLVABLE = "UnschedulableAndUnresolvable"


class Verdict(msgspec.Struct, frozen=True):
    """Why a plugin refuses a node or, from `prepare`, the pod.

    `reasons` are counted in the FailedScheduling event; `details` hold the evaluated inequality, for `moorage explain`.
    `gaps` say for each detail how far the node is from what was asked for, where that can be measured.
    """

    code: Code
    reasons: tuple[str, ...]
    details: tuple[str, ...] = ()
    gaps: tuple[float, ...] = ()

    @property
    def objections(self) -> int:
        """How many things are in the way: each taint, resource or claim counts."""
        return max(len(self.reasons), len(self.details), 1)

    @property
    def gap(self) -> float:
        """How far the node is away: the sum over what is in the way."""
        return sum(self.gaps) + ABSENT * (self.objections - len(self.gaps))


#: Of how many values a plugin tells at a time that it cannot compare them.
MAX_UNREADABLE_TOLD = 64


class UnreadableOn(NamedTuple):
    """A value that a shape's rules cannot compare, the slots of the nodes that have it, and what logs say of it."""

    found: Unreadable
    slots: NDArray[np.int64]
    facts: Mapping[str, str] = MappingProxyType({})


def unschedulable(reason: str, *details: str) -> Verdict:
    return Verdict(Code.UNSCHEDULABLE, (reason,), details)


def unresolvable(reason: str, *details: str) -> Verdict:
    return Verdict(Code.UNRESOLVABLE, (reason,), details)


Mask = NDArray[np.bool_]
Scores = NDArray[np.int64]
ChosenSlots = NDArray[np.int64]
MAX_SCORE = 100


class Normalization(Enum):
    """How raw scores become 0–100 over the feasible nodes."""

    NONE = "as they are"
    UP = "in proportion to the highest"
    DOWN = "in proportion to the highest, reversed"


class Prepared(msgspec.Struct, frozen=True):
    """What a plugin made of a shape. `want` is the plugin's own; the rest says how much of it there is to do."""

    want: Any = None
    filters: bool = True
    scores: bool = True
    rejection: Verdict | None = None
    only_nodes: frozenset[str] | None = None


class ReasonCodes(NamedTuple):
    """Codes of refused slots, and the reasons that a refusal with each code has."""

    codes: NDArray[np.int64]
    reasons: Sequence[tuple[str, ...]]


class PostFilterResult(msgspec.Struct, frozen=True):
    """What a plugin says about a pod without a node, and the ResourceClaim to deallocate or delete, if any."""

    message: str
    claim: ClaimKey | None = None
    delete: bool = False


SKIP = Prepared(filters=False, scores=False)


Want = TypeVar("Want")


class Plugin(Generic[Want]):
    """The base of all plugins. A plugin overrides `explain`, `score_slot` or both; `Want` is what `prepare` makes.

    Everything else has a correct default, made of these two. `filter`, `filter_slot`, `reasons`, `curable` and `score`
    may be overridden with array operations where the default is too slow. A plugin may read the pod's shape, the nodes'
    labels, taints, allocatable resources, images, declared features, and the pods on them; no other change is noticed.
    """

    name: ClassVar[str]
    # Whether the answer for a node depends on that node and its pods alone. Other plugins derive from `WidePlugin`.
    local: ClassVar[bool] = True
    # Whether pods that come to a node or leave it may change the answer for it; only local plugins are asked.
    reads_pods: ClassVar[bool] = True
    # Whether pods that need the same (`needs_key`) get the same answers, whatever their namespace, labels, controller,
    # priority, and terms about other pods are; only local plugins are asked.
    answers_by_needs: ClassVar[bool] = False
    normalization: ClassVar[Normalization] = Normalization.NONE
    # Which events may turn a refusal into an acceptance; None: any event.
    requeue_on: ClassVar[tuple[Requeue, ...] | None] = None
    # The code of every refusal, where it is always the same one.
    refuses_with: ClassVar[Code | None] = None
    # Whether values of taints or labels are compared, so that `unreadable` has something to say.
    reads_values: ClassVar[bool] = False
    # The reason of every refusal, where it is always the same one.
    only_reason: ClassVar[str | None] = None
    # The type of the plugin's arguments in `pluginConfig`; None: they are passed as a dict.
    args_type: ClassVar[type[msgspec.Struct] | None] = None

    def __init__(self, args: Any = None) -> None:
        self.args = args

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        """Compile once per shape. Reads nodes only for what does not change with them."""
        return Prepared(shape)

    def epoch(self, want: Want, cluster: Cluster) -> Any:
        """Return a value whose change makes every slot be asked again: for local plugins that read more than a node."""
        return None

    def is_idle(self, want: Want, cluster: Cluster) -> bool:
        """Return True only if the plugin refuses no node now: for local filters that do not answer by needs."""
        return False

    def revision(self, want: Want, cluster: Cluster) -> Any:
        """Return a value that stays equal while filter and score would answer the same: for wide plugins."""
        return (want, cluster.nodes.generation)

    # -- filter -------------------------------------------------------------------------------------------------

    def explain(self, want: Want, cluster: Cluster, slot: int) -> Verdict | None:
        """Return why the node is refused, None if it is not."""
        return None

    def filter_slot(self, want: Want, cluster: Cluster, slot: int) -> bool:
        """Return whether one slot passes."""
        return self.explain(want, cluster, slot) is None

    def filter(self, want: Want, cluster: Cluster) -> Mask:
        """Return which slots pass; slots without a node may have any value."""
        mask = np.zeros(cluster.nodes.slots.capacity, np.bool_)
        for slot in cluster.nodes.slot_of.values():
            mask[slot] = self.filter_slot(want, cluster, slot)
        return mask

    def withstands(self, want: Want, cluster: Cluster, slot: int) -> bool:
        """Return True only if a slot passes, and would whichever of its pods left."""
        return False

    def filter_at(self, want: Want, cluster: Cluster, slots: ChosenSlots) -> Mask:
        """Return which of some slots pass."""
        if type(self).filter is not Plugin.filter:
            return self.filter(want, cluster)[slots]
        return np.fromiter((self.filter_slot(want, cluster, slot) for slot in slots.tolist()), np.bool_, len(slots))

    def filters_now(self, want: Want, cluster: Cluster) -> bool:
        """Return False where Kubernetes' PreFilter would return Skip in the cluster's present state."""
        return True

    def is_provisional(self, want: Want) -> bool:
        """Return whether a budget, not the cluster, decided: the pod's next attempt begins from scratch."""
        return False

    def failure(self, want: Want, cluster: Cluster, record: PodRecord, passed: Callable[[], Mask]) -> str:
        """Return the error that fails the whole attempt; empty if none. `passed` has the slots that others let pass."""
        return ""

    def post_filter(
        self, want: Want, cluster: Cluster, record: PodRecord, passed: Callable[[], Mask]
    ) -> PostFilterResult | None:
        """Return what may be undone so that the pod fits next time; no node passes now."""
        return None

    def sole_slot(self, want: Want, cluster: Cluster) -> int | None:
        """Return the only slot that may pass, -1 if there is none, None if there may be several."""
        return None

    def reasons(self, want: Want, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        """Count the reasons of many refused nodes."""
        if self.only_reason is not None:
            return Counter({self.only_reason: len(slots)})
        counted: Counter[str] = Counter()
        for slot in slots.tolist():
            verdict = self.explain(want, cluster, slot)
            if verdict is not None:
                counted.update(verdict.reasons)
        return counted

    def reason_codes(self, want: Want, cluster: Cluster, slots: ChosenSlots) -> ReasonCodes | None:
        """Return a code per refused slot and the reasons of each code; None if that takes a look at every slot."""
        if self.only_reason is None:
            return None
        return ReasonCodes(np.zeros(len(slots), np.int64), ((self.only_reason,),))

    def rejecting(self, want: Want, cluster: Cluster, slots: ChosenSlots) -> frozenset[str]:
        """Return the names of the plugins whose events may help, given slots that are refused here."""
        return frozenset({self.name})

    def refusal_at(self, want: Want, cluster: Cluster, slot: int) -> tuple[frozenset[str], tuple[str, ...]]:
        """Return what `rejecting` and `reasons` say of one refused slot."""
        chosen = np.array([slot], np.int64)
        return self.rejecting(want, cluster, chosen), tuple(self.reasons(want, cluster, chosen).elements())

    def unreadable(self, want: Want, cluster: Cluster) -> Sequence[UnreadableOn]:
        """Return values that could not be compared when nodes were filtered: not all if there are very many."""
        return ()

    def curable(self, want: Want, cluster: Cluster, slots: ChosenSlots) -> Mask:
        """Return the refused slots where evicting pods may change the answer."""
        if self.refuses_with is not None:
            return np.full(len(slots), self.refuses_with is Code.UNSCHEDULABLE, np.bool_)
        verdicts = (self.explain(want, cluster, slot) for slot in slots.tolist())
        codes = (verdict is not None and verdict.code is Code.UNSCHEDULABLE for verdict in verdicts)
        return np.fromiter(codes, np.bool_, len(slots))

    # -- reserve ------------------------------------------------------------------------------------------------

    def reserve(self, want: Want, cluster: Cluster, record: PodRecord, slot: int) -> None:
        """Keep for a pod that is about to get the node what else it needs there, so that no other pod takes it."""

    def unreserve(self, want: Want, cluster: Cluster, record: PodRecord) -> None:
        """Give back what `reserve` kept, if anything, because the pod does not get its node."""

    # -- score --------------------------------------------------------------------------------------------------

    def score_slot(self, want: Want, cluster: Cluster, slot: int) -> int:
        """Return one slot's raw score; only local plugins are asked."""
        return 0

    def score(self, want: Want, cluster: Cluster, feasible: Mask) -> Scores:
        """Return a score for every slot: raw if the plugin is local, 0–100 over the feasible ones if it is not."""
        scores = np.zeros(cluster.nodes.slots.capacity, np.int64)
        for slot in cluster.nodes.slot_of.values():
            scores[slot] = self.score_slot(want, cluster, slot)
        return scores

    def score_at(self, want: Want, cluster: Cluster, slots: ChosenSlots) -> Scores:
        """Return the raw scores of some slots; only local plugins are asked."""
        return np.fromiter((self.score_slot(want, cluster, slot) for slot in slots.tolist()), np.int64, len(slots))

    def scores_now(self, want: Want, cluster: Cluster, feasible: Mask) -> bool:
        """Return False where Kubernetes' PreScore would return Skip in the cluster's present state."""
        return True


def normalize(raw: Scores, feasible: Mask, how: Normalization) -> Scores:
    """Scale raw scores to 0–100 over the feasible slots (Kubernetes: DefaultNormalizeScore)."""
    if how is Normalization.NONE:
        return raw
    highest = int(raw[feasible].max(initial=0))
    if highest == 0:
        return np.full_like(raw, MAX_SCORE) if how is Normalization.DOWN else raw
    scaled = raw * MAX_SCORE // highest
    return MAX_SCORE - scaled if how is Normalization.DOWN else scaled


class PluginTimer(Protocol):
    """A recorder of how long plugins take for a new shape of pod, and for all nodes."""

    def prepared(self, plugin: Plugin[Any], prepared: Prepared, seconds: float) -> None: ...

    def filtered(self, plugin: Plugin[Any], any_passes: bool, seconds: float) -> None: ...

    def scored(self, plugin: Plugin[Any], seconds: float) -> None: ...


class Profile(msgspec.Struct, frozen=True):
    """The plugins of one `schedulerName`: filters in run order, scores with their weights.

    `respects_scheduling_gates` tells the queue whether the plugin SchedulingGates is enabled.
    """

    name: str
    filters: tuple[Plugin[Any], ...]
    scores: tuple[tuple[Plugin[Any], int], ...]
    respects_scheduling_gates: bool = True


class PreFilterOnly(Plugin[Any]):
    """A plugin that may reject a pod or narrow the search, and is asked about no node: `filter` off, `preFilter` on."""

    name: str  # type: ignore[misc]
    requeue_on: tuple[Requeue, ...] | None  # type: ignore[misc]
    reads_pods = False

    def __init__(self, plugin: Plugin[Any]) -> None:
        self.name = plugin.name
        self.requeue_on = plugin.requeue_on
        self._plugin = plugin

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        return msgspec.structs.replace(self._plugin.prepare(shape, cluster), filters=False, scores=False)


def check_plugin(plugin: Plugin[Any], cluster: Cluster, shape: Shape, prepared: Prepared | None = None) -> None:
    """Raise AssertionError if two ways of asking the plugin give different answers, for one pod in one cluster.

    For the tests of plugins, Moorage's own and other packages': in a few clusters, after changes to the cluster too, it
    finds what a fast path gets wrong. `prepared` is what the plugin prepared before the cluster changed.
    """
    preparation = prepared if prepared is not None else plugin.prepare(shape, cluster)
    if preparation.filters and preparation.rejection is None:
        _check_filter(plugin, cluster, preparation.want)
    if preparation.scores and preparation.rejection is None and plugin.local:
        scores = plugin.score(preparation.want, cluster, cluster.nodes.alive)
        for slot, node in cluster.nodes:
            of_slot, of_all = plugin.score_slot(preparation.want, cluster, slot), int(scores[slot])
            assert of_slot == of_all, f"{plugin.name}, node {node.metadata.name}: score_slot {of_slot}, score {of_all}"
        some = np.array(sorted(cluster.nodes.slot_of.values())[::2], np.int64)
        of_some = plugin.score_at(preparation.want, cluster, some).tolist()
        assert of_some == scores[some].tolist(), f"{plugin.name}: score_at {of_some}, score {scores[some]}"


def _check_filter(plugin: Plugin[Any], cluster: Cluster, want: Any) -> None:
    mask = plugin.filter(want, cluster)
    reasons: Counter[str] = Counter()
    final: list[bool] = []
    refused: list[int] = []
    for slot, node in cluster.nodes:
        where = f"{plugin.name}, node {node.metadata.name}"
        verdict, passes = plugin.explain(want, cluster, slot), bool(mask[slot])
        assert passes is (verdict is None), f"{where}: filter {passes}, explain {verdict}"
        slot_passes = plugin.filter_slot(want, cluster, slot)
        assert bool(slot_passes) is passes, f"{where}: filter_slot {slot_passes}, filter {passes}"
        if verdict is None:
            continue
        assert verdict.reasons, f"{where}: a refusal without a reason"
        assert all(verdict.reasons), f"{where}: an empty reason"
        refused.append(slot)
        final.append(verdict.code is Code.UNRESOLVABLE)
        reasons.update(verdict.reasons)
    some = np.array(sorted(cluster.nodes.slot_of.values())[::2], np.int64)
    of_some = plugin.filter_at(want, cluster, some).tolist()
    assert of_some == mask[some].tolist(), f"{plugin.name}: filter_at {of_some}, filter {mask[some]}"
    slots = np.array(refused, np.int64)
    counted = plugin.reasons(want, cluster, slots)
    assert counted == reasons, f"{plugin.name}: reasons {counted}, explain {reasons}"
    curable = plugin.curable(want, cluster, slots).tolist()
    assert curable == [not is_final for is_final in final], (
        f"{plugin.name}: curable {curable}, but final by explain {final}"
    )
    for slot, is_final in zip(refused, final, strict=True):
        if is_final:
            with cluster.as_if_gone(list(cluster.pods_on[slot].values())):
                verdict = plugin.explain(want, cluster, slot)
            assert verdict is not None, f"{plugin.name}, slot {slot}: a final refusal that evictions undo"
