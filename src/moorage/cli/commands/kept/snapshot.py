"""Save a cluster to a file and restore it: `moorage snapshot save` and `restore`.

Exit code: 0 if it is done, 1 if it cannot be done, 2 if the command line is wrong.
"""

from __future__ import annotations

from pathlib import Path

import click

from moorage.cli.commands.kept.clusters import data_dir_option, found_cluster, refusal, refuse_two_names


@click.group("snapshot")
def command() -> None:
    """Save a cluster to a file, and restore it: all objects as of one revision, and what the cluster was told."""


@command.command("save")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("name", default="", metavar="[NAME]")
@data_dir_option
@click.option("--kubeconfig", default="", metavar="FILE", help="Save the running Moorage cluster of this kubeconfig.")
@click.option("--context", default="", metavar="CONTEXT", help="The kubeconfig's context, if not its current one.")
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
def save(file: Path, name: str, data_dir: Path | None, kubeconfig: str, context: str, force: bool) -> None:
    """Save a cluster, running or stopped, to FILE. One that is running goes on meanwhile.

    Without a NAME it is the cluster that `moorage up` starts without one. The file has everything, Secrets too.

    \b
    Try:
      moorage snapshot save before-upgrade.snapshot dev
      moorage snapshot save copy.snapshot --kubeconfig kubeconfig.yaml
    """
    from moorage.client.kubeconfig.access import KubeconfigError
    from moorage.client.kubeconfig.loading import load_access
    from moorage.cluster.transfer.snapshots import SnapshotError, save_cluster, save_running

    if (kubeconfig or context) and (name or data_dir is not None):
        raise click.UsageError("Name a cluster, its --data-dir or its --kubeconfig, not several.")
    try:
        if kubeconfig or context:
            info = save_running(load_access(kubeconfig, context=context), file, force=force)
        else:
            info = save_cluster(found_cluster(name, data_dir), file, force=force)
    except (SnapshotError, KubeconfigError) as error:
        raise refusal(error) from None
    click.echo(f"Saved {info.objects} objects as of revision {info.revision} to {file}.")


@command.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("name", default="", metavar="[NAME]")
@data_dir_option
@click.option("--force", is_flag=True, help="Replace the objects that the cluster has.")
def restore(file: Path, name: str, data_dir: Path | None, force: bool) -> None:
    """Restore a snapshot as the cluster NAME, which is a new one or stopped. `moorage up` then starts it.

    \b
    Try:
      moorage snapshot restore before-upgrade.snapshot again
      moorage up --name again
    """
    from moorage.cluster.kept.kept_cluster import cluster_at
    from moorage.cluster.kept.places import ClusterError
    from moorage.cluster.transfer.snapshots import SnapshotError, restore_cluster

    refuse_two_names(name, data_dir)
    try:
        cluster = cluster_at(name, data_dir)
        info = restore_cluster(file, cluster, force=force)
    except (SnapshotError, ClusterError) as error:
        raise refusal(error) from None
    click.echo(
        f"Restored {info.objects} objects as of revision {info.revision}, saved at {info.taken} by release "
        f"{info.release}, as {cluster.title}.\n\n  {cluster.up_command}"
    )
