"""Count for PodTopologySpread, for each constraint, the matching pods in each domain, over the nodes that count.

A node counts if it has all topology keys and, where a constraint's policies honour them, meets the pod's node affinity
and has no taint that the pod does not tolerate. Kubernetes: preFilterState and preScoreState of podtopologyspread.
"""

from collections.abc import Callable, Mapping

import msgspec
import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.columns.codes import ABSENT, CodeReader, LabelColumn, resized
from moorage.columns.pod_classes import DomainCounts, PodCounts, label_needed
from moorage.columns.selector_masks import NodePredicate, required_predicate
from moorage.columns.shape import Shape
from moorage.match.label_selector import Selector, compile_label_set, conjunction
from moorage.match.node_selector import RequiredNodeAffinity
from moorage.match.tolerations import TolerationSet
from moorage.model.well_known.labels import HOSTNAME
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE
from moorage.schedule.framework.plugin import Mask
from moorage.schedule.framework.wide import Following, has_small_domains

_CONTROLLERS = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet"})
HARD_EFFECTS = frozenset({NO_SCHEDULE, NO_EXECUTE})


class DefaultSelectors:
    """The selectors of Services and controllers, for default spreading; `version` changes with any of them.

    Kubernetes: DefaultSelector in framework/plugins/helper.
    """

    def __init__(self) -> None:
        self.version = 0
        self._services: dict[str, dict[str, Mapping[str, str]]] = {}
        self._controllers: dict[tuple[str, str, str], Selector] = {}

    def set_service(self, namespace: str, name: str, selector: Mapping[str, str] | None) -> None:
        """Set a Service's selector; None if the Service is gone."""
        self.version += 1
        if selector:
            self._services.setdefault(namespace, {})[name] = dict(selector)
            return
        of_namespace = self._services.get(namespace, {})
        of_namespace.pop(name, None)
        if not of_namespace:
            self._services.pop(namespace, None)

    def set_controller(self, kind: str, namespace: str, name: str, selector: Selector | None) -> None:
        """Set a controller's selector, None if it is gone; kinds of others are ignored."""
        self.version += 1
        if selector is None or selector.nothing or kind not in _CONTROLLERS:
            self._controllers.pop((kind, namespace, name), None)
        else:
            self._controllers[kind, namespace, name] = selector

    def selector(self, shape: Shape) -> Selector:
        """Return the selector of a pod's Services and controller; it matches everything without them."""
        merged: dict[str, str] = {}
        for selector in self._services.get(shape.namespace, {}).values():
            if all(shape.labels.get(key) == value for key, value in selector.items()):
                merged.update(selector)
        services = compile_label_set(merged)
        if shape.controller is None:
            return services
        kind, name = shape.controller
        controller = self._controllers.get((kind, shape.namespace, name))
        if controller is None:
            return services
        return conjunction((*services.requirements, *controller.requirements))


class Constraint(msgspec.Struct, frozen=True):
    """A compiled constraint; `itself` is whether the selector matches the pod that has it."""

    max_skew: int
    key: str
    selector: Selector
    itself: bool
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


class Constraints(msgspec.Struct, frozen=True):
    """The constraints of a shape. `needs_all_keys`: a node without a soft constraint's key is not scored."""

    hard: tuple[Constraint, ...]
    soft: tuple[Constraint, ...]
    needs_all_keys: bool = True


class BalancedDomains(DomainCounts):
    """Counts that include domains without pods, and the fewest pods in any domain."""

    __slots__ = ("_fewest", "_having", "_home", "_nodes", "domains")

    def __init__(self, column: LabelColumn, pods: PodCounts) -> None:
        super().__init__(column, [(pods, 1)])
        self.domains = 0
        self._fewest = 0
        self._having: dict[int, int] = {}  # how many domains have this many pods
        self._home: NDArray[np.int64] = np.zeros(0, np.int64)  # each slot's domain, if it counts
        self._nodes: dict[int, int] = {}  # how many nodes each domain has

    def recount(self, counts_here: Mask | None = None) -> None:
        super().recount(counts_here)
        codes = self.column.codes.astype(np.int64)
        self._home = codes if counts_here is None else np.where(counts_here, codes, ABSENT)
        present, nodes = np.unique(self._home[self._home != ABSENT], return_counts=True)
        self._nodes = dict(zip(present.tolist(), nodes.tolist(), strict=True))
        self.domains = len(present)
        values, having = np.unique(self.counts[present], return_counts=True)
        self._having = dict(zip(values.tolist(), having.tolist(), strict=True))
        self._fewest = min(self._having, default=0)

    def follow_node(self, slot: int, counts_here: bool) -> tuple[int, int]:
        """Count one slot again, whose node may have moved, come or gone as well."""
        if slot >= len(self._home):
            self._home = np.concatenate([self._home, np.zeros(len(self.column.codes) - len(self._home), np.int64)])
        old, new = int(self._home[slot]), int(self.column.codes[slot]) if counts_here else ABSENT
        if old != new:
            self._home[slot] = new
            self._settle(old, -1)
            self._settle(new, 1)
        return self.follow(slot, counts_here)

    def fewest(self, min_domains: int) -> int:
        """Return the global minimum: 0 as long as there are fewer domains than minDomains."""
        if self.domains < min_domains or not self._having:
            return 0
        if self._fewest not in self._having:
            self._fewest = min(self._having)
        return self._fewest

    def _settle(self, code: int, by: int) -> None:
        """Count a node that came into a domain or left it."""
        if code == ABSENT:
            return
        before = self._nodes.get(code, 0)
        if before + by:
            self._nodes[code] = before + by
        else:
            del self._nodes[code]
        if before == 0 or before + by == 0:
            self.domains += by
            self._note(int(self.counts[code]), by)

    def _add(self, code: int, weighted: int, pods: int) -> None:
        if code != ABSENT and self._nodes.get(code):
            before = int(self.counts[code])
            self._note(before, -1)
            self._note(before + weighted, 1)
        super()._add(code, weighted, pods)

    def _note(self, pods: int, by: int) -> None:
        domains = self._having.get(pods, 0) + by
        if domains:
            self._having[pods] = domains
            self._fewest = min(self._fewest, pods)
        else:
            del self._having[pods]


class TaintPredicate:
    """Whether a node's NoSchedule and NoExecute taints are tolerated, evaluated once per taint list."""

    def __init__(self, tolerations: TolerationSet, cluster: Cluster) -> None:
        self._tolerations = tolerations
        self._nodes = cluster.nodes
        self._reader = CodeReader(cluster.nodes.taint_sets.codes)
        self._answers: Mask = np.zeros(0, np.bool_)

    def mask(self) -> Mask:
        return self._learned()[self._nodes.taints]

    def at(self, slot: int) -> bool:
        return bool(self._learned()[self._nodes.taints[slot]])

    def _learned(self) -> Mask:
        if self._reader.is_behind:
            sets = self._nodes.taint_sets.sets
            self._answers = resized(self._answers, len(sets))
            for code in self._reader.unread():
                self._answers[code] = not self._tolerations.untolerated(sets[code], HARD_EFFECTS)
            self._reader.done()
        return self._answers


class SpreadWant(Following):
    """A shape's constraints and the counts they are judged by."""

    def __init__(
        self,
        shape: Shape,
        required: RequiredNodeAffinity,
        tolerations: TolerationSet,
        compiled: Callable[[], Constraints],
        version_now: Callable[[], int],
    ) -> None:
        """`compiled` returns the constraints, which may change when `version_now` does."""
        super().__init__()
        self.namespace = shape.namespace
        self.required = required
        self.tolerations = tolerations
        self._compile = compiled
        self._version_now = version_now
        self._version = -1
        self.constraints = Constraints((), ())
        self.hard: list[BalancedDomains] = []
        self.soft: list[DomainCounts] = []
        self.hosts: list[PodCounts] = []  # for each soft constraint, the pods on the node itself
        self.small: set[str] = set()  # the keys of hard constraints with nearly as many domains as there are nodes
        self._affinity: NodePredicate | None = None
        self._taints: TaintPredicate | None = None

    # -- following the cluster ------------------------------------------------------------------------------------

    def is_current(self, cluster: Cluster) -> bool:
        return self._version == self._version_now()

    def rebuild(self, cluster: Cluster) -> None:
        nodes = cluster.nodes
        self._version = self._version_now()
        self.constraints = self._compile()
        hard, soft = self.constraints.hard, self.constraints.soft
        both = (*hard, *soft)
        asks_nodes = self.required.affinity is not None or not self.required.labels.everything
        if any(constraint.honors_affinity for constraint in both) and asks_nodes:
            self._affinity = required_predicate(self.required, nodes)
        if any(constraint.honors_taints for constraint in both):
            self._taints = TaintPredicate(self.tolerations, cluster)
        self.hard = [BalancedDomains(nodes.label(c.key), self._count(cluster, c.selector)) for c in hard]
        self.hosts = [self._count(cluster, constraint.selector) for constraint in soft]
        self.soft = [
            DomainCounts(nodes.label(constraint.key), [] if constraint.key == HOSTNAME else [(pods, 1)])
            for constraint, pods in zip(soft, self.hosts, strict=True)
        ]
        self.small = {d.column.key for d in self.hard if has_small_domains(d.column, len(nodes))}
        keyed = self._mask_of_keys(self.hard)
        for constraint, domain in zip(hard, self.hard, strict=True):
            domain.recount(self._included(constraint, keyed))
        keyed = self._mask_of_keys(self.soft) if self.constraints.needs_all_keys else None
        for constraint, soft_domain in zip(soft, self.soft, strict=True):
            soft_domain.recount(self._included(constraint, keyed))
        self.is_idle = not both

    def follow(self, cluster: Cluster, slot: int) -> None:
        alive = bool(cluster.nodes.alive[slot])
        keyed = alive and _has_keys(self.hard, slot)
        for constraint, domain in zip(self.constraints.hard, self.hard, strict=True):
            changed = domain.follow_node(slot, keyed and self._includes(constraint, slot))
            if domain.column.key in self.small:
                self.touch_neighbours(domain.column, changed, slot)
        keyed = alive and (not self.constraints.needs_all_keys or _has_keys(self.soft, slot))
        for constraint, soft_domain in zip(self.constraints.soft, self.soft, strict=True):
            soft_domain.follow(slot, keyed and self._includes(constraint, slot))

    def _count(self, cluster: Cluster, selector: Selector) -> PodCounts:
        """Count pods of the namespace that the selector matches and that are not being deleted."""
        own = self.namespace

        def counts(namespace: str, labels: Mapping[str, str], deleting: bool) -> bool:
            return namespace == own and not deleting and selector.match(labels)

        if selector.everything or selector.nothing:
            return PodCounts()
        return cluster.count_pods(("spread", own, str(selector)), counts, label_needed(selector))

    # -- which nodes count ----------------------------------------------------------------------------------------

    def _mask_of_keys(self, domains: list[BalancedDomains] | list[DomainCounts]) -> Mask | None:
        keyed: Mask | None = None
        for domain in domains:
            has = domain.column.codes != ABSENT
            keyed = has if keyed is None else keyed & has
        return keyed

    def _included(self, constraint: Constraint, keyed: Mask | None) -> Mask | None:
        mask = keyed
        if constraint.honors_affinity and self._affinity is not None:
            meets = self._affinity.mask()
            mask = meets if mask is None else mask & meets
        if constraint.honors_taints and self._taints is not None:
            tolerated = self._taints.mask()
            mask = tolerated if mask is None else mask & tolerated
        return mask

    def _includes(self, constraint: Constraint, slot: int) -> bool:
        if constraint.honors_affinity and self._affinity is not None and not self._affinity.at(slot):
            return False
        return not (constraint.honors_taints and self._taints is not None and not self._taints.at(slot))


def _has_keys(domains: list[BalancedDomains] | list[DomainCounts], slot: int) -> bool:
    return all(domain.column.codes[slot] != ABSENT for domain in domains)
