"""`moorage roles`: the ClusterRoles that Moorage's components need on a cluster, with their bindings, as YAML."""

from __future__ import annotations

import click


@click.command("roles")
@click.option(
    "--scheduler-user",
    default="system:kube-scheduler",
    show_default=True,
    metavar="USER",
    help="Whom the scheduler's role is bound to.",
)
@click.option(
    "--controller-manager-user",
    default="system:kube-controller-manager",
    show_default=True,
    metavar="USER",
    help="Whom the controller manager's role is bound to.",
)
@click.option(
    "--kubelet-user",
    default="moorage:kubelet",
    show_default=True,
    metavar="USER",
    help="The user of simulated kubelets.",
)
def command(scheduler_user: str, controller_manager_user: str, kubelet_user: str) -> None:
    """Print the roles that `moorage scheduler`, `controller-manager` and `kubelet` need, bound to their users.

    A user of the form system:serviceaccount:NAMESPACE:NAME is bound as that service account.

    \b
    Try:
      moorage roles | kubectl apply -f -
      moorage roles --scheduler-user system:serviceaccount:kube-system:moorage
    """
    import yaml

    from moorage.serve.access.bootstrap.components import CONTROLLER_MANAGER, KUBELETS, SCHEDULER
    from moorage.serve.access.bootstrap.policy import component_policy

    users = {
        SCHEDULER.name: scheduler_user,
        CONTROLLER_MANAGER.name: controller_manager_user,
        KUBELETS.name: kubelet_user,
    }
    click.echo(yaml.safe_dump_all(component_policy(users), sort_keys=False), nl=False)
