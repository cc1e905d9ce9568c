"""`python -m bench.e2e`: run workloads against `moorage up` over HTTPS, print a table, write it and JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import sys
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop

from bench.e2e.etcd_servers import STORES
from bench.e2e.figures import medians
from bench.e2e.problems import RunFailed
from bench.e2e.real_cluster import SOURCE
from bench.e2e.report import LEGEND, table
from bench.e2e.run import Settings, refusal, run
from bench.e2e.sender import CONNECTIONS
from bench.perf.config import Workload, read_suite
from bench.perf.problems import ConfigError
from bench.perf.selection import select
from bench.process import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.e2e.figures import Figures

OWN_SUITE = ROOT / "bench" / "workloads"
DEFAULT_OUTPUT = ROOT / "build" / "bench-e2e"
MEMORY = "Memory/5000Nodes_50000Pods"
INTERRUPTED = 130
#: Those that the real one was measured with.
SHORT = (
    "SchedulingBasic/5000Nodes_10000Pods",
    "SchedulingNodeAffinity/5000Nodes",
    "SchedulingPodAffinity/5000Nodes",
    "SchedulingPodAntiAffinity/5000Nodes",
    "SchedulingPreferredPodAffinity/5000Nodes",
    "TopologySpreading/5000Nodes",
)


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        chosen = _chosen(options)
        if options.list:
            _print_list(chosen)
            return 0
        figures, failures = _run(options, [workload for workload in chosen if not refusal(workload)])
    except ConfigError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, asyncio.CancelledError):
        _say("interrupted")
        return INTERRUPTED
    text = _text(figures, failures, chosen)
    print(text, end="")
    _write(options, text, figures, failures, chosen)
    return 1 if failures else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.e2e",
        description="Measure a cluster on workloads: a client over HTTPS, a real server, its durable store.",
    )
    parser.add_argument("--suite", type=Path, default=OWN_SUITE, help="a folder, or a performance-config.yaml")
    parser.add_argument(
        "--workloads", action="append", default=[], metavar="NAMES", help="TestCase or TestCase/Workload"
    )
    parser.add_argument("--labels", default="", help="only workloads with these, as in performance,-slow")
    parser.add_argument("--memory", action="store_true", help=f"the same as --workloads {MEMORY}")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each, of which medians are shown")
    parser.add_argument("--connections", type=int, default=CONNECTIONS, help="of the client (default %(default)s)")
    parser.add_argument(
        "--patience", type=float, default=60.0, help="seconds without progress until pods are given up (%(default)s)"
    )
    parser.add_argument(
        "--store",
        action="append",
        default=[],
        choices=STORES,
        help="where the objects are: Moorage's own file, Moorage on etcd, or kube-apiserver and kube-scheduler on "
        "etcd; several are run in turns (default sqlite)",
    )
    parser.add_argument(
        "--up-option",
        action="append",
        default=[],
        metavar="OPTION",
        help="an option of `moorage up` to measure with, as in --up-option=--enable-admission-plugins=ServiceAccount",
    )
    parser.add_argument("--no-restart", action="store_true", help="do not measure a start with all the data")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="folder for table.md, and for the data")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE too")
    parser.add_argument("--list", action="store_true", help="say what would be run")
    return parser


def _chosen(options: argparse.Namespace) -> list[Workload]:
    names = " ".join(options.workloads).split() + ([MEMORY] if options.memory else [])
    if not names and not options.labels and options.suite == OWN_SUITE:
        names = list(SHORT)
    return select(read_suite(options.suite), names, options.labels)


def _print_list(chosen: list[Workload]) -> None:
    for workload in chosen:
        labels = f" [{', '.join(sorted(workload.labels))}]" if workload.labels else ""
        refused = refusal(workload)
        print(f"{workload.name}{labels}" + (f"  {refused}" if refused else ""))


def _run(options: argparse.Namespace, chosen: list[Workload]) -> tuple[list[Figures], dict[str, str]]:
    """All workloads in turns; what is wrong with one is no reason to leave out the others."""
    figures: list[Figures] = []
    failures: dict[str, str] = {}
    for turn in range(options.repeat):
        for workload, store in product(chosen, options.store or ("sqlite",)):
            label = f"{turn + 1}/{options.repeat} {workload.name} on {store}"
            _say(f"{label} …")
            folder, restarts = options.output / "data", not options.no_restart
            settings = Settings(
                options.connections, options.patience, restarts, folder, store, tuple(options.up_option)
            )
            try:
                figures += uvloop.run(_run_once(workload, settings, partial(_say_of, label)))
            except RunFailed as failure:
                failures[f"{workload.name} on {store}"] = str(failure)
                _say(f"{label}: {failure}")
    return medians(figures), failures


async def _run_once(workload: Workload, settings: Settings, say: Callable[[str], None]) -> list[Figures]:
    """One run; SIGTERM ends it as Ctrl-C does, so that no server is left behind."""
    running = asyncio.current_task()
    assert running is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
    return await run(workload, settings, say)


def _say_of(label: str, what: str) -> None:
    _say(f"{label}: {what}")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _text(figures: list[Figures], failures: dict[str, str], chosen: list[Workload]) -> str:
    lines = [table(figures), "", LEGEND] if figures else []
    lines += [f"{one.workload}: {one.note}" for one in figures if one.note]
    lines += [f"{name}: failed: {why}" for name, why in failures.items()]
    lines += [f"{workload.name}: {refused}" for workload in chosen if (refused := refusal(workload))]
    return "\n".join(lines) + "\n"


def _write(
    options: argparse.Namespace, text: str, figures: list[Figures], failures: dict[str, str], chosen: list[Workload]
) -> None:
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "table.md").write_text(text, encoding="utf-8")
    if options.json:
        document = {
            "machine": _machine(),
            "real": SOURCE,
            "workloads": [one.as_json() for one in figures],
            "failed": [{"workload": name, "reason": why} for name, why in failures.items()],
            "notSupported": [{"workload": w.name, "reason": refusal(w)} for w in chosen if refusal(w)],
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
