"""Name the commands of `moorage capacity`; each is imported when it is called."""

from __future__ import annotations

import click

from moorage.cli.commands.lazy_group import lazy_group

#: Each command, and where it is.
_COMMANDS: dict[str, str] = {
    "curve": "curve:draw_curve",
    "fit": "fit:fit_nodes",
    "lose": "lose:lose_nodes",
    "reclaim": "reclaim:reclaim_nodes",
}


@click.group("capacity", cls=lazy_group("moorage.cli.commands.capacity", _COMMANDS))
def command() -> None:
    """Answer questions about capacity: the cheapest mix of nodes, what a threshold costs, what a loss does."""
