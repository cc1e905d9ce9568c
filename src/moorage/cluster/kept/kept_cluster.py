"""List, stop and delete clusters, and make kubeconfigs for their users. A cluster is the directory that it is kept in.

Kubernetes: `kubeadm kubeconfig user`.
"""

import datetime
import shlex
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.context_file import ContextFile, Login, kubeconfig_of, render_yaml
from moorage.client.kubeconfig.loading import load_access
from moorage.cluster.ha.layout import COMPONENTS, ETCD, LOGS, MEMBERS_FILE
from moorage.cluster.kept.description import Description, DescriptionError, read_description, write_description
from moorage.cluster.kept.places import (
    DEFAULT,
    DESCRIPTION_FILE,
    LOG_FILE,
    PROCESS_FILE,
    ClusterError,
    NoSuchCluster,
    all_names,
    context_of,
    directory_of,
    is_cluster,
    name_problem,
)
from moorage.cluster.kept.processes import ProcessRecord, end_process, running_process
from moorage.cluster.kubeconfig_files import FILE_NAME as KUBECONFIG
from moorage.serve.pki.certificates import Authority, CertificateError, Issued
from moorage.store.data_directory import FILE_NAME as DATABASE
from moorage.store.data_directory import LOCK_FILE, MARK_NAME, SIDE_FILES, SNAPSHOTS, DataDirectory, StoreUnusable

_FILES = (
    *(f"{DATABASE}{suffix}" for suffix in ("", *SIDE_FILES)),
    *(MARK_NAME, KUBECONFIG, DESCRIPTION_FILE, PROCESS_FILE, LOG_FILE, f"{LOG_FILE}.old", LOCK_FILE, MEMBERS_FILE),
)
_FOLDERS = ("pki", SNAPSHOTS, ETCD, LOGS, COMPONENTS)


class KeptCluster(NamedTuple):
    """A cluster and its directory; the name is empty for one in a directory of the user's choice."""

    name: str
    directory: Path

    @property
    def title(self) -> str:
        return f"cluster {self.name}" if self.name else f"the cluster in {self.directory}"

    @property
    def capital_title(self) -> str:
        """The title at the beginning of a sentence."""
        return f"{self.title[0].upper()}{self.title[1:]}"

    @property
    def up_command(self) -> str:
        """The command that starts it."""
        return f"moorage up --name {self.name}" if self.name else f"moorage up {self._data_dir_option}"

    @property
    def stop_command(self) -> str:
        return f"moorage stop {self.name}" if self.name else f"moorage stop {self._data_dir_option}"

    @property
    def _data_dir_option(self) -> str:
        return f"--data-dir {shlex.quote(str(self.directory))}"

    @property
    def context(self) -> str:
        return context_of(self.name)

    @property
    def process(self) -> ProcessRecord | None:
        return running_process(self.directory)

    @property
    def kubeconfig(self) -> Path:
        return self.directory / KUBECONFIG

    @property
    def described(self) -> Description | None:
        """What it was told; None if that was never kept, or is damaged."""
        with suppress(DescriptionError):
            return read_description(self.directory)
        return None

    def stop(self, seconds: float, *, kills: bool = False) -> bool:
        """Stop it and wait until it has ended; return whether it was running. Raises ClusterError."""
        process = self.process
        if process is None:
            return False
        if not end_process(process, seconds, kills=kills):
            raise ClusterError(
                f"{self.title} has not ended after {seconds:g} seconds (pid {process.pid}); --force kills it"
            )
        return True

    def add_context(self, file: Path, *, force: bool = False) -> None:
        """Add the cluster's context to a kubeconfig, and remember to take it out. Raises KubeconfigError."""
        ContextFile(file, self.context).write(ContextFile(self.kubeconfig, self.context).content(), force=force)
        described = self.described or Description(name=self.name)
        contexts = tuple(dict.fromkeys((*described.contexts, str(file.absolute()))))
        with suppress(OSError):
            write_description(self.directory, msgspec.structs.replace(described, contexts=contexts))

    @property
    def is_new(self) -> bool:
        """Whether its directory has nothing of a cluster yet, but perhaps logs of a start that failed."""
        old = (LOG_FILE, f"{LOG_FILE}.old", LOCK_FILE, LOGS)
        return not any((self.directory / name).exists() for name in (*_FILES, *_FOLDERS) if name not in old)

    def delete(self, *, keeps: Collection[str] = (), keeps_directory: bool = False) -> list[str]:
        """Remove everything of a stopped cluster, and its contexts; return what was left. Raises ClusterError.

        `keeps` are files and folders of the cluster that stay.
        """
        described = self.described
        left = []
        try:
            lock = DataDirectory(self.directory)
        except StoreUnusable as error:
            raise ClusterError(str(error)) from None
        try:
            for name in described.contexts if described is not None else ():
                try:
                    ContextFile(Path(name), self.context).remove()
                except KubeconfigError as error:
                    left.append(str(error))
            for folder in _FOLDERS:
                if folder not in keeps:
                    shutil.rmtree(self.directory / folder, ignore_errors=True)
            for file in _FILES:
                if file not in keeps:
                    (self.directory / file).unlink(missing_ok=True)
            others = sorted(entry.name for entry in self.directory.iterdir())
            if others:
                left.append(f"{self.directory} stays, because of {', '.join(others)}")
            elif not keeps_directory:
                self.directory.rmdir()
        except OSError as error:
            raise ClusterError(f"{error.filename} cannot be removed: {error.strerror}") from None
        finally:
            lock.close()
        return left


def find_cluster(name: str, data_dir: Path | None = None) -> KeptCluster:
    """Return the cluster of a name, or in a directory. Raises NoSuchCluster, ClusterError."""
    cluster = cluster_at(name, data_dir)
    has_authority = (cluster.directory / "pki" / "ca.crt").is_file()  # all that is kept of a cluster in etcd
    if not is_cluster(cluster.directory) and not has_authority and cluster.process is None:
        if data_dir is not None:
            raise NoSuchCluster(f"there is no cluster in {data_dir}")
        known = ", ".join(all_names()) or "none"
        raise NoSuchCluster(f"there is no cluster named {cluster.name!r} (there are: {known})")
    return cluster


def cluster_at(name: str, data_dir: Path | None = None) -> KeptCluster:
    """Return the cluster, whether it exists or not. Raises ClusterError for a name that none can have."""
    if data_dir is not None:
        return KeptCluster("", data_dir)
    name = name or DEFAULT
    if problem := name_problem(name):
        raise ClusterError(f"{name!r} cannot be the name of a cluster: {problem}")
    return KeptCluster(name, directory_of(name))


def all_clusters() -> list[KeptCluster]:
    return [KeptCluster(name, directory_of(name)) for name in all_names()]


def user_kubeconfig(cluster: KeptCluster, user: str, groups: Sequence[str], cert_dir: Path | None = None) -> str:
    """`cert_dir` is where the API server has its authority, if not in its data directory.

    Raises CertificateError, KubeconfigError, OSError.
    """
    server = load_access(str(cluster.kubeconfig)).server
    pki = cert_dir or cluster.directory / "pki"
    try:
        kept = Issued((pki / "ca.crt").read_bytes(), (pki / "ca.key").read_bytes())
    except FileNotFoundError:
        if cert_dir is not None:
            raise
        why = "does not keep its authority: only clusters that keep their data have certificates for other users"
        raise CertificateError(f"{cluster.title} {why}") from None
    authority = Authority(kept, datetime.datetime.now(datetime.UTC))
    try:
        issued = authority.issue_client(user, groups)
    except ValueError as error:
        raise CertificateError(f"no certificate can have this user or these groups: {error}") from None
    login = Login(server, kept.certificate, "", issued.certificate, issued.key)
    return render_yaml(kubeconfig_of(cluster.context, login))
