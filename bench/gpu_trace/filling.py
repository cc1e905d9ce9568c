"""Let tasks of a trace arrive on its own nodes until nothing fits any more: how many GPUs stay unallocated?

Tasks are drawn by chance from the trace, again and again, as a cluster sees ever more of the same. When GPUs are left
and none of the shapes that ask for GPUs fits any more, the rest is fragmented. The scheduler places them by itself.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.gpu_trace.trace import GPU, Task, node, node_types, pod, tasks
from moorage.columns.cluster import PodRecord
from moorage.lint.sources import Source
from moorage.model.gates import gates_from
from moorage.model.kinds import view_of
from moorage.plan.planner import Planner, Settings
from moorage.schedule.candidates import NO_SLOT
from moorage.schedule.config.configuration import load_configuration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from moorage.schedule.config.configured_scheduler import Configuration

MOST_ALLOCATED = {
    "name": "NodeResourcesFit",
    "args": {
        "scoringStrategy": {
            "type": "MostAllocated",
            "resources": [{"name": GPU, "weight": 3}, {"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
        }
    },
}
LEAST_ALLOCATED = {
    "name": "NodeResourcesFit",
    "args": {"scoringStrategy": {**MOST_ALLOCATED["args"]["scoringStrategy"], "type": "LeastAllocated"}},  # type: ignore[index]
}


#: How many classes of tasks the plugin looks at, the most common ones first.
MAX_CLASSES = 20
PLUGIN = Path(__file__).resolve().parents[2] / "examples" / "plugin"


@contextmanager
def installed_plugin() -> Iterator[None]:
    """Have the package of examples/plugin among those that are installed."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PLUGIN, f"{folder}/source")
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        subprocess.run(build, cwd=f"{folder}/source", check=True, capture_output=True)
        [wheel] = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(f"{folder}/site")
        sys.path.insert(0, f"{folder}/site")
        try:
            yield
        finally:
            sys.path.remove(f"{folder}/site")


def profiles(every: list[Task]) -> dict[str, dict[str, object]]:
    """Return the scheduler profiles to compare, by name."""
    common = Counter((task.cpu, task.gpu) for task in every if task.gpu).most_common(MAX_CLASSES)
    classes = [{"cpuMilli": cpu, "gpuMilli": gpu, "share": number} for (cpu, gpu), number in common]
    whole = {"name": "GpuFragmentation", "args": {"resource": GPU, "classes": classes}}
    return {
        "default": {},
        "least allocated, GPUs count": {"pluginConfig": [LEAST_ALLOCATED]},
        "most allocated, GPUs count": {"pluginConfig": [MOST_ALLOCATED]},
        "against fragmentation (examples/plugin)": {
            "plugins": {"multiPoint": {"enabled": [{"name": "GpuFragmentation", "weight": 20}]}},
            "pluginConfig": [whole],
        },
    }


def configuration_of(profile: dict[str, object]) -> Configuration:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "default-scheduler", **profile}],
    }
    return load_configuration(json.dumps(document).encode(), "profile", gates_from({}))


def measure(folder: Path, which: str, seeds: Iterable[int]) -> Iterator[str]:
    """Yield a line for each profile: GPUs that stay unallocated, and of which part of all."""
    every, there = tasks(folder, which), node_types(folder)
    total = sum(kind.gpus * number for kind, number in there.items())
    yield f"{which}: {there.total():,} nodes with {total:,} GPUs; tasks arrive by chance until no GPU task fits"
    with installed_plugin():
        configurations = {name: configuration_of(profile) for name, profile in profiles(every).items()}
    for name, configuration in configurations.items():
        left = [_left(folder, every, configuration, seed) for seed in seeds]
        mean = sum(left) / len(left)
        shown = ", ".join(f"{one:,.1f}" for one in left)
        yield f"  {name}: {mean:,.1f} GPUs unallocated on average, {mean / total:.2%} ({shown})"


def _left(folder: Path, every: list[Task], configuration: Configuration, seed: int) -> float:
    """Return how many GPUs are left when no task that asks for GPUs fits any more."""
    planner = Planner(Settings(gates_from({}), seed=seed, configuration=configuration))
    nodes = [
        node(kind, f"node-{index}-{number}")
        for index, (kind, many) in enumerate(node_types(folder).items())
        for number in range(many)
    ]
    planner.load([Source("nodes", content=b"\n---\n".join(json.dumps(one).encode() for one in nodes))])
    simulation = planner.build()
    simulation.settle()
    cluster, engine = simulation.cluster, next(iter(simulation.scheduler.engines.values()))
    views = {task: view_of(pod(task, f"shape-{number}")) for number, task in enumerate(dict.fromkeys(every))}
    records = {task: cluster.record(f"default/{number}", view) for number, (task, view) in enumerate(views.items())}  # type: ignore[arg-type]
    full: set[Task] = set()
    drawn = random.Random(seed)
    gpu_shapes = {task for task in views if task.gpu}
    arrived = 0
    while gpu_shapes - full:
        task = drawn.choice(every)
        if task in full:
            continue
        record = PodRecord(f"default/task-{arrived}", records[task].pod, records[task].shape)
        slot = engine.find(record)
        if slot == NO_SLOT:
            full.add(task)  # nothing leaves, so that it will not fit later, either
            continue
        cluster.add_pod(record, slot)
        arrived += 1
    free = cluster.nodes.free(GPU)
    return sum(int(free[slot]) for slot, _ in cluster.nodes) / 1000
