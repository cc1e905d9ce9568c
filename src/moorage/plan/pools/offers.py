"""Note for pods that stay Pending in a plan which pool could start a node for them, or why none would."""

from collections.abc import Sequence

from moorage.lint.finding import Severity
from moorage.lint.report.form import counted
from moorage.plan.input.inventory import Note
from moorage.plan.outcome import Outcome
from moorage.plan.pod_lines import PodLine, planned_pods
from moorage.plan.pools.pool_nodes import PoolNodes
from moorage.plan.pools.verdicts import pool_growths, verdicts_of
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.node_template import Pool
from moorage.schedule.cycle import UNSCHEDULABLE

_MAX_NOTES = 100
_MAX_POOLS = 4


def pool_notes(simulation: Simulation, outcome: Outcome, pools: Sequence[Pool]) -> list[Note]:
    """Return a note for each workload, and each pod without one, that waits for a node."""
    waiting: dict[str, list[PodLine]] = {}
    for line in outcome.pending:
        if line.reason == UNSCHEDULABLE:
            waiting.setdefault(line.workload or f"Pod {line.key}", []).append(line)
    if not waiting or not pools:
        return []
    chosen = dict(list(waiting.items())[:_MAX_NOTES])
    firsts = {lines[0].key: name for name, lines in chosen.items()}
    pods = [pod for pod in planned_pods(simulation) if pod.key in firsts]
    nodes = PoolNodes(simulation, pools)
    growths = pool_growths(simulation, pools)
    notes = []
    for pod, answer in zip(pods, nodes.ask([pod.pod for pod in pods]), strict=True):
        verdicts = verdicts_of(nodes, pools, answer, growths)
        taking = [one for one in verdicts if one.takes]
        if taking:
            best = min(taking, key=lambda one: (float("inf") if one.price is None else one.price, one.pool))
            text = f"it would fit with {best.offer} (tried)"
        else:
            why = "; ".join(f"{one.pool}: {one.sentence}" for one in verdicts[:_MAX_POOLS])
            more = f"; and {counted(len(verdicts) - _MAX_POOLS, 'more pool')}" if len(verdicts) > _MAX_POOLS else ""
            text = f"no pool would start a node for it: {why}{more}"
        notes.append(Note(Severity.INFO, firsts[pod.key], text))
    return notes
