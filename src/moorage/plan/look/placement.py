"""Say why a pod is on its node: the scores of that node and of the next ones, plugin by plugin.

A pod that has its node in the input is scored as if it were scheduled now: what the scheduler saw when it decided is
not recorded anywhere. A pod that the plan places is scored at its turn, which is the decision itself. Kubernetes has
nothing like it: the scores are in the scheduler's log, if at all.
"""

import msgspec
import numpy as np

from moorage.columns.cluster import PodRecord
from moorage.lint.report.form import counted
from moorage.model.kinds import KINDS
from moorage.model.well_known.annotations import MIRROR_POD
from moorage.plan.explain.explanation import ScoreRow, score_rows
from moorage.plan.explain.remedies.trials import passing
from moorage.plan.explain.target import TargetError, find_target
from moorage.plan.input.inventory import Inventory
from moorage.plan.simulation.simulation import Simulation
from moorage.schedule.candidates import NO_SLOT
from moorage.schedule.diagnosis import Refusal, refusals_of

#: Nodes that are listed with their scores, the pod's own among them.
MAX_SCORED = 4


class ScoredNode(msgspec.Struct, frozen=True):
    """One node that takes the pod: its place among them, from 1, and its scores, times their weights."""

    node: str
    rank: int
    total: int
    scores: dict[str, int]


class Placement(msgspec.Struct, frozen=True, rename="camel"):
    """Why a pod is where it is. `sentence` is all of it in one.

    `is_decision`: these are the scores that decided; otherwise they are those of the cluster as it is now. `refusals`
    are what keeps the pod from its node now. `scored` has the pod's node first, then the best of the others.
    """

    pod: str
    node: str
    sentence: str
    is_decision: bool
    nodes: int
    feasible: int
    tied: int
    weights: dict[str, int]
    scored: tuple[ScoredNode, ...] = ()
    refusals: tuple[Refusal, ...] = ()


def explain_placement(simulation: Simulation, inventory: Inventory, key: str) -> Placement:
    """Explain the place of a pod that has a node, or gets one. Raises TargetError."""
    found = simulation.world.get(KINDS.POD, key)
    is_decision = found is None or not found.view.spec.nodeName
    if is_decision:
        record = find_target(simulation, inventory, key).record
    else:
        simulation.scheduling.take_in()
        known = simulation.cluster.pods.get(key)
        if known is None:
            raise TargetError(f"pod {key!r} takes no room on its node: it has ended, or the node is not known")
        record = known
    name = record.pod.spec.schedulerName
    if MIRROR_POD in record.pod.metadata.annotations:
        return _untold(simulation, record, "Its kubelet runs it from a file: no scheduler chose the node.")
    if not simulation.scheduler.knows(name):
        return _untold(simulation, record, f"Scheduler {name} chose the node, whose rules are not known here.")
    if record.slot < 0:
        return _placement(simulation, record, "", is_decision=is_decision)
    node = simulation.cluster.nodes.node(record.slot).metadata.name
    with simulation.cluster.as_if_gone([record]):
        return _placement(simulation, record, node, is_decision=is_decision)


def _untold(simulation: Simulation, record: PodRecord, sentence: str) -> Placement:
    return Placement(record.key, record.pod.spec.nodeName, sentence, False, len(simulation.cluster.nodes), 0, 0, {})


def _placement(simulation: Simulation, record: PodRecord, node: str, *, is_decision: bool) -> Placement:
    """Score the pod's node; without one, that which the scheduler chooses. Raises TargetError if that is none."""
    cluster = simulation.cluster
    engine = simulation.scheduler.engines[record.pod.spec.schedulerName]
    spec = msgspec.structs.replace(record.pod.spec, nodeName="")
    free = msgspec.structs.replace(record.pod, spec=spec)
    candidates = engine.candidates(cluster.shape_of(free, by_name=True))
    best = candidates.best()
    chosen = cluster.nodes.node(best).metadata.name if best != NO_SLOT else ""
    node = node or chosen
    if not node:
        raise TargetError(f"no node takes pod {record.key!r} now: see why it is pending")
    feasible = passing(candidates)
    rows, tied = score_rows(candidates, feasible)
    scored = _scored(rows, node)
    slot = cluster.nodes.slot_of[node]
    refusals = () if scored and scored[0].node == node else tuple(refusals_of(candidates, slot))
    count = int(np.count_nonzero(feasible))
    facts = _Facts(node, chosen, is_decision, len(cluster.nodes), count, tied, scored, refusals)
    weights = {plugin.name: weight for plugin, weight in engine.profile.scores}
    return Placement(
        record.key, node, _sentence(facts), is_decision, facts.nodes, count, tied, weights, scored, refusals
    )


def _scored(rows: tuple[ScoreRow, ...], node: str) -> tuple[ScoredNode, ...]:
    """Return the pod's node, if it takes the pod, then the best of the others, as many as are listed."""
    own: list[ScoredNode] = []
    others: list[ScoredNode] = []
    before, rank, total = 0, 1, None
    for row in rows:  # the highest score first
        if row.total != total:
            rank, total = before + 1, row.total
        before += len(row.nodes)
        for name in row.nodes:
            if name == node:
                own.append(ScoredNode(name, rank, row.total, row.scores))
            elif len(others) < MAX_SCORED:
                others.append(ScoredNode(name, rank, row.total, row.scores))
    return tuple([*own, *others][:MAX_SCORED])


class _Facts(msgspec.Struct, frozen=True):
    """What the sentence is made from. `chosen` is where the scheduler would put the pod; empty if nowhere."""

    node: str
    chosen: str
    is_decision: bool
    nodes: int
    feasible: int
    tied: int
    scored: tuple[ScoredNode, ...]
    refusals: tuple[Refusal, ...]


def _sentence(facts: _Facts) -> str:
    now = "" if facts.is_decision else "As the cluster is now, "
    if facts.refusals:
        verdict = facts.refusals[0].verdict
        why = next(iter((*verdict.details, *verdict.reasons)), facts.refusals[0].plugin)
        then = f"it would go to {facts.chosen}" if facts.chosen else "no node would take it"
        return f"{now}{facts.node} would not take it again ({why}); {then}."
    if facts.feasible == 1:
        return f"{now}{facts.node} is the only one of {counted(facts.nodes, 'node')} that takes it."
    own, best = facts.scored[0], facts.scored[1]
    if own.rank > 1:
        return (
            f"{now}{facts.chosen} would be chosen with {best.total:,} points: {facts.node} has {own.total:,}, "
            f"place {own.rank:,} of the {facts.feasible:,} nodes that take it."
        )
    if facts.tied > 1:
        return (
            f"{now}{facts.tied:,} of the {facts.feasible:,} nodes that take it have the highest score, "
            f"{own.total:,}: {facts.node} is one of them, and one is drawn."
        )
    return (
        f"{now}{facts.node} has the highest score of the {facts.feasible:,} nodes that take it, {own.total:,}: "
        f"next is {best.node} with {best.total:,}."
    )
