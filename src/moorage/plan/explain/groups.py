"""Tell what the filter plugins say of nodes: of all that are refused alike in one line, of one node in full (`column`).

`Refused` has nodes of which every plugin says exactly the same. `merged` makes lines of them: nodes with the same
reasons or, where that is still too much, with the same taint keys, or refused by the same plugins.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import StrEnum
from typing import Any

import msgspec
import numpy as np

from moorage.columns.resources import PODS
from moorage.match.comparison import shown as shown_text
from moorage.match.taint_messages import describe_taint, describe_toleration
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE
from moorage.plan.devices import devices_at
from moorage.schedule.candidates import Candidates
from moorage.schedule.diagnosis import Refusal
from moorage.schedule.framework.plugin import Profile
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources
from moorage.schedule.plugins.node_affinity import NodeAffinity
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit, shown
from moorage.schedule.plugins.taint_toleration import TaintToleration
from moorage.schedule.preemption.nominations import NominatedPods

_HARD = (NO_SCHEDULE, NO_EXECUTE)
MAX_LINES = 6
#: Plugins whose reasons say less than their details.
_TOLD_APART = frozenset({TaintToleration.name, DynamicResources.name})
_VALUE = re.compile(r"\{([^:{}]*): [^{}]*\}")


class Refused(msgspec.Struct, frozen=True):
    """Nodes, and what every plugin that refuses them says, word by word the same of each."""

    nodes: tuple[str, ...]
    refusals: tuple[Refusal, ...]

    @property
    def distance(self) -> int:
        """How many reasons keep the pod from the nodes."""
        return sum(refusal.verdict.objections for refusal in self.refusals)


class Line(msgspec.Struct, frozen=True):
    """Nodes refused by the same plugins for reasons that are the same or much alike; the nearest group comes first."""

    nodes: tuple[str, ...]
    alike: tuple[Refused, ...]

    @property
    def example(self) -> Refused:
        return self.alike[0]

    @property
    def nearest(self) -> int:
        return min(group.distance for group in self.alike)

    @property
    def furthest(self) -> int:
        return max(group.distance for group in self.alike)

    def reasons(self, position: int) -> list[tuple[str, ...]]:
        """What the plugin at a position says, in all the ways in which it does."""
        return list(dict.fromkeys(group.refusals[position].verdict.reasons for group in self.alike))


def refused_nodes(candidates: Candidates) -> tuple[Refused, ...]:
    """Return all refusals of all nodes; those with the fewest reasons first, then the largest group."""
    nodes = candidates.cluster.nodes
    refusals_at: dict[int, list[Refusal]] = {}
    for item in candidates.filters:
        if item.prepared.rejection is not None:
            continue
        for slot in np.flatnonzero(nodes.alive & ~candidates.mask(item)).tolist():
            verdict = item.plugin.explain(item.prepared.want, candidates.cluster, slot)
            if verdict is not None:
                refusals_at.setdefault(slot, []).append(Refusal(item.plugin.name, verdict))
    groups: dict[tuple[Refusal, ...], list[str]] = {}
    for slot in nodes.slot_of.values():
        if slot in refusals_at:
            groups.setdefault(tuple(refusals_at[slot]), []).append(nodes.node(slot).metadata.name)
    made = [Refused(tuple(names), refusals) for refusals, names in groups.items()]
    return tuple(sorted(made, key=lambda group: (group.distance, -len(group.nodes))))


def merged(groups: Sequence[Refused], *, everything: bool = False) -> list[Line]:
    """Lines to read, as few as it takes."""
    lines = _merged(groups, _by_reasons)
    if len(lines) > MAX_LINES and not everything:
        lines = _merged(groups, _by_taint_keys)
    if len(lines) > MAX_LINES and not everything:
        lines = _merged(groups, _by_plugins)
    return lines


def _by_reasons(group: Refused) -> Hashable:
    """All taints of a node count, though the event names the first one only."""
    return tuple(
        (refusal.plugin, refusal.verdict.reasons, refusal.verdict.details if refusal.plugin in _TOLD_APART else ())
        for refusal in group.refusals
    )


def _by_taint_keys(group: Refused) -> Hashable:
    return tuple((refusal.plugin, *map(_without_value, refusal.verdict.reasons)) for refusal in group.refusals)


def _by_plugins(group: Refused) -> Hashable:
    return tuple(refusal.plugin for refusal in group.refusals)


def _without_value(reason: str) -> str:
    return _VALUE.sub(r"{\1}", reason)


def _merged(groups: Iterable[Refused], key: Callable[[Refused], Hashable]) -> list[Line]:
    by_key: dict[Hashable, list[Refused]] = {}
    for group in groups:
        by_key.setdefault(key(group), []).append(group)
    lines = []
    for alike in by_key.values():
        alike.sort(key=lambda group: (group.distance, -len(group.nodes)))
        lines.append(Line(tuple(name for group in alike for name in group.nodes), tuple(alike)))
    return sorted(lines, key=lambda line: (line.nearest, line.furthest, -len(line.nodes)))


class Answer(StrEnum):
    """What a plugin says of a node."""

    YES = "yes"
    NO = "no"
    NOTHING = "nothing to check"


class Cell(msgspec.Struct, frozen=True):
    """One plugin's answer. `details` are the taints, labels and inequalities it was made from."""

    plugin: str
    answer: Answer
    reasons: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


def column(
    profile: Profile, candidates: Candidates, slot: int, gates: GateSet, programs: Any = None
) -> tuple[Cell, ...]:
    cells = []
    for plugin in profile.filters:
        prepared = candidates.prepared[plugin]
        if prepared.rejection is not None:
            cells.append(Cell(plugin.name, Answer.NO, prepared.rejection.reasons, prepared.rejection.details))
        elif prepared.filters and (verdict := plugin.explain(prepared.want, candidates.cluster, slot)) is not None:
            cells.append(Cell(plugin.name, Answer.NO, verdict.reasons, verdict.details))
        elif prepared.filters and plugin.filters_now(prepared.want, candidates.cluster):
            cells.append(Cell(plugin.name, Answer.YES, (), why_yes(plugin.name, candidates, slot, gates, programs)))
        else:
            cells.append(Cell(plugin.name, Answer.NOTHING))
    # Nominations are no plugin of Kubernetes: they are worth a line only if they are in the way.
    return tuple(cell for cell in cells if cell.plugin != NominatedPods.name or cell.answer is Answer.NO)


def why_yes(name: str, candidates: Candidates, slot: int, gates: GateSet, programs: Any = None) -> tuple[str, ...]:
    """Return what a plugin compared that let the node pass; empty for most plugins."""
    if name == TaintToleration.name:
        return _tolerated(candidates, slot, gates, programs)
    if name == NodeResourcesFit.name:
        return _room(candidates, slot)
    if name == NodeAffinity.name:
        return _labels(candidates, slot)
    if name == DynamicResources.name:
        return tuple(f"claim {one.claim}, request {one.request}: {one.name}" for one in devices_at(candidates, slot))
    return ()


def _tolerated(candidates: Candidates, slot: int, gates: GateSet, programs: Any) -> tuple[str, ...]:
    tolerations = compile_tolerations(candidates.shape.spec.tolerations, gates, programs)
    said = []
    for taint in candidates.cluster.nodes.node(slot).spec.taints:
        found = tolerations.first_matching(taint) if taint.effect in _HARD else None
        if found is not None:
            said.append(f"taint {describe_taint(taint)} is tolerated by {describe_toleration(found[1])}")
    return tuple(said)


def _room(candidates: Candidates, slot: int) -> tuple[str, ...]:
    nodes = candidates.cluster.nodes
    said = [
        f"{resource}: {shown(resource, value)} <= {shown(resource, int(nodes.free(resource)[slot]))}"
        for resource, value in candidates.shape.requests.items()
    ]
    capacity = int(nodes.allocatable(PODS)[slot])
    return (*said, f"pods: {capacity - int(nodes.free(PODS)[slot])} + 1 <= {capacity}")


def _labels(candidates: Candidates, slot: int) -> tuple[str, ...]:
    labels, spec = candidates.cluster.nodes.node(slot).metadata.labels, candidates.shape.spec
    affinity = spec.affinity.nodeAffinity if spec.affinity is not None else None
    required = affinity.requiredDuringSchedulingIgnoredDuringExecution if affinity is not None else None
    terms = required.nodeSelectorTerms if required is not None else ()
    keys = [*spec.nodeSelector, *(expression.key for term in terms for expression in term.matchExpressions)]
    return tuple(
        f"label {shown_text(key)}={shown_text(labels[key])}" if key in labels else f"no label {shown_text(key)}"
        for key in dict.fromkeys(keys)
    )
