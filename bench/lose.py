"""A thousand random losses with `capacity lose`: CPU time of the command and of all its forks, and peak memory.

Ten of 200 nodes are lost at a time, on which 2,000 pods run: Deployments that spread, some with budgets, a DaemonSet.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.plan import cost_of
from bench.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES, DEPLOYMENTS, REPLICAS, LOST, TIMES = 200, 36, 50, 10, 1000
_CPUS = ("250m", "300m", "400m", "450m")
_GOAL = "60 s"


def measure() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.json"
        path.write_text("\n---\n".join(map(json.dumps, _documents())), encoding="utf-8")
        words = ["capacity", "lose", str(path), "--random", str(LOST), "--times", str(TIMES), "--seed", "1"]
        seconds, memory = cost_of(*words, "-o", "json")
        what = (
            f"capacity lose --random {LOST} --times {TIMES:,}, {NODES} nodes, {NODES + DEPLOYMENTS * REPLICAS:,} pods"
        )
        yield Result("lose", f"{what}, CPU", seconds, goal=_GOAL)
        yield Result("lose", f"{what}, peak memory", memory, unit="B")


def _documents() -> Iterator[dict[str, Any]]:
    for number in range(NODES):
        labels = {"topology.kubernetes.io/zone": "abc"[number % 3]}
        capacity = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{number}", "labels": labels}}
        yield {**about, "status": {"capacity": capacity, "allocatable": capacity}}
    yield _workload("DaemonSet", "agent", "50m")
    for number in range(DEPLOYMENTS):
        name = f"web-{number}"
        yield _workload("Deployment", name, _CPUS[number % 4], replicas=REPLICAS)
        if number % 4 == 0:
            spec = {"minAvailable": "90%", "selector": {"matchLabels": {"app": name}}}
            about = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}}
            yield {**about, "spec": spec}


def _workload(kind: str, name: str, cpu: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}}}
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    about = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}}
    return {**about, "spec": {**spec, "selector": {"matchLabels": labels}, "template": template}}
