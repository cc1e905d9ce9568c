"""Run a cluster, and store beside its objects which process runs it and with which options, for the next start."""

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from moorage import __version__
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.control_plane import ControlPlane, Settings
from moorage.cluster.dashboard_process import DashboardProcess
from moorage.cluster.kept.description import FORMAT, Description, write_description
from moorage.cluster.kept.kept_cluster import KeptCluster
from moorage.cluster.kept.places import ClusterError, is_cluster, remove_unused
from moorage.cluster.kept.processes import forget_this_process, record_this_process
from moorage.store.data_directory import DataDirectory, StoreUnusable
from moorage.telemetry.watchdog import Watchdog

if TYPE_CHECKING:
    from moorage.cluster.ha.plane import HaPlane

_replace = msgspec.structs.replace


class KeptPlane:
    """A control plane with its cluster's directory; without one nothing is recorded.

    The directory of a cluster with a name that keeps nothing goes with the process, and so does what a new cluster has
    written that did not become ready.
    """

    def __init__(
        self,
        settings: Settings,
        cluster: KeptCluster | None,
        description: Description,
        dashboard: DashboardProcess | None = None,
    ) -> None:
        """`dashboard` is started beside the cluster, when it is ready."""
        self.plane = _plane(settings)
        self.cluster, self.description, self.dashboard = cluster, description, dashboard
        self._lock: DataDirectory | None = None
        self._is_recorded = self._has_started = False
        self._is_new = cluster is not None and cluster.is_new
        self._had_directory = cluster is not None and not cluster.name and cluster.directory.exists()
        self._named_in_error: tuple[str, ...] = ()

    @property
    def watchdog(self) -> Watchdog:
        return self.plane.watchdog

    async def start(self) -> None:
        """Raises CannotStart."""
        if self.cluster is not None and (self.description.ephemeral or self.plane.settings.etcd is not None):
            try:
                self._lock = DataDirectory(self.cluster.directory)
            except StoreUnusable as error:
                raise CannotStart(str(error)) from None
        try:
            await self._start()
        except CannotStart as error:
            logs = self.plane.logs
            self._named_in_error = (logs.name,) if logs is not None and str(logs) in str(error) else ()
            raise
        self._has_started = True

    async def _start(self) -> None:
        await self.plane.start()
        if self.cluster is not None:
            try:
                await asyncio.to_thread(self._record, self.cluster)
            except OSError as error:
                raise CannotStart(f"{error.filename} cannot be written: {error.strerror}") from None
        if self.dashboard is not None:
            await self.dashboard.start(self.plane.kubeconfig_path, self.plane.settings.context)

    def _record(self, cluster: KeptCluster) -> None:
        plane, wanted = self.plane, self.plane.settings.kubeconfig
        contexts = dict.fromkeys(self.description.contexts)
        if wanted is not None:
            contexts[str(Path(wanted).absolute())] = None
        self.description = _replace(
            self.description,
            format=FORMAT,
            version=__version__,
            name=cluster.name,
            contexts=tuple(contexts),
            port=int(plane.url.rpartition(":")[2]),
        )
        write_description(cluster.directory, self.description)
        record_this_process(cluster.directory, plane.url, plane.kubeconfig_path, cluster.context)
        self._is_recorded = True

    async def failure(self) -> BaseException:
        return await self.plane.failure()

    async def stop(self) -> None:
        if self.dashboard is not None:
            await self.dashboard.stop()
        await self.plane.stop()
        cluster = self.cluster
        if cluster is None:
            return
        if self._is_recorded:
            forget_this_process(cluster.directory)
        if self._lock is not None:
            self._lock.close()
        is_abandoned = self._is_new and not self._has_started and self.plane.settings.etcd is None
        if is_abandoned or (self._lock is not None and self.description.ephemeral):
            with suppress(ClusterError):  # another process has started a cluster of this name already
                if cluster.directory.exists():
                    cluster.delete(keeps=self._named_in_error, keeps_directory=self._had_directory)
        elif self._is_new and not self._has_started and not self._had_directory:
            remove_unused(cluster.directory)


def _plane(settings: Settings) -> "ControlPlane | HaPlane":
    if settings.ha is None:
        return ControlPlane(settings)
    from moorage.cluster.ha.plane import HaPlane  # which few need

    return HaPlane(settings)


def refuse_to_start(cluster: KeptCluster, *, ephemeral: bool) -> None:
    """Raise CannotStart if the cluster is running, or one that is kept would not be kept any more."""
    running = cluster.process
    if running is not None and cluster.name:
        where = f", at {running.url}" if running.url else ""
        raise CannotStart(
            f"{cluster.title} is running already (pid {running.pid}{where}); `{cluster.stop_command}` stops it"
        )
    if running is not None:
        in_use = f"data directory {cluster.directory} is in use by another process (pid {running.pid})"
        raise CannotStart(f"{in_use}; `{cluster.stop_command}` stops it")
    described = cluster.described
    if ephemeral and is_cluster(cluster.directory) and not (described is not None and described.ephemeral):
        raise CannotStart(f"{cluster.title} is kept in {cluster.directory}: choose another --name for one that is not")
