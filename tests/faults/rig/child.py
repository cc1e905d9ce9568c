"""A process of the cluster under test: started, killed, paused, and started again when it has ended."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

RESTART_SECONDS = 0.5
_GRACE_SECONDS = 20.0


class Child:
    """One process. `is_held`: it is meant to be down, and is not started again."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name, self.command, self.log = name, list(command), log
        self.environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None
        self.is_held = False
        self.is_paused = False
        self.starts = self._log_start = 0
        self.endings: list[int] = []

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        self.starts += 1
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self.is_held = self.is_paused = False
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment
            )

    def kill(self) -> None:
        """End it at once; it stays down until it is started."""
        self.is_held = True
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def pause(self) -> None:
        if self.is_running:
            self.is_paused = True
            os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        self.is_paused = False
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)

    async def stop(self) -> int:
        """Ask it to end, and return its exit status; kill it if it does not."""
        self.is_held = True
        if self.process is None:
            return 0
        self.resume()
        self.process.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_SECONDS):
                while self.process.poll() is None:
                    await asyncio.sleep(0.02)
        self.kill()
        return self.process.returncode

    @property
    def leads(self) -> bool:
        """Whether it has said, since its last start, that it holds its Lease: it ends when it loses it."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return self.is_running and b"Successfully acquired lease" in log.read()

    def said(self, most: int = 2000) -> str:
        return self.log.read_text(errors="replace")[-most:] if self.log.exists() else ""


async def keep_running(children: Sequence[Child]) -> None:
    """Start what has ended by itself, as a service manager does; runs until cancelled."""
    ended: dict[str, float] = {}
    clock = asyncio.get_running_loop().time
    while True:
        for child in children:
            if child.process is None or child.is_held or child.is_running:
                ended.pop(child.name, None)
            elif clock() - ended.setdefault(child.name, clock()) >= RESTART_SECONDS:
                child.endings.append(child.process.returncode)
                child.start()
        await asyncio.sleep(0.05)
