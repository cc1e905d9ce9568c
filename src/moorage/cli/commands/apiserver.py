"""`moorage apiserver`: the API server and its store as a process of its own, until SIGINT or SIGTERM.

Exit code 1 if it cannot start, 2 if the command line is wrong.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.cli.commands.up import data_options, stored_in
from moorage.cli.options import bind_address_option, gates_option, log_options, port_option

if TYPE_CHECKING:
    from moorage.cluster.api_server import ApiServerProcess

_CANNOT_START = 1
_TAINTS_NODES, _PROTECTS_STORAGE = "TaintNodesByCondition", "StorageObjectInUseProtection"


@click.command("apiserver")
@data_options
@bind_address_option
@port_option
@click.option(
    "--enable-garbage-collector",
    "collects_garbage",
    type=bool,
    default=True,
    show_default=True,
    help="Whether deletions may wait for the garbage collector of a controller manager.",
)
@click.option(
    "--enable-admission-plugins",
    "plugins",
    multiple=True,
    type=click.Choice([_TAINTS_NODES, _PROTECTS_STORAGE]),
    help="Also run this one; repeatable. Nodes then begin as not ready, until the node lifecycle controller has seen "
    "them; volumes and claims are kept while in use, until the protection controllers let them go.",
)
@gates_option
@log_options
def command(
    data_dir: Path | None,
    ephemeral: bool,
    kubeconfig: Path | None,
    bind_address: str,
    port: int,
    collects_garbage: bool,
    plugins: tuple[str, ...],
    gates: tuple[str, ...],
) -> None:
    """Serve the Kubernetes API; schedulers and kubelets are processes of their own.

    \b
    Try:
      moorage apiserver --write-kubeconfig cluster.yaml
      moorage scheduler --kubeconfig cluster.yaml
      moorage kubelet --kubeconfig cluster.yaml --nodes 5
    """
    kept_in = stored_in(data_dir, ephemeral=ephemeral)
    from moorage.cli.shared import parsed_gates, say
    from moorage.cluster.api_server import ApiServerProcess, ApiServerSettings, CannotStart
    from moorage.cluster.event_loop import run_until_signal

    settings = ApiServerSettings(
        parsed_gates(gates),
        kept_in,
        bind_address,
        port,
        collects_garbage,
        taints_new_nodes=_TAINTS_NODES in plugins,
        protects_storage=_PROTECTS_STORAGE in plugins,
    )
    try:
        run_until_signal(lambda: ApiServerProcess(settings, kubeconfig), _announce)
    except CannotStart as error:
        say(str(error))
        raise click.exceptions.Exit(_CANNOT_START) from None


def _announce(process: ApiServerProcess) -> None:
    kept = process.settings.data_dir
    path = shlex.quote(str(process.kubeconfig.path.absolute()))  # for shells that may be anywhere
    click.echo(
        f"\nThe API server is ready at {process.url}"
        f"{f'; objects are kept in {kept.absolute()}' if kept else '; nothing is kept'}.\n\n"
        f"  moorage scheduler --kubeconfig {path}\n"
        f"  moorage controller-manager --kubeconfig {path}\n"
        f"  moorage kubelet --kubeconfig {path} --nodes 3\n"
        f"  kubectl --kubeconfig {path} get nodes\n\n"
        "Ctrl-C stops it."
    )
