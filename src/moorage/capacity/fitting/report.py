"""Put the answer of a fit together: nodes with prices and how full they are, the proof, what binds, what cannot run."""

from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np

from moorage.capacity.fitting.dear import DearWorkload, dear_workloads
from moorage.capacity.fitting.demands import Waiting
from moorage.capacity.fitting.fit import Fitted
from moorage.capacity.fitting.model.highs import HOW_TO_INSTALL, is_installed
from moorage.capacity.fitting.survival import Survival
from moorage.capacity.fitting.worlds import nodes_of
from moorage.columns.resources import PODS
from moorage.lint.report.form import counted
from moorage.model.types.pod import TopologySpreadConstraint
from moorage.plan.outcome import node_lines
from moorage.plan.pools.verdicts import PoolVerdict, pool_growths, price_text, verdicts_of
from moorage.pools.node_template import Raw
from moorage.pools.prices import HOURS_A_MONTH

_MAX_EXPLAINED = 20
_SAME = 1e-9


class MixLine(msgspec.Struct, frozen=True, rename="camel"):
    """Nodes of one kind in a mix. `used` is how full they are together, in percent by resource."""

    pool: str
    node: str
    instance_type: str
    zone: str
    capacity_type: str
    count: int
    price: float
    cost: float
    names: tuple[str, ...]
    used: dict[str, int]


class Share(msgspec.Struct, frozen=True, rename="camel"):
    """Which part of the bound a resource makes: it is what nodes are full of."""

    resource: str
    percent: float


class HopelessWorkload(msgspec.Struct, frozen=True, rename="camel"):
    """Pods that no pool can ever take, and what each pool says of them."""

    workloads: dict[str, int]
    pod: str
    pools: list[PoolVerdict]


class WaitingWorkload(msgspec.Struct, frozen=True, rename="camel"):
    """Pods for which there is no node although each of them alone would have one, and the reason."""

    workloads: dict[str, int]
    pod: str
    reason: str


class FitReport(msgspec.Struct, frozen=True, rename="camel"):
    """The cheapest mix, or what stands in its way. Prices are those of an hour.

    `bound`: no mix costs less; `gap` is the part of the cost above it; `is_exact`: the mix is the cheapest.
    `tight_cost` is what the pods need if they are packed by the model rather than by the scheduler's scores.
    """

    cost: float
    bound: float
    gap: float
    is_exact: bool
    proof: str
    solver: str
    pods: int
    nodes: list[MixLine]
    binding: list[Share]
    bounds: list[str]
    hopeless: list[HopelessWorkload]
    left: list[WaitingWorkload]
    tight_cost: float | None
    trials: int
    survival: Survival | None = None
    workloads: list[DearWorkload] = []
    notes: list[str] = []
    max_cost: float | None = None
    #: What the API server refuses, so that no node is for it.
    refused: list[str] = []

    @property
    def is_found(self) -> bool:
        return not self.hopeless and not self.left

    @property
    def is_answered(self) -> bool:
        """Whether there is a mix that keeps what was asked for."""
        return (
            self.is_found
            and not self.refused
            and not self.is_too_dear
            and (self.survival is None or self.survival.holds)
        )

    @property
    def is_too_dear(self) -> bool:
        return self.max_cost is not None and self.is_found and self.cost > self.max_cost * (1 + _SAME)

    @property
    def sentence(self) -> str:
        if not self.is_found:
            stuck = self.hopeless or self.left
            pods = sum(sum(one.workloads.values()) for one in stuck)
            what = "no pool can ever take" if self.hopeless else "no mix was found for"
            return f"There is no mix: {what} {counted(pods, 'pod')}"
        nodes = sum(one.count for one in self.nodes)
        return (
            f"{counted(nodes, 'node')}, {price_text(self.cost)}/h ({price_text(self.cost * HOURS_A_MONTH)} a month): "
            f"{counted(self.pods, 'pod')} planned, nothing Pending"
        )

    @property
    def budget_sentence(self) -> str:
        if self.max_cost is None or not self.is_too_dear:
            return ""
        limit = price_text(self.max_cost)
        if self.bound > self.max_cost:
            return f"--max-cost {limit} cannot be kept: no mix costs less than {price_text(self.bound)}/h"
        return (
            f"--max-cost {limit} is not kept; a mix for {price_text(self.bound)}/h or more may exist that was not found"
        )


def report_of(
    fitted: Fitted,
    *,
    max_cost: float | None = None,
    explains: bool = False,
    survival: Survival | None = None,
    notes: Sequence[str] = (),
    refused: Sequence[str] = (),
) -> FitReport:
    """Return the report of what was found."""
    found = fitted.played is not None
    return FitReport(
        cost=fitted.cost if found else 0.0,
        bound=fitted.bound,
        gap=fitted.gap if found else 0.0,
        is_exact=found and fitted.is_exact,
        proof=proof_of(fitted) if found else "",
        solver="HiGHS" if is_installed() else "greedy",
        pods=fitted.demands.number,
        nodes=_lines(fitted),
        binding=_binding(fitted),
        bounds=_bounds(fitted),
        hopeless=_hopeless(fitted),
        left=_left(fitted),
        tight_cost=_tight(fitted),
        trials=fitted.trials,
        survival=survival,
        workloads=dear_workloads(fitted)[:_MAX_EXPLAINED] if explains and found else [],
        notes=[*fitted.world.notes, *_kept_out(fitted), *notes, *_one_zone(fitted)],
        max_cost=max_cost,
        refused=list(refused),
    )


def manifests_of(fitted: Fitted) -> list[Raw]:
    """Return the manifests of the nodes of a mix, as they were planned."""
    if fitted.played is None:
        return []
    chosen = [(fitted.kinds[index].template, int(number)) for index, number in enumerate(fitted.played.nodes) if number]
    return nodes_of(chosen, fitted.world.taken_names)


def proof_of(fitted: Fitted) -> str:
    """Say why no mix is cheaper, or how much cheaper one could be."""
    bound = price_text(fitted.bound)
    if fitted.is_exact or fitted.gap < _SAME:
        if not fitted.is_exact:
            return f"no cheaper mix: none costs less than {bound}/h"
        if fitted.trials > 1:
            return (
                f"no cheaper mix: {fitted.trials - 1:,} others were planned, and each left a pod Pending or cost more"
            )
        return "no cheaper mix: an integer program over all ways to fill these nodes proves it"
    how = "" if is_installed() else f" (found greedily: {HOW_TO_INSTALL} finds better mixes and bounds)"
    return f"no mix costs less than {bound}/h, so this one is at most {100 * fitted.gap:.2g} % too dear{how}"


def _lines(fitted: Fitted) -> list[MixLine]:
    played = fitted.played
    if played is None:
        return []
    names = iter([raw["metadata"]["name"] for raw in manifests_of(fitted)])
    by_name = {line.name: line for line in node_lines(played.simulation.cluster)}
    found = []
    for index in np.flatnonzero(played.nodes).tolist():
        template, count = fitted.kinds[index].template, int(played.nodes[index])
        mine = [next(names) for _ in range(count)]
        requested: Counter[str] = Counter()
        allocatable: Counter[str] = Counter()
        for name in mine:
            for resource, usage in by_name[name].resources.items():
                requested[resource] += usage.requested
                allocatable[resource] += usage.allocatable
        used = {name: round(100 * requested[name] / total) for name, total in allocatable.items() if total}
        price = template.price or 0.0
        found.append(
            MixLine(
                template.pool,
                template.name,
                template.instance_type,
                template.zone,
                template.capacity_type,
                count,
                price,
                price * count,
                tuple(mine),
                {name: percent for name, percent in used.items() if percent or name in ("cpu", "memory", PODS)},
            )
        )
    return sorted(found, key=lambda one: (-one.cost, one.pool, one.node))


def _binding(fitted: Fitted) -> list[Share]:
    """Return what the bound pays for, by resource."""
    if fitted.solved is None or fitted.shapes is None or fitted.played is None:
        return []
    relaxation, problem = fitted.solved.relaxation, fitted.shapes.problem
    if relaxation.nodes.any():
        worth = (relaxation.nodes[:, None] * problem.rooms * relaxation.unit_prices).sum(axis=0)
    else:
        worth = (fitted.played.nodes[:, None] * problem.rooms * relaxation.unit_prices).sum(axis=0)
    total = float(worth.sum())
    if total <= 0:
        return []
    shares = [
        Share(_plain(name), round(100 * float(part) / total, 1))
        for name, part in zip(problem.resources, worth, strict=True)
    ]
    return sorted((one for one in shares if one.percent >= 0.1), key=lambda one: -one.percent)


def _plain(resource: str) -> str:
    """Name a resource as people know it: that of one pod a node stands for a rule."""
    return resource.partition(":")[0] if resource.startswith("one pod per node") else resource


def _bounds(fitted: Fitted) -> list[str]:
    """Return the bounds of pools that the mix reaches, so that it cannot have more of their nodes."""
    if fitted.played is None or fitted.shapes is None:
        return []
    problem, nodes = fitted.shapes.problem, fitted.played.nodes
    found = []
    for one in problem.bounds:
        used, step = float(one.shares @ nodes), float(one.shares[one.shares > 0].min(initial=np.inf))
        if used + step > one.most * (1 + _SAME):
            found.append(f"{one.name} is reached")
        elif one.least and used <= one.least:
            found.append(f"{one.name} demands {one.least:,.0f}")
    return found


def _hopeless(fitted: Fitted) -> list[HopelessWorkload]:
    if not fitted.hopeless:
        return []
    pools = list({kind.pool.name: kind.pool for kind in fitted.kinds}.values())
    growths = pool_growths(fitted.base, pools)
    answers = fitted.nodes.ask([one.pod for one in fitted.hopeless])
    return [
        HopelessWorkload(dict(one.workloads), one.key, verdicts_of(fitted.nodes, pools, answer, growths))
        for one, answer in zip(fitted.hopeless, answers, strict=True)
    ]


def _left(fitted: Fitted) -> list[WaitingWorkload]:
    full = "the bounds of the pools leave no room for them"
    found = []
    for one in fitted.left:
        reason = fitted.reasons.get(one.key, full)
        found.append(WaitingWorkload(dict(one.workloads), one.key, reason))
    return found


def _tight(fitted: Fitted) -> float | None:
    """Return what the model's own mix costs, if the scheduler left pods Pending on it."""
    if fitted.played is None or fitted.solved is None or fitted.solved.cost >= fitted.cost * (1 - 1e-6):
        return None
    return fitted.solved.cost


def _kept_out(fitted: Fitted) -> list[str]:
    reasons = Counter(fitted.demands.kept_out.values())
    return [f"{counted(number, 'pod')} left out: {reason}" for reason, number in reasons.items()]


def _one_zone(fitted: Fitted) -> list[str]:
    """Say that all nodes are in one zone, where there are others and pods are spread over zones."""
    if fitted.played is None:
        return []
    zones = {fitted.kinds[index].template.zone for index in np.flatnonzero(fitted.played.nodes).tolist()}
    there = {kind.template.zone for kind in fitted.kinds}
    if len(zones) != 1 or len(there) < 2 or "" in zones:
        return []
    spread = any(
        constraint.topologyKey.endswith("/zone") for one in fitted.demands.waiting for constraint in _constraints(one)
    )
    where = f"all nodes are in zone {next(iter(zones))}"
    hint = "spread constraints hold, because there is no other zone with nodes; " if spread else ""
    return [f"{where}: {hint}--survive zone demands more"]


def _constraints(one: Waiting) -> Sequence[TopologySpreadConstraint]:
    return one.pod.spec.topologySpreadConstraints
