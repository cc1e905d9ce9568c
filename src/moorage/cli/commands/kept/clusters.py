"""List, stop and delete the clusters of this user, and print their kubeconfigs.

Exit code: 0 if it is done, 1 if there is no such cluster (but for `delete`) or it cannot be done, 2 if the command line
is wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.options import Command

if TYPE_CHECKING:
    from moorage.cluster.kept.kept_cluster import KeptCluster

_CANNOT = 1

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory of the cluster, instead of a NAME.",
)


def _named(function: Command) -> Command:
    """Add the argument NAME and the option --data-dir."""
    return click.argument("name", default="", metavar="[NAME]")(data_dir_option(function))


def found_cluster(name: str, data_dir: Path | None, *, has_authority: bool = False) -> KeptCluster:
    """Return the cluster that is named; exit if it does not exist. Raises UsageError if two are named.

    `has_authority`: its certificates are elsewhere, so that its directory may have nothing but a kubeconfig.
    """
    from moorage.cluster.kept.kept_cluster import cluster_at, find_cluster
    from moorage.cluster.kept.places import ClusterError

    refuse_two_names(name, data_dir)
    try:
        return cluster_at(name, data_dir) if has_authority else find_cluster(name, data_dir)
    except ClusterError as error:
        raise refusal(error) from None


def refuse_two_names(name: str, data_dir: Path | None) -> None:
    """Raise UsageError if both a name and a directory are given."""
    if name and data_dir is not None:
        raise click.UsageError("Name a cluster or its --data-dir, not both.")


def refusal(error: Exception) -> click.exceptions.Exit:
    from moorage.cli.shared import say

    say(str(error))
    return click.exceptions.Exit(_CANNOT)


@click.command("list")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["text", "json", "name"]),
    default="text",
    show_default=True,
    help="Output format.",
)
def list_clusters(form: str) -> None:
    """List clusters, those that run and those that are kept.

    \b
    Try:
      moorage list
      moorage list -o json
    """
    import msgspec

    from moorage.cluster.kept.kept_cluster import all_clusters
    from moorage.cluster.kept.places import ClusterError

    try:
        rows = [_row(cluster) for cluster in all_clusters()]
    except ClusterError as error:
        raise refusal(error) from None
    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(rows)))
    elif form == "name":
        for row in rows:
            click.echo(row["name"])
    elif not rows:
        from moorage.cli.shared import say

        say("there are no clusters; `moorage up --name dev --detach` starts one")
    else:
        click.echo(_table(rows), nl=False)


def _row(cluster: KeptCluster) -> dict[str, Any]:
    process, described = cluster.process, cluster.described
    is_ready = process is not None and bool(process.url)
    return {
        "name": cluster.name,
        "status": "stopped" if process is None else "running" if is_ready else "starting",
        "pid": process.pid if process is not None else None,
        "server": process.url if process is not None and process.url else None,
        "since": process.since if process is not None and process.since else None,
        "context": cluster.context,
        "directory": str(cluster.directory),
        "ephemeral": described is not None and described.ephemeral,
        "version": described.version if described is not None else None,
    }


def _table(rows: list[dict[str, Any]]) -> str:
    columns = ("name", "status", "server", "context", "directory")
    cells = [[name.upper() for name in columns], *([str(row[name] or "-") for name in columns] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
    lines = ["   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join(lines) + "\n"


_timeout_option = click.option(
    "--timeout",
    default="30s",
    show_default=True,
    metavar="DURATION",
    help="How long to wait until the cluster has ended.",
)
_kill_option = click.option("--force", is_flag=True, help="Kill the cluster if it has not ended by then.")


@click.command("stop")
@_named
@_timeout_option
@_kill_option
def stop(name: str, data_dir: Path | None, timeout: str, force: bool) -> None:
    """Stop a cluster, and wait until it has ended. It is kept, and `moorage up --name NAME` starts it again.

    Without a NAME it is the cluster that `moorage up` starts without one.

    \b
    Try:
      moorage stop dev
    """
    from moorage.cli.shared import duration_of
    from moorage.cluster.kept.places import ClusterError

    seconds = duration_of("--timeout", timeout)
    cluster = found_cluster(name, data_dir)
    try:
        was_running = cluster.stop(seconds, kills=force)
    except ClusterError as error:
        raise refusal(error) from None
    click.echo(f"Stopped {cluster.title}." if was_running else f"{cluster.capital_title} is not running.")


@click.command("delete")
@_named
@_timeout_option
@_kill_option
def delete(name: str, data_dir: Path | None, timeout: str, force: bool) -> None:
    """Delete a cluster: stop it if it runs, remove what is kept of it, and take its context out of kubeconfigs.

    It succeeds, too, if there is no such cluster.

    \b
    Try:
      moorage delete dev
    """
    from moorage.cli.shared import duration_of, say
    from moorage.cluster.kept.kept_cluster import find_cluster
    from moorage.cluster.kept.places import ClusterError, NoSuchCluster

    seconds = duration_of("--timeout", timeout)
    refuse_two_names(name, data_dir)
    try:
        cluster = find_cluster(name, data_dir)
        cluster.stop(seconds, kills=force)
        left = cluster.delete() if cluster.directory.exists() else []
    except NoSuchCluster as error:
        click.echo(f"Nothing to delete: {error}.")
        return
    except ClusterError as error:
        raise refusal(error) from None
    for line in left:
        say(line)
    click.echo(f"Deleted {cluster.title}.")


@click.command("kubeconfig")
@_named
@click.option(
    "--write",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Add the cluster's context to this kubeconfig instead of printing one.",
)
@click.option("--force", is_flag=True, help="Replace the file of --write even if it is not a kubeconfig.")
@click.option("--user", metavar="NAME", help="Print a kubeconfig of this user, with a new client certificate.")
@click.option("--group", "groups", metavar="GROUP", multiple=True, help="A group of the --user. Repeatable.")
@click.option(
    "--cert-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="The directory of the authority that signs the --user's certificate, if the API server has a --cert-dir.",
)
def kubeconfig(
    name: str,
    data_dir: Path | None,
    file: Path | None,
    force: bool,
    user: str | None,
    groups: tuple[str, ...],
    cert_dir: Path | None,
) -> None:
    """Print the kubeconfig of a cluster, or add its context to another one.

    With --user it is that of a user who is known by a certificate of the cluster's authority, for a year, and who may
    do what the cluster's roles say.

    \b
    Try:
      moorage kubeconfig dev > dev.yaml
      moorage kubeconfig dev --write ~/.kube/config
      moorage kubeconfig dev --user system:kube-scheduler > scheduler.yaml
    """
    from moorage.cli.shared import say
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.cluster.kept.places import is_cluster

    if user is not None and not user.strip():
        raise click.UsageError("--user needs a name: an empty one would be refused by every API server.")
    if groups and user is None:
        raise click.UsageError("--group needs a --user.")
    if cert_dir is not None and user is None:
        raise click.UsageError("--cert-dir needs a --user.")
    cluster = found_cluster(name, data_dir, has_authority=cert_dir is not None)
    try:
        text = cluster.kubeconfig.read_text("utf-8")
    except FileNotFoundError:
        raise refusal(Exception(f"{cluster.title} was not ready yet: `{cluster.up_command}` starts it")) from None
    except OSError as error:
        raise refusal(Exception(f"{cluster.kubeconfig} cannot be read: {error.strerror}")) from None
    if cluster.process is None and is_cluster(cluster.directory):  # of API servers on etcd it is not known
        say(f"{cluster.title} is not running")
    if user is not None:
        if file is not None:
            raise click.UsageError("--user prints a kubeconfig; it does not go with --write.")
        click.echo(_kubeconfig_of_user(cluster, user, groups, cert_dir), nl=False)
        return
    if file is None:
        click.echo(text, nl=False)
        return
    try:
        cluster.add_context(file, force=force)
    except KubeconfigError as error:
        raise refusal(error) from None
    click.echo(f"Context {cluster.context} is in {file}, and is the current one.")


def _kubeconfig_of_user(cluster: KeptCluster, user: str, groups: tuple[str, ...], cert_dir: Path | None) -> str:
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.cluster.kept.kept_cluster import user_kubeconfig
    from moorage.serve.pki.certificates import CertificateError

    try:
        return user_kubeconfig(cluster, user, groups, cert_dir)
    except (CertificateError, KubeconfigError) as error:
        raise refusal(error) from None
    except OSError as error:
        raise refusal(Exception(f"{error.filename}: {error.strerror}")) from None


@click.command("logs")
@click.argument("name", default="", metavar="[NAME]")
@click.argument("component", default="", metavar="[COMPONENT]")
@data_dir_option
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written, until Ctrl-C.")
def logs(name: str, component: str, data_dir: Path | None, follow: bool) -> None:
    """Print the log of a cluster that was started with --detach, or that of one process of an --ha cluster.

    Without a NAME it is the cluster that `moorage up` starts without one.

    \b
    Try:
      moorage logs dev
      moorage logs dev -f
      moorage logs ha apiserver-1
    """
    from moorage.cluster.ha.layout import LOGS
    from moorage.cluster.kept.log_reading import read_log
    from moorage.cluster.kept.places import LOG_FILE

    cluster = found_cluster(name, data_dir)
    folder = cluster.directory / LOGS
    components = sorted(path.stem for path in folder.glob("*.log"))
    if component and component not in components:
        known = f"there are: {', '.join(components)}" if components else "it is one process, whose log is the cluster's"
        raise refusal(Exception(f"{cluster.title} has no component {component!r} ({known})"))
    path = folder / f"{component}.log" if component else cluster.directory / LOG_FILE
    try:
        for text in read_log(path, follows=follow):
            click.echo(text, nl=False)
    except FileNotFoundError:
        why = "it was not started with --detach, and logs to its terminal"
        raise refusal(Exception(f"{cluster.title} has no log: {why}")) from None
    except OSError as error:
        if error.filename is None:
            raise
        raise refusal(Exception(f"{path} cannot be read: {error.strerror}")) from None
