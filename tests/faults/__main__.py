"""Run faults against a real cluster of processes: `python -m tests.faults 500 --seed 1`.

Exit status 1 if anything was violated, 2 if the run was interrupted. `--store sqlite` runs one API server on SQLite
instead of several on etcd.
"""

import argparse
import asyncio
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import uvloop
from tests.faults.kinds import KINDS
from tests.faults.rig.cluster import Shape, running_cluster
from tests.faults.rig.machine import Machine, enter_namespaces
from tests.faults.suite import Outcome, Size, Suite
from tests.faults.summary import summarize


async def run(
    shape: Shape, size: Size, seed: int, directory: Path, out: Path, kinds: list[str], outcome: Outcome
) -> None:
    """Run faults until there were as many as asked for, or a signal says to end."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):  # the first process of a namespace would ignore them
        asyncio.get_running_loop().add_signal_handler(number, _interrupt, outcome, task)
    async with running_cluster(directory, Machine(), shape) as cluster:
        await Suite(cluster, size, seed, out, outcome, kinds).run()


def _interrupt(outcome: Outcome, task: "asyncio.Task[None]") -> None:
    outcome.is_interrupted = True
    task.cancel()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("faults", type=int, nargs="?", default=500)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--store", choices=("etcd", "sqlite"), default="etcd")
    parser.add_argument("--api-servers", type=int, default=2)
    parser.add_argument("--round", type=int, default=20, help="faults after which histories are checked")
    parser.add_argument("--kinds", default="", help="kinds of faults, separated by commas, in turn; default: at random")
    parser.add_argument("--promise", type=float, default=0.0, help="seconds in which writes must work again; 0: any")
    parser.add_argument("--twin", default="", help="run API servers that are broken on purpose, see twins.py")
    parser.add_argument("--out", type=Path, default=Path("build/faults"))
    parser.add_argument("--keep", action="store_true", help="keep the directory with all logs")
    chosen = parser.parse_args()
    kinds = [name.strip() for name in chosen.kinds.split(",") if name.strip()]
    if unknown := set(kinds) - {kind.name for kind in KINDS}:
        parser.error(
            f"unknown kinds: {', '.join(sorted(unknown))}; there are: {', '.join(kind.name for kind in KINDS)}"
        )
    enter_namespaces()
    seed = random.randrange(2**31) if chosen.seed is None else chosen.seed
    directory = Path(tempfile.mkdtemp(prefix="moorage-faults-"))
    shape = Shape(api_servers=chosen.api_servers, members=3 if chosen.store == "etcd" else 0)
    if chosen.twin:
        shape = shape._replace(server_module=("tests.faults.twins", chosen.twin))
    began = time.monotonic()
    print(f"seed {seed}, logs in {directory}", flush=True)
    size = Size(chosen.faults, chosen.round, promise=chosen.promise)
    outcome = Outcome()
    try:
        uvloop.run(run(shape, size, seed, directory, chosen.out, kinds, outcome))
    except asyncio.CancelledError:
        if not outcome.is_interrupted:
            raise
    print("\n".join(summarize(outcome, seed, time.monotonic() - began)))
    if outcome.violations:
        logs = chosen.out / f"seed-{seed}-logs"
        logs.mkdir(parents=True, exist_ok=True)
        for log in directory.glob("*.log"):
            shutil.copy(log, logs)
    if not chosen.keep:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if outcome.violations else 2 if outcome.is_interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
