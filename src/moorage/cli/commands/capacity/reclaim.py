"""Read the options of `moorage capacity reclaim`, and print which nodes can go in the form that is asked for.

Out: exit 0, 2 if something could not be read or the command line is wrong.
"""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

import click

from moorage.cli.commands.capacity.cluster_input import (
    ClusterOptions,
    cluster_options,
    pools_of_input,
    read_planner,
    split_inputs,
)
from moorage.cli.input.pools import given_pools, pools_option
from moorage.cli.options import (
    all_option,
    colour_option,
)
from moorage.cli.shared import Progress, coloured, prepare_output, terminal_width, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.capacity.reclaiming.reclaim import Reclaim

_DONE, _UNREADABLE = 0, 2


@click.command("reclaim")
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]... [zone=NAME|pool=NAME|node=NAME|LABEL=VALUE]...")
@pools_option
@click.option("--most", type=int, default=None, metavar="N", help="Let no more than N nodes go.")
@cluster_options()
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@all_option
@colour_option
def reclaim_nodes(
    paths: tuple[str, ...],
    pool_paths: tuple[str, ...],
    most: int | None,
    cluster: ClusterOptions,
    form: str,
    everything: bool,
    colour: str,
) -> int:
    """Say which nodes can go now, in which order, what moves, and what that saves: a dry run of consolidation.

    Each node is drained and removed in a simulation of the whole cluster; what goes stays gone for those after it. A
    node stays if a pod would wait, be lost or may not be evicted by its budget, if it or a pod is annotated not to be
    disrupted, and if its pool keeps that many. Nodes are named as for `capacity lose`; without names all are tried.

    \b
    Examples:
      moorage dump | moorage capacity reclaim -
      moorage capacity reclaim cluster/ pool=spot --pools pools.yaml
      moorage capacity reclaim --context prod --most 5 -o markdown

    \b
    Exit code: 0, 2 wrong usage or unreadable input.
    """
    from moorage.capacity.losing.loss import lost_nodes
    from moorage.capacity.node_choice import NoSuchNodes, parse_choice
    from moorage.capacity.reclaiming.reclaim import MAX_TRIED, Reclaimer

    if most is not None and most < 1:
        raise click.BadParameter("must be 1 or more", param_hint="'--most'")
    files, words = split_inputs(paths, lambda word: "=" in word)
    gc.disable()  # a plan makes a million objects and no garbage to speak of
    try:
        choices = [parse_choice(word) for word in words]
        planner = read_planner(files, cluster, verb="reclaim nodes of", reads_pools=True)
        read = given_pools(pool_paths, planner.inventory) if pool_paths else pools_of_input(planner)
        simulation = planner.build()
        before = planner.plan(simulation)
        nodes = lost_nodes(simulation, choices)
    except NoSuchNodes as error:
        raise click.UsageError(str(error)) from None
    progress = Progress(min(len(nodes), MAX_TRIED), noun="nodes") if sys.stderr.isatty() else None
    tick = progress.tick if progress is not None else lambda: None
    found = Reclaimer(planner, simulation, before, read.pools).reclaim(nodes, most, tick)
    if progress is not None:
        progress.clear()
    prepare_output(is_text=form != "json")
    write_lines(_lines(found, form, colour, everything=everything))
    return _UNREADABLE if planner.inventory.unreadable else _DONE


def _lines(found: Reclaim, form: str, colour: str, *, everything: bool) -> Iterator[str]:
    if form == "json":
        from moorage.plan.report.plain import as_data, as_json

        return iter([as_json({"version": 1, **as_data(found)})])
    from moorage.capacity.reclaiming.text import ReclaimReport, reclaim_markdown

    if form == "markdown":
        return reclaim_markdown(found)
    report = ReclaimReport(colour=coloured(colour), width=terminal_width(), everything=everything)
    return report.reclaim(found)
