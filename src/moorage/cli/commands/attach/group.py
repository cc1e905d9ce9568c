"""Name the commands of `moorage attach`; each is imported when it is called."""

from __future__ import annotations

import click

from moorage.cli.commands.lazy_group import lazy_group

#: Each command, and where it is.
_COMMANDS = {
    "controller": "controller:run_controller",
    "convert": "convert:convert_manifests",
    "install": "install:print_installation",
    "policies": "policies:print_policies",
    "status": "status:show_status",
    "uninstall": "uninstall:show_way_back",
    "webhook": "webhook:serve_webhook",
}


@click.group("attach", cls=lazy_group("moorage.cli.commands.attach", _COMMANDS))
def command() -> None:
    """Bring thresholds, versions and expressions in tolerations to a cluster that does not know them."""
