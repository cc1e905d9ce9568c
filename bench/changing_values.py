"""An hour in which every node changes a value every minute, while pods come, are scheduled and go: CPU and memory.

KEP-5471 expects values that change. Time is virtual; the scheduler's cycle, queue and columns are the real ones, and
what they decide is carried out at once. What is kept of values and shapes that are gone would show as CPU time and
memory that grow: the first ten minutes are printed beside the last ten.
Run: python -m bench.changing_values --nodes 5000 --minutes 60
"""

from __future__ import annotations

import argparse
import gc
import json
import resource
import sys
from collections import deque
from pathlib import Path
from random import Random
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from moorage.columns.cluster import Cluster
from moorage.model.gates import gates_from
from moorage.model.schema.conversion import convert_view
from moorage.model.types.node import Node
from moorage.model.types.pod import Pod
from moorage.schedule.config.default_profile import DEFAULT_SCHEDULER, default_profile
from moorage.schedule.cycle import Bind, Scheduler
from moorage.schedule.live.pod_feed import SHAPES_TO_SPARE, Assumptions, PodFeed

if TYPE_CHECKING:
    from collections.abc import Sequence

KEY = "failure-probability"
GATES = gates_from({"AllAlpha": True})
_STEPS = 20  # in a minute
_STAY = 3  # minutes that a pod is there
_WARM_UP = 15  # minutes until as many shapes are kept as ever will be
_PAGE = resource.getpagesize()


class Minute(NamedTuple):
    """What one virtual minute cost, and what is kept at its end."""

    cpu_seconds: float
    mib: float
    bound: int
    refused: int
    entries: dict[str, int]


class ChangingCluster:
    """Nodes whose values change, and pods that come and go."""

    def __init__(self, nodes: int, pods_a_minute: int, seed: int = 0, shapes_to_spare: int = SHAPES_TO_SPARE) -> None:
        self._random = Random(seed)
        self._pods_a_minute = pods_a_minute
        self.cluster = Cluster(seed, GATES)
        self.scheduler = Scheduler({DEFAULT_SCHEDULER: default_profile(GATES)}, self.cluster)
        self.feed = PodFeed(self.scheduler, Assumptions(), shapes_to_spare)
        self._now = 0.0
        self._names = [f"n{number:05}" for number in range(nodes)]
        self._count = 0
        self._leaving: deque[list[tuple[str, Pod]]] = deque()
        for name in self._names:
            self.feed.node_changed(self._node(name), self._now)

    def _node(self, name: str) -> Node:
        """Return a node with a value that it has not had before, and that it will not have again."""
        value = str(self._random.randrange(10**9))
        zone = f"z{int(name[1:]) % 5}"
        resources = {"cpu": "16", "memory": "64Gi", "pods": "110"}
        return convert_view(
            {
                "metadata": {
                    "name": name,
                    "labels": {
                        "kubernetes.io/hostname": name,
                        "topology.kubernetes.io/zone": zone,
                        "rating": value,
                    },
                },
                "spec": {"taints": [{"key": KEY, "value": value, "effect": "NoSchedule"}]},
                "status": {"allocatable": resources, "capacity": resources},
            },
            Node,
        )

    def _pod(self) -> tuple[str, Pod]:
        """Return another pod: most tolerate or select by a number of their own, some fit nowhere."""
        self._count += 1
        number = self._count
        bound = "-1" if number % 50 == 0 else str(10**8 + self._random.randrange(8 * 10**8))
        toleration = {"key": KEY, "operator": "Lt", "value": bound, "effect": "NoSchedule"}
        app = f"a{number // 100}"
        spec: dict[str, Any] = {
            "schedulerName": DEFAULT_SCHEDULER,
            "containers": [{"name": "c", "image": "c:1", "resources": {"requests": {"cpu": "100m"}}}],
            "tolerations": [toleration],
        }
        if number % 3 == 0:
            wanted = {"matchExpressions": [{"key": "rating", "operator": "Gt", "values": [str(number)]}]}
            required = {"nodeSelectorTerms": [wanted]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        if number % 5 == 0:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"app": app}},
                }
            ]
        name = f"p{number}"
        metadata = {"name": name, "namespace": "default", "uid": name, "labels": {"app": app}}
        return f"default/{name}", convert_view({"metadata": metadata, "spec": spec}, Pod)

    def minute(self) -> Minute:
        """Let one minute pass: every node changes, pods come, those of three minutes ago go."""
        began = process_time()
        bound = refused = 0
        new = [self._pod() for _ in range(self._pods_a_minute)]
        self._leaving.append(new)
        for step in range(_STEPS):
            for name in self._names[step::_STEPS]:
                self.feed.node_changed(self._node(name), self._now)
            for key, pod in new[step::_STEPS]:
                self.feed.pod_changed(key, pod, self._now)
            while (action := self.scheduler.step(self._now)) is not None:
                if isinstance(action, Bind):
                    bound += 1
                    spec = msgspec.structs.replace(action.record.pod.spec, nodeName=action.node)
                    placed = msgspec.structs.replace(action.record.pod, spec=spec)
                    self.feed.pod_changed(action.record.key, placed, self._now)
                else:
                    refused += 1
            self._now += 60.0 / _STEPS
            self.feed.tidy()
        if len(self._leaving) > _STAY:
            for key, pod in self._leaving.popleft():
                self.feed.pod_gone(key, pod, self._now)
        return Minute(process_time() - began, _mib(), bound, refused, self.entries())

    def entries(self) -> dict[str, int]:
        """Return how many entries the tables have that depend on values and shapes."""
        nodes, classes, terms = self.cluster.nodes, self.cluster._classes, self.cluster.affinity_terms
        engines = self.scheduler.engines.values()
        return {
            "taint lists": len(nodes.taint_sets.codes),
            "label values": sum(len(column.values) for column in nodes._labels.values()),
            "label classes": len(classes._classes),
            "counted selectors": len(classes._counted),
            "affinity terms": len(terms._terms),
            "shapes": len(self.cluster.shapes),
            "shapes with candidates": sum(len(engine._candidates) for engine in engines),
        }


def _mib() -> float:
    """Return the memory of this process that is in use."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return pages * _PAGE / 2**20


def _mean(minutes: Sequence[Minute], what: str) -> float:
    return sum(float(getattr(minute, what)) for minute in minutes) / len(minutes)


def _report(minutes: Sequence[Minute], part: int) -> str:
    first, last = minutes[:part], minutes[-part:]
    rows: list[tuple[str, float, float]] = [
        ("CPU s a minute", _mean(first, "cpu_seconds"), _mean(last, "cpu_seconds")),
        ("MiB at the end", first[-1].mib, last[-1].mib),
        ("pods bound a minute", _mean(first, "bound"), _mean(last, "bound")),
        ("refusals a minute", _mean(first, "refused"), _mean(last, "refused")),
        *((name, first[-1].entries[name], last[-1].entries[name]) for name in first[-1].entries),
    ]
    lines = [f"{'':24} {f'first {part} min':>14} {f'last {part} min':>14} {'ratio':>7}"]
    for name, before, after in rows:
        ratio = f"{after / before:.2f}" if before else ""
        lines.append(f"{name:24} {before:14,.2f} {after:14,.2f} {ratio:>7}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.changing_values", description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=5_000, metavar="N")
    parser.add_argument("--minutes", type=int, default=60, metavar="N", help="of virtual time")
    parser.add_argument("--pods", type=int, default=200, metavar="N", help="that come in a minute")
    parser.add_argument("--warm-up", type=int, default=_WARM_UP, metavar="N", help="minutes before these")
    parser.add_argument("--json", metavar="FILE", help="write every minute to FILE")
    options = parser.parse_args(arguments)
    changing = ChangingCluster(options.nodes, options.pods)
    gc.collect()
    minutes = []
    for number in range(1 - options.warm_up, options.minutes + 1):
        minute = changing.minute()
        print(f"minute {number}: {minute.cpu_seconds:.2f} CPU s, {minute.mib:.0f} MiB", file=sys.stderr)
        if number > 0:
            minutes.append(minute)
    print(_report(minutes, min(10, max(1, options.minutes // 2))))
    if options.json:
        Path(options.json).write_text(json.dumps([minute._asdict() for minute in minutes]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
