"""NodeAffinity: filter and score nodes by `spec.nodeSelector` and node affinity.

A node passes if it has every label of `spec.nodeSelector` and matches one of the required terms; the weights of the
preferred terms that match are added up. Terms that all name nodes narrow the search to those before any filter runs.
Kubernetes: pkg/scheduler/framework/plugins/nodeaffinity.
Differs: Semver* operators behind their gate, which the reason names where it is off, as it names a label's value that
cannot be compared; evaluated once per distinct label value; a preferred term that does not parse adds nothing instead
of failing the pod.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np

from moorage.columns.cluster import Cluster
from moorage.columns.selector_masks import (
    NodePredicate,
    WeightedSum,
    preferred_sum,
    required_predicate,
    selector_predicate,
)
from moorage.columns.shape import Shape
from moorage.match.comparison import with_obstacle
from moorage.match.node_selector import (
    NodeSelectorMatcher,
    PreferredTerms,
    RequiredNodeAffinity,
    compile_node_selector,
    compile_preferred_terms,
    compile_required_node_affinity,
    gate_obstacle,
    label_obstacle,
)
from moorage.match.requirement import aggregate
from moorage.model.gates import GateSet
from moorage.model.types.node import Node, NodeSelector
from moorage.model.types.pod import NodeAffinity as NodeAffinityView
from moorage.schedule.framework.events import Event, EventKind, on
from moorage.schedule.framework.plugin import (
    SKIP,
    ChosenSlots,
    Code,
    Mask,
    Normalization,
    Plugin,
    Prepared,
    Scores,
    UnreadableOn,
    Verdict,
    unresolvable,
)
from moorage.schedule.framework.unreadable_labels import UnreadableLabels

POD_REASON = "node(s) didn't match Pod's node affinity/selector"
ENFORCED_REASON = "node(s) didn't match scheduler-enforced node affinity"
CONFLICT_REASON = "pod affinity terms conflict"
_NO_PREFERENCE = PreferredTerms((), ())


class _Want(msgspec.Struct, eq=False):
    """What the pod requires, what the profile adds to it, and what both prefer, compiled once per shape."""

    required_of: RequiredNodeAffinity
    required: NodePredicate
    added_of: NodeSelectorMatcher | None
    added: NodePredicate | None
    preferred: tuple[WeightedSum, ...]
    reason: str
    unreadable: UnreadableLabels
    added_unreadable: UnreadableLabels | None


def _verdict_changed(want: _Want, shape: Shape, event: Event, cluster: Cluster) -> bool:
    """Return whether the node matches now and did not before."""

    def matches(node: Node) -> bool:
        labels, name = node.metadata.labels, node.metadata.name
        return want.required_of.match(labels, name) and (want.added_of is None or want.added_of.match(labels, name))

    return matches(event.new) and (event.old is None or not matches(event.old))


class NodeAffinity(Plugin[_Want]):
    """The NodeAffinity plugin. `added` is the profile's addedAffinity, which every pod has to meet as well."""

    name = "NodeAffinity"
    answers_by_needs = True
    reads_pods = False
    reads_values = True
    normalization = Normalization.UP
    refuses_with = Code.UNRESOLVABLE
    requeue_on = (on(EventKind.NODE_ADDED, EventKind.NODE_LABELS, hint=_verdict_changed),)

    def __init__(self, gates: GateSet, added: NodeAffinityView | None = None) -> None:
        self._gates = gates
        self._added: NodeSelectorMatcher | None = None
        self._added_preferred = _NO_PREFERENCE
        if added is None:
            return
        required = added.requiredDuringSchedulingIgnoredDuringExecution
        if required is not None:
            self._added = compile_node_selector(required, gates)
            _refuse("required", self._added)
        self._added_preferred = compile_preferred_terms(added.preferredDuringSchedulingIgnoredDuringExecution, gates)
        _refuse("preferred", self._added_preferred)

    def prepare(self, shape: Shape, cluster: Cluster) -> Prepared:
        spec, nodes = shape.spec, cluster.nodes
        affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
        required = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity is not None else None
        wishes = affinity.preferredDuringSchedulingIgnoredDuringExecution if affinity is not None else ()
        filters = required is not None or bool(spec.nodeSelector) or self._added is not None
        scores = bool(wishes) or bool(self._added_preferred.terms)
        if not filters and not scores:
            return SKIP
        required_of = compile_required_node_affinity(spec.nodeSelector, spec.affinity, self._gates)
        preferred = (self._added_preferred, compile_preferred_terms(wishes, self._gates))
        obstacle = gate_obstacle(required, self._gates, "the scheduler")
        want = _Want(
            required_of,
            required_predicate(required_of, nodes),
            self._added,
            selector_predicate(self._added, nodes) if self._added is not None else None,
            tuple(preferred_sum(terms, nodes) for terms in preferred if terms.terms),
            with_obstacle(POD_REASON, obstacle),
            UnreadableLabels(required_of, nodes),
            UnreadableLabels(self._added, nodes) if self._added is not None else None,
        )
        only_nodes = _named_nodes(required) if required is not None else None
        rejection = unresolvable(CONFLICT_REASON) if only_nodes is not None and not only_nodes else None
        return Prepared(want, filters, scores, rejection, only_nodes)

    # -- filter -------------------------------------------------------------------------------------------------

    def filter(self, want: _Want, cluster: Cluster) -> Mask:
        mask = want.required.mask()
        return mask if want.added is None else mask & want.added.mask()

    def filter_slot(self, want: _Want, cluster: Cluster, slot: int) -> bool:
        return want.required.at(slot) and (want.added is None or want.added.at(slot))

    def explain(self, want: _Want, cluster: Cluster, slot: int) -> Verdict | None:
        metadata = cluster.nodes.node(slot).metadata
        labels, name = metadata.labels, metadata.name
        added = self._added.objections(labels, name) if self._added is not None else []
        objections = [*added, *want.required_of.objections(labels, name)]
        if not objections:
            return None
        reason = (
            _reason(ENFORCED_REASON, want.added_unreadable, slot)
            if added
            else _reason(want.reason, want.unreadable, slot)
        )
        details, gaps = zip(*objections, strict=True)
        return Verdict(Code.UNRESOLVABLE, (reason,), details, gaps)

    def reasons(self, want: _Want, cluster: Cluster, slots: ChosenSlots) -> Counter[str]:
        counted: Counter[str] = Counter()
        if want.added is not None and want.added_unreadable is not None:
            passes = want.added.mask()[slots]
            counted = want.added_unreadable.reasons(slots[~passes], ENFORCED_REASON)
            slots = slots[passes]
        return +(counted + want.unreadable.reasons(slots, want.reason))

    def unreadable(self, want: _Want, cluster: Cluster) -> Sequence[UnreadableOn]:
        added = want.added_unreadable.everywhere() if want.added_unreadable is not None else []
        return [*added, *want.unreadable.everywhere()]

    # -- score --------------------------------------------------------------------------------------------------

    def score(self, want: _Want, cluster: Cluster, feasible: Mask) -> Scores:
        total = np.zeros(cluster.nodes.slots.capacity, np.int64)
        for preferred in want.preferred:
            total += preferred.every()
        return total

    def score_slot(self, want: _Want, cluster: Cluster, slot: int) -> int:
        return sum(preferred.at(slot) for preferred in want.preferred)


def _reason(reason: str, unreadable: UnreadableLabels | None, slot: int) -> str:
    return with_obstacle(reason, label_obstacle(unreadable.at(slot) if unreadable is not None else None))


def _named_nodes(required: NodeSelector) -> frozenset[str] | None:
    """Return the nodes that the terms name, if every term names some; none if they contradict each other."""
    names: frozenset[str] = frozenset()
    for term in required.nodeSelectorTerms:
        named: frozenset[str] | None = None
        for field in term.matchFields:
            if field.key == "metadata.name" and field.operator == "In":
                values = frozenset(field.values)
                named = values if named is None else named & values
        if named is None:
            return None
        names |= named
    return names if required.nodeSelectorTerms else None


def _refuse(which: str, compiled: NodeSelectorMatcher | PreferredTerms) -> None:
    if compiled.errors:
        where = f"addedAffinity.{which}DuringSchedulingIgnoredDuringExecution"
        raise ValueError(f"parsing {where}: {aggregate(compiled.errors)}")
