"""Propose changes of pod affinity terms, spread constraints and the pod's labels.

Pods of the same workload are often what is in the way, and a change of the template changes them, too: such proposals
are tried on the whole workload, also where they open no node for one pod.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from moorage.model.gates import (
    MATCH_LABEL_KEYS_IN_POD_AFFINITY,
    MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD,
    Gate,
    GateSet,
)
from moorage.model.types.pod import (
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from moorage.model.well_known.labels import HOSTNAME, POD_TEMPLATE_HASH, REGION, ZONE
from moorage.plan.explain.remedies.acceptance import document_of
from moorage.plan.explain.remedies.change import (
    Blockers,
    Change,
    ChangeKind,
    as_yaml,
    replaced,
    with_affinity,
    with_spec,
)
from moorage.schedule.plugins.inter_pod_affinity import InterPodAffinity
from moorage.schedule.plugins.pod_topology_spread import PodTopologySpread

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
_WEIGHT = 100  # of what was required until now
_SKEWS = (1, 2, 3, 5, 10, 20, 50, 100)
_MAX_LABELS = 8
_MAX_KEYS = 3


def affinity_changes(blockers: Blockers, gates: GateSet) -> Iterator[Change]:
    if not len(blockers.only(InterPodAffinity.name)):
        return
    affinity = blockers.pod.spec.affinity
    if affinity is not None:
        yield from _Terms(blockers, gates, affinity.podAffinity, "podAffinity", ChangeKind.POD_AFFINITY).changes()
        yield from _Terms(
            blockers, gates, affinity.podAntiAffinity, "podAntiAffinity", ChangeKind.POD_ANTI_AFFINITY
        ).changes()
    yield from _without_labels(blockers.pod)


class _Terms:
    """The required terms of one kind of affinity: to prefer, for other topologies, within one revision."""

    def __init__(
        self,
        blockers: Blockers,
        gates: GateSet,
        affinity: PodAffinity | PodAntiAffinity | None,
        field: str,
        kind: ChangeKind,
    ) -> None:
        self._blockers, self._gates, self._affinity = blockers, gates, affinity
        self._field, self._kind = field, kind
        self._terms = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity is not None else ()

    def changes(self) -> Iterator[Change]:
        for index, term in enumerate(self._terms):
            if _may_match_revision(self._blockers.pod, term, self._gates, MATCH_LABEL_KEYS_IN_POD_AFFINITY):
                keys = (*term.matchLabelKeys, POD_TEMPLATE_HASH)
                text = "regard only pods of the same revision (matchLabelKeys)"
                yield self._with(index, replace(term, matchLabelKeys=keys), text, 2)
            for move, key in enumerate(_other_keys(self._blockers, term.topologyKey)):
                text = f"topologyKey {term.topologyKey} → {key}"
                yield self._with(index, replace(term, topologyKey=key), text, 3, move + 1)
            yield self._preferred(index, term)

    def _preferred(self, index: int, term: PodAffinityTerm) -> Change:
        affinity: Any = self._affinity
        weighted = (*getattr(affinity, _PREFERRED), WeightedPodAffinityTerm(_WEIGHT, term))
        changed = replace(affinity, **{_REQUIRED: replaced(self._terms, index), _PREFERRED: weighted})
        return self._change(index, changed, "prefer it instead of requiring it", 3)

    def _with(self, index: int, term: PodAffinityTerm, text: str, size: int, move: int = 0) -> Change:
        affinity: Any = self._affinity
        return self._change(
            index, replace(affinity, **{_REQUIRED: replaced(self._terms, index, term)}), text, size, move
        )

    def _change(self, index: int, changed: Any, text: str, size: int, move: int = 0) -> Change:
        term = self._terms[index]
        which = f" {index + 1} of {len(self._terms)}" if len(self._terms) > 1 else ""
        return Change(
            self._kind,
            f"{self._field} {index} {text.partition(' ')[0]}",
            f"required {self._field} term{which} ({_described(term)}): {text}",
            size,
            pod=with_affinity(self._blockers.pod, **{self._field: changed}),
            for_siblings=True,
            yaml=as_yaml({"affinity": {self._field: document_of(changed)}}),
            move=move,
        )


def _described(term: PodAffinityTerm) -> str:
    selector = msgspec.to_builtins(term.labelSelector) if term.labelSelector is not None else {}
    labels = ", ".join(f"{key}={value}" for key, value in selector.get("matchLabels", {}).items())
    others = ", ".join(map(_expression, selector.get("matchExpressions", ())))
    pods = ", ".join(part for part in (labels, others) if part)
    return f"{pods or 'any pod'} by {term.topologyKey}"


def _expression(expression: Any) -> str:
    values = expression.get("values")
    return f"{expression['key']} {expression['operator']}" + (f" [{', '.join(values)}]" if values else "")


def _other_keys(blockers: Blockers, now: str) -> list[str]:
    """Return keys by which nodes can be put into domains: first those with about as many domains as now."""
    number = {key: len(_domains(blockers, key)) for key in _known_keys(blockers.pod, now)}
    there = [key for key, domains in number.items() if domains and key != now]
    return sorted(there, key=lambda key: abs(number[key] - number[now]))[:_MAX_KEYS]


def _domains(blockers: Blockers, key: str) -> set[str]:
    nodes = blockers.cluster.nodes
    column = nodes.label(key)
    values = (column.values.values[code] for code in set(column.codes[nodes.alive].tolist()))
    return {value for value in values if value is not None}


def _known_keys(pod: Pod, now: str) -> Iterable[str]:
    """Return the keys that everyone uses, and those that the pod uses elsewhere; the present one first."""
    affinity = pod.spec.affinity
    both = (affinity.podAffinity, affinity.podAntiAffinity) if affinity is not None else ()
    terms = (term for one in both if one is not None for term in getattr(one, _REQUIRED))
    used = (one.topologyKey for one in (*terms, *pod.spec.topologySpreadConstraints))
    return dict.fromkeys((now, HOSTNAME, ZONE, REGION, *used))


def _without_labels(pod: Pod) -> Iterator[Change]:
    """Suggest other labels, against which no anti-affinity holds; a controlled pod's labels are its template's."""
    if any(owner.controller for owner in pod.metadata.ownerReferences):
        return
    labels = dict(pod.metadata.labels)
    for key, value in list(labels.items())[:_MAX_LABELS]:
        kept = {name: text for name, text in labels.items() if name != key}
        yield Change(
            ChangeKind.POD_LABEL,
            f"label {key}",
            f"drop the pod's label {key}={value}, by which others keep away from it",
            5,
            pod=replace(pod, metadata=replace(pod.metadata, labels=kept)),
        )


# -- spreading --------------------------------------------------------------------------------------------------------


def spread_changes(blockers: Blockers, gates: GateSet) -> Iterator[Change]:
    if not len(blockers.only(PodTopologySpread.name)):
        return
    pod = blockers.pod
    constraints = pod.spec.topologySpreadConstraints
    for index, constraint in enumerate(constraints):
        if constraint.whenUnsatisfiable != _HARD:
            continue
        where = f"spread by {constraint.topologyKey}"
        if len(constraints) > 1:
            where += f" (constraint {index + 1})"
        for more in _SKEWS:
            skew = constraint.maxSkew + more
            new = replace(constraint, maxSkew=skew)
            summary = f"{where}: maxSkew {constraint.maxSkew} → {skew}"
            yield _spread(pod, index, new, summary, 1, {"maxSkew": skew}, more)
        if constraint.minDomains is not None:
            new = replace(constraint, minDomains=None)
            yield _spread(pod, index, new, f"{where}: drop minDomains {constraint.minDomains}", 2, {}, 0)
        if _may_match_revision(pod, constraint, gates, MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD):
            keys = (*constraint.matchLabelKeys, POD_TEMPLATE_HASH)
            new = replace(constraint, matchLabelKeys=keys)
            text = f"{where}: count only pods of the same revision (matchLabelKeys)"
            yield _spread(pod, index, new, text, 2, {"matchLabelKeys": list(keys)}, 0)
        for move, key in enumerate(_other_keys(blockers, constraint.topologyKey), 1):
            new = replace(constraint, topologyKey=key)
            text = f"{where}: topologyKey {constraint.topologyKey} → {key}"
            yield _spread(pod, index, new, text, 3, {"topologyKey": key}, move)
        if any((c.topologyKey, c.whenUnsatisfiable) == (constraint.topologyKey, _SOFT) for c in constraints):
            # There is one like it already, and the API server takes only one: this one can go.
            kept = replaced(constraints, index)
            changed = with_spec(pod, topologySpreadConstraints=kept)
            yield Change(ChangeKind.SPREAD, f"spread {index}", f"{where}: drop the constraint {_HARD}", 4, pod=changed)
            continue
        new = replace(constraint, whenUnsatisfiable=_SOFT, minDomains=None)
        text = f"{where}: whenUnsatisfiable {_HARD} → {_SOFT}"
        yield _spread(pod, index, new, text, 3, {"whenUnsatisfiable": _SOFT}, 0)


def _may_match_revision(pod: Pod, rule: PodAffinityTerm | TopologySpreadConstraint, gates: GateSet, gate: Gate) -> bool:
    return (
        gates.enabled(gate)
        and POD_TEMPLATE_HASH in pod.metadata.labels
        and POD_TEMPLATE_HASH not in rule.matchLabelKeys
        and rule.labelSelector is not None
    )


def _spread(
    pod: Pod, index: int, new: TopologySpreadConstraint, summary: str, size: int, written: dict[str, object], move: int
) -> Change:
    entry = {"topologyKey": new.topologyKey, **written}
    what = next(iter(written), "minDomains")
    return Change(
        ChangeKind.SPREAD,
        f"spread {index} {what}",
        summary,
        size,
        pod=with_spec(pod, topologySpreadConstraints=replaced(pod.spec.topologySpreadConstraints, index, new)),
        for_siblings=True,
        yaml=as_yaml({"topologySpreadConstraints": [entry]}) if written else "",
        move=move,
    )
