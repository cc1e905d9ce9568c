"""The transports that are held to the contract, one row each, and a real, empty server."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.objects import pod as pod

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Client, Object, WatchEvent
from moorage.cluster.api_server import ApiServer, ApiServerSettings, start_api_server
from moorage.model.gates import default_gates
from moorage.model.kinds import Kind
from moorage.serve.requests.loopback import LoopbackClient

Connector = Callable[[ApiServer, Path], Client]


def _in_process(server: ApiServer, _: Path) -> Client:
    return LoopbackClient(server.api, "test")


def _http(server: ApiServer, directory: Path) -> Client:
    """By way of the kubeconfig that the server writes: TLS, its authority, a certificate, a token."""
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(server.kubeconfig())
    return HttpClient(load_access(str(kubeconfig)), "test")


TRANSPORTS: dict[str, Connector] = {"in-process": _in_process, "http": _http}


@asynccontextmanager
async def running_server(data_dir: Path | None = None) -> AsyncIterator[ApiServer]:
    server = await start_api_server(ApiServerSettings(default_gates(), data_dir))
    try:
        yield server
    finally:
        await server.stop()


def config_map(name: str, namespace: str = "default", **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def take(client: Client, kind: Kind, after: int, count: int, **selectors: str) -> list[WatchEvent]:
    """The first `count` events of a new watch."""
    watch = client.watch(kind, after, **selectors)
    events: list[WatchEvent] = []
    async for batch in watch:
        events += batch
        if len(events) >= count:
            break
    await watch.aclose()
    return events


def revision_in(item: Object) -> str:
    return str(item.raw["metadata"]["resourceVersion"])
