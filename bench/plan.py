"""A plan of a large cluster: CPU time and peak memory of the whole command, Python's own start included."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from bench.dumps import write_dump
from bench.process import ENVIRONMENT, MOORAGE
from bench.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES, DEPLOYMENTS, REPLICAS = 5_000, 50, 200
RUNS = 3
#: Pods of a dump of placed pods, as kubectl prints it.
PLACED = 50_000
_ZONE = "topology.kubernetes.io/zone"
_VIEWS: tuple[tuple[str, ...], ...] = ((), ("--drain", "node-1"), ("--rollout", "deployment/web-1"))


def measure() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cluster.yaml"
        with path.open("w", encoding="utf-8") as stream:
            yaml.dump_all(_manifests(), stream, Dumper=yaml.CSafeDumper)
        for view in _VIEWS:
            costs = sorted(cost_of("plan", "--feature-gates=AllAlpha=true", str(path), *view) for _ in range(RUNS))
            name = " ".join((f"plan {NODES:,} nodes, {DEPLOYMENTS * REPLICAS:,} pods", *view))
            yield Result("plan", f"{name}, CPU", costs[RUNS // 2][0], p99=costs[-1][0])
            yield Result("plan", f"{name}, peak memory", costs[RUNS // 2][1], unit="B")
        for suffix in ("yaml", "json"):
            path = Path(folder) / f"dump.{suffix}"
            write_dump(path, NODES, PLACED)
            seconds, memory = cost_of("plan", "--feature-gates=AllAlpha=true", str(path))
            name = f"plan {NODES:,} nodes, {PLACED:,} placed pods, kubectl get -o {suffix}"
            yield Result("plan", f"{name}, CPU", seconds, goal="≤ 10 s")
            yield Result("plan", f"{name}, peak memory", memory, unit="B", goal="≤ 1 GiB")
            path.unlink()


def cost_of(*arguments: str) -> tuple[float, int]:
    """Return CPU seconds and peak bytes of the installed command."""
    with subprocess.Popen([MOORAGE, *arguments], env=ENVIRONMENT, stdout=subprocess.DEVNULL) as process:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def _manifests() -> Iterator[dict[str, Any]]:
    resources = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    for number in range(NODES):
        taints = [{"key": "sla", "value": str(900 + number % 10), "effect": "NoSchedule"}] if number % 5 == 0 else []
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{number}", "labels": {_ZONE: f"z{number % 3}"}},
            "spec": {"taints": taints},
            "status": {"capacity": resources, "allocatable": resources},
        }
    for number in range(DEPLOYMENTS):
        yield _deployment(f"web-{number}", is_spread=number % 3 == 0)


def _deployment(name: str, *, is_spread: bool) -> dict[str, Any]:
    labels = {"app": name}
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "500m", "memory": "512Mi"}}}],
        "tolerations": [{"key": "sla", "operator": "Gt", "value": "905", "effect": "NoSchedule"}],
    }
    if is_spread:
        spread = {"maxSkew": 1, "topologyKey": _ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        spec["topologySpreadConstraints"] = [{**spread, "labelSelector": {"matchLabels": labels}}]
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": REPLICAS, "selector": {"matchLabels": labels}, "template": template},
    }
