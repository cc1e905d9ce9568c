"""Lose nodes many times, each time in a fork of one settled cluster: what a single plan would say, in milliseconds.

Equal losses are played once. Where a process cannot be forked, the cluster is planned again for each.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from random import Random

import msgspec

from moorage.capacity.forks import can_fork, fresh_inventory, play_each
from moorage.capacity.losing.loss import GONE, WAITING, PlayedLoss, play_loss
from moorage.plan.difference.comparison import Pair
from moorage.plan.node_changes import ChangeError
from moorage.plan.outcome import Outcome
from moorage.plan.planner import Planner
from moorage.plan.simulation.simulation import Simulation

MAX_TIMES = 100_000
Nodes = tuple[str, ...]


class Trial(msgspec.Struct, frozen=True, rename="camel"):
    """What one loss does, in numbers: by workload the pods that wait afterwards, and those that are not replaced.

    Pods without a controller stand for themselves. `left` counts the pods that leave because of the loss.
    """

    nodes: Nodes
    left: int
    pending: dict[str, int]
    gone: dict[str, int]
    budgets: tuple[str, ...]

    @property
    def waiting(self) -> int:
        return sum(self.pending.values())

    @property
    def unreplaced(self) -> int:
        return sum(self.gone.values())

    @property
    def severity(self) -> tuple[int, int, int, int]:
        """What the worst trial has most of: pods that wait, that are not replaced, broken budgets, pods that leave."""
        return self.waiting, self.unreplaced, len(self.budgets), self.left


def trial_of(played: PlayedLoss) -> Trial:
    """Return the numbers of a loss."""
    loss, of = played.loss, played.difference.comparison.of
    budgets = tuple(one.name for one in loss.budgets)
    return Trial(loss.nodes, len(loss.evicted), _by_workload(of(*WAITING)), _by_workload(of(*GONE)), budgets)


def _by_workload(pairs: Iterable[Pair]) -> dict[str, int]:
    numbers = Counter(pair.workload or f"Pod {pair.line.key}" for pair in pairs)
    return dict(sorted(numbers.items()))


def draw_nodes(names: Sequence[str], number: int, times: int, seed: int) -> list[Nodes]:
    """Draw this many nodes, this many times. Raises ChangeError."""
    if not 1 <= number <= len(names):
        raise ChangeError(
            f"--random must be from 1 to {len(names):,}, as many as there are nodes to lose, not {number}"
        )
    if not 1 <= times <= MAX_TIMES:
        raise ChangeError(f"--times must be from 1 to {MAX_TIMES:,}, not {times}")
    random, known = Random(seed), sorted(names)
    return [tuple(sorted(random.sample(known, number))) for _ in range(times)]


def play_trials(
    planner: Planner,
    simulation: Simulation,
    before: Outcome,
    draws: Iterable[Nodes],
    tick: Callable[[], None] = lambda: None,
    workers: int | None = None,
) -> dict[Nodes, Trial]:
    """Play each of these losses on a planned simulation, which stays as it is; return what each does."""
    distinct = list(dict.fromkeys(draws))
    if not can_fork():
        return {nodes: _played_afresh(planner, nodes, tick) for nodes in distinct}

    def play(nodes: Nodes) -> object:
        return msgspec.to_builtins(trial_of(play_loss(planner, simulation, before, nodes)))

    trials = msgspec.convert(play_each(simulation, distinct, play, tick, workers), list[Trial])
    return {trial.nodes: trial for trial in trials}


def _played_afresh(planner: Planner, nodes: Nodes, tick: Callable[[], None]) -> Trial:
    """Plan the input once more and play a loss on it."""
    fresh = Planner(planner.settings)
    fresh.inventory = fresh_inventory(planner.inventory)
    simulation = fresh.build()
    trial = trial_of(play_loss(fresh, simulation, fresh.plan(simulation), nodes))
    tick()
    return trial
