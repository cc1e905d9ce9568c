"""`moorage kubelet` and `moorage apiserver`, in one process but over HTTPS."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.log_text import log_text
from tests.objects import pod

from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Client
from moorage.cluster.api_server import ApiServer, ApiServerProcess, ApiServerSettings, start_api_server
from moorage.cluster.components import CannotListen, CannotRegister, KubeletProcess, Process
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.requests.loopback import LoopbackClient

pytestmark = pytest.mark.real_time


def _kubelet(server: ApiServer, directory: Path, metrics_port: int | None = None, **more: Any) -> KubeletProcess:
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(server.kubeconfig())
    process = Process("kubelet", load_access(str(kubeconfig)), metrics_port=metrics_port)
    return KubeletProcess(process, default_gates(), **more)


async def _phase(client: Client, name: str, wanted: str) -> None:
    async with asyncio.timeout(120):
        while (await client.get(KINDS.POD, name, "default")).raw["status"]["phase"] != wanted:
            await asyncio.sleep(0.01)


async def _get(port: int, path: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    return answer


async def test_the_kubelet_runs_pods_of_its_own_nodes_only(tmp_path: Path) -> None:
    server = await start_api_server(ApiServerSettings(default_gates(), None))
    client = LoopbackClient(server.api, "test")
    amounts = {"cpu": "2", "pods": "5"}
    await client.create(KINDS.NODE, {"metadata": {"name": "real"}, "status": {"capacity": amounts}})
    process = _kubelet(server, tmp_path, nodes=2, prefix="sim-", metrics_port=0)
    await process.start()
    assert process.kubelets.node_count == 2
    await client.create(KINDS.POD, pod("one", nodeName="sim-1"), "default")
    await client.create(KINDS.POD, pod("two", nodeName="real"), "default")
    await _phase(client, "one", "Running")
    await client.delete(KINDS.POD, "one", "default")
    await client.create(KINDS.POD, pod("three", nodeName="sim-2"), "default")
    await _phase(client, "three", "Running")
    await _phase(client, "two", "Pending")
    metrics = await _get(process.metrics_port, "/metrics")
    assert "kubelet_simulated_nodes 2" in metrics
    assert "kubelet_started_pods_total 2" in metrics
    for path in ("/healthz", "/livez", "/readyz"):
        assert (await _get(process.metrics_port, path)).endswith("\r\n\r\nok")
    assert (await _get(process.metrics_port, "/other")).startswith("HTTP/1.1 404")
    await process.stop()
    await server.stop()


async def test_a_taken_port_and_refused_nodes_are_reported(tmp_path: Path) -> None:
    server = await start_api_server(ApiServerSettings(default_gates(), None))
    port = int(server.url.rpartition(":")[2])
    process = _kubelet(server, tmp_path, metrics_port=port)
    with pytest.raises(CannotListen, match=f"cannot listen on 127.0.0.1:{port} for metrics"):
        await process.start()
    await process.stop()
    process = _kubelet(server, tmp_path, nodes=1, prefix="No Way ")
    with pytest.raises(CannotRegister, match="nodes cannot be registered: Node"):
        await process.start()
    await process.stop()
    await server.stop()


async def test_it_waits_for_a_server_that_is_not_there_yet(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = ApiServerProcess(ApiServerSettings(default_gates(), tmp_path / "data"), tmp_path / "kubeconfig")
    await first.start()
    access = load_access(str(tmp_path / "kubeconfig"))
    await first.stop()
    process = KubeletProcess(Process("kubelet", access), default_gates(), nodes=1)
    starting = asyncio.create_task(process.start())
    async with asyncio.timeout(120):
        while "Nodes cannot be registered yet" not in log_text(caplog):
            await asyncio.sleep(0.01)
    assert not starting.done()
    port = int(access.server.rpartition(":")[2])
    again = ApiServerProcess(ApiServerSettings(default_gates(), tmp_path / "data", port=port), tmp_path / "kubeconfig")
    await again.start()
    await starting
    assert process.kubelets.node_count == 1
    await process.stop()
    await again.stop()
