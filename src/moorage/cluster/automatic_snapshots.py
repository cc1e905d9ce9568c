"""Take a snapshot of a running server's store from time to time, and keep the newest ones.

A snapshot is copied by the store's own thread and checked and written by another, beside its place: a file that has its
name is whole. Nothing is taken if nothing was written since the last one. One that cannot be taken is logged, and tried
again when the next is due. Kubernetes: nothing alike; operators run `etcdctl snapshot save` from a CronJob.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from moorage import __version__
from moorage.model.go.times import time_text
from moorage.store.data_directory import SNAPSHOTS, write_problem
from moorage.store.protocol import Store, StoreClosed, StoreError
from moorage.store.snapshot_file import write_snapshot
from moorage.telemetry.logs import get_logger

SUFFIX = ".snapshot"
_UNFINISHED = "."
_LOG = get_logger("snapshots")


class SnapshotPlan(msgspec.Struct, frozen=True):
    """How often snapshots are taken, in seconds, and how many are kept."""

    every: float
    kept: int


def snapshots_in(directory: Path) -> list[Path]:
    """Return the snapshots of a data directory, oldest first: their names begin with the time."""
    files = (directory / SNAPSHOTS).glob(f"*{SUFFIX}")
    return sorted(file for file in files if not file.name.startswith(_UNFINISHED))


class AutomaticSnapshots:
    """Takes the snapshots of one store. `description` returns what the cluster was told, as JSON."""

    def __init__(
        self,
        store: Store,
        directory: Path,
        plan: SnapshotPlan,
        description: Callable[[], bytes],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store, self._directory, self._plan = store, directory, plan
        self._description, self._clock = description, clock
        self._last_revision = 0

    async def run(self) -> None:
        """Take snapshots until cancelled, or until the store is closed."""
        with suppress(OSError):
            await asyncio.to_thread(self._remove_unfinished)
        await asyncio.sleep(await asyncio.to_thread(self._seconds_until_due))
        while True:
            try:
                await self.take()
            except StoreClosed:
                return
            except (StoreError, OSError) as error:
                why = write_problem(error) if isinstance(error, OSError) else str(error)
                _LOG.error("A snapshot cannot be taken", err=why)
            await asyncio.sleep(self._plan.every)

    async def take(self) -> Path | None:
        """Take a snapshot; None if nothing has changed since the last. Raises StoreError, OSError."""
        revision = self._store.revision
        if revision == self._last_revision:
            return None
        folder = self._directory / SNAPSHOTS
        folder.mkdir(mode=0o700, exist_ok=True)
        now = self._clock()
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
        target, copy = folder / f"{stamp}-r{revision}{SUFFIX}", folder / f"{_UNFINISHED}copy-{secrets.token_hex(4)}"
        try:
            await self._store.copy(copy)
            await asyncio.to_thread(self._write, target, copy, now)
        finally:
            copy.unlink(missing_ok=True)
        self._last_revision = revision
        _LOG.debug(1, "Took a snapshot", file=str(target), revision=revision)
        return target

    def _write(self, target: Path, copy: Path, now: float) -> None:
        """Raises StoreUnusable, OSError."""

        def fill(path: Path) -> None:
            copy.chmod(0o600)
            copy.replace(path)

        description = self._description().decode()
        write_snapshot(target, fill, release=__version__, taken=time_text(now), description=description)
        for old in snapshots_in(self._directory)[: -self._plan.kept]:
            old.unlink(missing_ok=True)

    def _seconds_until_due(self) -> float:
        """Return when the next one is due: a server that is often started again takes them, too."""
        with suppress(OSError, IndexError):
            age = self._clock() - snapshots_in(self._directory)[-1].stat().st_mtime
            return min(max(0.0, self._plan.every - age), self._plan.every)
        return self._plan.every

    def _remove_unfinished(self) -> None:
        """Remove what a server that was killed has left."""
        for file in (self._directory / SNAPSHOTS).glob(f"{_UNFINISHED}*"):
            file.unlink(missing_ok=True)
