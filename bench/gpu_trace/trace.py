"""Read a trace of nodes and tasks with GPU shares as Kubernetes objects.

The files are those of Alibaba's cluster-trace-gpu-v2023 (openb_node_list_all_node.csv and openb_pod_list_*.csv). A GPU
has 1,000 thousandths of an extended resource; those of a node are one amount, so that a task may get parts of several
GPUs, which a real node would refuse. A model is a label. Prices are assumptions: the trace has none.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

GPU = "example.com/gpu-milli"
MODEL = "example.com/gpu-model"
#: Of an hour: a CPU, a GiB, and a GPU by its model.
CPU_PRICE, GIB_PRICE = 0.03, 0.004
GPU_PRICES = {"": 0.0, "P100": 0.8, "T4": 0.35, "V100M16": 1.5, "V100M32": 2.0, "A10": 0.75, "G2": 0.9, "G3": 2.5}
NODES = "openb_node_list_all_node.csv"
TASKS = "openb_pod_list_{}.csv"


class NodeType(NamedTuple):
    """A kind of node of the trace."""

    cpu: int
    memory: int
    gpus: int
    model: str

    @property
    def name(self) -> str:
        return f"c{self.cpu // 1000}-m{self.memory // 1024}" + (f"-{self.gpus}x{self.model}" if self.gpus else "")

    @property
    def price(self) -> float:
        price = self.cpu / 1000 * CPU_PRICE + self.memory / 1024 * GIB_PRICE + self.gpus * GPU_PRICES[self.model]
        return round(price, 4)

    def has_model_for(self, task: Task) -> bool:
        return not task.models or self.model in task.models

    def takes(self, task: Task) -> bool:
        """Whether an empty node has room for a task."""
        room = task.cpu <= self.cpu and task.memory <= self.memory and task.gpu <= 1000 * self.gpus
        return room and self.has_model_for(task)


class Task(NamedTuple):
    """What tasks of one shape need. `models` are those of GPUs that will do; any if it is empty."""

    cpu: int
    memory: int
    gpu: int
    models: tuple[str, ...]


def node_types(folder: Path) -> Counter[NodeType]:
    """Return the kinds of node of the real cluster, and how many there are of each."""
    with (folder / NODES).open(encoding="utf-8") as stream:
        return Counter(
            NodeType(int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"])
            for row in csv.DictReader(stream)
        )


def tasks(folder: Path, which: str) -> list[Task]:
    """Return the tasks in the order of the trace."""
    with (folder / TASKS.format(which)).open(encoding="utf-8") as stream:
        return [
            Task(
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
                int(row["num_gpu"]) * int(row["gpu_milli"]),
                tuple(filter(None, row["gpu_spec"].split("|"))),
            )
            for row in csv.DictReader(stream)
        ]


def node(kind: NodeType, name: str) -> dict[str, Any]:
    capacity = {"cpu": f"{kind.cpu}m", "memory": f"{kind.memory}Mi", "pods": "1000"}
    if kind.gpus:
        capacity[GPU] = str(1000 * kind.gpus)
    labels = {"kubernetes.io/hostname": name, **({MODEL: kind.model} if kind.gpus else {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": capacity},
    }


def pool(kind: NodeType) -> dict[str, Any]:
    made = node(kind, "node")
    labels = {MODEL: kind.model} if kind.gpus else {}
    return {
        "apiVersion": "capacity.moorage.dev/v1",
        "kind": "NodeGroup",
        "metadata": {"name": kind.name.lower()},
        "spec": {"price": kind.price, "template": {"metadata": {"labels": labels}, "status": made["status"]}},
    }


def pod(task: Task, name: str) -> dict[str, Any]:
    requests = {"cpu": f"{task.cpu}m", "memory": f"{task.memory}Mi"}
    limits = {GPU: str(task.gpu)} if task.gpu else {}
    spec: dict[str, Any] = {
        "containers": [
            {"name": "c", "image": "i:1", "resources": {"requests": {**requests, **limits}, "limits": limits}}
        ]
    }
    if task.models:
        term = {"matchExpressions": [{"key": MODEL, "operator": "In", "values": list(task.models)}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
        spec["affinity"] = {"nodeAffinity": required}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}
