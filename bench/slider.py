"""Moves of the dashboard's slider: how long the simulator takes to say who leaves, and to say everything.

A taint's value moves on one node, on a pool and everywhere, as a user would move it; every move is the question
`what-if` to the processes that the dashboard asks, one at a time, as the page asks. The goal is an answer within
300 ms at p95 for 5,000 nodes and 20,000 pods. Run: python -m bench.slider --nodes 5000 --pods 20000 --moves 60
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

from moorage.dashboard.simulator.client import Simulator
from moorage.dashboard.simulator.spec import InputSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KEY = "failure-probability"
POOLS = ("spot", "steady", "gpu")
SCOPES = ("one node", "a pool", "everywhere")
GOAL_MS = 300
_WORKLOADS = 200
_PAUSE = 0.05
_GATES = {"AllAlpha": True, "AllBeta": True}


def cluster(nodes: int, pods: int, random: Random) -> Iterator[dict[str, Any]]:
    """Yield nodes of three pools, one of them tainted, and Deployments that tolerate a number below theirs."""
    resources = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    for number in range(nodes):
        pool = POOLS[number % len(POOLS)]
        risk = str(5 + number // len(POOLS) % 30)
        labels = {"pool": pool, "topology.kubernetes.io/zone": f"z{number % 5}"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"n{number:05}", "labels": labels},
            "spec": {"taints": [{"key": KEY, "value": risk, "effect": "NoExecute"}] if pool == "spot" else []},
            "status": {
                "allocatable": resources,
                "capacity": resources,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
    for number in range(_WORKLOADS):
        is_patient = number % 4 == 0  # these are not on tainted nodes yet, and would leave after a while
        toleration: dict[str, Any] = {
            "key": KEY,
            "operator": "Lt",
            "value": str(5 + random.randrange(35)),
            "effect": "NoExecute",
        }
        if is_patient:
            toleration["tolerationSeconds"] = 300
        requests = {"cpu": "500m", "memory": "1Gi"}
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": f"d{number}", "namespace": "default"},
            "spec": {
                "replicas": pods // _WORKLOADS,
                "selector": {"matchLabels": {"app": f"d{number}"}},
                "template": {
                    "metadata": {"labels": {"app": f"d{number}"}},
                    "spec": {
                        "tolerations": [toleration],
                        "nodeSelector": {"pool": "steady"} if is_patient else {},
                        "containers": [{"name": "c", "image": "c:1", "resources": {"requests": requests}}],
                    },
                },
            },
        }


def moves(count: int, nodes: int, random: Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the scope and the arguments of each move."""
    for number in range(count):
        scope = SCOPES[number % len(SCOPES)]
        where: Any = "all"
        if scope == "one node":
            where = [f"n{random.randrange(nodes):05}"]
        elif scope == "a pool":
            where = {"label": {"key": "pool", "value": random.choice(POOLS)}}
        taint = {"nodes": where, "key": KEY, "value": str(random.randrange(1, 45)), "effect": "NoExecute"}
        yield scope, {"changes": [{"taint": taint}]}


async def measure(options: argparse.Namespace) -> dict[str, Any]:
    random = Random(options.seed)
    simulator = Simulator(seconds=options.patience)
    await simulator.start()
    found: list[dict[str, Any]] = []
    try:
        text = "\n---\n".join(json.dumps(one) for one in cluster(options.nodes, options.pods, random))
        await simulator.load(InputSpec(files=["-"], stdin=text, feature_gates=_GATES))
        about = simulator.generation
        print(f"loaded and settled in {about.seconds:.1f} s {about.problem}", file=sys.stderr)
        memory = _memory(simulator.pid)
        for scope, arguments in moves(options.moves, options.nodes, random):
            found += await _move(simulator, scope, arguments)
        return {"seconds": about.seconds, "memory": memory, "moves": found}
    finally:
        await simulator.stop()


async def _move(simulator: Simulator, scope: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the row of one move; none if there was no answer."""
    cpu, began = _cpu(simulator.pid), time.perf_counter()
    times: list[float] = []
    parts: list[dict[str, Any]] = []
    async for part in simulator.ask("what-if", arguments):
        times.append((time.perf_counter() - began) * 1000)
        parts.append(part)
    await asyncio.sleep(_PAUSE)  # until the process has ended, and is counted
    if len(parts) != 2 or "error" in parts[-1]:
        print(f"{scope}: {parts[-1].get('error')}", file=sys.stderr)
        return []
    first, last = parts
    evicted = last["evicted"]
    row = {
        "scope": scope,
        "first": round(times[0], 1),
        "complete": round(times[1], 1),
        "cpu": round((_cpu(simulator.pid) - cpu) * 1000),
        "leave": len(first["evicted"]),
        "evicted": len(evicted),
        "pending": sum(not one["newNode"] for one in evicted),
    }
    print(json.dumps(row), file=sys.stderr)
    return [row]


def _of_group(group: int | None, name: str) -> Iterator[str]:
    """Return a file of /proc of every process of a group. Linux only."""
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and os.getpgid(int(folder.name)) == group:
                yield (folder / name).read_text("ascii")
        except OSError:
            continue  # it has ended


def _memory(group: int | None) -> int:
    """Return the bytes that the simulator's processes have, pages that they share counted once."""
    lines = (line for text in _of_group(group, "smaps_rollup") for line in text.splitlines())
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _cpu(group: int | None) -> float:
    """Return the CPU seconds of the simulator's processes, and of those that have ended."""
    ticks = (sum(map(int, text.rpartition(")")[2].split()[11:15])) for text in _of_group(group, "stat"))
    return sum(ticks) / os.sysconf("SC_CLK_TCK")


def p95(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(0.95 * len(ordered) + 0.5) - 1)]


def table(found: list[dict[str, Any]]) -> Iterator[str]:
    measured = ("first answer, ms", "complete answer, ms", "CPU, ms")
    yield f"| moves | {' | '.join(f'{one} p50 / p95' for one in measured)} | evicted, p50 / most | pending, most |"
    yield "|---|---:|---:|---:|---:|---:|"
    for scope in (*SCOPES, "all moves"):
        rows = [row for row in found if scope in (row["scope"], "all moves")]
        if rows:
            first, complete, cpu, evicted = (
                [row[name] for row in rows] for name in ("first", "complete", "cpu", "evicted")
            )
            cells = [f"{median(one):,.0f} / {p95(one):,.0f}" for one in (first, complete, cpu)]
            pending = max(row["pending"] for row in rows)
            cells += [f"{median(evicted):,.0f} / {max(evicted):,}", f"{pending:,}"]
            yield f"| {scope} ({len(rows)}) | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure moves of the dashboard's slider.")
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--moves", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--patience", type=float, default=120.0, help="Seconds that an answer may take.")
    parser.add_argument("--json", help="Write the figures of all moves to this file.")
    options = parser.parse_args()
    result = asyncio.run(measure(options))
    print(
        f"{options.nodes:,} nodes, {options.pods:,} pods: settled in {result['seconds']:.1f} s, "
        f"{result['memory'] >> 20} MiB in all processes; load of the machine {os.getloadavg()[0]:.1f}\n"
    )
    print("\n".join(table(result["moves"])))
    goal = p95([row["first"] for row in result["moves"]])
    print(f"\nfirst answers: {goal:,.0f} ms at p95, goal {GOAL_MS} ms")
    if options.json:
        Path(options.json).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
