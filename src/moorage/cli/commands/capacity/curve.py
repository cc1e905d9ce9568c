"""Read the options of `moorage capacity curve`, and print the curve in the form that is asked for.

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
    colour_option,
)
from moorage.cli.shared import Progress, coloured, prepare_output, say, terminal_width, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from moorage.capacity.curving.curve import Curve
    from moorage.capacity.curving.steps import Axis
    from moorage.plan.planner import Planner
    from moorage.plan.simulation.simulation import Simulation
    from moorage.pools.node_template import Pool

_DONE, _UNREADABLE = 0, 2


@click.command("curve")
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]... [zone=NAME|pool=NAME|node=NAME|LABEL=VALUE]...")
@click.option("--key", required=True, metavar="KEY", help="The key of the taint that is varied, or tolerated.")
@click.option(
    "--effect", default="", metavar="EFFECT", help="Only the taint of this effect, or the effect of a new one."
)
@click.option(
    "--workload",
    "workloads",
    multiple=True,
    metavar="KIND/NAME",
    help="Vary the threshold of this workload's toleration, not the value of the taint; may be repeated.",
)
@click.option("--operator", default="", metavar="OPERATOR", help="The operator whose threshold is varied.")
@click.option(
    "--share", is_flag=True, help="Vary how many of the pods accept the taint: of these workloads, or all Deployments."
)
@click.option(
    "--toleration",
    default="",
    metavar="OPERATOR[ VALUE]",
    help="With --share: how pods accept it, such as 'Lt 10'; as their workload does, or Exists.",
)
@click.option("--try", "values", multiple=True, metavar="VALUE", help="Play this value, too; may be repeated.")
@pools_option
@click.option(
    "--fit", "fits", is_flag=True, help="Find the cheapest mix of nodes of the pools for each threshold or share."
)
@cluster_options()
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json", "csv", "markdown", "svg"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@colour_option
def draw_curve(
    paths: tuple[str, ...],
    key: str,
    effect: str,
    workloads: tuple[str, ...],
    operator: str,
    share: bool,
    toleration: str,
    values: tuple[str, ...],
    pool_paths: tuple[str, ...],
    fits: bool,
    cluster: ClusterOptions,
    form: str,
    colour: str,
) -> int:
    """Show what a value costs: pods placed, evicted and Pending, nodes in use and their cost, for each value.

    Of a taint (--key), each value at which something changes is played on the nodes that have it, or on those that are
    named. With --workload it is the threshold of a workload's toleration, and with --share how many pods accept the
    taint at all. Values between two rows have the same answer as the row of their range.

    \b
    Examples:
      moorage capacity curve cluster/ --key failure-probability
      moorage capacity curve cluster/ pool=spot --key failure-probability --effect NoExecute --pools pools.yaml
      moorage capacity curve cluster/ --key failure-probability --workload deployment/web --try 5 --try 10
      moorage capacity curve app/ --key failure-probability --workload deployment/web --pools pools/ --fit
      moorage dump | moorage capacity curve - --key spot --share --toleration 'Lt 10' -o svg > share.svg

    \b
    Exit code: 0, 2 wrong usage or unreadable input.
    """
    from moorage.capacity.curving.curve import play_curve
    from moorage.capacity.fitting.fit import Unpriced
    from moorage.capacity.node_choice import NoSuchNodes
    from moorage.plan.node_changes import EFFECTS, ChangeError
    from moorage.pools.prices import Prices

    files, words = split_inputs(paths, lambda word: "=" in word)
    if (workloads or share) and (words or effect):
        raise click.UsageError("Nodes and --effect are of a taint's value; --workload and --share vary tolerations.")
    if (operator or (values and share)) and (share or not workloads):
        raise click.UsageError("--operator goes with --workload, and --try with a value or a threshold.")
    if fits and not (workloads or share):
        raise click.UsageError(
            "--fit goes with --workload or --share: a value of a taint is one of nodes that there are."
        )
    if toleration and not share:
        raise click.UsageError("--toleration goes with --share.")
    if effect and effect not in EFFECTS:
        raise click.UsageError(f"--effect {effect}: there are {', '.join(EFFECTS)}")
    gc.disable()  # a plan makes a million objects and no garbage to speak of
    planner = read_planner(files, cluster, verb="draw curves of", reads_pools=True)
    read = given_pools(pool_paths, planner.inventory) if pool_paths or fits else pools_of_input(planner)
    pools = read.pools
    try:
        simulation = planner.build()
        before = planner.plan(simulation)
        axis = _axis(planner, simulation, key, words, effect, workloads, operator, share, toleration, values, pools)
        progress = Progress(len(axis.steps), noun="values") if sys.stderr.isatty() else None
        tick = progress.tick if progress is not None else lambda: None
        prices = Prices(pools) if pools else None
        curve = play_curve(planner, simulation, before, axis, prices, tick, mixed=read if fits else None)
        if progress is not None:
            progress.clear()
    except (ChangeError, NoSuchNodes) as error:
        raise click.UsageError(str(error)) from None
    except Unpriced as error:
        for line in str(error).splitlines():
            say(line)
        raise click.exceptions.Exit(_UNREADABLE) from None
    prepare_output(is_text=form != "json")
    write_lines(_lines(curve, form, colour))
    return _UNREADABLE if planner.inventory.unreadable else _DONE


def _axis(
    planner: Planner,
    simulation: Simulation,
    key: str,
    words: Sequence[str],
    effect: str,
    workloads: Sequence[str],
    operator: str,
    share: bool,
    toleration: str,
    values: Sequence[str],
    pools: Sequence[Pool],
) -> Axis:
    from moorage.capacity.curving.taint_axis import taint_axis
    from moorage.capacity.curving.workload_axes import share_axis, threshold_axis
    from moorage.capacity.node_choice import parse_choice

    if share:
        return share_axis(simulation, planner.inventory, key, workloads, toleration)
    if workloads:
        return threshold_axis(simulation, planner.inventory, key, workloads, operator, pools, values)
    return taint_axis(simulation, key, [parse_choice(word) for word in words], effect, values)


def _lines(curve: Curve, form: str, colour: str) -> Iterator[str]:
    if form == "json":
        from moorage.plan.report.plain import as_data, as_json

        return iter([as_json({"version": 1, **as_data(curve)})])
    if form == "text":
        from moorage.capacity.curving.text import CurveReport

        return CurveReport(colour=coloured(colour), width=terminal_width(), everything=True).curve(curve)
    from moorage.capacity.curving import files

    return {"csv": files.curve_csv, "markdown": files.curve_markdown, "svg": files.curve_svg}[form](curve)
