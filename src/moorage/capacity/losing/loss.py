"""Lose nodes, or raise the value of a taint of theirs, and tell who leaves, who finds a place and who waits, and why.

Lost nodes are gone at once with their objects, as those of instances that a cloud takes back. A raised value is what
`moorage plan --taint` plays: NoExecute taints evict at the times that tolerations allow.
"""

from collections.abc import Sequence

import msgspec

from moorage.capacity.losing.budget_watch import BrokenBudget, BudgetWatch
from moorage.capacity.node_choice import NodeChoice, NoSuchNodes, chosen_nodes
from moorage.capacity.raised_value import RaisedValue, taints_of
from moorage.lint.report.form import counted
from moorage.model.kinds import KINDS
from moorage.plan.departures import Departure
from moorage.plan.difference.comparison import Becomes
from moorage.plan.difference.difference import Difference
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner
from moorage.plan.pod_lines import PodLine
from moorage.plan.report.node_lists import shown_nodes
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes

#: Places of workloads without a pod on a node afterwards, that had one or would have one.
WAITING = (Becomes.PENDING, Becomes.NEW_PENDING)
#: Pods that are not replaced.
GONE = (Becomes.LOST, Becomes.EVICTED, Becomes.PREEMPTED, Becomes.FAILED)


class Loss(msgspec.Struct, frozen=True, rename="camel"):
    """What a loss does. `evicted` are the pods that leave because of it, in the order in which they leave.

    `pending` wait for a node afterwards and would not wait without the loss, `gone` are not replaced, `budgets` fell
    below what they demand. `harms` says whether there is any of these three.
    """

    change: str
    nodes: tuple[str, ...]
    sentence: str
    evicted: list[Departure]
    pending: list[PodLine]
    gone: list[PodLine]
    budgets: list[BrokenBudget]
    harms: bool


class PlayedLoss(msgspec.Struct, frozen=True):
    """A loss, and the what-if that it is a view of."""

    loss: Loss
    difference: Difference
    outcome: Outcome


def lost_nodes(simulation: Simulation, choices: Sequence[NodeChoice]) -> list[str]:
    """Return the names of the nodes that meet one of the choices; all without any. Raises NoSuchNodes."""
    nodes = [found.view for found in simulation.world.all(KINDS.NODE)]
    if not nodes:
        raise NoSuchNodes("there are no nodes in the input")
    return chosen_nodes(nodes, choices) if choices else [node.metadata.name for node in nodes]


def play_loss(
    planner: Planner,
    simulation: Simulation,
    before: Outcome,
    nodes: Sequence[str],
    value: RaisedValue | None = None,
    what: str = "",
) -> PlayedLoss:
    """Lose nodes of a planned simulation, or raise a value on them. Raises ChangeError."""
    watch = BudgetWatch(simulation)
    if value is None:
        changes = Changes(removes=tuple(nodes))
    else:
        changes = Changes(taints=tuple(taints_of(simulation, nodes, value)))
    outcome, difference, _ = planner.what_if(simulation, before, changes, [])
    difference.changes = (_described(nodes, value, what),)
    pairs = difference.comparison
    waiting = [pair.after for pair in pairs.of(*WAITING) if pair.after is not None]
    gone = [pair.left or pair.line for pair in pairs.of(*GONE)]
    broken = watch.broken()
    evicted = sorted(difference.evicted, key=lambda one: one.after_seconds)
    loss = Loss(
        difference.changes[0],
        tuple(nodes),
        difference.sentence,
        evicted,
        waiting,
        gone,
        broken,
        bool(waiting or gone or broken),
    )
    return PlayedLoss(loss, difference, outcome)


def _described(nodes: Sequence[str], value: RaisedValue | None, what: str) -> str:
    named = f"{counted(len(nodes), 'node')} ({shown_nodes(nodes)})" if len(nodes) > 1 else f"node {nodes[0]}"
    chosen = f"{what}: {named}" if what and what != f"node={nodes[0]}" else named
    return f"lose {chosen}" if value is None else f"taint {chosen} with {value}"
