"""Which workloads to run: names, patterns and labels → some of a suite's workloads.

`SchedulingBasic/5000Nodes` is one workload, `SchedulingBasic` all of a test case, and `*` and `?` stand for any text.
Labels as upstream's: `performance` must be there, `-slow` must not.
"""

from __future__ import annotations

from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from bench.perf.problems import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.perf.config import Workload


def select(workloads: Sequence[Workload], patterns: Sequence[str], labels: str = "") -> list[Workload]:
    """The workloads that any of the patterns names, all without patterns, and that have the labels."""
    chosen = list(workloads)
    if patterns:
        for pattern in patterns:
            if not any(_is_named(workload, pattern) for workload in workloads):
                raise ConfigError(_unknown(pattern, workloads))
        chosen = [workload for workload in workloads if any(_is_named(workload, p) for p in patterns)]
    return [workload for workload in chosen if _has_labels(workload, labels)]


def _is_named(workload: Workload, pattern: str) -> bool:
    return pattern in (workload.name, workload.case) or fnmatchcase(workload.name, pattern)


def _has_labels(workload: Workload, labels: str) -> bool:
    for label in filter(None, (part.strip() for part in labels.split(","))):
        name = label.lstrip("+-")
        if (name in workload.labels) is label.startswith("-"):
            return False
    return True


def _unknown(pattern: str, workloads: Sequence[Workload]) -> str:
    names = [*dict.fromkeys(workload.case for workload in workloads), *(workload.name for workload in workloads)]
    near = get_close_matches(pattern, names, n=3)
    return f"no workload is called {pattern!r}" + (f"; did you mean {', '.join(near)}?" if near else "")
