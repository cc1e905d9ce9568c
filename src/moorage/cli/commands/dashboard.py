"""Serve the page of `moorage dashboard` until SIGINT, SIGTERM or SIGHUP.

Exit code: 0, 2 if there is nothing to show.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.cli.options import (
    config_option,
    context_option,
    gates_option,
    live_kubeconfig_option,
    namespace_option,
    quiet_log_options,
    scrape_option,
    seed_option,
)
from moorage.cli.progress_lines import ProgressLines
from moorage.cli.shared import gate_settings, is_piped, parsed_gates, read_configuration, say

if TYPE_CHECKING:
    from moorage.dashboard.service import Dashboard

_CANNOT_SHOW = 2


@click.command("dashboard")
@click.argument("paths", nargs=-1, metavar="[FILE|DIRECTORY|-]...")
@live_kubeconfig_option
@context_option
@scrape_option
@namespace_option
@gates_option
@config_option
@seed_option
@click.option(
    "--allow-changes", is_flag=True, help="Let the page change the cluster, as far as the kubeconfig has the rights."
)
@click.option(
    "--bind-address",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="The address to listen on. Beyond loopback, traffic can be read on the network.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; 0 for any free one.  [default: 0]")
@click.option(
    "--allow-host",
    "host_names",
    multiple=True,
    metavar="NAME",
    help="A host name that browsers may use for this server, besides its addresses and localhost. Repeatable.",
)
@click.option("--open/--no-open", "opens", default=None, help="Open the page in a browser.  [default: on a desktop]")
@quiet_log_options
def command(
    paths: tuple[str, ...],
    kubeconfig: str | None,
    context: str,
    endpoints: tuple[str, ...],
    namespace: str,
    gates: tuple[str, ...],
    config: str | None,
    seed: int,
    allow_changes: bool,
    bind_address: str,
    port: int,
    host_names: tuple[str, ...],
    opens: bool | None,
) -> int:
    """Show a cluster in the browser: where pods are, why others wait, and what a change would do.

    Any live cluster, ours or a real one; or, with files, the cluster that `moorage plan` makes of them, read again when
    they change. The address that is printed lets one browser in, once. Nothing is written to a cluster unless
    --allow-changes is given.

    \b
    Examples:
      moorage dashboard
      moorage dashboard --context production
      moorage dashboard cluster/ new-deployment.yaml
      moorage dump | moorage dashboard -
      moorage dashboard --allow-changes --port 8001
    """
    from moorage.cluster.event_loop import run_until_signal
    from moorage.dashboard.http.guard import is_loopback
    from moorage.dashboard.service import Dashboard
    from moorage.dashboard.source import CannotShow, DashboardSettings
    from moorage.telemetry.logs import fall_silent

    if not paths and kubeconfig is None:
        if is_piped():
            paths = ("-",)
        else:
            kubeconfig = ""
    if paths and kubeconfig is not None:
        raise click.UsageError("Show a cluster or files: --kubeconfig and --context go without files.")
    if allow_changes and kubeconfig is None:
        raise click.UsageError("--allow-changes needs a cluster: there is nothing to change in files.")
    if any(not name.strip() or "/" in name for name in host_names):
        raise click.UsageError("--allow-host takes a name such as k8s.example.com, without http:// and without a path.")
    switched = parsed_gates(gates)
    read_configuration(config, switched)
    settings = DashboardSettings(
        kubeconfig=kubeconfig,
        context=context,
        files=paths,
        stdin=sys.stdin.buffer.read().decode("utf-8", "replace") if "-" in paths else "",
        feature_gates=gate_settings(gates),
        configuration=Path(config).read_text("utf-8") if config else None,
        configuration_name=config or "configuration",
        seed=seed,
        namespace=namespace,
        endpoints=endpoints,
        bind_address=bind_address,
        port=port,
        host_names=host_names,
        allow_changes=allow_changes,
        command=shlex.join(["moorage", *sys.argv[1:]]),
    )

    lines = ProgressLines()

    def announce(address: str) -> None:
        lines.clear()
        click.echo(f"The address was used. To let another browser in, open\n\n  {address}\n")

    def started(dashboard: Dashboard) -> None:
        lines.clear()
        if not is_loopback(bind_address):
            say(f"{bind_address} is reached from other machines, and what is sent is not encrypted")
        click.echo(f"The dashboard is ready. Open\n\n  {dashboard.address}\n\nCtrl-C stops it.")
        sys.stdout.flush()
        if opens or (opens is None and _is_desktop()):
            with contextlib.suppress(webbrowser.Error, OSError):
                webbrowser.open(dashboard.address)

    fall_silent()  # a kind that the server does not have is no news
    try:
        run_until_signal(lambda: Dashboard(settings, announce, lines.show), started)
    except CannotShow as error:
        lines.clear()
        say(str(error))
        return _CANNOT_SHOW
    return 0


def _is_desktop() -> bool:
    """Return whether a person sits at a screen that a browser can be opened on."""
    has_screen = sys.platform == "darwin" or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return has_screen and sys.stdout.isatty() and not os.environ.get("SSH_CONNECTION")
