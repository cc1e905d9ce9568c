"""DefaultPreemption: find the pods whose eviction would make room for a pod that fits nowhere.

Only pods of lower priority are victims, and only on nodes where the refusal is not final.
Kubernetes: pkg/scheduler/framework/plugins/defaultpreemption and framework/preemption.
Differs: looks at every node unless it is told how many candidates are enough; pods that this scheduler is evicting
count as terminating before the API server says so.
"""

import random
from collections.abc import Callable

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.priority_levels import PriorityLevels
from moorage.model.types.pod import Pod
from moorage.schedule.candidates import Candidates
from moorage.schedule.config.plugin_args import DefaultPreemptionArgs
from moorage.schedule.framework.plugin import ChosenSlots, Code
from moorage.schedule.preemption.disruption_budgets import DisruptionBudgets
from moorage.schedule.preemption.victim_table import VictimTable
from moorage.schedule.preemption.victims import Selection

NAME = "DefaultPreemption"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."


class PreemptionResult(msgspec.Struct, frozen=True):
    """The pods to evict, or `message`, why none. `gives_up`: an earlier nomination is void, too."""

    selection: Selection | None = None
    message: str = ""
    gives_up: bool = False


class DefaultPreemption:
    """Finds victims. Keeps one table per shape for as long as its candidates are kept."""

    name = NAME

    def __init__(
        self,
        cluster: Cluster,
        budgets: DisruptionBudgets | None = None,
        args: DefaultPreemptionArgs | None = None,
        is_leaving: Callable[[PodRecord], bool] | None = None,
    ) -> None:
        self.budgets = budgets if budgets is not None else DisruptionBudgets()
        self._cluster = cluster
        self._args = args or DefaultPreemptionArgs()
        self._is_leaving = is_leaving or (lambda record: False)
        self._levels: PriorityLevels | None = None
        self._random = random.Random(cluster.nodes.seed)

    def preempt(self, candidates: Candidates, nominated: int | None = None) -> PreemptionResult:
        """Return the cheapest victims. `nominated` is the slot the pod is nominated for already."""
        ineligible = self._why_not_eligible(candidates, nominated)
        if ineligible is not None:
            return PreemptionResult(message=f"preemption: {ineligible}")
        table = self._table(candidates)
        selection = table.cheapest(None if self._args.looks_everywhere else self._sample)
        if selection is not None:
            return PreemptionResult(selection)
        counted = sorted(f"{count} {reason}" for reason, count in table.reasons().items())
        reasons = f" {', '.join(counted)}." if counted else ""
        message = f"preemption: 0/{len(self._cluster.nodes)} nodes are available:{reasons}"
        return PreemptionResult(message=message, gives_up=True)

    def _why_not_eligible(self, candidates: Candidates, nominated: int | None) -> str | None:
        shape = candidates.shape
        if shape.spec.preemptionPolicy == "Never":
            return NEVER
        if nominated is None or _is_final(candidates, nominated):
            return None
        there = self._cluster.pods_on[nominated].values()
        if any(r.priority < shape.priority and (self._is_leaving(r) or is_being_preempted(r.pod)) for r in there):
            return TERMINATING
        return None

    def _table(self, candidates: Candidates) -> VictimTable:
        if self._levels is None:
            self._levels = PriorityLevels(self._cluster)
        table: VictimTable | None = candidates.notes.get(self)
        if table is None:
            table = candidates.notes[self] = VictimTable(candidates, self.budgets, self._levels)
        return table

    def _sample(self, slots: ChosenSlots) -> tuple[ChosenSlots, int]:
        """Start at a random node, so that not always the same nodes pay."""
        start = self._random.randrange(len(slots)) if len(slots) else 0
        return np.roll(slots, -start), self._args.enough(len(slots))


def is_being_preempted(pod: Pod) -> bool:
    """Return whether the pod is being deleted because a scheduler preempted it."""
    if pod.metadata.deletionTimestamp is None:
        return False
    for condition in pod.status.conditions:
        if condition.type == "DisruptionTarget":
            return condition.status == "True" and condition.reason == "PreemptionByScheduler"
    return False


def _is_final(candidates: Candidates, slot: int) -> bool:
    """Return whether no eviction helps on the nominated node any more; False if the node is gone."""
    verdict = candidates.refusal(slot) if candidates.cluster.nodes.alive[slot] else None
    return verdict is not None and verdict.code is Code.UNRESOLVABLE
