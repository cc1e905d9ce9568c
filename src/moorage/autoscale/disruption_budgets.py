"""Count what PodDisruptionBudgets still allow, pod by pod.

Kubernetes: Cluster Autoscaler's RemainingPdbTracker, Karpenter's pdb.Limits.
"""

from collections.abc import Iterable, Sequence

from moorage.match.label_selector import Selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget


class BudgetCounts:
    """The disruptions that are left of each budget."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._budgets: list[tuple[PodDisruptionBudget, Selector]] = []
        for budget in budgets:
            try:
                self._budgets.append((budget, compile_label_selector(budget.spec.selector)))
            except SelectorError:
                continue
        self._left = [budget.status.disruptionsAllowed for budget, _ in self._budgets]

    def of(self, pod: Pod) -> list[int]:
        """Return the numbers of the budgets of a pod."""
        metadata = pod.metadata
        return [
            number
            for number, (budget, selector) in enumerate(self._budgets)
            if budget.metadata.namespace == metadata.namespace and selector.match(metadata.labels)
        ]

    def name(self, number: int) -> str:
        metadata = self._budgets[number][0].metadata
        return f"{metadata.namespace}/{metadata.name}"

    def blocking(self, pod: Pod) -> str:
        """Return the budget that allows no disruption of a pod now; empty if there is none."""
        return next((self.name(number) for number in self.of(pod) if self._left[number] < 1), "")

    def allows(self, pods: Sequence[Pod]) -> bool:
        """Return whether all these pods may be disrupted at a time."""
        needed: dict[int, int] = {}
        for pod in pods:
            for number in self.of(pod):
                needed[number] = needed.get(number, 0) + 1
        return all(self._left[number] >= asked for number, asked in needed.items())

    def take(self, pod: Pod) -> bool:
        """Count the disruption of a pod if all its budgets allow it; return whether they do."""
        numbers = self.of(pod)
        if any(self._left[number] < 1 for number in numbers):
            return False
        for number in numbers:
            self._left[number] -= 1
        return True
