"""`python -m bench.gpu_trace FOLDER [--fit] [--fill] [--pods default|gpuspec33]`: measure on a production trace."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.gpu_trace import filling, fitting


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu_trace", description=__doc__)
    parser.add_argument("folder", type=Path, help="where openb_node_list_all_node.csv and openb_pod_list_*.csv are")
    parser.add_argument("--pods", choices=("default", "gpuspec33"), default="gpuspec33")
    parser.add_argument("--fit", action="store_true", help="the cheapest mix for all tasks")
    parser.add_argument("--fill", action="store_true", help="GPUs that stay unallocated when tasks arrive")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    if options.fit or not options.fill:
        for line in fitting.measure(options.folder, options.pods):
            print(line, flush=True)
    if options.fill or not options.fit:
        for line in filling.measure(options.folder, options.pods, range(1, options.seeds + 1)):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
