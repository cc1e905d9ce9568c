"""`python -m bench.perf`: run scheduler workloads, print a table, write it, a plot and JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.perf.child import run_in_child
from bench.perf.config import Workload, read_suite
from bench.perf.plot import plot
from bench.perf.problems import ConfigError
from bench.perf.report import table
from bench.perf.selection import select
from bench.perf.summary import Summary, summarize
from bench.perf.twin_race import twin_ratio, twins
from bench.process import ROOT

if TYPE_CHECKING:
    from bench.perf.figures import Figures

OWN_SUITE = ROOT / "bench" / "workloads"
DEFAULT_OUTPUT = ROOT / "build" / "bench"
SLOW = "slow"
SHORT = "short"


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        workloads = read_suite(options.suite)
        own = options.suite == OWN_SUITE
        labels = options.labels if options.labels or options.workloads or not own else SHORT
        chosen = select(workloads, " ".join(options.workloads).split(), labels)
        if options.list:
            _print_list(chosen)
            return 0
        figures = _run(options.suite, [w for w in chosen if not w.refused], options.repeat)
        ratios = {workload.name: twin_ratio(workload, twin) for workload, twin in twins(chosen)}
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    summaries = summarize(figures, ratios)
    text = _text(summaries, [workload for workload in chosen if workload.refused])
    print(text, end="")
    _write(options, text, summaries, chosen)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.perf", description="Measure the scheduler on workloads.")
    parser.add_argument("--suite", type=Path, default=OWN_SUITE, help="a folder, or a performance-config.yaml")
    parser.add_argument(
        "--workloads", action="append", default=[], metavar="NAMES", help="TestCase or TestCase/Workload"
    )
    parser.add_argument("--labels", default="", help="only workloads with these, as in performance,-slow")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, of which medians are shown (slow ones: 1)")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="folder for table.md and plot.svg")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE too")
    parser.add_argument("--list", action="store_true", help="say what would be run")
    return parser


def _print_list(chosen: list[Workload]) -> None:
    for workload in chosen:
        labels = f" [{', '.join(sorted(workload.labels))}]" if workload.labels else ""
        print(f"{workload.name}{labels}" + (f"  {workload.refused}" if workload.refused else ""))


def _run(suite: Path, chosen: list[Workload], repeat: int) -> list[Figures]:
    """All workloads in turns, so that whatever else the machine does touches all of them alike."""
    figures: list[Figures] = []
    for turn in range(repeat):
        for workload in chosen:
            if turn == 0 or SLOW not in workload.labels:
                print(f"{turn + 1}/{repeat} {workload.name} …", file=sys.stderr, flush=True)
                figures += run_in_child(suite, workload.name)
    return figures


def _text(summaries: list[Summary], refused: list[Workload]) -> str:
    lines = [table(summaries)] if summaries else []
    lines += [f"{summary.workload}: {summary.note}" for summary in summaries if summary.note]
    lines += [f"{workload.name}: {workload.refused}" for workload in refused]
    return "\n".join(lines) + "\n"


def _write(options: argparse.Namespace, text: str, summaries: list[Summary], chosen: list[Workload]) -> None:
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "table.md").write_text(text, encoding="utf-8")
    (options.output / "plot.svg").write_text(plot(summaries), encoding="utf-8")
    if options.json:
        document = {
            "machine": _machine(),
            "workloads": [summary.as_json() for summary in summaries],
            "notSupported": [{"workload": w.name, "reason": w.refused} for w in chosen if w.refused],
        }
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _machine() -> dict[str, Any]:
    """What the figures depend on; the load tells whether the machine had other things to do."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cpus": os.cpu_count(),
        "load": list(os.getloadavg()),
    }


if __name__ == "__main__":
    sys.exit(main())
