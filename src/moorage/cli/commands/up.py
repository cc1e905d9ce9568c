"""`moorage up` and `apiserver`: a cluster in one process, or its API server and store alone, until SIGINT or SIGTERM.

Exit code 1 if it cannot start, 2 if the command line is wrong.
"""

from __future__ import annotations

import gc
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.cli.options import (
    Command,
    bind_address_option,
    chosen_controllers,
    component_gates_options,
    config_option,
    controllers_option,
    devices_option,
    gates_option,
    log_options,
    port_option,
    simulate_storage_option,
)

if TYPE_CHECKING:
    from moorage.cluster.api_server import ApiServerProcess
    from moorage.cluster.control_plane import ControlPlane

_CANNOT_START = 1
_TAINTS_NODES, _PROTECTS_STORAGE = "TaintNodesByCondition", "StorageObjectInUseProtection"


def data_options(function: Command) -> Command:
    for option in (
        click.option(
            "--write-kubeconfig",
            "kubeconfig",
            type=click.Path(dir_okay=False, path_type=Path),
            help="Where to write the kubeconfig, when all is ready; in one that exists, the context is added to the "
            "others.  [default: in the data directory]",
        ),
        click.option("--force", is_flag=True, help="Replace the file of --write-kubeconfig although it is none."),
        click.option("--ephemeral", is_flag=True, help="Keep nothing: the cluster is gone when the process ends."),
        click.option(
            "--data-dir",
            type=click.Path(file_okay=False, path_type=Path),
            help="Where the cluster is kept.  [default: moorage in the user's state directory]",
        ),
    ):
        function = option(function)
    return function


def stored_in(data_dir: Path | None, *, ephemeral: bool) -> Path | None:
    """Return the data directory, None if nothing is to be kept. Raises UsageError."""
    if ephemeral and data_dir is not None:
        raise click.UsageError("--ephemeral keeps nothing, so it cannot have a --data-dir.")
    return None if ephemeral else data_dir or default_data_dir()


@click.command("up")
@click.option("--nodes", type=click.IntRange(0, 100_000), default=3, show_default=True, help="Simulated nodes to make.")
@data_options
@bind_address_option
@port_option
@click.option(
    "--load",
    "manifests",
    multiple=True,
    metavar="FILE",
    help="Apply manifests at start: a file, a directory, or - for standard input. Repeatable.",
)
@click.option(
    "--simulate/--no-simulate",
    default=True,
    show_default=True,
    help="Whether nodes are simulated, those that are created through the API among them.",
)
@devices_option
@simulate_storage_option(default=True)
@config_option
@controllers_option
@gates_option
@component_gates_options
@log_options
def command(
    nodes: int,
    data_dir: Path | None,
    ephemeral: bool,
    bind_address: str,
    port: int,
    kubeconfig: Path | None,
    force: bool,
    manifests: tuple[str, ...],
    simulate: bool,
    devices: tuple[str, ...],
    simulates_storage: bool,
    config: str | None,
    controllers: str,
    gates: tuple[str, ...],
    **component_gates: tuple[str, ...],
) -> None:
    """Start a cluster that kubectl, client libraries and operators can talk to.

    Everything runs in this process: the API server with admission, the scheduler, and simulated nodes that run what is
    bound to them. Objects are kept in SQLite and are there again at the next start.

    \b
    Try:
      moorage up --nodes 5
      moorage up --nodes 4 --devices gpu.example.com=8
      moorage up --ephemeral --port 0 --write-kubeconfig kubeconfig.yaml
      moorage up --feature-gates=AllAlpha=true --load examples/spot-nodes-by-sla/
    """
    kept_in = stored_in(data_dir, ephemeral=ephemeral)
    gc.disable()  # until everything is there: what is made before stays
    from moorage.cli.shared import gates_of_components, read_configuration, read_devices, say
    from moorage.cluster.control_plane import CannotStart, ControlPlane, Settings
    from moorage.model.gates import Component

    switched = gates_of_components(gates, component_gates)
    settings = Settings(
        gates=switched,
        configuration=read_configuration(config, switched[Component.SCHEDULER]),
        nodes=nodes if simulate else 0,
        simulates=simulate,
        data_dir=kept_in,
        bind_address=bind_address,
        port=port,
        kubeconfig=kubeconfig,
        force=force,
        manifests=manifests,
        simulates_storage=simulates_storage,
        devices=read_devices(devices),
        controllers=chosen_controllers(controllers),
    )
    from moorage.cluster.event_loop import run_until_signal

    try:
        run_until_signal(lambda: ControlPlane(settings), _announce)
    except CannotStart as error:
        say(str(error))
        raise click.exceptions.Exit(_CANNOT_START) from None


def default_data_dir() -> Path:
    """Return the user's directory for state, as the XDG base directory specification has it."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".local" / "state") / "moorage"


def _announce(plane: ControlPlane) -> None:
    _warn_of_half_enabled_gates(plane)
    kept, count = plane.settings.data_dir, plane.node_count
    path = shlex.quote(str(plane.kubeconfig_path.absolute()))  # for a shell that may be anywhere
    nodes = f"{count} simulated node{'' if count == 1 else 's'}"
    click.echo(
        f"\nThe cluster is ready at {plane.url}, with {nodes if count else 'no nodes yet'}"
        f"{f'; it is kept in {kept.absolute()}' if kept else '; nothing is kept'}.\n\n"
        f"  export KUBECONFIG={path}\n"
        "  kubectl get nodes\n"
        f"{_something_to_see(plane)}"
        "  kubectl get pods -A -o wide\n"
        f"  moorage plan --kubeconfig {path}\n\n"
        "Ctrl-C stops it."
    )


def _warn_of_half_enabled_gates(plane: ControlPlane) -> None:
    from moorage.model.gate_skew import skew_lines

    lines = list(skew_lines(plane.skews))
    if lines:
        click.echo("\n".join(["", *lines]))


def _something_to_see(plane: ControlPlane) -> str:
    if plane.settings.manifests:
        return "  kubectl get events -A\n"
    return "  kubectl create deployment web --image=nginx --replicas=3\n"


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
def apiserver(
    data_dir: Path | None,
    ephemeral: bool,
    kubeconfig: Path | None,
    force: bool,
    bind_address: str,
    port: int,
    collects_garbage: bool,
    plugins: tuple[str, ...],
    gates: tuple[str, ...],
) -> None:
    """Serve the Kubernetes API; schedulers and kubelets are processes of their own.

    \b
    Try:
      moorage apiserver --write-kubeconfig kubeconfig.yaml
      moorage scheduler --kubeconfig kubeconfig.yaml
      moorage kubelet --kubeconfig kubeconfig.yaml --nodes 5
    """
    kept_in = stored_in(data_dir, ephemeral=ephemeral)
    from moorage.cli.shared import parsed_gates, say
    from moorage.cluster.api_server import ApiServerProcess, ApiServerSettings
    from moorage.cluster.event_loop import run_until_signal
    from moorage.cluster.kubeconfig_place import CannotStart

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
        run_until_signal(lambda: ApiServerProcess(settings, kubeconfig, force=force), _announce_server)
    except CannotStart as error:
        say(str(error))
        raise click.exceptions.Exit(_CANNOT_START) from None


def _announce_server(process: ApiServerProcess) -> None:
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
