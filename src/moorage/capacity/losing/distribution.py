"""Sum up many losses: how many pods wait afterwards, which workloads are hit most, and the worst loss by name."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from moorage.capacity.losing.trials import Nodes, Trial

_SHARES = (50, 90, 95, 99)


class Percentiles(msgspec.Struct, frozen=True, rename="camel"):
    """A number of pods over all losses: in half of them it is at most `p50`, and so on; `most` is the highest."""

    mean: float
    p50: int
    p90: int
    p95: int
    p99: int
    most: int


class WorkloadRisk(msgspec.Struct, frozen=True, rename="camel"):
    """A workload with pods that wait or are not replaced: in how many of the losses, and of how many pods at most."""

    workload: str
    losses: int
    most_pods: int
    mean_pods: float


class BudgetRisk(msgspec.Struct, frozen=True, rename="camel"):
    """A PodDisruptionBudget that is not kept, and in how many of the losses."""

    name: str
    losses: int


class Distribution(msgspec.Struct, frozen=True, rename="camel"):
    """Many losses of `number` nodes out of `candidates`: `distinct` different ones; `unharmed` of all harm nothing.

    `worst` is the loss after which most pods wait; `replay` the choices that `moorage capacity lose` plays it with.
    """

    number: int
    candidates: int
    times: int
    seed: int
    distinct: int
    unharmed: int
    pending: Percentiles
    gone: Percentiles
    left: Percentiles
    workloads: list[WorkloadRisk]
    budgets: list[BudgetRisk]
    worst: Trial
    replay: tuple[str, ...]

    @property
    def harms(self) -> bool:
        return self.unharmed < self.times


def distribution_of(draws: Sequence[Nodes], trials: Mapping[Nodes, Trial], candidates: int, seed: int) -> Distribution:
    """Sum up the losses that were drawn, each as often as it was."""
    every = [trials[nodes] for nodes in draws]
    worst = max(every, key=lambda trial: trial.severity)
    budgets = Counter(name for trial in every for name in trial.budgets)
    return Distribution(
        number=len(draws[0]),
        candidates=candidates,
        times=len(draws),
        seed=seed,
        distinct=len(trials),
        unharmed=sum(not (trial.pending or trial.gone or trial.budgets) for trial in every),
        pending=percentiles(trial.waiting for trial in every),
        gone=percentiles(trial.unreplaced for trial in every),
        left=percentiles(trial.left for trial in every),
        workloads=_risks(every),
        budgets=[BudgetRisk(name, losses) for name, losses in budgets.most_common()],
        worst=worst,
        replay=tuple(f"node={name}" for name in worst.nodes),
    )


def percentiles(numbers: Iterable[int]) -> Percentiles:
    """Return the percentiles by nearest rank: each is one of the numbers."""
    ranked = sorted(numbers)
    p50, p90, p95, p99 = (ranked[-(-share * len(ranked) // 100) - 1] for share in _SHARES)
    return Percentiles(round(sum(ranked) / len(ranked), 2), p50, p90, p95, p99, ranked[-1])


def _risks(trials: Iterable[Trial]) -> list[WorkloadRisk]:
    numbers: dict[str, list[int]] = {}
    for trial in trials:
        for workload, pods in (Counter(trial.pending) + Counter(trial.gone)).items():
            numbers.setdefault(workload, []).append(pods)
    found = [
        WorkloadRisk(workload, len(pods), max(pods), round(sum(pods) / len(pods), 2))
        for workload, pods in numbers.items()
    ]
    return sorted(found, key=lambda one: (-one.losses, -one.most_pods, one.workload))
