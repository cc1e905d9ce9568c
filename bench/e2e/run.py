"""One run of one workload: a server with a fresh data directory, the operations, then the same server once more.

In: a workload, where to put the data. Out: its figures, with start-up times and memory. Nothing is left behind.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from bench.e2e.etcd_servers import STORES
from bench.e2e.executor import Executor
from bench.e2e.problems import RunFailed
from bench.e2e.requests import Requests
from bench.e2e.sender import Sender
from bench.perf.operations import AllocResourceClaims, CreateResourceClaims, CreateResourceDriver, UpdateAny
from moorage.model.gates import GATES

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.e2e.figures import Figures
    from bench.e2e.server import Server
    from bench.perf.config import Workload


#: Operations after which pods have claims on devices.
_WITH_CLAIMS = (CreateResourceClaims, CreateResourceDriver)


class Settings(msgspec.Struct, frozen=True):
    """How to run: connections of the client, seconds without progress, whether to restart, where the data is kept.

    `store` is one of `etcd_servers.STORES`; `up_options` are more options of `moorage up`.
    """

    connections: int
    patience: float
    restart: bool
    folder: Path
    store: str = "sqlite"
    up_options: tuple[str, ...] = ()


def refusal(workload: Workload) -> str:
    """Why the workload cannot be run against a server; empty if it can."""
    if workload.refused:
        return workload.refused
    for operation in workload.operations:
        if isinstance(operation, AllocResourceClaims):
            return "not supported: opcode allocResourceClaims, which is the scheduler's work here"
        if isinstance(operation, UpdateAny) and operation.subresources:
            return f"not supported: updateAny of subresources {', '.join(operation.subresources)}"
    return ""


async def run(workload: Workload, settings: Settings, say: Callable[[str], None]) -> list[Figures]:
    """Raises RunFailed, ConfigError."""
    settings.folder.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="e2e-", dir=settings.folder))
    server: Server | None = None
    try:
        server = STORES[settings.store](folder, [*server_options(workload), *settings.up_options])
        return await _run(workload, server, settings, say)
    finally:
        if server is not None:
            server.close()
        shutil.rmtree(folder, ignore_errors=True)


async def _run(workload: Workload, server: Server, settings: Settings, say: Callable[[str], None]) -> list[Figures]:
    requests, sender, startup = await _start(server, settings.connections)
    say(f"started: {startup:.2f} s")
    try:
        await sender.open(requests.get("/readyz"))
        executor = Executor(workload, server, requests, sender, patience=settings.patience, say=say)
        figures = await executor.run()
    except RunFailed as failure:
        # A connection is gone before the process is.
        raise RunFailed(f"{failure}; {await server.fate()}") from None
    finally:
        sender.close()
    measured: dict[str, Any] = {"startup_seconds": startup}
    measured |= {"memory_bytes": server.memory(), "peak_bytes": server.peak_memory()}
    if settings.restart and settings.store != "kubernetes":
        server.stop()
        _, sender, again = await _start(server, settings.connections)
        sender.close()
        say(f"started again: {again:.2f} s")
        measured |= {"restart_seconds": again, "restart_memory_bytes": server.memory()}
    return [msgspec.structs.replace(one, **measured, store=settings.store) for one in figures]


async def _start(server: Server, connections: int) -> tuple[Requests, Sender, float]:
    """A server that says that it is ready, and the seconds until it did."""
    access = await server.start()
    requests, sender = Requests(access), Sender(access, connections)
    try:
        await sender.one(requests.get("/readyz"))
    except BaseException:
        sender.close()
        raise
    return requests, sender, server.seconds_since_start()


def server_options(workload: Workload) -> list[str]:
    """The gates that differ from their defaults, the controller that makes claims, the scheduler's configuration."""
    changed = [gate.name for gate in GATES if workload.gates.enabled(gate) is not gate.default]
    settings = ",".join(f"{name}={str(name in workload.gates.names).lower()}" for name in changed)
    options = [f"--feature-gates={settings}"] if settings else []
    if any(isinstance(operation, _WITH_CLAIMS) for operation in workload.operations):
        options += ["--controllers", "resourceclaim-controller"]
    # Workloads carry the configuration as the engine takes it; the command line wants the file.
    case_name = workload.case.rpartition(":")[2]
    cases = yaml.load(workload.file.read_text(encoding="utf-8"), yaml.CSafeLoader)
    path = next((case.get("schedulerConfigPath") for case in cases if case["name"] == case_name), None)
    return [*options, "--config", str(workload.file.parent / path)] if path else options
