"""Hold PodDisruptionBudgets as preemption reads them: which evictions, in an order, would violate one.

Kubernetes: filterPodsWithPDBViolation.
"""

from collections.abc import Iterable, Sequence

import msgspec

from moorage.columns.cluster import PodRecord
from moorage.match.label_selector import Selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget


class _Budget(msgspec.Struct, frozen=True, eq=False):
    """A budget and its compiled selector."""

    budget: PodDisruptionBudget
    selector: Selector

    def is_spent_on(self, pod: Pod) -> bool:
        """Return whether evicting the pod counts: not if it is among the status's disruptedPods."""
        labels = pod.metadata.labels
        return (
            bool(labels)
            and pod.metadata.namespace == self.budget.metadata.namespace
            and self.selector.match(labels)
            and pod.metadata.name not in self.budget.status.disruptedPods
        )


class DisruptionBudgets:
    """All budgets. `generation` changes with any of them."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget] = ()) -> None:
        self._budgets: dict[tuple[str, str], _Budget] = {}
        self.generation = 0
        for budget in budgets:
            self.set(budget)

    def set(self, budget: PodDisruptionBudget) -> None:
        """Add or replace a budget. One whose selector is empty or malformed concerns no pod."""
        key = (budget.metadata.namespace, budget.metadata.name)
        self.remove(*key)
        try:
            selector = compile_label_selector(budget.spec.selector)
        except SelectorError:
            return
        if not selector.everything and not selector.nothing:
            self._budgets[key] = _Budget(budget, selector)

    def remove(self, namespace: str, name: str) -> None:
        self.generation += 1
        self._budgets.pop((namespace, name), None)

    def part(self, records: Sequence[PodRecord]) -> tuple[list[PodRecord], list[PodRecord]]:
        """Split pods into those whose eviction, in this order, violates a budget, and the rest."""
        if not self._budgets:
            return [], list(records)
        left = {budget: budget.budget.status.disruptionsAllowed for budget in self._budgets.values()}
        violating: list[PodRecord] = []
        others: list[PodRecord] = []
        for record in records:
            broken = False
            for budget in left:
                if budget.is_spent_on(record.pod):
                    left[budget] -= 1
                    broken |= left[budget] < 0
            (violating if broken else others).append(record)
        return violating, others
