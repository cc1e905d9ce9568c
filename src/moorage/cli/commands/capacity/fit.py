"""Read the options of `moorage capacity fit`, and print the cheapest mix of nodes in the form that is asked for.

Out: exit 0, 1 if there is no mix or it costs more than --max-cost, 2 if something could not be read or the command line
is wrong.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import click

from moorage.cli.commands.capacity.cluster_input import ClusterOptions, cluster_options, read_planner
from moorage.cli.input.pools import given_pools, pools_option
from moorage.cli.options import (
    all_option,
    colour_option,
)
from moorage.cli.shared import coloured, prepare_output, say, terminal_width, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.capacity.fitting.fit import Fitted
    from moorage.capacity.fitting.report import FitReport

_DONE, _NO_MIX, _UNREADABLE = 0, 1, 2


@click.command("fit")
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]...")
@pools_option
@click.option("--max-cost", type=float, metavar="PRICE", help="Exit 1 if the mix costs more than this an hour.")
@click.option(
    "--survive",
    metavar="zone|pool|N",
    help="Nothing is Pending after losing any one zone, any one pool, or any N nodes, either.",
)
@click.option(
    "--keep-existing", "keeps_existing", is_flag=True, help="Add nodes beside those of the input, rather than new ones."
)
@click.option(
    "--headroom",
    type=float,
    default=0.0,
    metavar="PERCENT",
    help="Keep room for this share more pods of each workload.",
)
@click.option("--explain", "explains", is_flag=True, help="Say which workloads make the mix dear, and their rules.")
@cluster_options("Seed of nodes with equal scores, and of losses.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json", "markdown", "svg", "yaml"]),
    default="text",
    show_default=True,
    help="Output format; yaml prints the nodes as manifests, for `moorage plan`.",
)
@all_option
@colour_option
def fit_nodes(
    paths: tuple[str, ...],
    pool_paths: tuple[str, ...],
    max_cost: float | None,
    survive: str | None,
    keeps_existing: bool,
    headroom: float,
    explains: bool,
    cluster: ClusterOptions,
    form: str,
    everything: bool,
    colour: str,
) -> int:
    """Find the cheapest mix of nodes on which everything runs, with a bound below which no mix can cost.

    Nodes are those that the pools of --pools can start. The nodes of the input are left out and their pods placed
    again, unless --keep-existing is given. The mix was planned: the scheduler leaves nothing Pending on it. What no
    pool can ever take is named with the reasons of each pool.

    \b
    Examples:
      moorage capacity fit app/ --pools pools.yaml --pools types.json
      moorage capacity fit app/ --pools pools/ --survive zone --explain
      moorage capacity fit --context prod --pools types.json --keep-existing --max-cost 40
      moorage capacity fit app/ --pools pools/ -o yaml > nodes.yaml && moorage plan app/ nodes.yaml

    \b
    Exit code: 0, 1 if there is no mix, or none within --max-cost or --survive, 2 wrong usage or unreadable input.
    """
    from moorage.capacity.fitting.answer import FitOptions, answer
    from moorage.capacity.fitting.fit import Unpriced
    from moorage.capacity.fitting.survival import read_survival

    if max_cost is not None and not max_cost >= 0:
        raise click.BadParameter("must not be negative", param_hint="'--max-cost'")
    if not 0 <= headroom <= 1000:
        raise click.BadParameter("must be from 0 to 1000 percent", param_hint="'--headroom'")
    try:
        losses = read_survival(survive) if survive is not None else None
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="'--survive'") from None
    gc.disable()  # a plan makes a million objects and no garbage to speak of
    planner = read_planner(paths, cluster, verb="fit nodes to", reads_pools=True)
    pools = given_pools(pool_paths, planner.inventory)
    question = FitOptions(max_cost, losses, keeps_existing, headroom, explains, cluster.seed)
    try:
        report, fitted = answer(planner, pools, question)
    except Unpriced as error:
        for line in str(error).splitlines():
            say(line)
        raise click.exceptions.Exit(_UNREADABLE) from None
    prepare_output(is_text=form == "text")
    write_lines(_lines(form, report, fitted, colour=colour, everything=everything))
    if planner.inventory.unreadable or pools.unreadable:
        return _UNREADABLE
    return _DONE if report.is_answered else _NO_MIX


def _lines(form: str, report: FitReport, fitted: Fitted, *, colour: str, everything: bool) -> Iterator[str]:
    if form == "text":
        from moorage.capacity.fitting.text import FitText

        return FitText(colour=coloured(colour), width=terminal_width(), everything=everything).lines(report)
    if form == "markdown":
        from moorage.capacity.fitting.markdown import fit_markdown

        return fit_markdown(report)
    if form == "svg":
        from moorage.capacity.fitting.drawing import fit_svg

        return fit_svg(report)
    if form == "yaml":
        from moorage.capacity.fitting.report import manifests_of
        from moorage.plan.report.plain import as_yaml

        return iter("---\n".join(f"{as_yaml(raw)}\n" for raw in manifests_of(fitted)).splitlines())
    from moorage.plan.report.plain import as_data, as_json

    return iter([as_json({"version": 1, "sentence": report.sentence, **as_data(report)})])
