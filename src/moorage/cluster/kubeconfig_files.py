"""Write a cluster's kubeconfig when the cluster is ready, and wait for one before a component starts.

A file that holds this cluster's context and nothing else is removed before a start, so that its appearance means that
the cluster is ready; it is taken back if the cluster does not become ready. Of any other kubeconfig only the context of
this name is written. Nothing is taken from a cluster that is running.
"""

import asyncio
import os
import shutil
import tempfile
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import KubeconfigError
from moorage.client.kubeconfig.context_file import ContextFile, Login, kubeconfig_of
from moorage.client.kubeconfig.loading import listed_files, load_access
from moorage.client.protocol import Unreachable
from moorage.cluster.cannot_start import CannotStart
from moorage.cluster.event_loop import Stoppable
from moorage.model.api_error import ApiError
from moorage.telemetry.logs import get_logger
from moorage.telemetry.watchdog import Watchdog

_ANSWER_SECONDS = 2.0
FILE_NAME = "kubeconfig"


class KubeconfigPlace:
    """Where a cluster's kubeconfig goes: to `wanted`, and beside the data; without either to a temporary directory.

    `path` is the file for clients, once it is written; `replaced_context` the one that was current in it before.
    """

    def __init__(
        self, wanted: Path | None, data_dir: Path | None, context: str = "moorage", *, force: bool = False
    ) -> None:
        self.path = wanted or Path()
        self.context = context
        self.replaced_context = ""
        self._wanted, self._data_dir, self._force = wanted, data_dir, force
        self._temporary: Path | None = None

    async def check(self) -> None:
        """Refuse a file that is not to be written, before anything is started. Raises CannotStart."""
        if self._wanted is None:
            return
        file = ContextFile(self._wanted, self.context)
        if not self._force:
            try:
                await asyncio.to_thread(file.check)
            except KubeconfigError as error:
                raise CannotStart(f"--write-kubeconfig: {error}") from None
            if not self._is_of_this_cluster(file) and await _answers(file):
                raise CannotStart(
                    f"--write-kubeconfig: {self._wanted}: its context {self.context} leads to another cluster, which "
                    "is running: choose another --name or another file, or give --force to replace it"
                )
        if not self._is_of_this_cluster(file) and file.is_ours:
            await _remove(file)

    async def clear_before_start(self) -> None:
        """Remove the files of the last start. Call it once the data directory is locked. Raises CannotStart."""
        for file in self._files():
            if file.is_ours:
                await _remove(file)

    async def write(self, login: Login) -> None:
        """Write it, after everything else is ready: clients wait for the file. Raises CannotStart."""
        if self._wanted is None and self._data_dir is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="moorage-"))
        extra = {"directory": str(self._data_dir.absolute())} if self._data_dir is not None else {}
        config = kubeconfig_of(self.context, login, **extra)
        for file in self._files():
            force = self._force or file.path != self._wanted
            try:
                self.replaced_context = await asyncio.to_thread(file.write, config, force=force)
            except KubeconfigError as error:
                raise CannotStart(str(error)) from None
            self.path = file.path

    async def withdraw(self) -> None:
        """Remove what clients wait for, after a start that failed, unless it leads to a cluster that is running."""
        for file in self._files():
            if file.is_ours and not await _answers(file):
                with suppress(CannotStart):  # why the start failed matters more
                    await _remove(file)

    def clear(self) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def _files(self) -> list[ContextFile]:
        """The files to write; the last one is for clients."""
        folders = [folder for folder in (self._data_dir, self._temporary) if folder is not None]
        paths = [folder / FILE_NAME for folder in folders]
        return [ContextFile(path, self.context) for path in (*paths, self._wanted) if path is not None]

    def _is_of_this_cluster(self, file: ContextFile) -> bool:
        if self._data_dir is None:
            return False
        try:
            authority = (self._data_dir / "pki" / "ca.crt").read_bytes()
        except OSError:
            return False
        return file.authority == b64encode(authority).decode()


async def _remove(file: ContextFile) -> None:
    """Raises CannotStart."""
    try:
        await asyncio.to_thread(file.remove)
    except KubeconfigError as error:
        raise CannotStart(str(error)) from None


async def _answers(file: ContextFile) -> bool:
    """Return whether the cluster of the context, and no other at its address, is running."""
    if not file.authority:
        return False
    try:
        client = HttpClient(load_access(str(file.path), context=file.name), "up")
    except KubeconfigError:
        return False
    try:
        async with asyncio.timeout(_ANSWER_SECONDS):
            await client.get_path("/livez/ping")  # also of one that is starting, or whose store complains
    except (Unreachable, ApiError, TimeoutError):
        return False
    finally:
        await client.close()
    return True


_LOOK_EVERY = 0.1
C = TypeVar("C", bound=Stoppable)


class AwaitedKubeconfig(Generic[C]):
    """A component that is made when one of `files` exists, or `seconds` have passed: then it says what it lacks."""

    def __init__(self, make: Callable[[], C], files: list[Path], seconds: float, component: str) -> None:
        self._make, self._files, self._seconds, self._component = make, files, seconds, component
        self._made: C | None = None

    @property
    def component(self) -> C:
        assert self._made is not None
        return self._made

    @property
    def watchdog(self) -> Watchdog:
        return self.component.watchdog

    async def start(self) -> None:
        await self._appearance()
        self._made = self._make()
        await self._made.start()

    async def failure(self) -> BaseException:
        return await self.component.failure()

    async def stop(self) -> None:
        if self._made is not None:
            await self._made.stop()

    async def _appearance(self) -> None:
        if not self._files or self._seconds <= 0 or self._is_there():
            return
        names = ", ".join(map(str, self._files))
        get_logger(self._component).info("Waiting for the kubeconfig", file=names, seconds=f"{self._seconds:g}")
        try:
            async with asyncio.timeout(self._seconds):
                while not self._is_there():
                    await asyncio.sleep(_LOOK_EVERY)
        except TimeoutError:
            pass  # the component says what is missing

    def _is_there(self) -> bool:
        return any(file.exists() for file in self._files)


def awaited_files(kubeconfig: str, environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the files that a component was told to read: --kubeconfig, or $KUBECONFIG; no others are waited for."""
    return [Path(kubeconfig)] if kubeconfig else listed_files(environment)
