"""Propose changes of `spec.nodeSelector`, the required node affinity, and labels of nodes."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from moorage.match.comparison import ValueKind
from moorage.match.node_selector import compile_required_node_affinity
from moorage.match.operators import NODE_SELECTOR, AcceptedValues, accepted_values, comparison_of
from moorage.model.gates import GateSet
from moorage.model.types.node import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.pod import Pod, PreferredSchedulingTerm
from moorage.model.well_known.labels import INSTANCE_TYPE
from moorage.plan.explain.remedies.acceptance import document_of
from moorage.plan.explain.remedies.change import (
    MAX_VALUES,
    Blockers,
    Change,
    ChangeKind,
    as_yaml,
    fact_note,
    few,
    replaced,
    with_affinity,
    with_spec,
)
from moorage.schedule.framework.plugin import ChosenSlots
from moorage.schedule.plugins.node_affinity import NodeAffinity
from moorage.schedule.plugins.pod_topology_spread import PodTopologySpread

#: Whom a requirement on labels may change the mind of: spreading may count only nodes that match.
_PLUGINS = (NodeAffinity.name, PodTopologySpread.name)
_MAX_LABELLED = 40
#: Labels that say what a node is, which another value would not change.
_FACTS = (
    "kubernetes.io/",
    "topology.kubernetes.io/",
    "failure-domain.beta.kubernetes.io/",
    INSTANCE_TYPE,
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT = 100  # of what was required until now


def label_changes(blockers: Blockers, gates: GateSet) -> Iterator[Change]:
    slots = blockers.only(*_PLUGINS)
    if not len(slots):
        return
    yield from _selector_changes(blockers, slots)
    yield from _affinity_changes(blockers, slots)
    if blockers.partial:
        yield _without_mismatches(blockers, int(slots[0]), gates)
    yield from _node_labels(blockers, slots, gates)


def _required(pod: Pod) -> NodeSelector | None:
    affinity = pod.spec.affinity.nodeAffinity if pod.spec.affinity is not None else None
    return affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity is not None else None


def _values(blockers: Blockers, slots: ChosenSlots, key: str) -> Counter[str]:
    """The values of a label on the nodes in question, with how many nodes have each."""
    counts: Counter[str] = Counter()
    column = blockers.cluster.nodes.label(key)
    codes: Counter[int] = Counter(column.codes[slots].tolist())
    for code, nodes in codes.items():
        value = column.values.values[code]
        if value is not None:
            counts[value] = nodes
    return counts


# -- nodeSelector -----------------------------------------------------------------------------------------------------


def _selector_changes(blockers: Blockers, slots: ChosenSlots) -> Iterator[Change]:
    pod = blockers.pod
    selector = dict(pod.spec.nodeSelector)
    for key, value in selector.items():
        part = f"nodeSelector {key}"
        for other, _ in _values(blockers, slots, key).most_common(MAX_VALUES):
            if other != value:
                changed = {**selector, key: other}
                yield Change(
                    ChangeKind.NODE_SELECTOR,
                    part,
                    f"nodeSelector {key}: {value} → {other}",
                    3,
                    pod=with_spec(pod, nodeSelector=changed),
                    yaml=as_yaml({"nodeSelector": {key: other}}),
                )
        kept = {name: text for name, text in selector.items() if name != key}
        yield Change(
            ChangeKind.NODE_SELECTOR,
            part,
            f"drop {key}: {value} from nodeSelector",
            4,
            pod=with_spec(pod, nodeSelector=kept),
        )


# -- affinity ---------------------------------------------------------------------------------------------------------


def _affinity_changes(blockers: Blockers, slots: ChosenSlots) -> Iterator[Change]:
    required = _required(blockers.pod)
    if required is None:
        return
    terms = required.nodeSelectorTerms
    for number, term in enumerate(terms):
        for index, expression in enumerate(term.matchExpressions):
            for value in _other_values(blockers, slots, expression):
                new = msgspec.structs.replace(expression, values=value)
                changed = msgspec.structs.replace(term, matchExpressions=replaced(term.matchExpressions, index, new))
                yield _affinity_change(blockers.pod, terms, number, changed, expression, new)
            left = msgspec.structs.replace(term, matchExpressions=replaced(term.matchExpressions, index))
            only = NodeSelectorTerm(matchExpressions=(expression,))
            yield _preferred(blockers.pod, terms, number, left, expression, only)
        for index, field in enumerate(term.matchFields):
            left = msgspec.structs.replace(term, matchFields=replaced(term.matchFields, index))
            yield _preferred(blockers.pod, terms, number, left, field, NodeSelectorTerm(matchFields=(field,)))
    if not terms:
        yield Change(
            ChangeKind.NODE_AFFINITY,
            "nodeAffinity",
            "drop the required node affinity, which has no terms and so matches no node",
            4,
            pod=_with_required(blockers.pod, ()),
        )


def _other_values(
    blockers: Blockers, slots: ChosenSlots, expression: NodeSelectorRequirement
) -> Iterator[tuple[str, ...]]:
    """Other values for an expression that would match nodes in question, nearest or commonest first."""
    operator, values = expression.operator, expression.values
    there = _values(blockers, slots, expression.key)
    if operator == "In":
        for value, _ in there.most_common(MAX_VALUES):
            if value not in values:
                yield (*values, value)
    elif operator == "NotIn":
        for value in values:
            if value in there and len(values) > 1:
                yield tuple(other for other in values if other != value)
    elif (comparison := comparison_of(operator, NODE_SELECTOR)) is not None and len(values) == 1:
        moved: Counter[str] = Counter()
        for value, nodes in there.items():
            threshold = comparison.threshold_for(value, values[0])
            if threshold is not None and threshold != values[0]:
                moved[threshold] += nodes
        ordered = comparison.kind.nearest_first(values[0], moved)
        yield from ((value,) for value in few((value, moved[value]) for value in ordered))


def _affinity_change(
    pod: Pod,
    terms: tuple[NodeSelectorTerm, ...],
    number: int,
    changed: NodeSelectorTerm,
    old: NodeSelectorRequirement,
    new: NodeSelectorRequirement,
) -> Change:
    comparison = comparison_of(old.operator, NODE_SELECTOR)
    written = _described(new).removeprefix(f"{old.key} ")
    entry = {"key": new.key, "operator": new.operator, "values": list(new.values)}
    return Change(
        ChangeKind.NODE_AFFINITY,
        f"nodeAffinity {number} {old.key} {old.operator}",
        f"required node affinity{_which(terms, number)}: {_described(old)} → {written}",
        3 if comparison is None else 1,
        pod=_with_required(pod, replaced(terms, number, changed)),
        yaml=as_yaml({"matchExpressions": [entry]}),
        move=0 if comparison is None else comparison.kind.move(old.values[0], new.values[0]),
    )


def _which(terms: tuple[NodeSelectorTerm, ...], number: int) -> str:
    return f" in term {number + 1}" if len(terms) > 1 else ""


def _preferred(
    pod: Pod,
    terms: tuple[NodeSelectorTerm, ...],
    number: int,
    left: NodeSelectorTerm,
    old: NodeSelectorRequirement,
    preference: NodeSelectorTerm,
) -> Change:
    """Prefer what was required. A term without requirements matches no node: without its last one, the term goes."""
    is_empty = not left.matchExpressions and not left.matchFields
    changed = _with_required(pod, () if is_empty else replaced(terms, number, left))
    weighted = PreferredSchedulingTerm(_WEIGHT, preference)
    affinity = changed.spec.affinity
    if affinity is not None and affinity.nodeAffinity is not None:
        preferred = (*affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution, weighted)
        changed = with_affinity(
            changed, nodeAffinity=msgspec.structs.replace(affinity.nodeAffinity, **{_PREFERRED: preferred})
        )
    return Change(
        ChangeKind.NODE_AFFINITY,
        f"nodeAffinity {number} {old.key} {old.operator} preferred",
        f"required node affinity{_which(terms, number)}: prefer {_described(old)} instead of requiring it",
        4,
        pod=changed,
        yaml=as_yaml({"affinity": {"nodeAffinity": {_PREFERRED: [document_of(weighted)]}}}),
    )


def _with_required(pod: Pod, terms: tuple[NodeSelectorTerm, ...]) -> Pod:
    affinity = pod.spec.affinity
    if affinity is None or affinity.nodeAffinity is None:
        return pod
    required = NodeSelector(terms) if terms else None
    return with_affinity(pod, nodeAffinity=msgspec.structs.replace(affinity.nodeAffinity, **{_REQUIRED: required}))


def _described(expression: NodeSelectorRequirement) -> str:
    values = expression.values
    if comparison_of(expression.operator, NODE_SELECTOR) is not None and len(values) == 1:
        return f"{expression.key} {expression.operator} {values[0]}"
    listed = f" [{', '.join(values)}]" if values else ""
    return f"{expression.key} {expression.operator}{listed}"


def _without_mismatches(blockers: Blockers, slot: int, gates: GateSet) -> Change:
    """Drop at once all requirements that a node does not match."""
    pod, metadata = blockers.pod, blockers.cluster.nodes.node(slot).metadata
    selector = pod.spec.nodeSelector
    kept = {key: value for key, value in selector.items() if metadata.labels.get(key) == value}
    said = [f"drop {key}: {value} from nodeSelector" for key, value in selector.items() if key not in kept]
    changed = with_spec(pod, nodeSelector=kept)
    if not compile_required_node_affinity({}, pod.spec.affinity, gates).match(metadata.labels, metadata.name):
        changed = _with_required(changed, ())
        said.append("drop the required node affinity")
    return Change(ChangeKind.NODE_AFFINITY, "all labels", "; ".join(said), 5, pod=changed)


# -- labels of nodes --------------------------------------------------------------------------------------------------


def _node_labels(blockers: Blockers, slots: ChosenSlots, gates: GateSet) -> Iterator[Change]:
    """Propose one label that would make a node match, for at most three nodes each."""
    spec = blockers.pod.spec
    wanted = compile_required_node_affinity(spec.nodeSelector, spec.affinity, gates)
    labels = [label for label in _possible_labels(blockers.pod) if not label[0].startswith(_FACTS)]
    seen: Counter[tuple[str, str]] = Counter()
    for slot in slots[:_MAX_LABELLED].tolist():
        node = blockers.cluster.nodes.node(slot)
        for key, value in labels:
            changed = {**node.metadata.labels, key: value}
            if not wanted.match(changed, node.metadata.name):
                continue
            seen[key, value] += 1
            if seen[key, value] <= 3:
                yield _labelled(node, key, value, _compared_by(blockers.pod, key))


def _possible_labels(pod: Pod) -> Iterator[tuple[str, str]]:
    """Yield labels that nodes could be given: what `nodeSelector` names, and values that all of a term accepts."""
    yield from pod.spec.nodeSelector.items()
    required = _required(pod)
    for term in required.nodeSelectorTerms if required is not None else ():
        wanted: dict[str, AcceptedValues] = {}
        values: dict[str, list[str]] = {}
        for expression in term.matchExpressions:
            accepted = accepted_values(expression.operator, NODE_SELECTOR, expression.values)
            if accepted is not None:
                key = expression.key
                wanted[key] = wanted[key] & accepted if key in wanted else accepted
                values.setdefault(key, []).extend(expression.values)
        for key, accepted in wanted.items():
            value = accepted.example(*values[key])
            if value is not None and not accepted.absent:
                yield key, value


def _compared_by(pod: Pod, key: str) -> ValueKind | None:
    """Return as what the pod compares a label: as numbers or versions; None if only as text."""
    required = _required(pod)
    for term in required.nodeSelectorTerms if required is not None else ():
        for expression in term.matchExpressions:
            comparison = comparison_of(expression.operator, NODE_SELECTOR) if expression.key == key else None
            if comparison is not None:
                return comparison.kind
    return None


def _labelled(node: Node, key: str, value: str, compared: ValueKind | None) -> Change:
    name, old = node.metadata.name, node.metadata.labels.get(key)
    labels: dict[str, Any] = {**node.metadata.labels, key: value}
    was = f" (now {old})" if old is not None else ""
    return Change(
        ChangeKind.NODE_LABEL,
        f"label {key}",
        f"label node {name} with {key}={value}{was}",
        6,
        node=msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=labels)),
        command=f"kubectl label nodes {name} {key}={value}{' --overwrite' if old is not None else ''}",
        note=fact_note(key, old or value, is_compared=compared is not None),
        move=_move(compared, old, value) if compared is not None else 0,
    )


def _move(compared: ValueKind, old: str | None, value: str) -> float:
    """Return how far a label's value moves; a label that has no value to compare moves furthest."""
    is_readable = old is not None and compared.value_of(old) is not None
    return compared.move(old or "", value) if is_readable else float("inf")
