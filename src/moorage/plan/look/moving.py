"""Say what would become of a pod that had to leave its node now: played on the whole simulated cluster.

The node is cordoned and the pod evicted, as the eviction API does it, so that a disruption budget may refuse it. What
its controller makes instead is placed by the scheduler.
"""

from typing import Any

import msgspec

from moorage.lint.report.form import counted
from moorage.model.kinds import KINDS
from moorage.plan.departures import Cause, Departure
from moorage.plan.difference.difference import Difference
from moorage.plan.look.waiting import why_it_waits
from moorage.plan.node_changes import ChangeError
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner
from moorage.plan.simulation.simulation import Simulation
from moorage.plan.what_if import Changes


class Move(msgspec.Struct, frozen=True, rename="camel"):
    """What would become of the pod. `new_node` is where its successor runs; empty if that waits or is absent.

    `changes` are those that were made, as the question what-if takes them.
    """

    pod: str
    node: str
    sentence: str
    is_pending: bool
    new_node: str
    changes: tuple[dict[str, Any], ...]


def explain_move(planner: Planner, simulation: Simulation, before: Outcome, key: str) -> Move:
    """Evict a pod of a settled simulation from its node, which is cordoned. Raises ChangeError."""
    found = simulation.world.get(KINDS.POD, key)
    if found is None:
        raise ChangeError(f"pod {key!r} is not in the simulated cluster: it is about to leave, or has left")
    node = found.view.spec.nodeName
    if not node:
        raise ChangeError(f"pod {key!r} is not on a node")
    owner = simulation.owner_of(found)
    workload = f"{owner[0]} {owner[1]}/{owner[2]}" if owner is not None else ""
    wanted = Changes(cordons=(node,), evicts=(key,))
    updated, difference, _ = planner.play(simulation, before, wanted, ())
    departure = next((one for one in (*difference.departures, *difference.anyway) if one.pod == key), None)
    waits = ""
    if departure is not None and departure.replaced_by and not departure.new_node:
        lines = (line for line in updated.outcome.pods if line.key == departure.replaced_by and line.is_present)
        waits = next((why_it_waits(simulation, line) for line in lines), departure.message)
    return Move(
        key,
        node,
        _sentence(difference, departure, workload, node, waits),
        departure is not None and bool(departure.replaced_by) and not departure.new_node,
        departure.new_node if departure is not None else "",
        ({"cordon": {"nodes": [node]}}, {"evict": key}),
    )


def _sentence(difference: Difference, departure: Departure | None, workload: str, node: str, waits: str) -> str:
    if difference.blocked:
        message = difference.blocked[0].message
        return f"{message[0].upper()}{message[1:]}."
    if departure is None:
        return "It would stay: the eviction does not reach it."
    if not departure.replaced_by:
        return f"{workload} would not make another one." if workload else "No controller makes it again: it is gone."
    if departure.new_node == node:
        return f"{workload} would make it again on the same node."
    if not departure.new_node:
        return f"{workload} would make another one, which would be Pending: {waits}."
    preempted = sum(one.cause is Cause.PREEMPTED for one in difference.departures)
    room = f", for which {counted(preempted, 'pod')} of lower priority would go" if preempted else ""
    return f"{workload} would make another one on {departure.new_node}{room}."
