"""Run faults against a real cluster of processes: `python -m tests.faults 500 --seed 1`.

Exit status 1 if anything was violated. `--store sqlite` runs one API server on SQLite instead of several on etcd.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

import uvloop
from tests.faults.rig.cluster import Shape, running_cluster
from tests.faults.rig.machine import Machine, enter_namespaces
from tests.faults.suite import Outcome, Size, Suite
from tests.faults.summary import summarize


async def run(shape: Shape, size: Size, seed: int, directory: Path, out: Path, only: str) -> Outcome:
    async with running_cluster(directory, Machine(), shape) as cluster:
        suite = Suite(cluster, size, seed, out)
        if only:
            suite.kinds = [kind for kind in suite.kinds if only in kind.name]
        return await suite.run()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("faults", type=int, nargs="?", default=500)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--store", choices=("etcd", "sqlite"), default="etcd")
    parser.add_argument("--api-servers", type=int, default=2)
    parser.add_argument("--round", type=int, default=20, help="faults after which histories are checked")
    parser.add_argument("--only", default="", help="kinds of faults whose names have this text")
    parser.add_argument("--out", type=Path, default=Path("build/faults"))
    parser.add_argument("--keep", action="store_true", help="keep the directory with all logs")
    chosen = parser.parse_args()
    enter_namespaces()
    seed = random.randrange(2**31) if chosen.seed is None else chosen.seed
    directory = Path(tempfile.mkdtemp(prefix="moorage-faults-"))
    shape = Shape(api_servers=chosen.api_servers, members=3 if chosen.store == "etcd" else 0)
    began = time.monotonic()
    print(f"seed {seed}, logs in {directory}", flush=True)
    outcome = uvloop.run(run(shape, Size(chosen.faults, chosen.round), seed, directory, chosen.out, chosen.only))
    print("\n".join(summarize(outcome, seed, time.monotonic() - began)))
    if outcome.violations:
        logs = chosen.out / f"seed-{seed}-logs"
        logs.mkdir(parents=True, exist_ok=True)
        for log in directory.glob("*.log"):
            shutil.copy(log, logs)
    if not chosen.keep:
        shutil.rmtree(directory, ignore_errors=True)
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    sys.exit(main())
