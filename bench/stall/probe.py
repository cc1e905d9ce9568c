"""Ask `/readyz` and for one small object fifty times a second, in a process of its own; print the latencies as JSON.

`python -m bench.stall.probe KUBECONFIG`: a line on standard input ends a window, whose latencies are printed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

import uvloop

from bench.stall.wire import Wire
from moorage.client.kubeconfig.loading import load_access

EVERY = 0.02
PATHS = {"readyz": "/readyz", "get": "/api/v1/namespaces/default"}


async def probe(kubeconfig: str) -> None:
    access = load_access(kubeconfig)
    found: dict[str, list[tuple[float, int]]] = {name: [] for name in PATHS}

    async def ask(name: str) -> None:
        wire = Wire(access)
        while True:
            started = time.perf_counter()
            reply = await wire.ask("GET", PATHS[name])
            found[name].append((reply.seconds, reply.status))
            await asyncio.sleep(max(0.0, EVERY - (time.perf_counter() - started)))

    asking = [asyncio.create_task(ask(name)) for name in PATHS]
    loop = asyncio.get_running_loop()
    while await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(found), flush=True)
        for latencies in found.values():
            latencies.clear()
    for task in asking:
        task.cancel()


if __name__ == "__main__":
    uvloop.run(probe(sys.argv[1]))
