"""`moorage kubelet`: simulated nodes as a process of its own, against any API server.

In: options. Out: nodes that are Ready and run what is bound to them, until SIGINT or SIGTERM; exit 1 if it cannot
start, 2 if the command line or a file is wrong. Only nodes with a label are simulated, so that a cluster with real ones
is safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from moorage.cli.options import bind_address_option, gates_option, log_options, metrics_port_option

if TYPE_CHECKING:
    from moorage.cluster.components import KubeletProcess


@click.command("kubelet", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--kubeconfig",
    default="",
    metavar="FILE",
    help="How to reach the API server.  [default: $KUBECONFIG, ~/.kube/config]",
)
@click.option("--context", default="", metavar="NAME", help="The kubeconfig's context, if not its current one.")
@click.option(
    "--nodes", type=click.IntRange(0, 100_000), default=1, show_default=True, help="Nodes to make, if they are missing."
)
@click.option("--node-prefix", "prefix", default="node-", show_default=True, help="What the names of nodes begin with.")
@click.option("--cpu", default="8", show_default=True, metavar="QUANTITY", help="What a node has.")
@click.option("--memory", default="32Gi", show_default=True, metavar="QUANTITY", help="What a node has.")
@click.option("--pods", type=click.IntRange(0), default=110, show_default=True, help="How many pods a node takes.")
@click.option(
    "--name",
    "simulator",
    default="moorage",
    show_default=True,
    help="Simulate the nodes with the label simulate.moorage.dev/kubelet=NAME, no others.",
)
@gates_option
@bind_address_option
@metrics_port_option(10255)
@log_options
def command(
    kubeconfig: str,
    context: str,
    nodes: int,
    prefix: str,
    cpu: str,
    memory: str,
    pods: int,
    simulator: str,
    gates: tuple[str, ...],
    bind_address: str,
    metrics_port: int,
    verbosity: int,
    log_format: str,
) -> None:
    """Simulate nodes: register them, keep them alive, and run what is bound to them.

    Nothing is really run. Pods start at once; annotations such as simulate.moorage.dev/completes-after=90s say
    otherwise. Nodes of the cluster that lack the label are left alone.

    \b
    Try:
      moorage kubelet --kubeconfig cluster.yaml --nodes 5
      moorage kubelet --kubeconfig cluster.yaml --nodes 100 --node-prefix gpu- --cpu 64 --memory 512Gi
    """
    from moorage.cli.component_command import run_component
    from moorage.cli.shared import parsed_gates
    from moorage.client.kubeconfig.loading import load_access
    from moorage.cluster.component_process import Process
    from moorage.cluster.components import CannotRegister, KubeletProcess, KubeletSettings
    from moorage.model.names import dns1123_subdomain_errors, label_value_errors
    from moorage.telemetry.logs import configure

    configure(verbosity=verbosity, log_format=log_format)
    for option, complaints in (
        ("--name", label_value_errors(simulator)),
        ("--node-prefix", dns1123_subdomain_errors(f"{prefix}{nodes}")),
    ):
        if complaints:
            raise click.BadParameter(complaints[0], param_hint=f"'{option}'")
    switched = parsed_gates(gates)
    capacity = {"cpu": _quantity("--cpu", cpu), "memory": _quantity("--memory", memory), "ephemeral-storage": "100Gi"}
    capacity["pods"] = str(pods)

    def make() -> KubeletProcess:
        access = load_access(kubeconfig, context=context)
        process = Process("kubelet", access, bind_address, metrics_port if metrics_port >= 0 else None)
        return KubeletProcess(KubeletSettings(process, switched, nodes, prefix, capacity, simulator))

    run_component(make, _announce, (CannotRegister,))


def _quantity(option: str, text: str) -> str:
    from moorage.model.quantity import QuantityError, parse_quantity

    try:
        if parse_quantity(text).value() < 0:
            raise click.BadParameter("must not be negative", param_hint=f"'{option}'")
    except QuantityError as error:
        raise click.BadParameter(f"{text!r}: {error}", param_hint=f"'{option}'") from None
    return text


def _announce(process: KubeletProcess) -> None:
    count = process.kubelets.node_count
    click.echo(
        f"{count} simulated node{'' if count == 1 else 's'} on {process.settings.process.access.server}. Ctrl-C stops."
    )
