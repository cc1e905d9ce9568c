"""Read `--autoscale`, `--pools` and `--autoscaler-option`: the autoscaler at work, with its pools and options."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from moorage.cli.input.pools import given_pools, pools_option
from moorage.cli.shared import say

if TYPE_CHECKING:
    from moorage.autoscale.options import Options
    from moorage.cli.options import Command
    from moorage.plan.autoscaling.attached import Autoscaling
    from moorage.plan.input.inventory import Inventory
    from moorage.plan.planner import Planner
    from moorage.pools.node_template import Scaler

AUTOSCALERS = ("karpenter", "cluster-autoscaler")
_NO_POOLS = 2


class AutoscalerChoice(NamedTuple):
    """The autoscaler that the command line asks for; its pools are read with the input."""

    scaler: Scaler
    options: Options
    pool_paths: tuple[str, ...]


def autoscale_options(function: Command) -> Command:
    for option in (
        click.option(
            "--autoscaler-option",
            "autoscaler_options",
            multiple=True,
            metavar="NAME=VALUE",
            help="An option of the autoscaler under its own name, such as expander=price. Repeatable.",
        ),
        pools_option,
        click.option(
            "--autoscale",
            "autoscaler",
            type=click.Choice(AUTOSCALERS),
            help="Let an autoscaler start and remove nodes of --pools, as pods and time ask for it.",
        ),
    ):
        function = option(function)
    return function


def complain_of_autoscaler(
    autoscaler: str | None, pool_paths: tuple[str, ...], words: tuple[str, ...]
) -> AutoscalerChoice | None:
    """Return what the options ask for; None without an autoscaler. Raises UsageError, BadParameter."""
    from moorage.autoscale.options import OptionError, read_options
    from moorage.pools.node_template import Scaler

    if autoscaler is None:
        if words:
            raise click.UsageError("--autoscaler-option needs --autoscale.")
        return None
    scaler = Scaler(autoscaler)
    try:
        return AutoscalerChoice(scaler, read_options(scaler, words), pool_paths)
    except OptionError as error:
        raise click.BadParameter(str(error), param_hint="'--autoscaler-option'") from None


def chosen_autoscaling(choice: AutoscalerChoice, inventory: Inventory | None = None) -> tuple[Autoscaling, int]:
    """Return the autoscaler with the pools of files and input, and how many files could not be read.

    Complains of what cannot be used; exits if no pool is left.
    """
    from moorage.plan.autoscaling.attached import Autoscaling

    pools = given_pools(choice.pool_paths, inventory)
    own = tuple(pool for pool in pools.pools if pool.scaler is choice.scaler)
    others = [pool.name for pool in pools.pools if pool.scaler is not choice.scaler]
    if others:
        say(f"note: {choice.scaler} leaves alone the pools of another autoscaler: {', '.join(others)}")
    if not own:
        say(f"there is no pool of {choice.scaler} among them")
        raise click.exceptions.Exit(_NO_POOLS)
    for buffer in pools.buffers:
        if not buffer.is_active:
            say(f"note: CapacityBuffer {buffer.key} is left alone: its provisioningStrategy is {buffer.strategy}")
    autoscaling = Autoscaling(choice.scaler, own, choice.options, tuple(pools.buffers), pools.templates)
    return autoscaling, pools.unreadable


def take_pools(planner: Planner, choice: AutoscalerChoice | None, pool_paths: tuple[str, ...]) -> int:
    """Give a planner its autoscaler, or the pools alone; return how many of their files could not be read."""
    if choice is not None:
        planner.autoscaling, unreadable = chosen_autoscaling(choice, planner.inventory)
        return unreadable
    if not pool_paths:
        return 0
    planner.inventory.pools = given_pools(pool_paths, planner.inventory)
    return planner.inventory.pools.unreadable
