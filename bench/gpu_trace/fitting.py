"""Find the cheapest mix for the tasks of a trace, and compare it with the real cluster and first-fit decreasing."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from bench.gpu_trace.trace import NodeType, Task, node_types, pod, pool, tasks
from moorage.capacity.fitting.fit import fit
from moorage.capacity.fitting.worlds import FitWorld
from moorage.lint.sources import Source
from moorage.model.gates import gates_from
from moorage.plan.planner import Planner, Settings
from moorage.plan.pools.reading import read_pool_sources
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION, Configuration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def first_fit_decreasing(kinds: Sequence[NodeType], every: Sequence[Task]) -> Counter[NodeType]:
    """Place tasks, large ones first, on the first node that has room; else start the kind that is cheapest for them.

    A task's size is the largest of its shares of all there is in the largest node.
    """
    most = np.array([[kind.cpu, kind.memory, 1000 * kind.gpus] for kind in kinds], np.float64)
    largest = np.maximum(most.max(axis=0), 1)
    amounts = np.array([[task.cpu, task.memory, task.gpu] for task in every], np.float64)
    left, of = np.zeros((len(every), 3)), np.zeros(len(every), np.int64)
    started = 0
    chosen: Counter[NodeType] = Counter()
    for index in np.argsort(-(amounts / largest).max(axis=1), kind="stable").tolist():
        task, need = every[index], amounts[index]
        allowed = np.array([kind.has_model_for(task) for kind in kinds])
        fits = (left[:started] >= need).all(axis=1) & allowed[of[:started]]
        if fits.any():
            left[int(fits.argmax())] -= need
            continue
        best = min(
            (k for k, kind in enumerate(kinds) if kind.takes(task)),
            key=lambda k: kinds[k].price / min(most[k][r] / need[r] for r in range(3) if need[r]),
        )
        left[started], of[started] = most[best] - need, best
        started += 1
        chosen[kinds[best]] += 1
    return chosen


def cost_of(nodes: Counter[NodeType]) -> float:
    return sum(kind.price * number for kind, number in nodes.items())


def measure(folder: Path, which: str, configuration: Configuration = DEFAULT_CONFIGURATION) -> Iterator[str]:
    """Yield lines of figures."""
    there, every = node_types(folder), tasks(folder, which)
    kinds = list(there)
    hopeless = [task for task in every if not any(kind.takes(task) for kind in kinds)]
    every = [task for task in every if any(kind.takes(task) for kind in kinds)]
    yield f"{which}: {len(every):,} tasks in {len(set(every))} shapes, {len(kinds)} kinds of node"
    yield f"  left out, because no kind of node has room for them: {len(hopeless):,} tasks"
    yield f"  real cluster: {there.total():,} nodes, {cost_of(there):,.1f}/h"
    decreasing = first_fit_decreasing(kinds, every)
    yield f"  first-fit decreasing: {decreasing.total():,} nodes, {cost_of(decreasing):,.1f}/h"
    planner = Planner(Settings(gates_from({}), configuration=configuration))
    documents = [pod(task, f"task-{number}") for number, task in enumerate(every)]
    planner.load([Source("tasks", content=b"\n---\n".join(json.dumps(one).encode() for one in documents))])
    groups = b"\n---\n".join(json.dumps(pool(kind)).encode() for kind in kinds)
    pools = read_pool_sources([Source("pools", content=groups)])
    begun, used = time.perf_counter(), time.process_time()
    fitted = fit(FitWorld(planner, keeps_nodes=False), pools.pools)
    wall, cpu = time.perf_counter() - begun, time.process_time() - used
    if fitted.solved is not None:
        solved = fitted.solved
        nodes = int(solved.mix.nodes.sum())
        yield f"  model: {nodes:,} nodes, {solved.cost:,.1f}/h, bound {solved.bound:,.1f}/h, gap {solved.gap:.2%}"
    if fitted.played is not None:
        nodes = int(fitted.played.nodes.sum())
        yield f"  planned, nothing Pending: {nodes:,} nodes, {fitted.cost:,.1f}/h, gap {fitted.gap:.2%}"
        shares = [fitted.cost / cost_of(one) for one in (there, decreasing)]
        yield f"    that is {shares[0]:.2f} of the real cluster, {shares[1]:.2f} of first-fit decreasing"
    else:
        left = sum(one.number for one in fitted.left)
        yield f"  refused: {left:,} tasks in {len(fitted.left)} shapes wait on every mix that was planned"
    yield f"  {fitted.trials} plans; {cpu:,.0f} s of CPU, {wall:,.0f} s"
