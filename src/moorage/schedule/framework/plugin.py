"""What a plugin is.

A plugin prepares a pod's shape once, filters and scores all nodes at once, can redo both for a single slot, and can
explain a refusal. The law all of them obey: `filter(...)[slot]` is true exactly when `explain(..., slot)` is None.

A plugin is *local* if its answer for a node depends on that node and the pods on it alone; then only slots that changed
are asked again. Otherwise (spread, pod affinity) it is *wide*, see `wide`.
Kubernetes: PreFilter and PreScore are `prepare`, the rest is named alike.
"""

from collections import Counter
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape
from moorage.schedule.framework.requeue import Requeue
from moorage.schedule.framework.verdict import Code, Verdict

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


SKIP = Prepared(filters=False, scores=False)


Want = TypeVar("Want")


class Plugin(Generic[Want]):
    """The base of all plugins: everything passes, everything scores nothing. `Want` is what `prepare` makes."""

    name: ClassVar[str]
    local: ClassVar[bool] = True
    # Whether pods that come to a node or leave it may change the answer for it; only local plugins are asked.
    reads_pods: ClassVar[bool] = True
    normalization: ClassVar[Normalization] = Normalization.NONE
    # Which events may turn a no into a yes; None: any may.
    requeue_on: ClassVar[tuple[Requeue, ...] | None] = None
    # The code of every refusal, where it is always the same one.
    refuses_with: ClassVar[Code | None] = None

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        """Compile once per shape. Reads nodes only for what does not change with them."""
        raise TypeError(f"{self.name} does not prepare {shape} for {cluster}")

    def epoch(self, want: Want, cluster: Cluster) -> Any:
        """For local plugins that read a little more than the node: when this moves, every slot is asked again."""
        return None

    def revision(self, want: Want, cluster: Cluster) -> Any:
        """For plugins that are not local: equal values mean that filter and score would answer the same."""
        return (want, cluster.nodes.generation)

    # -- filter -------------------------------------------------------------------------------------------------

    def filter(self, want: Want, cluster: Cluster) -> Mask:
        """Which slots pass. What it says of slots without a node does not matter."""
        return np.ones(cluster.nodes.slots.capacity, np.bool_)

    def filter_slot(self, want: Want, cluster: Cluster, slot: int) -> bool:
        """The same for one slot, quickly."""
        return self.explain(want, cluster, slot) is None

    def filters_now(self, want: Want, cluster: Cluster) -> bool:
        """Whether PreFilter would go on, given what there is now; False is Kubernetes' Skip: all nodes pass."""
        return True

    def explain(self, want: Want, cluster: Cluster, slot: int) -> Verdict | None:
        """Why a node is refused; None if it is not."""
        return None

    def sole_slot(self, want: Want, cluster: Cluster) -> int | None:
        """The only slot that may pass, if there is only one, and -1 if there is none; None if there may be several."""
        return None

    def reasons(self, want: Want, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        """The reasons of many refused nodes, counted. Override where nodes can be grouped."""
        counted: Counter[str] = Counter()
        for slot in slots.tolist():
            verdict = self.explain(want, cluster, slot)
            if verdict is not None:
                counted.update(verdict.reasons)
        return counted

    def curable(self, want: Want, cluster: Cluster, slots: ChosenSlots) -> Mask:
        """Of slots that the plugin refuses, those where evicting pods may change its mind."""
        if self.refuses_with is not None:
            return np.full(len(slots), self.refuses_with is Code.UNSCHEDULABLE, np.bool_)
        verdicts = (self.explain(want, cluster, slot) for slot in slots.tolist())
        codes = (verdict is not None and verdict.code is Code.UNSCHEDULABLE for verdict in verdicts)
        return np.fromiter(codes, np.bool_, len(slots))

    # -- reserve ------------------------------------------------------------------------------------------------

    def reserve(self, want: Want, cluster: Cluster, record: PodRecord, slot: int) -> None:
        """The pod is about to get the node: keep for it whatever else it needs there, so that no other pod gets it."""

    def unreserve(self, want: Want, cluster: Cluster, record: PodRecord) -> None:
        """The pod does not get its node after all: give back what was kept. Nothing may have been."""

    # -- score --------------------------------------------------------------------------------------------------

    def score(self, want: Want, cluster: Cluster, feasible: Mask) -> Scores:
        """A score for every slot: raw if the plugin is local, 0–100 over the feasible ones if it is not."""
        return np.zeros(cluster.nodes.slots.capacity, np.int64)

    def score_slot(self, want: Want, cluster: Cluster, slot: int) -> int:
        """The same for one slot, quickly; local plugins only."""
        return 0

    def scores_now(self, want: Want, cluster: Cluster, feasible: Mask) -> bool:
        """Whether PreScore would go on, given what there is now; False is Kubernetes' Skip."""
        return True


def normalize(raw: Scores, feasible: Mask, how: Normalization) -> Scores:
    """Raw scores → 0–100 over the feasible slots (Kubernetes: DefaultNormalizeScore)."""
    if how is Normalization.NONE:
        return raw
    highest = int(raw[feasible].max(initial=0))
    if highest == 0:
        return np.full_like(raw, MAX_SCORE) if how is Normalization.DOWN else raw
    scaled = raw * MAX_SCORE // highest
    return MAX_SCORE - scaled if how is Normalization.DOWN else scaled
