"""Watch PodDisruptionBudgets while a cluster goes on, and tell which fall below what they demand.

What counts are the numbers that the disruption controller writes into a budget's status.
"""

import msgspec

from moorage.client.protocol import Object
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.policy import PodDisruptionBudget
from moorage.plan.simulation.simulation import Simulation


class BrokenBudget(msgspec.Struct, frozen=True, rename="camel"):
    """A budget of which fewer pods were healthy than it demands: the fewest, when that was, and whether it lasts.

    `name` has its namespace. `seconds` are counted from the loss.
    """

    name: str
    rule: str
    healthy: int
    desired: int
    expected: int
    seconds: int
    lasts: bool

    @property
    def text(self) -> str:
        """`minAvailable 2: 1 of 3 healthy, and 2 must be: 1 < 2, until the replacements run`."""
        end = "and it stays so" if self.lasts else "until the replacements run"
        inequality = f"{self.healthy} < {self.desired}"
        return f"{self.rule}: {self.healthy} of {self.expected} healthy and {self.desired} must be: {inequality}, {end}"


class BudgetWatch:
    """Follows the budgets of a simulation from now on."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._start = simulation.clock.now
        self._before = {one.key: _margin(one.view) for one in simulation.world.all(KINDS.POD_DISRUPTION_BUDGET)}
        self._worst: dict[str, tuple[PodDisruptionBudget, float]] = {}
        simulation.api.listeners.append(self._changed)

    def _changed(self, kind: Kind, old: Object | None, new: Object | None) -> None:
        if kind is not KINDS.POD_DISRUPTION_BUDGET or new is None:
            return
        margin = _margin(new.view)
        known = self._worst.get(new.key)
        least = _margin(known[0]) if known is not None else min(0, self._before.get(new.key, 0))
        if margin < least:
            self._worst[new.key] = new.view, self._simulation.clock.now

    def broken(self) -> list[BrokenBudget]:
        """Return the budgets that fell below what they demand, or further below it than before."""
        return [self._described(key, view, time) for key, (view, time) in sorted(self._worst.items())]

    def _described(self, key: str, view: PodDisruptionBudget, time: float) -> BrokenBudget:
        now = self._simulation.world.view(KINDS.POD_DISRUPTION_BUDGET, key)
        spec, status = view.spec, view.status
        rule = f"minAvailable {spec.minAvailable}"
        if spec.minAvailable is None:
            rule = f"maxUnavailable {spec.maxUnavailable}"
        return BrokenBudget(
            key,
            rule,
            status.currentHealthy,
            status.desiredHealthy,
            status.expectedPods,
            round(time - self._start),
            now is not None and _margin(now) < min(0, self._before.get(key, 0)),
        )


def _margin(budget: PodDisruptionBudget) -> int:
    """Return how many more pods are healthy than must be; negative if too few are."""
    return budget.status.currentHealthy - budget.status.desiredHealthy
