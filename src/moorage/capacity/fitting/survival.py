"""Make a mix survive losses: of any one zone, any one pool, or any N nodes. Each loss is played on the planned cluster.

Lost nodes are gone at once; controllers make their pods again, and nothing may stay Pending. Where more sets of N nodes
could be lost than can be played, the fullest and many drawn by chance are.
"""

from collections import Counter
from itertools import combinations, islice
from math import comb
from random import Random
from typing import Any

import msgspec
import numpy as np

from moorage.capacity.fitting.demands import Waiting, demands_of
from moorage.capacity.fitting.fit import Fitted, distinct_kinds
from moorage.capacity.fitting.model.problem import Ints, Mask
from moorage.capacity.fitting.model.robust import robust_choice
from moorage.capacity.fitting.model.search import cheaper
from moorage.capacity.fitting.trial import MixTrials, Played, Stuck
from moorage.capacity.forks import can_fork, play_each
from moorage.model.kinds import KINDS
from moorage.model.well_known.labels import ZONE
from moorage.plan.simulation.simulation import Simulation
from moorage.pools.membership import Membership

ZONES, POOLS = "zone", "pool"
MAX_LOSSES = 300
MAX_ROUNDS = 30
MAX_REMOVALS = 20
#: Up to this number of pods cheaper mixes are tried, and up to this number of mixes.
MAX_PODS_TO_SEARCH, MAX_TRIALS = 100, 40


class Survival(msgspec.Struct, frozen=True, rename="camel"):
    """What was lost, one loss at a time: `played` of `possible` losses. `failed` are those after which pods wait."""

    what: str
    played: int
    possible: int
    failed: list[str]
    #: After the worst loss, by workload.
    waiting: dict[str, int] = {}

    @property
    def holds(self) -> bool:
        return not self.failed

    @property
    def sentence(self) -> str:
        losses = (
            f"{self.played:,} of {self.possible:,} losses" if self.played < self.possible else f"{self.played:,} losses"
        )
        if self.failed:
            waiting = ", ".join(f"{name} ({number:,} pods)" for name, number in list(self.waiting.items())[:4])
            return f"no mix was found that survives; after losing {', '.join(self.failed[:4])} these wait: {waiting}"
        return f"everything runs after losing any {self.what}: {losses} played"


class Loss(msgspec.Struct, frozen=True, eq=False):
    """Nodes that are lost together, and the kinds that cannot replace them."""

    name: str
    nodes: tuple[str, ...]
    kinds: Mask


def read_survival(text: str) -> str | int:
    """Return `zone`, `pool` or a number of nodes. Raises ValueError."""
    if text in (ZONES, POOLS):
        return text
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 6 else 0
    if number < 1:
        raise ValueError(f"{text!r} is not zone, pool or a number of nodes from 1")
    return number


def make_survive(fitted: Fitted, what: str | int, seed: int = 0) -> Survival:
    """Add nodes to a mix until it survives, and take away what is not needed; the answer is changed."""
    assert fitted.played is not None
    assert fitted.shapes is not None
    problem, trials = fitted.shapes.problem, MixTrials(fitted.world, fitted.kinds)
    survivor = _Survivor(fitted, what, seed, trials)
    robust = robust_choice(problem, survivor.kinds_lost()) if isinstance(what, str) else None
    nodes = robust[0] if robust is not None else fitted.played.nodes
    played = fitted.played
    failed: list[Loss] = []
    for _ in range(MAX_ROUNDS):
        try:
            played = trials.repaired(nodes)
        except Stuck:
            played = fitted.played
            failed, _ = survivor.lose(played)
            break
        failed, more = survivor.lose(played)
        if not failed or not more.any():
            break
        nodes = played.nodes + more
    if not failed:
        played = _fewer(fitted, survivor, trials, played)
    if not failed and fitted.demands.number <= MAX_PODS_TO_SEARCH:
        played = _cheapest(fitted, survivor, trials, played)
    waiting = dict(survivor.waiting) if failed else {}
    if failed:
        played = fitted.played
    elif robust is not None and not fitted.world.taken_names:
        fitted.bound = max(fitted.bound, robust[1])
    losses, possible = survivor.losses_of(played)
    fitted.played, fitted.cost = played, problem.cost(played.nodes)
    fitted.bound, fitted.is_exact = min(fitted.bound, fitted.cost), fitted.is_exact and bool(failed)
    fitted.trials += trials.number
    named = what if isinstance(what, str) else "node" if what == 1 else f"{what} nodes"
    return Survival(named, len(losses), possible, [one.name for one in failed], waiting)


def _fewer(fitted: Fitted, survivor: "_Survivor", trials: MixTrials, played: Played) -> Played:
    """Take nodes away, dear ones first, as long as the rest survives."""
    assert fitted.shapes is not None
    problem = fitted.shapes.problem
    for kind in sorted(np.flatnonzero(played.nodes).tolist(), key=lambda one: -float(problem.prices[one])):
        while played.nodes[kind] and trials.number < MAX_REMOVALS:
            nodes = played.nodes.copy()
            nodes[kind] -= 1
            if not problem.keeps_bounds(nodes):
                break
            tried = trials.play(nodes)
            if not tried.is_whole or survivor.lose(tried)[0]:
                break
            played = tried
    return played


def _cheapest(fitted: Fitted, survivor: "_Survivor", trials: MixTrials, played: Played) -> Played:
    """Try cheaper mixes in the order of their cost."""
    assert fitted.shapes is not None
    problem = fitted.shapes.problem
    tried: list[Played] = []

    def works(nodes: Ints) -> bool:
        tried.append(trials.play(nodes))
        return tried[-1].is_whole and not survivor.lose(tried[-1])[0]

    distinct = distinct_kinds(problem, fitted)
    cost = problem.cost(played.nodes)
    found = cheaper(problem, distinct, fitted.bound, cost, works, MAX_TRIALS)
    return tried[-1] if found.nodes is not None else played


def _by_workload(waiting: list[Waiting]) -> Counter[str]:
    numbers: Counter[str] = Counter()
    for one in waiting:
        numbers.update(one.workloads)
    return numbers


class _Survivor:
    """Loses nodes of planned mixes."""

    def __init__(self, fitted: Fitted, what: str | int, seed: int, trials: MixTrials) -> None:
        self._fitted, self._what, self._seed, self._trials = fitted, what, seed, trials
        self.waiting: dict[str, int] = {}
        self._values = [self._value(kind.template.zone, kind.pool.name) for kind in fitted.kinds]
        self._membership = Membership({kind.pool.name: kind.pool for kind in fitted.kinds}.values())

    def _value(self, zone: str, pool: str) -> str:
        return zone if self._what == ZONES else pool if self._what == POOLS else ""

    def kinds_lost(self) -> list[Mask]:
        """Return for each zone or pool which kinds of node are lost with it."""
        return [np.array([value == one for value in self._values]) for one in dict.fromkeys(self._values)]

    def losses_of(self, played: Played) -> tuple[list[Loss], int]:
        """Return the losses to play, and how many are possible."""
        if isinstance(self._what, int):
            return self._sets_of_nodes(played.simulation, self._what)
        groups: dict[str, list[str]] = {}
        for _, node in played.simulation.cluster.nodes:
            pool = self._membership.pool_of(node)
            value = self._value(node.metadata.labels.get(ZONE, ""), pool.name if pool is not None else "")
            if value:
                groups.setdefault(value, []).append(node.metadata.name)
        losses = [
            Loss(f"{self._what} {value}", tuple(names), np.array([one == value for one in self._values]))
            for value, names in groups.items()
        ]
        return losses, len(losses)

    def _sets_of_nodes(self, simulation: Simulation, number: int) -> tuple[list[Loss], int]:
        held = {
            node.metadata.name: simulation.cluster.nodes.free("pods")[slot] for slot, node in simulation.cluster.nodes
        }
        names = sorted(held, key=lambda name: int(held[name]))
        number = min(number, len(names))
        possible = comb(len(names), number)
        if possible <= MAX_LOSSES:
            chosen = list(combinations(names, number))
        else:
            random = Random(self._seed)
            drawn = (tuple(random.sample(names, number)) for _ in range(MAX_LOSSES - 1))
            chosen = list(dict.fromkeys((tuple(names[:number]), *drawn)))
        nothing = np.zeros(len(self._values), np.bool_)
        return [Loss(", ".join(islice(one, 4)), one, nothing) for one in chosen], possible

    def lose(self, played: Played) -> tuple[list[Loss], Ints]:
        """Play each loss; return those after which pods wait, and nodes that would help after the worst of them."""
        losses, _ = self.losses_of(played)

        def play(loss: Loss, cluster: Played = played) -> Any:
            simulation = cluster.simulation
            for name in loss.nodes:
                simulation.api.delete(KINDS.NODE, name)
            simulation.settle_with_evictions()
            after = Played(played.nodes, simulation, demands_of(simulation))
            more = self._trials.more_for(after, loss.kinds).tolist() if not after.is_whole else []
            return [after.waiting.number, more, dict(_by_workload(after.waiting.waiting))]

        if can_fork():
            results = play_each(played.simulation, losses, play)
        else:  # each time planned again
            results = [play(loss, self._trials.play(played.nodes)) for loss in losses]
        failed = [(number, loss, *rest) for loss, (number, *rest) in zip(losses, results, strict=True) if number]
        self.waiting = {}
        if not failed:
            return [], np.zeros(len(self._values), np.int64)
        _, _, more, self.waiting = max(failed, key=lambda one: one[0])
        return [one[1] for one in failed], np.array(more, np.int64)
