"""Find the nodes that are not needed: little used, and their pods fit elsewhere.

Kubernetes: Cluster Autoscaler, core/scaledown (eligibility, planner) and simulator (utilization, SimulateNodeRemoval).
"""

from collections.abc import Iterable, Sequence

import msgspec

from moorage.autoscale.cluster_autoscaler.drainability import movable_or_blocked
from moorage.autoscale.cluster_autoscaler.removal_reasons import BlockedPod
from moorage.autoscale.disruption_budgets import BudgetCounts
from moorage.autoscale.options import ClusterAutoscalerOptions
from moorage.autoscale.snapshot import Snapshot, Trial, is_of_daemon_set
from moorage.client.protocol import Object
from moorage.columns.cluster import PodRecord
from moorage.columns.resources import CPU, MEMORY, amounts
from moorage.control.framework.world import World
from moorage.model.types.node import Node
from moorage.model.well_known.annotations import SCALE_DOWN_DISABLED
from moorage.pools.node_template import Pool

_GPU = "nvidia.com/gpu"


class Utilization(msgspec.Struct, frozen=True):
    """The share of a node's scarcest resource that its pods ask for."""

    resource: str
    share: float

    def __str__(self) -> str:
        return f"{self.resource} {self.share:.0%} of allocatable requested"


class Unneeded(msgspec.Struct, frozen=True, eq=False):
    """A node that can go, how full it is, and its pods that are moved."""

    node: Object
    pool: Pool
    utilization: Utilization
    records: tuple[PodRecord, ...]

    @property
    def is_empty(self) -> bool:
        return not self.records


def utilization(node: Node, records: Iterable[PodRecord], *, ignores_daemons: bool = False) -> Utilization | None:
    """Return how full a node is; None if it says too little of what it has."""
    allocatable = amounts(node.status.allocatable)
    counted, left_out = dict[str, int](), dict[str, int]()
    for record in records:
        ignored = ignores_daemons and is_of_daemon_set(record.pod)
        for name, amount in record.shape.requests.items():
            target = left_out if ignored else counted
            target[name] = target.get(name, 0) + amount
    shares = []
    for name in (_GPU,) if allocatable.get(_GPU) else (MEMORY, CPU):
        there = allocatable.get(name, 0) - left_out.get(name, 0)
        if there <= 0:
            return None
        shares.append(Utilization(name, counted.get(name, 0) / there))
    return max(shares, key=lambda one: one.share)


class ScaleDownSearch:
    """Looks for unneeded nodes in a snapshot, in which waiting pods have been placed."""

    def __init__(
        self, snapshot: Snapshot, trial: Trial, world: World, budgets: BudgetCounts, options: ClusterAutoscalerOptions
    ) -> None:
        self._snapshot, self._trial, self._world = snapshot, trial, world
        self._budgets, self._options = budgets, options
        #: Why a node is needed, by name.
        self.needed: dict[str, str] = {}
        #: Those of which that is a matter of other nodes and pods, which are not looked at for a while.
        self.tried: set[str] = set()
        self._gone: set[int] = set()

    def search(self, nodes: Sequence[tuple[Object, Pool]], limit: int, now: float) -> list[Unneeded]:
        """Return nodes that can go together, in this order: the pods of each fit on those that stay."""
        found: list[Unneeded] = []
        for node, pool in nodes:
            if len(found) >= limit:
                break
            usage = self._usage(node)
            if usage is None:
                continue
            records = movable_or_blocked(
                self._snapshot.records_on(node.name), self._budgets, self._world, self._options, now
            )
            if isinstance(records, BlockedPod):
                self.tried.add(node.name)
                self.needed[node.name] = f"blocked by pod {records}"
            elif self._moves(node.name, records):
                for record in records:
                    self._budgets.take(record.pod)
                found.append(Unneeded(node, pool, usage, tuple(records)))
            else:
                self.tried.add(node.name)
                self.needed[node.name] = "no place to move its pods"
        return found

    def _usage(self, node: Object) -> Utilization | None:
        if node.view.metadata.annotations.get(SCALE_DOWN_DISABLED) == "true":
            self.needed[node.name] = f"annotated {SCALE_DOWN_DISABLED}"
            return None
        records = self._snapshot.records_on(node.name)
        usage = utilization(node.view, records, ignores_daemons=self._options.ignore_daemonsets_utilization)
        if usage is None:
            self.needed[node.name] = "its utilization is not known"
            return None
        options = self._options
        is_gpu = usage.resource == _GPU
        most = options.scale_down_gpu_utilization_threshold if is_gpu else options.scale_down_utilization_threshold
        if usage.share > most:
            self.needed[node.name] = f"{usage}, above the threshold of {most:.0%}"
            return None
        return usage

    def _moves(self, name: str, records: Sequence[PodRecord]) -> bool:
        """Move the pods of a node to others; it stays as one that takes no more pods, as a tainted node does."""
        trial = self._trial
        mark = trial.mark()
        for record in records:
            trial.lift(record)
        slots = {*self._gone, trial.block(name)}
        if all(trial.place(record, slots) for record in records):
            self._gone = slots
            return True
        trial.undo(mark)
        return False
