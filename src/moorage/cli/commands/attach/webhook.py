"""Serve the webhook that lowers pods and mirrors nodes (`moorage attach webhook`).

Exit code: 1 if it cannot serve, such as with a certificate that does not fit its key; 2 if the command line is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from moorage.attached.names import NAMESPACE, WEBHOOK_PORT
from moorage.cli.commands.attach.native import REFUSE, chosen_operators, native_option, new_comparisons_option
from moorage.cli.options import bind_address_option, context_option, kubeconfig_option, log_options

if TYPE_CHECKING:
    from moorage.attached.webhook.process import WebhookProcess
    from moorage.client.kubeconfig.access import Access

_CANNOT_SERVE, _BAD_USAGE = 1, 2


@click.command("webhook")
@click.option(
    "--cert-dir",
    "certificates",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIRECTORY",
    help="The directory with tls.crt, tls.key and ca.crt, such as a mounted Secret; changes are noticed.",
)
@bind_address_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=WEBHOOK_PORT,
    show_default=True,
    help="The HTTPS port of /lower, /mirror, /healthz, /readyz and /metrics; 0 for any free one.",
)
@click.option(
    "--namespace",
    default=NAMESPACE,
    show_default=True,
    metavar="NAMESPACE",
    help="The namespace of the installation: a certificate for another one is warned of.",
)
@native_option("auto", "auto asks the API server for its feature gates; none lowers all.")
@kubeconfig_option
@context_option
@new_comparisons_option
@click.option(
    "--wait-for-certificate",
    "wait",
    default="1m",
    show_default=True,
    metavar="DURATION",
    help="How long to wait for a certificate that is not there yet; 0 to fail at once.",
)
@click.option(
    "--shutdown-delay-duration",
    "shutdown_delay",
    default="0s",
    show_default=True,
    metavar="DURATION",
    help="How long to serve on after SIGTERM, while /readyz fails: time for API servers to notice.",
)
@log_options
def serve_webhook(
    certificates: Path,
    bind_address: str,
    port: int,
    namespace: str,
    native: str,
    kubeconfig: str,
    context: str,
    new_comparisons: str,
    wait: str,
    shutdown_delay: str,
) -> None:
    """Lower tolerations and node affinity, and mirror nodes, when a Kubernetes API server asks by its webhooks.

    Needs no rights in the cluster, but to read /metrics for --native=auto. Any number of replicas may run.

    \b
    Try:
      moorage attach webhook --cert-dir /etc/moorage/tls --bind-address 0.0.0.0
      moorage attach webhook --cert-dir tls --native Lt,Gt
    """
    from moorage.attached.webhook.process import CannotServe, WebhookProcess, WebhookSettings
    from moorage.cli.shared import duration_of, say
    from moorage.cluster.event_loop import run_until_signal

    operators = chosen_operators(native)
    settings = WebhookSettings(
        certificates=certificates,
        bind_address=bind_address,
        port=port,
        namespace=namespace,
        native=operators or frozenset(),
        access=_access(kubeconfig, context) if operators is None else None,
        wait_seconds=duration_of("--wait-for-certificate", wait),
        shutdown_delay=duration_of("--shutdown-delay-duration", shutdown_delay),
        refuses_new=new_comparisons == REFUSE,
    )

    def announce(process: WebhookProcess) -> None:
        say(f"serving reviews on https://{bind_address}:{process.port}/lower and /mirror")

    try:
        run_until_signal(lambda: WebhookProcess(settings), announce)
    except CannotServe as error:
        say(str(error))
        raise click.exceptions.Exit(_CANNOT_SERVE) from None


def _access(kubeconfig: str, context: str) -> Access | None:
    """Return how the API server is asked; None without a kubeconfig, unless one was named."""
    from moorage.cli.shared import say
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.client.kubeconfig.loading import load_access

    try:
        return load_access(kubeconfig, context=context)
    except KubeconfigError as error:
        if kubeconfig or context:
            say(str(error))
            raise click.exceptions.Exit(_BAD_USAGE) from None
        say(f"all operators are lowered: the cluster cannot be asked which it knows ({error})")
        return None
