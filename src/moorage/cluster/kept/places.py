"""Find the directories that clusters are kept in, by their names.

Named clusters are in `moorage/clusters` of the user's data directory; the one without a name, called `default`, is in
`moorage` of the state directory, where release 0.1 has put it.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from moorage.client.kubeconfig.loading import default_file, listed_files
from moorage.model.names import dns1123_label_errors
from moorage.store.data_directory import FILE_NAME, LOCK_FILE

#: What the cluster was told at its last start.
DESCRIPTION_FILE = "cluster.json"
#: The process that runs it.
PROCESS_FILE = "process.json"
LOG_FILE = "log"

DEFAULT = "default"
_MAX_NAME_LENGTH = 50


class ClusterError(Exception):
    """Why a cluster cannot be found, or is not in the state that is needed: one line for the user."""


class NoSuchCluster(ClusterError):
    """There is no cluster of this name, or in this directory."""


def name_problem(name: str) -> str:
    """Return why no cluster can have this name; empty if one can."""
    if len(name) > _MAX_NAME_LENGTH:
        return f"must be no more than {_MAX_NAME_LENGTH} characters"
    return next(iter(dns1123_label_errors(name)), "")


def context_of(name: str) -> str:
    """Return the name of a cluster's context in a kubeconfig."""
    return "moorage" if name in ("", DEFAULT) else f"moorage-{name}"


def default_data_dir(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the directory of the cluster without a name."""
    return _base(environment, "XDG_STATE_HOME", ".local/state") / "moorage"


def clusters_root(environment: Mapping[str, str] = os.environ) -> Path:
    return _base(environment, "XDG_DATA_HOME", ".local/share") / "moorage" / "clusters"


def directory_of(name: str, environment: Mapping[str, str] = os.environ) -> Path:
    return default_data_dir(environment) if name == DEFAULT else clusters_root(environment) / name


def default_kubeconfig(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the file that kubectl writes: the first of $KUBECONFIG, else ~/.kube/config; None without a home."""
    return next(iter(listed_files(environment)), default_file())


def is_cluster(directory: Path) -> bool:
    """Return whether a cluster is kept there, or runs without being kept."""
    return (directory / FILE_NAME).is_file() or (directory / DESCRIPTION_FILE).is_file()


def remove_unused(directory: Path) -> None:
    """Remove a directory with nothing but a lock and a log: a start on etcd has failed before anything was written."""
    with suppress(OSError):
        files = list(directory.iterdir())
        if {file.name for file in files} <= {LOCK_FILE, LOG_FILE}:
            for file in files:
                file.unlink()
            directory.rmdir()


def all_names(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the names of all clusters, the one without a name first."""
    root = clusters_root(environment)
    try:
        names = sorted(entry.name for entry in root.iterdir() if is_cluster(entry))
    except OSError:
        names = []
    first = [DEFAULT] if is_cluster(default_data_dir(environment)) else []
    return first + [name for name in names if name != DEFAULT]


def _base(environment: Mapping[str, str], variable: str, otherwise: str) -> Path:
    """Return a directory of the XDG base directory specification, which ignores relative paths. Raises ClusterError."""
    named = environment.get(variable)
    if named and Path(named).is_absolute():
        return Path(named)
    try:
        return Path.home() / otherwise
    except RuntimeError:
        why = f"there is no home directory to keep clusters in: set $HOME or ${variable}, or name a --data-dir"
        raise ClusterError(why) from None
