"""The table of benchmarks: a theme's name, and what it measures. Adding one is one file and one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import autoscale, cel, cel_loops, fit, lint, lose, parsing, plan, startup, tolerations, twins, validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench.result import Result

THEMES: dict[str, Callable[[], Iterator[Result]]] = {
    "cel": cel.measure,  # compiling and evaluating the expressions of KEP-5500
    "loops": cel_loops.measure,  # what a million cost units of CEL loops take, against closures
    "tolerations": tolerations.measure,  # matching a taint, with the gates on and off
    "twins": twins.measure,  # scheduling a pod by what the KEPs add, against the same without
    "parsing": parsing.measure,  # versions and quantities
    "validation": validation.measure,  # what admission adds to a pod
    "startup": startup.measure,  # until the command line answers
    "lint": lint.measure,  # manifests a second, and memory
    "fit": fit.measure,  # the cheapest mix of nodes: the bound and the mix of 100,000 pods
    "autoscale": autoscale.measure,  # a day of an autoscaler in a plan
    "lose": lose.measure,  # a thousand losses by chance
    "plan": plan.measure,  # a large cluster: CPU and peak memory of a plan, a drain and a rollout
}
