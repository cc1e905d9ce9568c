"""A day of an autoscaler in a plan: CPU time and peak memory of the whole command.

Five hundred nodes come for five thousand pods; every two hours Jobs of twenty minutes need fifty more, which go again.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.plan import cost_of
from bench.result import Result
from moorage.run.simulated_pod import COMPLETES_AFTER

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPLOYMENTS, REPLICAS, CPUS = 50, 100, ("250m", "300m", "400m", "450m")
JOBS, PARALLEL = 10, 50
HOURS = "24h"
_GOAL = "30 s"
_CHOICES = {"karpenter": "nodepool.json", "cluster-autoscaler": "groups.json"}


def measure() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        for name, documents in _files().items():
            (directory / name).write_text("\n---\n".join(map(json.dumps, documents)), encoding="utf-8")
        (directory / "types.json").write_text(json.dumps([_instance_type()]), encoding="utf-8")
        for autoscaler, pools in _CHOICES.items():
            words = ["plan", str(directory / "app.json"), "--autoscale", autoscaler, "--at", HOURS]
            for name in (pools, "types.json"):
                words += ["--pools", str(directory / name)]
            seconds, memory = cost_of(*words, "-o", "json")
            what = f"plan --autoscale {autoscaler} --at {HOURS}, {DEPLOYMENTS * REPLICAS:,} pods"
            yield Result("autoscale", f"{what}, CPU", seconds, goal=_GOAL)
            yield Result("autoscale", f"{what}, peak memory", memory, unit="B")


def _files() -> dict[str, list[dict[str, Any]]]:
    deployments = [_workload("apps/v1", "Deployment", f"web-{number}", number) for number in range(DEPLOYMENTS)]
    jobs = [_cron_job(f"batch-{number}", number) for number in range(JOBS)]
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "main"},
        "spec": {"disruption": {"consolidateAfter": "1m"}, "template": {"spec": {"requirements": []}}},
    }
    capacity = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    group = {
        "apiVersion": "capacity.moorage.dev/v1",
        "kind": "NodeGroup",
        "metadata": {"name": "main"},
        "spec": {"maxSize": 1000, "price": 0.1, "zones": ["a"], "template": {"status": {"capacity": capacity}}},
    }
    return {"app.json": [*deployments, *jobs], "nodepool.json": [pool], "groups.json": [group]}


def _instance_type() -> dict[str, Any]:
    bought = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    return {
        "name": "m.xlarge",
        "offerings": [{"Price": 0.1, "Available": True, "Requirements": [bought, zone]}],
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": "4", "memory": "16Gi", "pods": "110"},
    }


def _spec(number: int) -> dict[str, Any]:
    requests = {"cpu": CPUS[number % len(CPUS)], "memory": "128Mi"}
    return {"containers": [{"name": "c", "image": "i:1", "resources": {"requests": requests}}]}


def _workload(version: str, kind: str, name: str, number: int) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": _spec(number)}
    selector = {"matchLabels": {"app": name}}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"replicas": REPLICAS, "selector": selector, "template": template},
    }


def _cron_job(name: str, number: int) -> dict[str, Any]:
    pod = {"metadata": {"annotations": {COMPLETES_AFTER: "20m"}}, "spec": {**_spec(number), "restartPolicy": "Never"}}
    job = {"spec": {"parallelism": PARALLEL, "completions": PARALLEL, "template": pod}}
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name},
        "spec": {"schedule": "0 */2 * * *", "jobTemplate": job},
    }
