"""Start a component once its kubeconfig exists, so that it may be started before its API server is ready."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from moorage.client.kubeconfig.loading import listed_files
from moorage.cluster.event_loop import Stoppable
from moorage.telemetry.logs import get_logger
from moorage.telemetry.watchdog import Watchdog

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
