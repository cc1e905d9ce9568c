"""Options that several commands have, said once."""

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]

gates_option = click.option(
    "--feature-gates",
    "gates",
    multiple=True,
    metavar="NAME=BOOL,...",
    help="Switch feature gates on or off in all components; AllAlpha=true for all. Repeatable.",
)
config_option = click.option(
    "--config",
    metavar="FILE",
    help="A KubeSchedulerConfiguration: profiles, plugins, weights and arguments of the scheduler.",
)
seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="Decides between nodes that are equally good."
)
controllers_option = click.option(
    "--controllers",
    default="*",
    show_default=True,
    metavar="NAME,...",
    help="Which controllers run: * for all, name for one, -name for all but it.",
)
all_option = click.option("--all", "everything", is_flag=True, help="Print long lists in full.")
colour_option = click.option(
    "--color",
    "--colour",
    "colour",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours in text; auto: on a terminal, unless NO_COLOR is set.",
)
live_kubeconfig_option = click.option(
    "--kubeconfig",
    metavar="FILE",
    help="Read the cluster that this kubeconfig leads to; files then say what would be applied to it.",
)
context_option = click.option(
    "--context", default="", metavar="NAME", help="The kubeconfig's context, if not its current one."
)
bind_address_option = click.option(
    "--bind-address", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 for all of them."
)
port_option = click.option(
    "--port", type=click.IntRange(0, 65535), default=6443, show_default=True, help="The port; 0 for any that is free."
)


def listen_options(function: Command) -> Command:
    """Where to listen."""
    return bind_address_option(port_option(function))


def log_options(function: Command) -> Command:
    """How much is logged, and in which form."""
    function = click.option("-v", "verbosity", type=int, default=0, help="How much to log: 0 is little, 5 is a lot.")(
        function
    )
    return click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Lines of logs."
    )(function)


#: Components with gates of their own, as their options name them.
COMPONENTS = ("apiserver", "scheduler", "controller-manager", "kubelet")


def component_gates_options(function: Command) -> Command:
    """`--scheduler-feature-gates` and its like, which override --feature-gates in one component."""
    for name in reversed(COMPONENTS):
        function = click.option(
            f"--{name}-feature-gates",
            multiple=True,
            metavar="NAME=BOOL,...",
            help=f"Feature gates of the {name} only. Repeatable.",
        )(function)
    return function


def metrics_port_option(port: int) -> Callable[[Command], Command]:
    """Where a component tells of itself."""
    return click.option(
        "--metrics-port",
        type=click.IntRange(-1, 65535),
        default=port,
        show_default=True,
        help="Where /metrics, /healthz and /readyz are served, by HTTP; 0 for any free port, -1 for nowhere.",
    )


def kubeconfig_options(function: Command) -> Command:
    """How to reach an API server."""
    function = click.option(
        "--context", default="", metavar="NAME", help="The kubeconfig's context, if not its current one."
    )(function)
    return click.option(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="How to reach the API server.  [default: $KUBECONFIG, ~/.kube/config]",
    )(function)


def election_options(lease_name: str) -> Callable[[Command], Command]:
    """Whether and how a component leads by Lease."""

    def decorate(function: Command) -> Command:
        for option in (
            click.option(
                "--leader-elect-resource-namespace",
                "lease_namespace",
                default="kube-system",
                show_default=True,
                help="The Lease's namespace.",
            ),
            click.option(
                "--leader-elect-resource-name",
                "lease_name",
                default=lease_name,
                show_default=True,
                help="The Lease's name.",
            ),
            click.option(
                "--leader-elect-retry-period", "retry", default="2s", show_default=True, help="How often to try."
            ),
            click.option(
                "--leader-elect-renew-deadline",
                "deadline",
                default="10s",
                show_default=True,
                help="How long to try to renew it.",
            ),
            click.option(
                "--leader-elect-lease-duration",
                "lease",
                default="15s",
                show_default=True,
                help="How long the Lease is good for.",
            ),
            click.option(
                "--leader-elect/--no-leader-elect",
                default=True,
                show_default=True,
                help="Whether to work only while holding a Lease, so that another process can take over.",
            ),
        ):
            function = option(function)
        return function

    return decorate


def chosen_controllers(text: str) -> tuple[str, ...]:
    """The words of `--controllers`, all of which name somebody. Raises click.BadParameter."""
    from moorage.control.registry import UnknownController, chosen

    words = tuple(word.strip() for word in text.split(",") if word.strip())
    try:
        chosen(words)
    except UnknownController as error:
        raise click.BadParameter(str(error), param_hint="'--controllers'") from None
    return words
