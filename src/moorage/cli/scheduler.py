"""`moorage scheduler`: the scheduler as a process of its own, against any API server.

In: options. Out: pods on nodes, until SIGINT or SIGTERM; exit 1 if it cannot start or loses its Lease, 2 if the command
line or a file is wrong. Next: `scheduler_process` starts and stops the parts.
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
    seed_option,
)

_CANNOT_GO_ON, _BAD_USAGE = 1, 2
_COMPONENT = "kube-scheduler"


@click.command("scheduler", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@kubeconfig_options
@config_option
@gates_option
@election_options(_COMPONENT)
@bind_address_option
@click.option(
    "--metrics-port",
    type=click.IntRange(-1, 65535),
    default=10251,
    show_default=True,
    help="Where /metrics, /healthz and /readyz are served, by HTTP; 0 for any free port, -1 for nowhere.",
)
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
    from moorage.cli.component_process import CannotListen, Process
    from moorage.cli.event_loop import run_until_signal
    from moorage.cli.scheduler_process import SchedulerProcess, SchedulerSettings
    from moorage.cli.streams import election_times, parsed_gates, read_configuration, say
    from moorage.client.access import KubeconfigError
    from moorage.client.kubeconfig import load_access
    from moorage.client.leader_election import LeadershipLost
    from moorage.telemetry.logs import configure

    configure(verbosity=verbosity, log_format=log_format)
    switched = parsed_gates(gates)
    configuration = read_configuration(config, switched)
    times = election_times(lease, deadline, retry) if leader_elect else None
    try:
        process = Process(
            _COMPONENT,
            load_access(kubeconfig, context=context),
            bind_address,
            metrics_port if metrics_port >= 0 else None,
            times,
            (lease_namespace, lease_name),
        )
        settings = SchedulerSettings(process, switched, configuration, seed)
        run_until_signal(lambda: SchedulerProcess(settings))
    except KubeconfigError as error:
        say(str(error))
        raise click.exceptions.Exit(_BAD_USAGE) from None
    except (CannotListen, LeadershipLost) as error:
        say(str(error))
        raise click.exceptions.Exit(_CANNOT_GO_ON) from None
