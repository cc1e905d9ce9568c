"""`python -m bench.stall [LOAD]…`: drive a `moorage up` with each load, and print how long others had to wait."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import uvloop

from bench.e2e.server import Server
from bench.process import ENVIRONMENT, ROOT
from bench.stall.loads import LOADS, Context
from bench.stall.wire import Wire

if TYPE_CHECKING:
    from moorage.client.kubeconfig.access import Access

GATES = "AllAlpha=true,AllBeta=true"
GOAL = 0.1
#: The most CPU time that one stretch of work on the event loop should take; a bound of the metric's buckets.
CPU_GOAL = 0.25
_LONG = re.compile(
    r'moorage_event_loop_stall_cpu_seconds_(bucket|count)\{operation="([^"]*)"(?:,le="([^"]*)")?\} (\S+)'
)
_STALL = re.compile(r'moorage_event_loop_stall_seconds_(count|sum)\{operation="([^"]*)"\} (\S+)')


class Outcome(NamedTuple):
    """What one load did. Latencies are sorted; stalls are (number, seconds) by operation.

    `long` is how many stretches of each operation took more than the goal of CPU time, whatever else the machine did.
    """

    name: str
    seconds: float
    latencies: dict[str, list[float]]
    failed: int
    stalls: dict[str, tuple[int, float]]
    answers: dict[str, int]
    memory: int
    cpu: float
    long: dict[str, int]

    def at(self, name: str, share: float) -> float:
        found = self.latencies[name]
        return found[min(len(found) - 1, int(len(found) * share))] if found else 0.0


async def drive(names: list[str], scale: float, seconds: float = 20.0, seed: int = 1) -> list[Outcome]:
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        options = ["--simulate", "--nodes", "20", "--controllers", "*", "--feature-gates", GATES, "-v", "0"]
        server = Server(Path(folder), options)
        access = await server.start()
        command = [sys.executable, "-m", "bench.stall.probe", str(Path(folder) / "kubeconfig")]
        probe = subprocess.Popen(
            command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        try:
            for name in names:
                print(f"{name} …", file=sys.stderr, flush=True)
                outcomes.append(await _one(name, Context(access, scale, seconds, seed), server, probe))
                print(line_of(outcomes[-1]), file=sys.stderr, flush=True)
        finally:
            assert probe.stdin is not None
            probe.stdin.close()
            probe.wait()
            if probe.stdout is not None:
                probe.stdout.close()
            started = time.perf_counter()
            server.stop()
            print(f"ended {time.perf_counter() - started:.1f} s after SIGTERM", file=sys.stderr)
            log = (Path(folder) / "server.log").read_text(encoding="utf-8", errors="replace")
            print(
                "\n".join(line[:400] for line in log.splitlines() if line[:1] in "WE" and "] " in line), file=sys.stderr
            )
    return outcomes


async def _one(name: str, context: Context, server: Server, probe: subprocess.Popen[str]) -> Outcome:
    await asyncio.sleep(1)
    await _window(probe)
    before, long_before = await _stalls(context.access)
    started, cpu = time.perf_counter(), server.cpu_seconds()
    answers = await LOADS[name](context)
    seconds = time.perf_counter() - started
    server.check()
    found = await _window(probe)
    after, long_after = await _stalls(context.access)
    stalls = {
        key: (int(n - before.get(key, (0, 0))[0]), s - before.get(key, (0, 0))[1]) for key, (n, s) in after.items()
    }
    latencies = {path: sorted(s for s, status in asked if status == 200) for path, asked in found.items()}
    failed = sum(status != 200 for asked in found.values() for _, status in asked)
    stalls = {key: value for key, value in stalls.items() if value[0]}
    long = {key: number - long_before.get(key, 0) for key, number in long_after.items()}
    long = {key: number for key, number in long.items() if number}
    cpu = server.cpu_seconds() - cpu
    return Outcome(name, seconds, latencies, failed, stalls, dict(answers), server.peak_memory(), cpu, long)


async def _window(probe: subprocess.Popen[str]) -> dict[str, list[tuple[float, int]]]:
    assert probe.stdin is not None
    assert probe.stdout is not None
    probe.stdin.write("\n")
    probe.stdin.flush()
    line = await asyncio.get_running_loop().run_in_executor(None, probe.stdout.readline)
    found: dict[str, list[tuple[float, int]]] = json.loads(line)
    return found


async def _stalls(access: Access) -> tuple[dict[str, tuple[float, float]], dict[str, int]]:
    """Return number and seconds of stalls by operation, and how many took too much CPU time."""
    wire = Wire(access)
    await wire.open()
    assert wire.writer is not None
    assert wire.reader is not None
    wire.writer.write(wire.head("GET", "/metrics", 0, {"Connection": "close"}))
    text = (await wire.reader.read(-1)).decode()
    wire.close()
    found: dict[str, dict[str, float]] = {}
    for what, operation, value in _STALL.findall(text):
        found.setdefault(operation, {})[what] = float(value)
    long: Counter[str] = Counter()
    for what, operation, bound, value in _LONG.findall(text):
        if what == "count" or bound == str(CPU_GOAL):
            long[operation] += int(float(value)) * (1 if what == "count" else -1)
    return {operation: (values["count"], values["sum"]) for operation, values in found.items()}, dict(long)


def line_of(outcome: Outcome) -> str:
    waits = " | ".join(
        f"{outcome.at(name, 0.5) * 1e3:,.0f} / {outcome.at(name, 0.99) * 1e3:,.0f} / {outcome.at(name, 1) * 1e3:,.0f}"
        for name in ("readyz", "get")
    )
    stalls = ", ".join(f"{key}: {n} in {s:.1f} s" for key, (n, s) in sorted(outcome.stalls.items()))
    long = ", ".join(f"{key}: {n}" for key, n in sorted(outcome.long.items())) or "none"
    answers = ", ".join(f"{key} ×{n}" for key, n in outcome.answers.items())
    failed = f"{outcome.failed} failed" if outcome.failed else ""
    memory = f"{outcome.memory >> 20:,} MiB"
    return (
        f"| {outcome.name} | {outcome.seconds:.1f} | {waits} | {stalls} {failed} | {long} | "
        f"{outcome.cpu:.0f} | {memory} | {answers} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.stall", description=__doc__)
    parser.add_argument("loads", nargs="*", metavar="LOAD", help="; ".join(LOADS))
    parser.add_argument("--scale", type=float, default=1.0, help="the size of the loads; 1 is full size")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long random documents are sent")
    parser.add_argument("--seed", type=int, default=1, help="which random documents")
    options = parser.parse_args()
    names = [name for name in LOADS if not options.loads or any(part in name for part in options.loads)]
    outcomes = uvloop.run(drive(names, options.scale, options.seconds, options.seed))
    latencies = "/readyz p50 / p99 / max, ms | get p50 / p99 / max, ms"
    over = f"stretches over {CPU_GOAL * 1e3:.0f} ms of CPU"
    print(f"| load | seconds | {latencies} | stalls | {over} | CPU, s | peak | answers |")
    print("|---|---:|---:|---:|---|---|---:|---:|---|")
    print("\n".join(map(line_of, outcomes)))
    missed = [outcome.name for outcome in outcomes if max(outcome.at(n, 0.99) for n in ("readyz", "get")) > GOAL]
    print(f"p99 above {GOAL * 1e3:.0f} ms: {', '.join(missed) or 'none'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
