"""Say how many nodes of a NodePool may be disrupted now, for a reason.

Kubernetes: Karpenter, NodePool.GetAllowedDisruptionsByReason and Budget.IsActive: schedules are in UTC, percentages are
rounded up, and the smallest budget in force counts.
"""

from moorage.model.cron_schedule import parse_schedule
from moorage.model.go.integers import INT32_MAX
from moorage.pools.node_template import Disruption, DisruptionBudget

EMPTY, UNDERUTILIZED, DRIFTED = "Empty", "Underutilized", "Drifted"


def allowed_disruptions(disruption: Disruption, nodes: int, reason: str, now: float) -> int:
    """Return how many nodes of this number may be disrupted at a time; INT32_MAX if no budget is in force."""
    return min(
        (
            _share(budget.nodes, nodes)
            for budget in disruption.budgets
            if (not budget.reasons or reason in budget.reasons) and is_active(budget, now)
        ),
        default=INT32_MAX,
    )


def is_active(budget: DisruptionBudget, now: float) -> bool:
    """Return whether a budget is in force: always, or for its duration after each time of its schedule."""
    if not budget.schedule or budget.seconds is None:
        return True
    begun = parse_schedule(budget.schedule).next_after(now - budget.seconds)
    return begun is not None and begun <= now


def next_change(budget: DisruptionBudget, now: float) -> float | None:
    """Return when a budget with a schedule begins or ends to be in force next; None if never."""
    if not budget.schedule or budget.seconds is None:
        return None
    schedule = parse_schedule(budget.schedule)
    begins = schedule.next_after(now)
    if not is_active(budget, now):
        return begins
    last = now - budget.seconds
    while (later := schedule.next_after(last)) is not None and later <= now:
        last = later
    ends = last + budget.seconds
    return min(ends, begins) if begins is not None and begins <= ends else ends


def _share(text: str, nodes: int) -> int:
    if text.endswith("%"):
        return -(-int(text[:-1]) * nodes // 100)
    return int(text)
