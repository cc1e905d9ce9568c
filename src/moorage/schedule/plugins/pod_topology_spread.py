"""PodTopologySpread: filter and score nodes by the spread constraints and the matching pods in topology domains.

With DoNotSchedule a node passes if `matching pods in its domain + 1 if the pod itself matches - the fewest in any
domain <= maxSkew`, for each constraint. With ScheduleAnyway domains with fewer matching pods score higher, the more so
the more domains there are. Pods without constraints are spread by the profile's defaults, together with the other pods
of their Service or controller. Kubernetes: pkg/scheduler/framework/plugins/podtopologyspread.
Differs: the detail has the inequality; all toleration operators and CEL in nodeTaintsPolicy, behind their gates; pods
are counted when they come and go, not again for each pod.
"""

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from moorage.columns.cluster import Cluster
from moorage.columns.codes import ABSENT
from moorage.columns.pod_classes import Label, label_needed
from moorage.columns.shape import Shape
from moorage.match.comparison import shown
from moorage.match.label_selector import Selector, compile_label_selector, compile_label_set, conjunction
from moorage.match.node_selector import compile_required_node_affinity
from moorage.match.requirement import SelectorError
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD, GateSet
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod, TopologySpreadConstraint
from moorage.model.well_known.labels import HOSTNAME, ZONE
from moorage.schedule.framework.events import Event, EventKind, on
from moorage.schedule.framework.plugin import MAX_SCORE, SKIP, Code, Mask, Prepared, Scores, Verdict, unresolvable
from moorage.schedule.framework.wide import Trait, Traits, WidePlugin
from moorage.schedule.plugins.spread_domains import (
    HARD_EFFECTS,
    BalancedDomains,
    Constraint,
    Constraints,
    DefaultSelectors,
    SpreadWant,
)

SKEW_REASON = "node(s) didn't match pod topology spread constraints"
LABEL_REASON = f"{SKEW_REASON} (missing required label)"
SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(maxSkew=3, topologyKey=HOSTNAME, whenUnsatisfiable="ScheduleAnyway"),
    TopologySpreadConstraint(maxSkew=5, topologyKey=ZONE, whenUnsatisfiable="ScheduleAnyway"),
)
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
_HONOR = "Honor"


# -- which events may help a pod that was rejected ---------------------------------------------------------------------


def _constraints(want: SpreadWant, cluster: Cluster) -> tuple[Constraint, ...]:
    want.catch_up(cluster)
    return want.constraints.hard


def _counted(want: SpreadWant, pod: Pod, cluster: Cluster) -> list[bool]:
    if pod.metadata.namespace != want.namespace:
        return []
    return [constraint.selector.match(pod.metadata.labels) for constraint in _constraints(want, cluster)]


def _is_counted(want: SpreadWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    return any(_counted(want, event.new if event.new is not None else event.old, cluster))


def _counts_otherwise(want: SpreadWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    return _counted(want, event.old, cluster) != _counted(want, event.new, cluster)


def _has_keys(want: SpreadWant, node: Node, cluster: Cluster) -> bool:
    return all(constraint.key in node.metadata.labels for constraint in _constraints(want, cluster))


def _is_in_domains(want: SpreadWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    return _has_keys(want, event.new if event.new is not None else event.old, cluster)


def _moved(want: SpreadWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether a node changed its domain, or counts where it did not, or the other way round."""
    old: Node = event.old
    new: Node = event.new
    had, has = _has_keys(want, old, cluster), _has_keys(want, new, cluster)
    if not had or not has:
        return had != has
    before, after = old.metadata.labels, new.metadata.labels
    constraints = _constraints(want, cluster)
    if any(before[constraint.key] != after[constraint.key] for constraint in constraints):
        return True
    honored = any(constraint.honors_affinity for constraint in constraints)
    name = new.metadata.name
    return honored and want.required.match(before, name) != want.required.match(after, name)


def _tainted_otherwise(want: SpreadWant, shape: Shape, event: Event, cluster: Cluster) -> bool:
    if not any(constraint.honors_taints for constraint in _constraints(want, cluster)):
        return False
    before, after = (want.tolerations.untolerated(n.spec.taints, HARD_EFFECTS) for n in (event.old, event.new))
    return bool(before) != bool(after) and _has_keys(want, event.new, cluster)


def _counted_labels(want: SpreadWant, shape: Shape, cluster: Cluster) -> tuple[Label, ...] | None:
    """Return the labels of pods that a constraint selects; default constraints may change, so not theirs."""
    if not shape.spec.topologySpreadConstraints:
        return None
    needed = [label_needed(constraint.selector) for constraint in _constraints(want, cluster)]
    if any(labels is None for labels in needed):
        return None
    return tuple(label for labels in needed for label in labels or ())


_REQUEUE_ON = (
    on(EventKind.OWN_LABELS, EventKind.OWN_TOLERATIONS),
    on(EventKind.POD_ADDED, EventKind.POD_REMOVED, EventKind.POD_ENDING, hint=_is_counted, needs=_counted_labels),
    on(EventKind.POD_LABELS, hint=_counts_otherwise, needs=_counted_labels),
    on(EventKind.NODE_ADDED, EventKind.NODE_REMOVED, hint=_is_in_domains),
    on(EventKind.NODE_LABELS, hint=_moved),
    on(EventKind.NODE_TAINTS, hint=_tainted_otherwise),
)


class PodTopologySpread(WidePlugin[SpreadWant]):
    """The PodTopologySpread plugin. `defaults` are the profile's constraints; None: the system's."""

    name = "PodTopologySpread"
    requeue_on = _REQUEUE_ON

    def __init__(
        self,
        gates: GateSet,
        programs: Any = None,
        selectors: DefaultSelectors | None = None,
        defaults: Sequence[TopologySpreadConstraint] | None = None,
    ) -> None:
        self._gates = gates
        self._programs = programs
        self._selectors = selectors or DefaultSelectors()
        self._defaults = SYSTEM_DEFAULTS if defaults is None else tuple(defaults)
        self._is_system_default = defaults is None

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        spec = shape.spec
        own = spec.topologySpreadConstraints
        stated = own or self._defaults
        if not stated:
            return SKIP
        selectors = self._selectors
        want = SpreadWant(
            shape,
            compile_required_node_affinity(spec.nodeSelector, spec.affinity, self._gates),
            compile_tolerations(spec.tolerations, self._gates, self._programs),
            (lambda: self._compile(own, shape, None)) if own else (lambda: self._compiled_defaults(shape)),
            (lambda: 0) if own else (lambda: selectors.version),
        )
        try:
            self._compile(own, shape, None)
        except SelectorError as error:
            return Prepared(want, rejection=unresolvable(f"obtaining pod's topology spread constraints: {error}"))
        kinds = {constraint.whenUnsatisfiable for constraint in stated}
        return Prepared(want, filters=_HARD in kinds, scores=_SOFT in kinds)

    def _compiled_defaults(self, shape: Shape) -> Constraints:
        selector = self._selectors.selector(shape)
        if selector.everything:
            return Constraints((), ())
        return self._compile(self._defaults, shape, selector)

    def _compile(
        self, stated: Sequence[TopologySpreadConstraint], shape: Shape, selector: Selector | None
    ) -> Constraints:
        compiled = [(c.whenUnsatisfiable, self._compile_one(c, shape, selector)) for c in stated]
        return Constraints(
            tuple(constraint for kind, constraint in compiled if kind == _HARD),
            tuple(constraint for kind, constraint in compiled if kind == _SOFT),
            needs_all_keys=selector is None or not self._is_system_default,
        )

    def _compile_one(self, stated: TopologySpreadConstraint, shape: Shape, selector: Selector | None) -> Constraint:
        if selector is None:
            selector = compile_label_selector(stated.labelSelector)
            if self._gates.enabled(MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD) and not selector.nothing:
                # The API server has merged these already, unless it is told not to; twice says the same.
                labels = shape.labels
                merged = compile_label_set({key: labels[key] for key in stated.matchLabelKeys if key in labels})
                selector = conjunction((*selector.requirements, *merged.requirements))
        return Constraint(
            stated.maxSkew,
            stated.topologyKey,
            selector,
            selector.match(shape.labels),
            1 if stated.minDomains is None else stated.minDomains,
            stated.nodeAffinityPolicy in (None, _HONOR),
            stated.nodeTaintsPolicy == _HONOR,
        )

    # -- by traits ------------------------------------------------------------------------------------------------

    # A trait is 0 (`ABSENT`) where the node lacks the key; else it is the domain's code or, where slots are told apart
    # by the count, one more than that.

    def traits(self, want: SpreadWant, cluster: Cluster) -> list[Trait]:
        traits: list[Trait] = []
        for domain in want.hard:
            codes = domain.column.codes.astype(np.int64)
            small = domain.column.key in want.small
            traits.append(np.where(codes == ABSENT, ABSENT, domain.counts[codes] + 1) if small else codes)
        for pods, soft in zip(want.hosts, want.soft, strict=True):
            codes = soft.column.codes.astype(np.int64)
            if soft.column.key == HOSTNAME:
                codes = np.where(codes == ABSENT, ABSENT, pods.every(len(codes)) + 1)
            traits.append(codes)
        return traits

    def traits_at(self, want: SpreadWant, cluster: Cluster, slot: int) -> tuple[int, ...]:
        traits = []
        for domain in want.hard:
            code = domain.column.codes.item(slot)
            traits.append(domain.at(slot) + 1 if code != ABSENT and domain.column.key in want.small else code)
        for pods, soft in zip(want.hosts, want.soft, strict=True):
            code = soft.column.codes.item(slot)
            traits.append(pods.on.get(slot, 0) + 1 if code != ABSENT and soft.column.key == HOSTNAME else code)
        return tuple(traits)

    def filter_traits(self, want: SpreadWant, traits: Traits) -> Mask:
        passes: Mask | None = None
        for constraint, domain, trait in zip(want.constraints.hard, want.hard, traits, strict=False):
            most = constraint.max_skew - constraint.itself + domain.fewest(constraint.min_domains)
            met: Mask = trait <= most + 1 if domain.column.key in want.small else domain.counts[trait] <= most
            if np.count_nonzero(trait) != len(trait):
                met &= trait != ABSENT
            passes = met if passes is None else passes & met
        return passes if passes is not None else np.ones(len(traits[0]), np.bool_)

    def has_filter(self, want: SpreadWant) -> bool:
        return bool(want.hard)

    def may_filter(self, want: SpreadWant) -> bool:
        return bool(want.hard)

    def has_score(self, want: SpreadWant) -> bool:
        return bool(want.soft)

    def score_traits(self, want: SpreadWant, traits: Traits, sizes: NDArray[np.int64]) -> Scores:
        traits = traits[len(want.hard) :]
        if want.constraints.needs_all_keys and not all(np.count_nonzero(trait) == len(sizes) for trait in traits):
            scored = np.logical_and.reduce([trait != ABSENT for trait in traits]).nonzero()[0]
            scores = np.zeros(len(sizes), np.int64)
            if len(scored):
                scores[scored] = self._scores(want, [trait[scored] for trait in traits], sizes[scored])
            return scores
        return self._scores(want, traits, sizes)

    def _scores(self, want: SpreadWant, traits: Traits, sizes: NDArray[np.int64]) -> Scores:
        total: NDArray[np.float64] | float = 0.0
        for constraint, domain, trait in zip(want.constraints.soft, want.soft, traits, strict=True):
            if constraint.key == HOSTNAME:
                domains, pods = int(np.add.reduce(sizes)), trait - 1
            else:
                domains, pods = len(set(trait.tolist())), domain.counts[trait]
            points = pods * log(domains + 2) + float(constraint.max_skew - 1)
            total = total + (points if np.logical_and.reduce(trait) else np.where(trait == ABSENT, 0.0, points))
        # As Go's math.Round: adding a half is exact here, because what is not a whole number is more than 1.
        return _reversed(np.floor(total + 0.5).astype(np.int64))

    # -- in words -------------------------------------------------------------------------------------------------

    def explain(self, want: SpreadWant, cluster: Cluster, slot: int) -> Verdict | None:
        want.catch_up(cluster)
        reason, details = "", []
        for number, (constraint, domain) in enumerate(zip(want.constraints.hard, want.hard, strict=True), 1):
            detail = complaint(constraint, domain, slot)
            if detail is not None:
                missing = domain.column.codes[slot] == ABSENT
                reason = reason or (LABEL_REASON if missing else SKEW_REASON)
                details.append(f"constraint {number} ({_described(constraint)}): {detail}")
        if not reason:
            return None
        code = Code.UNRESOLVABLE if reason == LABEL_REASON else Code.UNSCHEDULABLE
        return Verdict(code, (reason,), tuple(details))


def skew_at(constraint: Constraint, domain: BalancedDomains, slot: int) -> int:
    """Return how many pods a node's domain would have more than the emptiest one, with the pod in it."""
    pods = int(domain.counts[int(domain.column.codes[slot])])
    return pods + int(constraint.itself) - domain.fewest(constraint.min_domains)


def complaint(constraint: Constraint, domain: BalancedDomains, slot: int) -> str | None:
    """Return why a constraint refuses a node; None if it does not."""
    code = int(domain.column.codes[slot])
    if code == ABSENT:
        return f"the node has no label {shown(constraint.key)}"
    if skew_at(constraint, domain, slot) <= constraint.max_skew:
        return None
    pods, itself, fewest = int(domain.counts[code]), int(constraint.itself), domain.fewest(constraint.min_domains)
    place = f"{shown(constraint.key)}={shown(domain.column.values.values[code] or '')}"
    few = domain.domains < constraint.min_domains
    why = f"; the fewest count as 0 because there are {domain.domains} of {constraint.min_domains} minDomains"
    return (
        f"in {place}, {pods} + {itself} - {fewest} <= {constraint.max_skew} is false "
        f"(maxSkew {constraint.max_skew}{why if few and constraint.min_domains > 1 else ''})"
    )


def _described(constraint: Constraint) -> str:
    if constraint.selector.nothing:
        return "no pod at all"
    return str(constraint.selector) or "an empty selector, which counts no pod"


def _reversed(raw: Scores) -> Scores:
    """Return 0–100, so that fewer pods score higher."""
    lowest, highest = int(np.minimum.reduce(raw)), int(np.maximum.reduce(raw))
    if highest == 0:
        return np.full(len(raw), MAX_SCORE, np.int64)
    return MAX_SCORE * (highest + lowest - raw) // highest
