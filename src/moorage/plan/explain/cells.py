"""Tell what the filter plugins say of one node, plugin by plugin, also those that agree."""

from enum import StrEnum
from typing import Any

import msgspec

from moorage.columns.resources import PODS
from moorage.match.comparison import shown as shown_text
from moorage.match.taint_messages import describe_taint, describe_toleration
from moorage.match.tolerations import compile_tolerations
from moorage.model.gates import GateSet
from moorage.model.well_known.taints import NO_EXECUTE, NO_SCHEDULE
from moorage.plan.devices import devices_at
from moorage.schedule.candidates import Candidates
from moorage.schedule.framework.plugin import Profile
from moorage.schedule.plugins.devices.dynamic_resources import DynamicResources
from moorage.schedule.plugins.node_affinity import NodeAffinity
from moorage.schedule.plugins.node_resources_fit import NodeResourcesFit, shown
from moorage.schedule.plugins.taint_toleration import TaintToleration
from moorage.schedule.preemption.nominations import NominatedPods

_HARD = (NO_SCHEDULE, NO_EXECUTE)


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
