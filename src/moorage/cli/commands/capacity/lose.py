"""Read the options of `moorage capacity lose`, and print what the loss does in the form that is asked for.

Out: exit 0, 1 with --strict if a pod waits or is not replaced, or a budget is broken, 2 if something could not be read
or the command line is wrong.
"""

from __future__ import annotations

import gc
import shlex
import sys
from typing import TYPE_CHECKING

import click

from moorage.cli.commands.capacity.cluster_input import (
    ClusterOptions,
    cluster_options,
    options_again,
    read_planner,
    split_inputs,
)
from moorage.cli.options import (
    all_option,
    colour_option,
)
from moorage.cli.shared import Progress, coloured, prepare_output, terminal_width, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from moorage.capacity.losing.distribution import Distribution
    from moorage.capacity.losing.loss import PlayedLoss
    from moorage.capacity.losing.text import LossReport

_DONE, _HARMS, _UNREADABLE = 0, 1, 2
_REPEATED = ("--kubeconfig", "--context", "--namespace", "--feature-gates", "--config")


@click.command("lose")
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]... [zone=NAME|pool=NAME|node=NAME|LABEL=VALUE]...")
@click.option(
    "--value",
    metavar="KEY=VALUE[:EFFECT]",
    help="Raise the value of this taint on the nodes, rather than losing them: who leaves when.",
)
@click.option("--random", "number", type=int, metavar="N", help="Lose N of the nodes, drawn by chance, many times.")
@click.option("--times", type=int, default=1000, show_default=True, metavar="N", help="How many times --random draws.")
@cluster_options("Seed of --random, and of nodes with equal scores.")
@click.option(
    "--strict", is_flag=True, help="Exit 1 if a pod waits or is not replaced, or a budget falls below what it demands."
)
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
def lose_nodes(
    paths: tuple[str, ...],
    value: str | None,
    number: int | None,
    times: int,
    cluster: ClusterOptions,
    strict: bool,
    form: str,
    everything: bool,
    colour: str,
) -> int:
    """Lose a zone, a pool or nodes: who is evicted, who finds a place, who stays Pending and why.

    Nodes are named by zone=NAME, pool=NAME, node=NAME or any LABEL=VALUE; with a comma those that are both. They are
    gone at once, as instances that a cloud takes back. With --value they stay, and a taint of theirs gets this value:
    NoExecute taints evict pods that no longer tolerate it. With --random, N of the nodes (of those that are named, or
    of all) are lost, many times: percentiles of Pending pods, the workloads that are hit most, and the worst loss.

    \b
    Examples:
      moorage capacity lose cluster/ zone=a
      moorage capacity lose cluster/ pool=spot --value failure-probability=35
      moorage dump | moorage capacity lose - --random 3 --times 1000 --seed 7
      moorage capacity lose --context prod node=node-1 node=node-2 --strict

    \b
    Exit code: 0, 1 with --strict if something waits, is not replaced or a budget is broken, 2 wrong usage or
    unreadable input.
    """
    from moorage.capacity.losing.loss import lost_nodes, play_loss
    from moorage.capacity.losing.text import LossReport
    from moorage.capacity.node_choice import FORM, NoSuchNodes, parse_choice
    from moorage.capacity.raised_value import parse_value
    from moorage.plan.node_changes import ChangeError

    files, words = split_inputs(paths, lambda word: "=" in word)
    if not words and number is None:
        raise click.UsageError(f"Nothing to lose: name {FORM}, or draw nodes with --random N.")
    if number is not None and value is not None:
        raise click.UsageError("--random loses nodes, and --value keeps them: give one of them.")
    gc.disable()  # a plan makes a million objects and no garbage to speak of
    try:
        raised = parse_value(value) if value is not None else None
        choices = [parse_choice(word) for word in words]
        planner = read_planner(files, cluster, verb="lose nodes of")
        simulation = planner.build()
        before = planner.plan(simulation)
        nodes = lost_nodes(simulation, choices)
        report = LossReport(colour=coloured(colour), width=terminal_width(), everything=everything)
        prepare_output(is_text=form != "json")
        if number is None:
            played = play_loss(planner, simulation, before, nodes, raised, " ".join(words))
            write_lines(_lines(form, report, played))
            harms = played.loss.harms
        else:
            from moorage.capacity.losing.distribution import distribution_of
            from moorage.capacity.losing.trials import draw_nodes, play_trials

            draws = draw_nodes(nodes, number, times, cluster.seed)
            progress = Progress(len(set(draws)), noun="losses") if sys.stderr.isatty() else None
            tick = progress.tick if progress is not None else lambda: None
            trials = play_trials(planner, simulation, before, draws, tick)
            if progress is not None:
                progress.clear()
            found = distribution_of(draws, trials, len(nodes), cluster.seed)
            worst = play_loss(planner, simulation, before, found.worst.nodes)
            again = [
                *files,
                *found.replay,
                *(["--seed", str(cluster.seed)] if cluster.seed else ()),
                *options_again(_REPEATED),
            ]
            command = shlex.join(["moorage", "capacity", "lose", *again])
            write_lines(_distribution_lines(form, report, found, worst, command))
            harms = found.harms
    except (ChangeError, NoSuchNodes) as error:
        raise click.UsageError(str(error)) from None
    if planner.inventory.unreadable:
        return _UNREADABLE
    return _HARMS if strict and harms else _DONE


def _lines(form: str, report: LossReport, played: PlayedLoss) -> Iterator[str]:
    if form == "text":
        return report.loss(played)
    if form == "markdown":
        from moorage.capacity.losing.markdown import loss_markdown

        return loss_markdown(played.loss)
    from moorage.plan.report.plain import as_data, as_json

    return iter([as_json({"version": 1, **as_data(played.loss)})])


def _distribution_lines(
    form: str, report: LossReport, found: Distribution, worst: PlayedLoss, command: str
) -> Iterator[str]:
    if form == "text":
        return report.distribution(found, worst, command)
    if form == "markdown":
        from moorage.capacity.losing.markdown import distribution_markdown

        return distribution_markdown(found, command)
    from moorage.plan.report.plain import as_data, as_json

    return iter([as_json({"version": 1, **as_data(found), "command": command, "worstLoss": as_data(worst.loss)})])
