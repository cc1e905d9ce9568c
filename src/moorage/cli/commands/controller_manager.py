"""`moorage controller-manager`: the controllers as a process of their own, against any API server.

In: options. Out: a cluster that takes care of itself, until SIGINT or SIGTERM; exit 1 if it cannot start or loses its
Lease, 2 if the command line or a file is wrong.
"""

from __future__ import annotations

import click

from moorage.cli.options import (
    bind_address_option,
    chosen_controllers,
    controllers_option,
    election_options,
    gates_option,
    kubeconfig_options,
    log_options,
    metrics_port_option,
)

_COMPONENT = "kube-controller-manager"


@click.command("controller-manager", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@kubeconfig_options
@controllers_option
@click.option(
    "--simulate-storage/--no-simulate-storage",
    "simulates_storage",
    default=False,
    show_default=True,
    help="Whether volumes of every provisioner are simulated, and not only those of moorage.dev/simulated.",
)
@gates_option
@election_options(_COMPONENT)
@bind_address_option
@metrics_port_option(10252)
@log_options
def command(
    kubeconfig: str,
    context: str,
    controllers: str,
    simulates_storage: bool,
    gates: tuple[str, ...],
    leader_elect: bool,
    lease: str,
    deadline: str,
    retry: str,
    lease_name: str,
    lease_namespace: str,
    bind_address: str,
    metrics_port: int,
    verbosity: int,
    log_format: str,
) -> None:
    """Watch an API server, and make what is into what should be.

    Does what kube-controller-manager does: workloads and their pods, taint eviction, garbage collection, namespaces,
    nodes and volumes.

    \b
    Try:
      moorage controller-manager --kubeconfig cluster.yaml
      moorage controller-manager --kubeconfig cluster.yaml --controllers='*,-taint-eviction-controller'
    """
    from moorage.cli.component_command import run_component
    from moorage.cli.shared import election_times, parsed_gates
    from moorage.client.kubeconfig.loading import load_access
    from moorage.cluster.component_process import Process
    from moorage.cluster.controller_manager_process import ControllerManagerProcess, ControllerManagerSettings
    from moorage.control.registry import chosen
    from moorage.telemetry.logs import configure

    configure(verbosity=verbosity, log_format=log_format)
    switched = parsed_gates(gates)
    times = election_times(lease, deadline, retry) if leader_elect else None
    rows = chosen(chosen_controllers(controllers))

    def make() -> ControllerManagerProcess:
        access = load_access(kubeconfig, context=context)
        port = metrics_port if metrics_port >= 0 else None
        process = Process(_COMPONENT, access, bind_address, port, times, (lease_namespace, lease_name))
        return ControllerManagerProcess(ControllerManagerSettings(process, switched, rows, simulates_storage))

    run_component(make)
