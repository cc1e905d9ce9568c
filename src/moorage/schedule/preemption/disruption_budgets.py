"""PodDisruptionBudgets: how many pods may still be evicted, and whose eviction violates a budget.

Kubernetes: filterPodsWithPDBViolation, which believes the budget's status.
Differs: a budget without a status, as in a manifest, is computed as the disruption controller would: from its selector
over the pods on nodes; those that are not ready, or are being deleted, are not healthy.
"""

from collections.abc import Iterable, Mapping, Sequence

from moorage.columns.cluster import Cluster, PodRecord
from moorage.match.label_selector import Selector, compile_label_selector
from moorage.match.requirement import SelectorError
from moorage.model.types.pod import Pod
from moorage.model.types.policy import PodDisruptionBudget, PodDisruptionBudgetStatus

_NO_STATUS = PodDisruptionBudgetStatus()


class Budget:
    """One budget. `allowed` is how many of its pods may be evicted now."""

    def __init__(self, budget: PodDisruptionBudget, selector: Selector, cluster: Cluster, expected: int | None) -> None:
        self.budget = budget
        self._namespace = budget.metadata.namespace
        self._selector = selector
        self._cluster = cluster
        self._expected = expected
        self._has_status = budget.status != _NO_STATUS
        if not self._has_status:
            self._unready = [r for r in cluster.pods.values() if self.concerns(r.pod) and _is_unready(r.pod)]

    def _is_counted(self, namespace: str, labels: Mapping[str, str], deleting: bool) -> bool:
        return not deleting and namespace == self._namespace and self._selector.match(labels)

    def concerns(self, pod: Pod) -> bool:
        labels = pod.metadata.labels
        return bool(labels) and pod.metadata.namespace == self._namespace and self._selector.match(labels)

    def is_spent_on(self, pod: Pod) -> bool:
        """Return whether evicting the pod counts: not if it is among the status's disruptedPods."""
        return self.concerns(pod) and pod.metadata.name not in self.budget.status.disruptedPods

    @property
    def allowed(self) -> int:
        if self._has_status:
            return self.budget.status.disruptionsAllowed
        counts = self._cluster.count_pods(("alive", self._namespace, str(self._selector)), self._is_counted)
        alive = sum(counts.on.values())
        gone_bad = sum(1 for r in self._unready if r.slot >= 0 and r.pod.metadata.deletionTimestamp is None)
        return max(0, alive - gone_bad - self._desired(alive if self._expected is None else self._expected))

    def _desired(self, expected: int) -> int:
        spec = self.budget.spec
        if spec.maxUnavailable is not None:
            return max(0, expected - _scaled(spec.maxUnavailable, expected))
        if spec.minAvailable is not None:
            return _scaled(spec.minAvailable, expected)
        return expected


class DisruptionBudgets:
    """All budgets. `expected` has, by namespace and name, how many pods their owners want, where known."""

    def __init__(
        self,
        cluster: Cluster,
        budgets: Iterable[PodDisruptionBudget] = (),
        expected: Mapping[tuple[str, str], int] | None = None,
    ) -> None:
        self._cluster = cluster
        self._expected = expected or {}
        self._budgets: dict[tuple[str, str], Budget] = {}
        self.generation = 0
        for budget in budgets:
            self.set(budget)

    def set(self, budget: PodDisruptionBudget) -> None:
        """Add or replace a budget. One whose selector is empty or malformed concerns no pod."""
        key = (budget.metadata.namespace, budget.metadata.name)
        self.generation += 1
        self._budgets.pop(key, None)
        try:
            selector = compile_label_selector(budget.spec.selector)
        except SelectorError:
            return
        if not selector.everything and not selector.nothing:
            self._budgets[key] = Budget(budget, selector, self._cluster, self._expected.get(key))

    def remove(self, namespace: str, name: str) -> None:
        self.generation += 1
        self._budgets.pop((namespace, name), None)

    def state(self) -> tuple[int, tuple[int, ...]]:
        """Return a value that is equal as long as `part` parts alike."""
        return self.generation, tuple(budget.allowed for budget in self._budgets.values())

    def part(self, records: Sequence[PodRecord]) -> tuple[list[PodRecord], list[PodRecord]]:
        """Split pods into those whose eviction, in this order, violates a budget, and the rest."""
        if not self._budgets:
            return [], list(records)
        left = {budget: budget.allowed for budget in self._budgets.values()}
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

    def concern(self, records: Iterable[PodRecord]) -> bool:
        """Return whether there is a budget for any of the pods."""
        return bool(self._budgets) and any(b.concerns(r.pod) for r in records for b in self._budgets.values())


def _scaled(amount: int | str, of: int) -> int:
    """Return a number, or a percentage rounded up, as the disruption controller rounds both of its fields."""
    if isinstance(amount, int):
        return amount
    percent = amount.removesuffix("%")
    return -(-int(percent) * of // 100) if percent.isdecimal() else of


def _is_unready(pod: Pod) -> bool:
    return any(condition.type == "Ready" and condition.status != "True" for condition in pod.status.conditions)
