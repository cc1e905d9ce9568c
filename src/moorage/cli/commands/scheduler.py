"""`moorage scheduler`: the scheduler as a process of its own, against any API server.

In: options. Out: pods on nodes, until SIGINT or SIGTERM; exit 1 if it cannot start or loses its Lease, 2 if the command
line or a file is wrong.
"""

from __future__ import annotations

import click

from moorage.cli.options import (
    bind_address_option,
    config_option,
    election_options,
    gates_option,
    kubeconfig_options,
    log_options,
    metrics_port_option,
    seed_option,
)

_COMPONENT = "kube-scheduler"


@click.command("scheduler", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@kubeconfig_options
@config_option
@gates_option
@election_options(_COMPONENT)
@bind_address_option
@metrics_port_option(10251)
@seed_option
@log_options
def command(
    kubeconfig: str,
    context: str,
    config: str | None,
    gates: tuple[str, ...],
    leader_elect: bool,
    lease: str,
    deadline: str,
    retry: str,
    lease_name: str,
    lease_namespace: str,
    bind_address: str,
    metrics_port: int,
    seed: int,
    verbosity: int,
    log_format: str,
) -> None:
    """Watch an API server, and give its pods nodes.

    Does what kube-scheduler does, for pods with the schedulerName of one of its profiles. Runs against Moorage and
    against any other Kubernetes API server.

    \b
    Try:
      moorage scheduler --kubeconfig cluster.yaml
      moorage scheduler --kubeconfig cluster.yaml --config scheduler.yaml --feature-gates=AllAlpha=true
    """
    from moorage.cli.component_command import run_component
    from moorage.cli.shared import election_times, parsed_gates, read_configuration
    from moorage.client.kubeconfig.loading import load_access
    from moorage.cluster.component_process import Process
    from moorage.cluster.scheduler_process import SchedulerProcess, SchedulerSettings
    from moorage.telemetry.logs import configure

    configure(verbosity=verbosity, log_format=log_format)
    switched = parsed_gates(gates)
    configuration = read_configuration(config, switched)
    times = election_times(lease, deadline, retry) if leader_elect else None

    def make() -> SchedulerProcess:
        access = load_access(kubeconfig, context=context)
        port = metrics_port if metrics_port >= 0 else None
        process = Process(_COMPONENT, access, bind_address, port, times, (lease_namespace, lease_name))
        return SchedulerProcess(SchedulerSettings(process, switched, configuration, seed))

    run_component(make)
