"""Say which nodes may be disrupted, what that costs their pods, and why others may not be.

Kubernetes: Karpenter, pkg/controllers/disruption (NewCandidate, ValidateNodeDisruptable, ValidatePodsDisruptable) and
pkg/utils/disruption (EvictionCost).
"""

from collections.abc import Callable, Sequence

import msgspec

from moorage.autoscale.disruption_budgets import BudgetCounts
from moorage.autoscale.node_kinds import NodeKind
from moorage.client.protocol import Object
from moorage.columns.cluster import PodRecord
from moorage.model.go.times import DurationError, parse_duration, seconds_of
from moorage.model.text.readers import reads_text
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.model.well_known.annotations import DO_NOT_DISRUPT, POD_DELETION_COST
from moorage.pools.node_template import Disruption, Pool

#: The taint of nodes that leave.
DISRUPTED = "karpenter.sh/disrupted"
_NODE_COST = 1.0
_FOREVER = float("inf")


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A node that may be disrupted. `cost` is 1 and what the eviction of its pods costs; 1 means that it is empty."""

    node: Object
    pool: Pool
    disruption: Disruption
    kind: NodeKind | None
    records: tuple[PodRecord, ...]
    cost: float

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def is_empty(self) -> bool:
        return self.cost <= _NODE_COST

    @property
    def price(self) -> float:
        """The price of an hour; 0 where it is not known."""
        price = self.kind.template.price if self.kind is not None else None
        return price or 0.0

    @property
    def savings_ratio(self) -> float:
        """What is saved for what it costs the pods: the highest is tried first."""
        return self.price / self.cost


class Blocked(msgspec.Struct, frozen=True):
    """Why a node may not be disrupted now, and until when that is certain; infinite if time does not change it."""

    reason: str
    until: float = _FOREVER


class PodsOnNode(msgspec.Struct, frozen=True, eq=False):
    """What the pods of a node say of its disruption: which stay, what the others cost, and whether one objects."""

    version: tuple[int, int]
    staying: frozenset[str]
    cost: float
    objects: bool

    @classmethod
    def of(cls, version: tuple[int, int], records: Sequence[PodRecord], movable: Sequence[PodRecord]) -> "PodsOnNode":
        objects = any(DO_NOT_DISRUPT in record.pod.metadata.annotations for record in records)
        staying = {record.key for record in records} - {record.key for record in movable}
        return cls(version, frozenset(staying), disruption_cost(movable), objects)

    def movable(self, records: Sequence[PodRecord]) -> tuple[PodRecord, ...]:
        """Return those of the node's pods that have to find another place."""
        return tuple(record for record in records if record.key not in self.staying) if self.staying else tuple(records)


def disruption_cost(records: Sequence[PodRecord]) -> float:
    return _NODE_COST + sum(max(0.0, eviction_cost(record.pod)) for record in records)


def eviction_cost(pod: Pod) -> float:
    """Return what the eviction of a pod costs: 1 if nothing else is said of it, between -10 and 10."""
    cost = 1.0
    text = pod.metadata.annotations.get(POD_DELETION_COST)
    if text is not None:
        cost += read_cost(text) / 2**27
    if pod.spec.priority is not None:
        cost += pod.spec.priority / 2**25
    return max(-10.0, min(cost, 10.0))


@reads_text("1", ".", "-", "e", "0", longest=40)
def read_cost(text: str) -> float:
    """Return a pod's deletion cost; 0 where the text is none."""
    try:
        cost = float(text) if len(text) <= 40 else 0.0
    except ValueError:
        return 0.0
    return cost if abs(cost) < _FOREVER else 0.0


def blocked_by_node(node: Object) -> Blocked | None:
    """Return why a node itself says that it may not be disrupted."""
    if node.view.metadata.annotations.get(DO_NOT_DISRUPT) == "true":
        return Blocked(f'Disruption is blocked through the "{DO_NOT_DISRUPT}" annotation')
    return None


def blocked_by_pods(records: Sequence[PodRecord], budgets: BudgetCounts, now: float) -> Blocked | None:
    """Return why the pods of a node may not be disrupted: an annotation, or a budget that allows no disruption."""
    for record in records:
        pod = record.pod
        if pod.metadata.deletionTimestamp is not None or pod.status.phase in FINISHED_PHASES:
            continue
        until = protected_until(pod)
        if until > now:
            return Blocked(f'Pod has "{DO_NOT_DISRUPT}" annotation (Pod={record.key})', until)
        numbers = budgets.of(pod)
        if len(numbers) > 1:
            return Blocked(f"Eviction does not support multiple PDBs (Pod={record.key})")
        if blocking := budgets.blocking(pod):
            return Blocked(f"Pdb prevents pod evictions (PodDisruptionBudget={blocking})")
    return None


def protected_until(pod: Pod) -> float:
    """Return until when a pod's annotation protects it: for ever, for a duration after its start, or not at all."""
    text = pod.metadata.annotations.get(DO_NOT_DISRUPT, "")
    if text == "true":
        return _FOREVER
    seconds = read_protection(text) if text else 0.0
    begun = seconds_of(pod.status.startTime) if seconds else None
    return begun + seconds if begun is not None else 0.0


@reads_text("1", "m", "h", "s", ".", "-")
def read_protection(text: str) -> float:
    """Return the seconds of a positive duration; 0 for other texts, which protect nothing."""
    try:
        return max(parse_duration(text) / 1e9, 0.0)
    except DurationError:
        return 0.0


def is_consolidatable(disruption: Disruption, last_event: float, now: float) -> float:
    """Return when nothing will have happened on a node for long enough; infinite if nodes are never consolidated."""
    return _FOREVER if disruption.after_seconds is None else max(last_event + disruption.after_seconds, now)


Choose = Callable[[Sequence[Candidate]], object]
