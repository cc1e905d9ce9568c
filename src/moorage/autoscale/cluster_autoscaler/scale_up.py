"""Find the node group to make larger, for the pods that fit on no node there is or is on its way.

Kubernetes: Cluster Autoscaler, core/scaleup/orchestrator and processors/status (the Events' texts).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import msgspec

from moorage.autoscale.cluster_autoscaler.estimate import Option, estimate
from moorage.autoscale.cluster_autoscaler.expanders import Priorities, best_option
from moorage.autoscale.node_kinds import NodeKind, NodeKinds
from moorage.autoscale.options import ClusterAutoscalerOptions
from moorage.autoscale.snapshot import Snapshot
from moorage.columns.cluster import PodRecord
from moorage.pools.growth import Growth
from moorage.schedule.candidates import NO_SLOT

MAX_SIZE, TOTAL = "max node group size reached", "max total nodes in cluster reached"


class ScaleUp(msgspec.Struct, frozen=True, eq=False):
    """What a look at waiting pods found: the option to carry out, and why groups do not take the pods of each shape."""

    option: Option | None
    helpless: Sequence[PodRecord]
    reasons: Mapping[int, Mapping[str, str]]


class ScaleUpSearch:
    """Looks at waiting pods in a snapshot that has the nodes on their way."""

    def __init__(
        self,
        snapshot: Snapshot,
        kinds: NodeKinds,
        growths: Mapping[str, Growth],
        options: ClusterAutoscalerOptions,
        random: Callable[[], float],
        priorities: Priorities | None = None,
    ) -> None:
        self._snapshot, self._kinds, self._growths = snapshot, kinds, growths
        self._options, self._random, self._priorities = options, random, priorities

    def search(self, records: Sequence[PodRecord], nodes: int) -> ScaleUp:
        """Return the best option for pods that fit nowhere; there are so many nodes already."""
        groups: dict[int, list[PodRecord]] = {}
        for record in records:
            groups.setdefault(record.shape.number, []).append(record)
        reasons: dict[int, dict[str, str]] = {number: {} for number in groups}
        found: list[Option] = []
        for pool in self._kinds.pools:
            growth, kind = self._growths[pool.name], self._template(pool.name)
            most = self._most(growth, nodes)
            if most <= 0:
                text = TOTAL if growth.more_nodes is None or growth.more_nodes > 0 else MAX_SIZE
                for said in reasons.values():
                    said[pool.name] = text
                continue
            fitting = []
            for number, group in groups.items():
                text = self._why_not(group[0], kind)
                if text:
                    reasons[number][pool.name] = text
                else:
                    fitting.append(group)
            if fitting:
                option = estimate(self._snapshot, self._kinds, kind, fitting, most)
                if option.nodes:
                    found.append(option)
        best = best_option(
            found,
            self._options.expander,
            self._random,
            cluster_size=len(self._snapshot.cluster.nodes),
            priorities=self._priorities,
        )
        helped = {record.key for option in found for record in option.records}
        return ScaleUp(best, [record for record in records if record.key not in helped], reasons)

    def _template(self, pool: str) -> NodeKind:
        """Return the kind that stands for a group: that of its first zone."""
        return self._kinds.kinds[int(self._kinds.of_pool[pool][0])]

    def _most(self, growth: Growth, nodes: int) -> int:
        most = self._options.max_nodes_per_scaleup
        if growth.more_nodes is not None:
            most = min(most, growth.more_nodes)
        if self._options.max_nodes_total:
            most = min(most, self._options.max_nodes_total - nodes)
        return most

    def _why_not(self, record: PodRecord, kind: NodeKind) -> str:
        """Return why a new node of a group would not take a pod, in the words of the first plugin that refuses it."""
        refusals = self._kinds.refusals(record, kind)
        if refusals:
            return ", ".join(refusals[0].reasons)
        snapshot = self._snapshot
        with snapshot.trial() as trial:
            name = f"{kind.pool.name}/template"
            slot = trial.add_node(kind.template.view(name, self._kinds.features))
            for daemon in self._kinds.daemon_records(kind, name, snapshot):
                trial.put(daemon, slot)
            verdict = snapshot.candidates(record).refusal(slot) if slot != NO_SLOT else None
            return ", ".join(verdict.reasons) if verdict is not None else ""


def no_scale_up_text(reasons: Mapping[str, str]) -> str:
    """Return what the Event NotTriggerScaleUp says: each reason with the number of groups that have it."""
    return f"pod didn't trigger scale-up: {reasons_text(reasons)}"


def reasons_text(reasons: Mapping[str, str]) -> str:
    """Return each reason with the number of groups that have it."""
    counts = Counter(reason for reason in reasons.values() if reason)
    if TOTAL in counts and len(counts) == 1:
        return TOTAL
    return ", ".join(f"{number} {reason}" for reason, number in sorted(counts.items()))


def scale_up_text(growth: Growth, more: int) -> str:
    """Return what the Event TriggeredScaleUp says."""
    most = growth.pool.most
    bound = most if most is not None else growth.nodes + more
    return f"pod triggered scale-up: [{{{growth.pool.name} {growth.nodes}->{growth.nodes + more} (max: {bound})}}]"
