"""`python -m bench.controllers`: Deployments under load on a `moorage up` of its own; prints tables, writes JSON."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import msgspec
import uvloop

from bench.controllers.documents import GATES
from bench.controllers.figures import Figures
from bench.controllers.report import text
from bench.controllers.scenario import Scenario, Sizes
from bench.e2e.problems import RunFailed
from bench.e2e.requests import Requests
from bench.e2e.sender import CONNECTIONS, Sender
from bench.e2e.server import Server
from bench.process import ROOT

DEFAULT_OUTPUT = ROOT / "build" / "bench-controllers"
SMALL_PODS, FULL_PODS = 1_000, 50_000
#: How many pods there are to one node, to one Deployment, and to one pod of the first eviction, unless told.
PODS_TO_ONE = {"nodes": 10, "deployments": 100, "evicted": 5}
_BAD_USAGE, _INTERRUPTED = 2, 130


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    sizes = _sizes(options)
    if min(*msgspec.structs.astuple(sizes), options.rounds) < 1 or sizes.replicas < 1:
        print("error: there must be at least one of everything, and a pod for each Deployment", file=sys.stderr)
        return _BAD_USAGE
    if problem := sizes.problem():
        print(f"error: this cannot settle: {problem}", file=sys.stderr)
        return _BAD_USAGE
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            figures = runner.run(_run(sizes, options.output, options.patience, options.rounds))
    except RunFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        _say("interrupted")
        return _INTERRUPTED
    tables = text(figures)
    print(tables, end="")
    (options.output / "table.md").write_text(tables, encoding="utf-8")
    if options.json is not None:
        machine = {"python": platform.python_version(), "cpus": os.cpu_count(), "load": os.getloadavg()}
        document = {"machine": machine, "figures": figures}
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(document)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.controllers",
        description="Create, roll, evict and delete the pods of Deployments on a real server with simulated nodes.",
    )
    parser.add_argument("--full", action="store_true", help="5,000 nodes, 500 Deployments, 50,000 pods")
    parser.add_argument("--pods", type=int, help=f"{SMALL_PODS:,} unless told")
    for name, pods in PODS_TO_ONE.items():
        parser.add_argument(f"--{name}", type=int, help=f"one for {pods} of --pods unless told")
    parser.add_argument("--rounds", type=int, default=1, help="how often all of it is done; once unless told")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds in which nothing happens; 60 unless told")
    parser.add_argument("--json", type=Path, help="write the figures for machines to this file")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="where table.md and the data are put")
    return parser


def sizes_of(arguments: list[str] | None) -> Sizes:
    """Return the sizes that a command line chooses."""
    return _sizes(_parser().parse_args(arguments))


def _sizes(options: argparse.Namespace) -> Sizes:
    pods = options.pods if options.pods is not None else FULL_PODS if options.full else SMALL_PODS
    told = {name: getattr(options, name) for name in PODS_TO_ONE}
    sizes = {name: max(1, pods // PODS_TO_ONE[name]) if size is None else size for name, size in told.items()}
    return Sizes(pods=pods, **sizes)


async def _run(sizes: Sizes, output: Path, patience: float, rounds: int) -> Figures:
    """On a server with an empty data directory, of which nothing is left. Raises RunFailed."""
    running = asyncio.current_task()
    assert running is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    output.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="controllers-", dir=output))
    server = Server(folder, ("--simulate", "--controllers", "*", "--nodes", str(sizes.nodes), GATES))
    try:
        access = await server.start()
        _say(f"{sizes.nodes:,} nodes: started in {server.seconds_since_start():.1f} s, process {server.pid}")
        sender = Sender(access, CONNECTIONS)
        try:
            requests = Requests(access)
            return await Scenario(sizes, server, requests, sender, patience=patience, rounds=rounds, say=_say).run()
        except RunFailed as failure:
            raise RunFailed(f"{failure}; {await server.fate()}") from None
        finally:
            sender.close()
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
