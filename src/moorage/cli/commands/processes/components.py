"""Run `moorage scheduler`, `controller-manager` and `kubelet` against any API server; print the `roles` they need.

Each runs until SIGINT, SIGTERM or SIGHUP. Exit code 1 if it cannot start or loses its Lease, 2 if the command line or a
file is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.cli.commands.processes.running import run_component
from moorage.cli.options import (
    chosen_controllers,
    component_options,
    config_option,
    controllers_option,
    devices_option,
    seed_option,
    simulate_storage_option,
)

if TYPE_CHECKING:
    from moorage.cli.options import ProcessMaker
    from moorage.cluster.components import KubeletProcess, Process
    from moorage.model.gates import GateSet

_BAD_USAGE = 2
_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("scheduler")
@component_options("kube-scheduler", metrics_port=10251)
@config_option
@seed_option
def scheduler(process: ProcessMaker, gates: GateSet, config: str | None, seed: int) -> None:
    """Watch an API server, and give its pods nodes.

    Does what kube-scheduler does, for pods with the schedulerName of one of its profiles. Runs against Moorage and
    against any other Kubernetes API server.

    \b
    Try:
      moorage scheduler --kubeconfig kubeconfig.yaml
      moorage scheduler --kubeconfig kubeconfig.yaml --config scheduler.yaml --feature-gates=AllAlpha=true
    """
    from moorage.cli.shared import read_configuration
    from moorage.cluster.components import SchedulerProcess

    configuration = read_configuration(config, gates)
    run_component(process, lambda parts: SchedulerProcess(parts, gates, configuration, seed))


@click.command("controller-manager")
@component_options("kube-controller-manager", metrics_port=10252)
@controllers_option
@simulate_storage_option(default=False)
@click.option(
    "--cluster-signing-cert-file",
    "signing_certificate",
    type=_FILE,
    metavar="FILE",
    help="The certificate, in PEM, of the authority that signs CertificateSigningRequests; without, none is signed.",
)
@click.option(
    "--cluster-signing-key-file",
    "signing_key",
    type=_FILE,
    metavar="FILE",
    help="Its private key, in PEM.",
)
@click.option(
    "--service-account-private-key-file",
    "token_key",
    type=_FILE,
    metavar="FILE",
    help="The key, in PEM, that signs tokens in Secrets; without it Secrets get no tokens.",
)
def controller_manager(
    process: ProcessMaker,
    gates: GateSet,
    controllers: str,
    simulates_storage: bool,
    signing_certificate: Path | None,
    signing_key: Path | None,
    token_key: Path | None,
) -> None:
    """Watch an API server, and make what is into what should be.

    Does what kube-controller-manager does: workloads and their pods, taint eviction, garbage collection, namespaces,
    nodes and volumes.

    \b
    Try:
      moorage controller-manager --kubeconfig kubeconfig.yaml
      moorage controller-manager --kubeconfig kubeconfig.yaml --controllers='*,-taint-eviction-controller'
    """
    from moorage.cli.shared import say
    from moorage.cluster.components import ControllerManagerProcess
    from moorage.cluster.signers import UnusableKey, read_signers
    from moorage.control.registry import chosen

    if (signing_certificate is None) != (signing_key is None):
        raise click.UsageError("--cluster-signing-cert-file and --cluster-signing-key-file belong together.")
    try:
        signers = read_signers(signing_certificate, signing_key, token_key)
    except UnusableKey as error:
        say(str(error))
        raise click.exceptions.Exit(_BAD_USAGE) from None
    rows = chosen(chosen_controllers(controllers))
    run_component(
        process,
        lambda made: ControllerManagerProcess(made, gates, rows, simulates_storage=simulates_storage, signers=signers),
    )


@click.command("kubelet")
@component_options("kubelet", metrics_port=10255, elects=False)
@click.option(
    "--nodes", type=click.IntRange(0, 100_000), default=1, show_default=True, help="Nodes to make, if they are missing."
)
@click.option("--node-prefix", "prefix", default="node-", show_default=True, help="What the names of nodes begin with.")
@click.option("--cpu", default="8", show_default=True, metavar="QUANTITY", help="What a node has.")
@click.option("--memory", default="32Gi", show_default=True, metavar="QUANTITY", help="What a node has.")
@click.option("--pods", type=click.IntRange(0), default=110, show_default=True, help="How many pods a node takes.")
@devices_option
@click.option(
    "--name",
    "simulator",
    default="moorage",
    show_default=True,
    help="Simulate the nodes with the label simulate.moorage.dev/kubelet=NAME, no others.",
)
@click.option("--all-nodes", is_flag=True, help="Also simulate nodes without that label, as `moorage up` does.")
def kubelet(
    process: ProcessMaker,
    gates: GateSet,
    nodes: int,
    prefix: str,
    cpu: str,
    memory: str,
    pods: int,
    devices: tuple[str, ...],
    simulator: str,
    all_nodes: bool,
) -> None:
    """Simulate nodes: register them, keep them alive, and run what is bound to them.

    Nothing is really run. Pods start at once; annotations such as simulate.moorage.dev/completes-after=90s say
    otherwise. Nodes of the cluster that lack the label are left alone.

    \b
    Try:
      moorage kubelet --kubeconfig kubeconfig.yaml --nodes 5
      moorage kubelet --kubeconfig kubeconfig.yaml --nodes 100 --node-prefix gpu- --cpu 64 --memory 512Gi
      moorage kubelet --kubeconfig kubeconfig.yaml --devices gpu.example.com=8
    """
    from moorage.cli.shared import read_devices
    from moorage.cluster.components import CannotRegister, KubeletProcess
    from moorage.model.names import dns1123_subdomain_errors, label_value_errors

    for option, complaints in (
        ("--name", label_value_errors(simulator)),
        ("--node-prefix", dns1123_subdomain_errors(f"{prefix}{nodes}")),
    ):
        if complaints:
            raise click.BadParameter(complaints[0], param_hint=f"'{option}'")
    capacity = {"cpu": _quantity("--cpu", cpu), "memory": _quantity("--memory", memory), "ephemeral-storage": "100Gi"}
    capacity["pods"] = str(pods)
    has = read_devices(devices)

    def make(made: Process) -> KubeletProcess:
        return KubeletProcess(made, gates, nodes, prefix, capacity, simulator, has, takes_all=all_nodes)

    run_component(process, make, _announce, CannotRegister)


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
    click.echo(f"{count} simulated node{'' if count == 1 else 's'} on {process.process.access.server}. Ctrl-C stops.")


@click.command("roles")
@click.option(
    "--scheduler-user",
    default="system:kube-scheduler",
    show_default=True,
    metavar="USER",
    help="The user that the scheduler's role is bound to.",
)
@click.option(
    "--controller-manager-user",
    default="system:kube-controller-manager",
    show_default=True,
    metavar="USER",
    help="The user that the controller manager's role is bound to.",
)
@click.option(
    "--kubelet-user",
    default="moorage:kubelet",
    show_default=True,
    metavar="USER",
    help="The user that the role of simulated kubelets is bound to.",
)
def roles(scheduler_user: str, controller_manager_user: str, kubelet_user: str) -> None:
    """Print the roles that `moorage scheduler`, `controller-manager` and `kubelet` need, bound to their users.

    A user of the form system:serviceaccount:NAMESPACE:NAME is bound as that service account.

    \b
    Try:
      moorage roles | kubectl apply -f -
      moorage roles --scheduler-user system:serviceaccount:kube-system:moorage
    """
    import yaml

    from moorage.serve.access.bootstrap.policy import CONTROLLER_MANAGER, KUBELETS, SCHEDULER, component_policy

    users = {
        SCHEDULER.name: scheduler_user,
        CONTROLLER_MANAGER.name: controller_manager_user,
        KUBELETS.name: kubelet_user,
    }
    click.echo(yaml.safe_dump_all(component_policy(users), sort_keys=False), nl=False)
