"""One run of one workload as a process of its own, so that its peak memory is its own.

`python -m bench.perf.child SUITE WORKLOAD SEED` writes its figures as JSON; `run_in_child` starts it and reads them.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec

from bench.perf.figures import Figures
from bench.perf.problems import ConfigError
from bench.process import ENVIRONMENT, ROOT


def run_in_child(suite: Path, workload: str, seed: int = 0) -> list[Figures]:
    """The figures of one run. Raises ConfigError with what the process said if it did not end well."""
    command = [sys.executable, "-m", "bench.perf.child", str(suite.resolve()), workload, str(seed)]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(f"{workload}: {done.stderr.strip().splitlines()[-1] if done.stderr else 'failed'}")
    return msgspec.json.decode(done.stdout, type=list[Figures])


def main(suite: str, name: str, seed: str) -> int:
    from bench.perf.config import read_suite
    from bench.perf.executor import run

    try:
        workload = next(workload for workload in read_suite(Path(suite)) if workload.name == name)
        figures = run(workload, int(seed))
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    sys.stdout.write(msgspec.json.encode(figures).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
