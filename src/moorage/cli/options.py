"""Define the options that several commands share."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from moorage.cluster.components import Process
    from moorage.store.etcd.settings import EtcdSettings

Command = Callable[..., Any]

gates_option = click.option(
    "--feature-gates",
    "gates",
    multiple=True,
    metavar="NAME=BOOL,...",
    help="Switch feature gates on or off in all components; AllAlpha=true for all. Repeatable.",
)
allow_empty_option = click.option(
    "--allow-empty",
    "allows_empty",
    is_flag=True,
    help="Accept input without any Kubernetes object, which is an error otherwise.",
)
config_option = click.option(
    "--config",
    metavar="FILE",
    help="A KubeSchedulerConfiguration: profiles, plugins, weights and arguments of the scheduler.",
)
namespace_option = click.option(
    "-n",
    "--namespace",
    default="",
    help="The namespace of objects that name none.  [default: the context's, or 'default']",
)
seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the choice between nodes with equal scores."
)
controllers_option = click.option(
    "--controllers",
    default="*",
    show_default=True,
    metavar="CONTROLLER,...",
    help="The controllers to run: * for all, name for one, -name for all but it.",
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
context_option = click.option(
    "--context",
    default="",
    metavar="CONTEXT",
    help="The context to use, of --kubeconfig or else of $KUBECONFIG or ~/.kube/config; the current one by default.",
)
scrape_option = click.option(
    "--scrape",
    "endpoints",
    multiple=True,
    metavar="URL",
    help="Read the gates of another component from its metrics, such as http://127.0.0.1:10251. Repeatable.",
)
bind_address_option = click.option(
    "--bind-address", default="127.0.0.1", show_default=True, help="The address to listen on; 0.0.0.0 for all of them."
)
_authorization_mode_option = click.option(
    "--authorization-mode",
    "authorization_mode",
    default="Node,RBAC",
    show_default=True,
    metavar="MODES",
    help="How to decide what users may do, in this order: AlwaysAllow, AlwaysDeny, ABAC, RBAC, Node.",
)
_policy_file_option = click.option(
    "--authorization-policy-file",
    "policy_file",
    default="",
    metavar="FILE",
    help="The policies of authorization mode ABAC, a JSON object a line.",
)


def authorization_options(function: Command) -> Command:
    """Add what says who may do what."""
    return _authorization_mode_option(_policy_file_option(function))


port_option = click.option(
    "--port",
    "--secure-port",
    "port",
    type=click.IntRange(0, 65535),
    default=6443,
    show_default=True,
    help="The port; 0 for any free one.",
)
kubeconfig_option = click.option(
    "--kubeconfig",
    default="",
    metavar="FILE",
    help="The kubeconfig of the API server.  [default: $KUBECONFIG, ~/.kube/config]",
)
_wait_option = click.option(
    "--wait-for-kubeconfig",
    "wait",
    default="1m",
    show_default=True,
    metavar="DURATION",
    help="How long to wait for a kubeconfig that does not exist yet; 0 to fail at once.",
)
_log_format_option = click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="The format of log lines.",
)
devices_option = click.option(
    "--devices",
    "devices",
    multiple=True,
    metavar="DRIVER=COUNT|FILE",
    help="Devices of simulated nodes, published in ResourceSlices: gpu.example.com=8, or a YAML file. Repeatable.",
)

#: Components with gates of their own, as their options name them.
COMPONENTS = ("apiserver", "scheduler", "controller-manager", "kubelet")


def simulate_storage_option(*, default: bool) -> Callable[[Command], Command]:
    return click.option(
        "--simulate-storage/--no-simulate-storage",
        "simulates_storage",
        default=default,
        show_default=True,
        help="Simulate volumes of every provisioner, not only those of moorage.dev/simulated.",
    )


def live_kubeconfig_option(function: Command) -> Command:
    """Add --kubeconfig of commands that read files or a cluster; without it, --context or $KUBECONFIG may name one."""

    @functools.wraps(function)
    def command(*arguments: Any, kubeconfig: str | None, context: str, **others: Any) -> Any:
        from moorage.cli.shared import is_piped, say

        if kubeconfig is None and context:
            kubeconfig = ""
        elif kubeconfig is None and os.environ.get("KUBECONFIG"):
            has_input = (others["paths"] or is_piped()) if "paths" in others else others.get("endpoints")
            if sides := others.get("sides"):  # of --diff: the cluster is read if one of them is it
                has_input = "live" not in sides
            if not has_input:
                kubeconfig = ""
                if click.get_current_context().invoked_subcommand is None:
                    say("reading the cluster that $KUBECONFIG leads to")
        return function(*arguments, kubeconfig=kubeconfig, context=context, **others)

    return click.option(
        "--kubeconfig",
        metavar="FILE",
        help=(
            "Read the cluster of this kubeconfig; files are then what would be applied to it.  [default: "
            "$KUBECONFIG if no files are named and nothing is piped in]"
        ),
    )(command)


def log_options(function: Command, *, is_quiet: bool = False) -> Command:
    """Add the options of logging, and configure it before the command runs."""

    @functools.wraps(function)
    def command(*, verbosity: int | None, log_format: str, **others: Any) -> Any:
        from moorage.telemetry.logs import configure

        configure(verbosity=verbosity, log_format=log_format)
        return function(**others)

    default = "after the start only errors by default" if is_quiet else "0 by default"
    how_much = click.option(
        "-v",
        "verbosity",
        type=int,
        default=None if is_quiet else 0,
        help=f"How much to log: 0 is little, 5 is a lot; {default}.",
    )
    return how_much(_log_format_option(command))


def quiet_log_options(function: Command) -> Command:
    """Add the options of logging to a command that logs only errors once it has started, unless -v is given."""
    return log_options(function, is_quiet=True)


def component_gates_options(function: Command) -> Command:
    """Add `--scheduler-feature-gates` and its like, which override --feature-gates in one component."""
    for name in reversed(COMPONENTS):
        function = click.option(
            f"--{name}-feature-gates",
            multiple=True,
            metavar="NAME=BOOL,...",
            help=f"Feature gates of the {name} only. Repeatable.",
        )(function)
    return function


class ProcessMaker(NamedTuple):
    """Makes a component's settings, once its kubeconfig is there, for which it waits this many seconds."""

    make: Callable[[], Process]
    kubeconfig: str
    wait_seconds: float
    component: str


def component_options(
    component: str, *, metrics_port: int, elects: bool = True, has_gates: bool = True, namespace: str = "kube-system"
) -> Callable[[Command], Command]:
    """Add the options of every component process; the command is given `process`, which makes it, and `gates`.

    The Lease is in this namespace by default; if it is empty, the command has to choose one.
    """

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def command(
            *,
            kubeconfig: str,
            wait: str,
            gates: tuple[str, ...] = (),
            context: str,
            bind_address: str,
            metrics_port: int,
            leader_elect: bool = False,
            lease_duration: str = "",
            deadline: str = "",
            retry: str = "",
            lease_namespace: str = "",
            lease_name: str = "",
            **own: Any,
        ) -> Any:
            from moorage.cli.shared import duration_of, election_times, parsed_gates
            from moorage.client.kubeconfig.loading import load_access
            from moorage.cluster.components import Process

            times = election_times(lease_duration, deadline, retry) if leader_elect else None
            port = metrics_port if metrics_port >= 0 else None

            def process() -> Process:
                access = load_access(kubeconfig, context=context)
                return Process(component, access, bind_address, port, times, (lease_namespace, lease_name))

            seconds = duration_of("--wait-for-kubeconfig", wait)
            maker = ProcessMaker(process, kubeconfig, seconds, component)
            if has_gates:
                own["gates"] = parsed_gates(gates)
            return function(process=maker, **own)

        served = click.option(
            "--metrics-port",
            type=click.IntRange(-1, 65535),
            default=metrics_port,
            show_default=True,
            help="The HTTP port of /metrics, /healthz and /readyz; 0 for any free one, -1 for none.",
        )
        decorated = log_options(command)
        added: list[Callable[[Command], Command]] = [served, bind_address_option]
        for option in (*added, *(_election_options(component, namespace) if elects else ())):
            decorated = option(decorated)
        return kubeconfig_option(_wait_option(context_option(gates_option(decorated) if has_gates else decorated)))

    return decorate


_ELECTION_TIMES = (
    ("retry-period", "retry", "2s", "How often to try to renew or take the Lease."),
    ("renew-deadline", "deadline", "10s", "How long to try to renew the Lease."),
    ("lease-duration", "lease_duration", "15s", "How long the Lease is valid."),
)


def election_time_options(function: Command) -> Command:
    """Add the times of leader election, for components of a cluster that has several of each."""
    for name, parameter, default, text in _ELECTION_TIMES:
        option = click.option(f"--leader-elect-{name}", parameter, default=default, show_default=True, help=text)
        function = option(function)
    return function


def _election_options(lease_name: str, namespace: str) -> tuple[Callable[[Command], Command], ...]:
    """Whether and how a component leads by Lease; the last is the first in the help."""
    where = "The Lease's namespace." if namespace else "The Lease's namespace.  [default: --namespace]"
    values = (
        ("resource-namespace", "lease_namespace", namespace, where),
        ("resource-name", "lease_name", lease_name, "The Lease's name."),
        *_ELECTION_TIMES,
    )
    return (
        *(
            click.option(f"--leader-elect-{name}", parameter, default=default, show_default=bool(default), help=text)
            for name, parameter, default, text in values
        ),
        click.option(
            "--leader-elect/--no-leader-elect",
            default=True,
            show_default=True,
            help="Work only while holding a Lease, so that another process can take over.",
        ),
    )


def chosen_controllers(text: str) -> tuple[str, ...]:
    """Return the words of `--controllers`. Raises click.BadParameter for one that names no controller."""
    from moorage.control.registry import UnknownController, chosen

    words = tuple(word.strip() for word in text.split(",") if word.strip())
    try:
        chosen(words)
    except UnknownController as error:
        raise click.BadParameter(str(error), param_hint="'--controllers'") from None
    return words


#: The parameters that `etcd_options` adds.
ETCD_PARAMETERS = (
    "etcd_servers",
    *(f"etcd_{name}" for name in ("prefix", "cafile", "certfile", "keyfile", "username", "password_file")),
)

#: Makes EtcdSettings of servers. Raises UsageError, BadParameter.
EtcdMaker = Callable[[tuple[str, ...]], "EtcdSettings"]


def etcd_options(function: Command) -> Command:
    """Add --etcd-servers and what belongs to it; the command is given `etcd`, EtcdSettings or None."""

    @functools.wraps(function)
    def command(*arguments: Any, etcd_servers: tuple[str, ...], etcd: EtcdMaker, **others: Any) -> Any:
        servers = etcd_urls(",".join(etcd_servers), "--etcd-servers")
        settings = etcd(servers)
        if etcd_servers and not servers:  # as of a variable that is not set: do not begin an empty cluster elsewhere
            raise click.BadParameter("names no server", param_hint="'--etcd-servers'")
        if not servers and settings != type(settings)(servers=()):
            raise click.UsageError("The options of etcd need --etcd-servers.")
        return function(*arguments, etcd=settings if servers else None, **others)

    return click.option(
        "--etcd-servers",
        multiple=True,
        metavar="URL,...",
        help="Keep objects in this etcd, such as https://10.0.0.1:2379: all of its members. Repeatable.",
    )(etcd_access_options(command))


def etcd_access_options(function: Command) -> Command:
    """Add how etcd is spoken to, without where it is; the command is given `etcd`, which makes EtcdSettings."""

    @functools.wraps(function)
    def command(
        *arguments: Any,
        etcd_prefix: str,
        etcd_cafile: str,
        etcd_certfile: str,
        etcd_keyfile: str,
        etcd_username: str,
        etcd_password_file: str,
        **others: Any,
    ) -> Any:
        from moorage.store.etcd.settings import EtcdSettings

        if bool(etcd_certfile) != bool(etcd_keyfile):
            raise click.UsageError("--etcd-certfile and --etcd-keyfile belong together.")
        if bool(etcd_username) != bool(etcd_password_file):
            raise click.UsageError("--etcd-username and --etcd-password-file belong together.")

        def make(servers: tuple[str, ...]) -> EtcdSettings:
            return EtcdSettings(
                servers=servers,
                prefix=etcd_prefix,
                ca_file=etcd_cafile,
                cert_file=etcd_certfile,
                key_file=etcd_keyfile,
                username=etcd_username,
                password=password_in(etcd_password_file) if etcd_password_file else "",
            )

        return function(*arguments, etcd=make, **others)

    values = (
        ("password-file", "FILE", "", "The file with that user's password."),
        ("username", "NAME", "", "A user of etcd's own authentication, if the client certificate does not name one."),
        ("keyfile", "FILE", "", "Its private key, in PEM."),
        ("certfile", "FILE", "", "The client certificate for etcd, in PEM."),
        ("cafile", "FILE", "", "CA certificates of etcd, in PEM; the system's by default."),
        ("prefix", "PREFIX", "/registry", "The prefix of all keys in etcd."),
    )
    decorated: Command = command
    for name, metavar, default, text in values:
        decorated = click.option(
            f"--etcd-{name}", default=default, metavar=metavar, show_default=bool(default), help=text
        )(decorated)
    return decorated


def etcd_urls(text: str, option: str) -> tuple[str, ...]:
    """Return the URLs of a list with commas. Raises click.BadParameter for what is no URL of an etcd member."""
    from urllib.parse import urlsplit

    urls = tuple(word.strip() for word in text.split(",") if word.strip())
    for url in urls:
        try:
            parts = urlsplit(url)
            is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.path in ("", "/")
            _ = parts.port
        except ValueError:
            is_right = False
        if is_right and "@" in parts.netloc:
            raise click.BadParameter(
                f"the URL of {parts.hostname} has a user: say it with --etcd-username and --etcd-password-file",
                param_hint=f"'{option}'",
            )
        if not is_right:
            raise click.BadParameter(f"{url!r} is no URL such as https://10.0.0.1:2379", param_hint=f"'{option}'")
    return urls


def password_in(path: str) -> str:
    """Return what a file has, without the end of its line. Raises click.BadParameter."""
    from moorage.lint.sources import reason_of

    try:
        return Path(path).read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise click.BadParameter(f"{path}: {reason}", param_hint="'--etcd-password-file'") from None
