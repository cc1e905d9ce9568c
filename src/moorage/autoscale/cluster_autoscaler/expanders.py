"""Choose one of the node groups that could be made larger.

Each expander keeps the best options; what is left after a chain of them is decided by chance.
Kubernetes: Cluster Autoscaler, expander/. Differs: `price` takes the price of a pod from the prices of the options'
nodes: clouds have a price list of CPU and memory; `priority` takes the priority of a NodeGroup where there is no
ConfigMap cluster-autoscaler-priority-expander.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from moorage.autoscale.cluster_autoscaler.estimate import Option
from moorage.columns.resources import CPU, MEMORY, amounts

#: GPU groups are made larger only for pods that need them.
_GPU_UNFITNESS = 1000.0
_GPU = "nvidia.com/gpu"
_MIB = 2**20
#: Up to this many nodes in the cluster, the preferred node has this CPU (in thousandths) and memory.
_PREFERRED = ((2, 1), (6, 2), (20, 4), (60, 8), (200, 16), (1 << 62, 32))
_PREFERRED_CPU, _PREFERRED_MEMORY = 1000, 3750 * _MIB
#: A pod whose price keeps ratios of small prices apart: 500m CPU and 500 MiB.
_STABILIZATION = {CPU: 500, MEMORY: 500 * _MIB}
Priorities = Callable[[str], Sequence[int]]


def best_option(
    options: Sequence[Option],
    expanders: str,
    random: Callable[[], float],
    *,
    cluster_size: int,
    priorities: Priorities | None = None,
) -> Option | None:
    """Return the option that a chain of expanders chooses; None without options."""
    left = list(options)
    for name in expanders.split(","):
        if len(left) < 2:
            break
        left = filtered(left, name, cluster_size=cluster_size, priorities=priorities)
    if not left:
        return None
    return left[int(random() * len(left)) % len(left)]


def filtered(
    options: Sequence[Option], name: str, *, cluster_size: int = 0, priorities: Priorities | None = None
) -> list[Option]:
    """Return the options that one expander keeps."""
    if name == "least-waste":
        return _lowest(options, [_waste(option) for option in options])
    if name == "most-pods":
        return _lowest(options, [-float(len(option.records)) for option in options])
    if name == "least-nodes":
        return _lowest([one for one in options if one.nodes], [float(one.nodes) for one in options if one.nodes])
    if name == "price":
        return _cheapest(options, cluster_size)
    if name == "priority":
        return _preferred(options, priorities)
    return list(options)


def _lowest(options: Sequence[Option], scores: Sequence[float]) -> list[Option]:
    lowest = min(scores, default=0.0)
    return [option for option, score in zip(options, scores, strict=True) if score == lowest]


def _waste(option: Option) -> float:
    """Return the share of the new nodes' CPU, and that of their memory, that the pods leave unused, added up."""
    capacity, waste = amounts(option.kind.template.capacity), 0.0
    for name in (CPU, MEMORY):
        available = capacity.get(name, 0) * option.nodes
        asked = sum(record.shape.requests.get(name, 0) for record in option.records)
        waste += (available - asked) / available if available else 0.0
    return waste


def _preferred(options: Sequence[Option], priorities: Priorities | None) -> list[Option]:
    """Return the options of the highest priority; all if none has one."""
    highest, best = -1, list[Option]()
    for option in options:
        own = priorities(option.pool) if priorities is not None else (option.kind.pool.weight,)
        for priority in own:
            if priority > highest:
                highest, best = priority, []
            if priority == highest and option not in best:
                best.append(option)
    return best or list(options)


def _cheapest(options: Sequence[Option], cluster_size: int) -> list[Option]:
    """Return the options whose money is spent best, on nodes of a size that fits the cluster."""
    priced = [option for option in options if option.kind.template.price is not None]
    if not priced:
        return list(options)
    unit = _unit_prices(priced)
    factor = next(factor for limit, factor in _PREFERRED if cluster_size <= limit)
    stabilization = _price_of(_STABILIZATION, unit)
    scores = []
    for option in priced:
        nodes = (option.kind.template.price or 0.0) * option.nodes
        pods = sum(_price_of(record.shape.requests, unit) for record in option.records)
        worth = (nodes + stabilization) / (pods + stabilization) if pods + stabilization else 1.0
        unfitness = _unfitness(option, factor * _PREFERRED_CPU)
        suppressed = (unfitness - 1.0) * (1.0 - math.tanh((option.nodes - 1) / 15.0)) + 1.0
        if _GPU in option.kind.template.capacity:
            suppressed = _GPU_UNFITNESS
        scores.append(worth * suppressed)
    return _lowest(priced, scores)


def _unfitness(option: Option, preferred: int) -> float:
    cpu = amounts(option.kind.template.capacity).get(CPU, 0) or 1
    return max(preferred / cpu, cpu / preferred)


def _unit_prices(options: Sequence[Option]) -> Mapping[str, float]:
    """Return the mean prices of CPU and memory of the options' nodes, each half of the price of a node."""
    totals = {CPU: 0.0, MEMORY: 0.0}
    price = 0.0
    for option in options:
        capacity = amounts(option.kind.template.capacity)
        price += option.kind.template.price or 0.0
        for name in totals:
            totals[name] += capacity.get(name, 0)
    return {name: price / 2 / total if total else 0.0 for name, total in totals.items()}


def _price_of(requests: Mapping[str, int], unit: Mapping[str, float]) -> float:
    return sum(requests.get(name, 0) * price for name, price in unit.items())
