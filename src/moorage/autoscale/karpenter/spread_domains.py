"""Count the pods of topology spread constraints by domain, also in domains of which there is no node yet.

Kubernetes: Karpenter, pkg/controllers/provisioning/scheduling/topologygroup.go: the domains of a spread are those that
NodePools could have nodes in, so that pods are spread over zones without a node. The scheduler counts those of nodes
only, and is asked as well.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from moorage.autoscale.node_kinds import NodeKinds
from moorage.autoscale.snapshot import Snapshot
from moorage.columns.cluster import PodRecord
from moorage.match.label_selector import Selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.types.pod import TopologySpreadConstraint
from moorage.model.well_known.labels import HOSTNAME
from moorage.schedule.framework.plugin import Mask

_DO_NOT_SCHEDULE = "DoNotSchedule"


class _Count:
    """The matching pods of one constraint by domain."""

    def __init__(self, namespace: str, key: str, selector: Selector) -> None:
        self.namespace, self.key, self.selector = namespace, key, selector
        self.by_domain: dict[str, int] = {}

    def add(self, record: PodRecord, domain: str | None) -> None:
        if domain is not None and record.shape.namespace == self.namespace and self.selector.match(record.shape.labels):
            self.by_domain[domain] = self.by_domain.get(domain, 0) + 1


class SpreadDomains:
    """Follows the placements of one plan."""

    def __init__(self, snapshot: Snapshot, kinds: NodeKinds) -> None:
        self._snapshot, self._kinds = snapshot, kinds
        self._counts: dict[int, list[tuple[TopologySpreadConstraint, _Count]]] = {}
        self._all: dict[tuple[str, str, Selector], _Count] = {}

    def placed(self, record: PodRecord, slot: int) -> None:
        """Count a pod that was put on a node."""
        if self._all:
            labels = self._snapshot.cluster.nodes.node(slot).metadata.labels
            for count in self._all.values():
                count.add(record, labels.get(count.key))

    def groups(self, record: PodRecord, accepted: Mask, groups: Iterable[Mask]) -> list[Mask]:
        """Return the groups of kinds whose domains a pod may be in, those with the fewest of its like first."""
        counts = self._counts_of(record)
        left = list(groups)
        for constraint, count in counts:
            known = {domain for number in np.flatnonzero(accepted) if (domain := self._domain(int(number), count.key))}
            least = min((count.by_domain.get(domain, 0) for domain in known | count.by_domain.keys()), default=0)
            ranked = [
                (count.by_domain.get(domain, 0), group)
                for group in left
                if (domain := self._domain(int(group.argmax()), count.key)) is not None
            ]
            ranked.sort(key=lambda pair: pair[0])
            left = [group for number, group in ranked if number + 1 - least <= constraint.maxSkew]
        return left

    def _domain(self, number: int, key: str) -> str | None:
        return self._kinds.kinds[number].template.labels.get(key)

    def _counts_of(self, record: PodRecord) -> list[tuple[TopologySpreadConstraint, _Count]]:
        number = record.shape.number
        if number not in self._counts:
            self._counts[number] = list(self._made(record))
        return self._counts[number]

    def _made(self, record: PodRecord) -> Iterator[tuple[TopologySpreadConstraint, _Count]]:
        for constraint in record.pod.spec.topologySpreadConstraints:
            if constraint.topologyKey == HOSTNAME or constraint.whenUnsatisfiable != _DO_NOT_SCHEDULE:
                continue
            try:
                selector = compile_label_selector(constraint.labelSelector)
            except SelectorError:
                continue
            key = record.shape.namespace, constraint.topologyKey, selector
            if key not in self._all:
                count = self._all[key] = _Count(*key)
                nodes = self._snapshot.cluster.nodes
                for other in self._snapshot.cluster.pods.values():
                    count.add(other, nodes.node(other.slot).metadata.labels.get(count.key))
            yield constraint, self._all[key]
