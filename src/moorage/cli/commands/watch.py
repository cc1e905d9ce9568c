"""Show `moorage watch`, a live view. Exit code: 0 after q, 2 if the cluster cannot be watched, 130 after Ctrl-C."""

from __future__ import annotations

import asyncio
import math
import os
import sys

import click

from moorage.cli.options import colour_option, context_option, kubeconfig_option
from moorage.cli.shared import coloured, prepare_output, say

_CANNOT_WATCH = 2


@click.command("watch")
@kubeconfig_option
@context_option
@click.option("-n", "--namespace", default="", help="Show only the pods of this namespace.")
@click.option(
    "--plain",
    is_flag=True,
    help="Print log lines instead of a screen; the default in a pipe, and if TERM is dumb or not set.",
)
@click.option(
    "--once", is_flag=True, help="Print what is Pending, what has to leave and how full the nodes are, and exit."
)
@click.option(
    "--rate",
    type=click.FloatRange(0.1, 30),
    default=4.0,
    show_default=True,
    metavar="N",
    help="Redraw at most N times a second.",
)
@colour_option
def command(kubeconfig: str, context: str, namespace: str, plain: bool, once: bool, rate: float, colour: str) -> int:
    """Watch a live cluster: what is Pending and why, what has to leave and when, what moved, how full nodes are.

    Any cluster, ours or a real one; nothing is written to it. On a terminal a screen: q quits, arrows and space scroll.
    In a pipe, with --plain or TERM=dumb, a line for each thing that happens. When the API server goes away
    it says so, and goes on when it is back.

    \b
    Examples:
      moorage watch
      moorage watch --kubeconfig kubeconfig.yaml -n shop
      moorage watch --plain | tee what-happened.log
      moorage watch --once
    """
    from moorage.client.kubeconfig.access import Access, KubeconfigError
    from moorage.client.kubeconfig.loading import load_access
    from moorage.watch.run import Watching
    from moorage.watch.session import CannotWatch
    from moorage.watch.terminal import Terminal

    def load() -> Access:
        return load_access(kubeconfig, context=context)

    def write(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    if math.isnan(rate):
        raise click.BadParameter("must be a number", param_hint="'--rate'")

    async def run() -> int:
        watching = Watching(load, namespace=namespace, rate=rate, colour=coloured(colour))
        if once:
            return await watching.once(write)
        if plain or not sys.stdout.isatty() or os.environ.get("TERM", "dumb") in ("", "dumb"):
            return await watching.log(write)
        return await watching.show(Terminal())

    prepare_output(is_text=True)
    try:
        return asyncio.run(run())
    except (CannotWatch, KubeconfigError) as error:
        say(str(error))
        return _CANNOT_WATCH
