"""Read `--pools`: the pools of autoscalers, from files and from the cluster that a command has read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from moorage.cli.shared import say

if TYPE_CHECKING:
    from moorage.plan.input.inventory import Inventory
    from moorage.pools.reading import Pools

_NO_POOLS = 2

pools_option = click.option(
    "--pools",
    "pool_paths",
    multiple=True,
    metavar="FILE|DIRECTORY|-",
    help="Pools of autoscalers: NodePools, NodeOverlays and instance types of Karpenter; NodeGroups or "
    "AutoScalingGroups of Cluster Autoscaler; CapacityBuffers. Those of the input count, too. Repeatable.",
)


def given_pools(paths: tuple[str, ...], inventory: Inventory | None = None) -> Pools:
    """Return the pools of --pools and of the input; complain of what cannot be used, and exit if no pool is left.

    The command ends with code 2 if `unreadable` of the pools is not 0.
    """
    from moorage.lint.sources import sources_of
    from moorage.plan.pools.reading import complaints, read_pool_sources

    pools = read_pool_sources(sources_of(paths), inventory)
    for line in complaints(pools, paths):
        say(line)
    for note in pools.notes:
        say(f"note: {note}")
    if not pools.pools:
        raise click.exceptions.Exit(_NO_POOLS)
    return pools
