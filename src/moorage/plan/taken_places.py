"""Find the pods in the place that a pod waits for, by taking them away one after the other.

A place is a node where nothing but other pods keeps the pod out: every plugin that refuses it there would not if some
pods were gone. A pod takes part in that if a plugin counts something else without it. Kubernetes: the nodes that
preemption looks at, those with status Unschedulable.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.codes import LabelColumn
from moorage.lint.report.form import counted
from moorage.model.types.pod import Pod
from moorage.plan.explain.groups import refused_nodes
from moorage.plan.pod_lines import record_of, why_kept_out
from moorage.plan.report.node_lists import shown_nodes
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.framework.plugin import Code
from moorage.schedule.local_answers import Filter
from moorage.schedule.plugins.inter_pod_affinity import InterPodAffinity
from moorage.schedule.plugins.pod_topology_spread import PodTopologySpread

#: The pods of this many nodes are looked at, and this many of them are taken away.
_MAX_NODES = 200
_MAX_TRIALS = 20_000
_MAX_NAMED = 6


class Occupant(msgspec.Struct, frozen=True, rename="camel"):
    """Pods of one workload that take places. `after_step` is the step of the rollout after which the first one came."""

    workload: str
    pods: int
    nodes: tuple[str, ...]
    after_step: int = 0
    is_own: bool = False
    is_old: bool = False

    def __str__(self) -> str:
        came = f", placed after step {self.after_step}" if self.after_step else ""
        return f"{self.workload} ({counted(self.pods, 'pod')}{came})"


class Taken(msgspec.Struct, frozen=True, rename="camel"):
    """The places that a pod waits for, and who takes those of them that were looked at."""

    nodes: tuple[str, ...] = ()
    looked_at: int = 0
    by: tuple[Occupant, ...] = ()

    def text(self, why_kept: str) -> str:
        """Return a sentence, empty if no pods are in the way. `why_kept` is why own old pods are not removed."""
        if not self.by:
            return ""
        others = [str(one) for one in self.by if not one.is_own]
        named = others[:_MAX_NAMED]
        if len(others) > len(named):
            named.append(counted(len(others) - len(named), "other workload"))
        for one in self.by:
            if one.is_own:
                pods = "old pod" if one.is_old else "new pod"
                which = pods if one.pods == 1 else counted(one.pods, pods)
                named.append(f"its own {which}{f', {why_kept}' if one.is_old else ''}")
        some = f" ({counted(self.looked_at, 'node')} looked at)" if self.looked_at < len(self.nodes) else ""
        return f"It waits for room on {shown_nodes(self.nodes)}{some}: taken by {'; '.join(named)}."


def why_old_pods_stay(kind: str, max_unavailable: int) -> str:
    """Return why a rollout of a workload of this kind does not remove its old pods to make room for new ones."""
    if kind == "StatefulSet":
        return "which it replaces one after the other"
    return f"which it may not remove: maxUnavailable {max_unavailable}"


class Owner(NamedTuple):
    """Whose a pod on a node is, the step after which it came, and whether it is of the rollout itself."""

    workload: str
    after_step: int = 0
    is_own: bool = False
    is_old: bool = False


def places_taken(
    simulation: Simulation, key: str, pod: Pod, first: Iterable[str], owner: Callable[[PodRecord], Owner]
) -> Taken:
    """Return who takes the places that a pod without a node waits for; nodes in `first` are looked at first."""
    if why_kept_out(simulation, pod) is not None:
        return Taken()
    cluster = simulation.cluster
    record = record_of(simulation, key, pod)
    candidates = simulation.scheduler.engines[pod.spec.schedulerName].candidates(cluster.refresh(record))
    if candidates.rejection is not None:
        return Taken()
    filters = {item.plugin.name: item for item in candidates.filters}
    plugins = {
        name: [filters[refusal.plugin] for refusal in group.refusals]
        for group in refused_nodes(candidates)
        if all(refusal.verdict.code is Code.UNSCHEDULABLE for refusal in group.refusals)
        for name in group.nodes
    }
    near = set(first)
    names = sorted(plugins, key=lambda name: (name not in near, cluster.nodes.slot_of[name]))
    found: dict[str, PodRecord] = {}
    trials = _Trials(cluster)
    looked_at = 0
    for name in names[:_MAX_NODES]:
        if trials.left <= 0:
            break
        looked_at += 1
        slot = cluster.nodes.slot_of[name]
        for item in plugins[name]:
            found |= {one.key: one for one in trials.in_the_way(item, slot)}
    return Taken(tuple(names), looked_at, tuple(_occupants(cluster, found, owner)))


def _occupants(
    cluster: Cluster, found: Mapping[str, PodRecord], owner: Callable[[PodRecord], Owner]
) -> Iterator[Occupant]:
    """Count pods by workload: those that came lately first, then the workload with most pods."""
    groups: dict[tuple[str, bool, bool], list[tuple[PodRecord, int]]] = {}
    for record in found.values():
        whose = owner(record)
        groups.setdefault((whose.workload, whose.is_own, whose.is_old), []).append((record, whose.after_step))
    made = [
        Occupant(
            workload,
            len(records),
            tuple(dict.fromkeys(cluster.nodes.node(record.slot).metadata.name for record, _ in records)),
            min((step for _, step in records if step), default=0),
            is_own,
            is_old,
        )
        for (workload, is_own, is_old), records in groups.items()
    ]
    yield from sorted(made, key=lambda one: (not one.after_step, -one.pods, one.workload))


class _Trials:
    """Takes pods away and asks plugins again. What was found in a domain counts for all its nodes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.left = _MAX_TRIALS
        self._known: dict[tuple[str, str, int], list[PodRecord]] = {}

    def in_the_way(self, item: Filter, slot: int) -> Iterator[PodRecord]:
        """Return the pods without which a plugin would count something else on a node that it refuses."""
        columns = _domains(item)
        if not columns:
            yield from self._tried(item, slot, [slot])
        for column in columns:
            place = item.plugin.name, column.key, int(column.codes[slot])
            if place not in self._known:
                slots = np.flatnonzero((column.codes == column.codes[slot]) & self._cluster.nodes.alive).tolist()
                self._known[place] = list(self._tried(item, slot, slots))
            yield from self._known[place]

    def _tried(self, item: Filter, slot: int, slots: Iterable[int]) -> Iterator[PodRecord]:
        cluster, want = self._cluster, item.prepared.want
        before = item.plugin.explain(want, cluster, slot)
        for other in slots:
            counts: dict[int, bool] = {}  # by shape: pods of one shape on one node count alike
            for record in list(cluster.pods_on[other].values()):
                if record.shape.number not in counts and self.left > 0:
                    self.left -= 1
                    with cluster.as_if_gone([record]):
                        counts[record.shape.number] = item.plugin.explain(want, cluster, slot) != before
                if counts.get(record.shape.number):
                    yield record


def _domains(item: Filter) -> list[LabelColumn]:
    """Return the topology columns of a plugin that counts pods beyond one node; empty for all other plugins."""
    want = item.prepared.want
    if item.plugin.name == InterPodAffinity.name:
        columns = [domain.column for domain in (*want.anti_affinity, *want.existing)]
    elif item.plugin.name == PodTopologySpread.name:
        columns = [domain.column for domain in want.hard]
    else:
        return []
    return list({column.key: column for column in columns}.values())
