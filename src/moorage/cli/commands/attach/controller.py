"""Run the controllers of attach (`moorage attach controller`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from moorage.attached.names import CONTROLLER, NAMESPACE
from moorage.cli.commands.processes.running import run_component
from moorage.cli.options import component_options

if TYPE_CHECKING:
    from moorage.cli.options import ProcessMaker
    from moorage.cluster.components import Process


@click.command("controller")
@component_options(CONTROLLER, metrics_port=8080, namespace="", has_gates=False)
@click.option(
    "--evict-by",
    type=click.Choice(("delete", "eviction")),
    default="delete",
    show_default=True,
    help="How pods leave: deleted, as Kubernetes does for taints, or by the Eviction API, which asks budgets.",
)
@click.option(
    "--namespace",
    default=NAMESPACE,
    show_default=True,
    metavar="NAMESPACE",
    help="The namespace of the installation, with the Lease.",
)
def run_controller(process: ProcessMaker, evict_by: str, namespace: str) -> None:
    """Answer questions of lowered pods, evict them when values cross, repair what was missed, and report why pods wait.

    Runs beside any Kubernetes; several replicas elect one that works. Without --kubeconfig the service account of its
    pod is used.

    \b
    Try:
      moorage attach controller --kubeconfig kubeconfig.yaml
      moorage attach controller --evict-by eviction
    """
    import msgspec

    from moorage.attached.controller.process import AttachControllerProcess
    from moorage.attached.controller.registry import EvictBy

    def make(made: Process) -> AttachControllerProcess:
        lease_namespace, lease_name = made.lease
        placed = msgspec.structs.replace(made, lease=(lease_namespace or namespace, lease_name))
        return AttachControllerProcess(placed, namespace, EvictBy(evict_by))

    run_component(process, make)
