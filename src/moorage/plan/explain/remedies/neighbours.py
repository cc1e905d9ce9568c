"""Propose changes of pod affinity terms, spread constraints and the pod's labels."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from moorage.model.gates import MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD, GateSet
from moorage.model.types.pod import Pod, PodAffinity, PodAffinityTerm, PodAntiAffinity, TopologySpreadConstraint
from moorage.model.well_known.labels import POD_TEMPLATE_HASH
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
_HARD, _SOFT = "DoNotSchedule", "ScheduleAnyway"
_SKEWS = (1, 2, 3, 5, 10, 20, 50, 100)
_MAX_LABELS = 8


def affinity_changes(blockers: Blockers) -> Iterator[Change]:
    if not len(blockers.only(InterPodAffinity.name)):
        return
    affinity = blockers.pod.spec.affinity
    if affinity is not None:
        yield from _without_terms(blockers.pod, affinity.podAffinity, "podAffinity", ChangeKind.POD_AFFINITY)
        yield from _without_terms(
            blockers.pod, affinity.podAntiAffinity, "podAntiAffinity", ChangeKind.POD_ANTI_AFFINITY
        )
    yield from _without_labels(blockers.pod)


def _without_terms(
    pod: Pod, affinity: PodAffinity | PodAntiAffinity | None, field: str, kind: ChangeKind
) -> Iterator[Change]:
    if affinity is None:
        return
    terms = affinity.requiredDuringSchedulingIgnoredDuringExecution
    for index, term in enumerate(terms):
        changed: Any = replace(affinity, **{_REQUIRED: replaced(terms, index)})
        which = f" {index + 1} of {len(terms)}" if len(terms) > 1 else ""
        yield Change(
            kind,
            f"{field} {index}",
            f"drop the required {field} term{which} ({_described(term)}), or only prefer it",
            4,
            pod=with_affinity(pod, **{field: changed}),
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
        if _may_match_revision(pod, constraint, gates):
            keys = (*constraint.matchLabelKeys, POD_TEMPLATE_HASH)
            new = replace(constraint, matchLabelKeys=keys)
            text = f"{where}: count only pods of the same revision"
            yield _spread(pod, index, new, text, 2, {"matchLabelKeys": list(keys)}, 0)
        if any((c.topologyKey, c.whenUnsatisfiable) == (constraint.topologyKey, _SOFT) for c in constraints):
            # There is one like it already, and the API server takes only one: this one can go.
            kept = replaced(constraints, index)
            changed = with_spec(pod, topologySpreadConstraints=kept)
            yield Change(ChangeKind.SPREAD, f"spread {index}", f"{where}: drop the constraint {_HARD}", 4, pod=changed)
            continue
        new = replace(constraint, whenUnsatisfiable=_SOFT, minDomains=None)
        text = f"{where}: whenUnsatisfiable {_HARD} → {_SOFT}"
        yield _spread(pod, index, new, text, 3, {"whenUnsatisfiable": _SOFT}, 0)


def _may_match_revision(pod: Pod, constraint: TopologySpreadConstraint, gates: GateSet) -> bool:
    return (
        gates.enabled(MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD)
        and POD_TEMPLATE_HASH in pod.metadata.labels
        and POD_TEMPLATE_HASH not in constraint.matchLabelKeys
        and constraint.labelSelector is not None
    )


def _spread(
    pod: Pod, index: int, new: TopologySpreadConstraint, summary: str, size: int, written: dict[str, object], move: int
) -> Change:
    entry = {"topologyKey": new.topologyKey, **written}
    return Change(
        ChangeKind.SPREAD,
        f"spread {index}",
        summary,
        size,
        pod=with_spec(pod, topologySpreadConstraints=replaced(pod.spec.topologySpreadConstraints, index, new)),
        yaml=as_yaml({"topologySpreadConstraints": [entry]}) if written else "",
        move=move,
    )
