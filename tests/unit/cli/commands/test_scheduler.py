"""`moorage scheduler` against a real API server, over HTTPS."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.objects import node, pod

from moorage.cli.commands.processes.components import scheduler as command
from moorage.client.kubeconfig.loading import load_access
from moorage.client.leader_election import ElectionTimes, LeadershipLost
from moorage.cluster.api_server import ApiServer, ApiServerSettings, start_api_server
from moorage.cluster.components import CannotListen, Process, SchedulerProcess
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION
from moorage.serve.requests.loopback import LoopbackClient

pytestmark = pytest.mark.real_time

_QUICK = ElectionTimes(lease=60, deadline=40.0, retry=0.1)


async def _until(holds: Callable[[], Any]) -> Any:
    async with asyncio.timeout(120):
        while not (found := await holds()):
            await asyncio.sleep(0.01)
    return found


async def _bound(client: LoopbackClient, name: str) -> Any:
    async def node_of() -> Any:
        return (await client.get(KINDS.POD, name, "default")).raw["spec"].get("nodeName")

    return await _until(node_of)


def _scheduler(server: ApiServer, directory: Path, **more: Any) -> SchedulerProcess:
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(server.kubeconfig())
    process = Process("kube-scheduler", load_access(str(kubeconfig)), **more)
    return SchedulerProcess(process, default_gates(), DEFAULT_CONFIGURATION)


async def _get(port: int, path: str, *headers: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = "".join(f"{header}\r\n" for header in ("Host: localhost", "Connection: close", *headers))
    writer.write(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
    answer = (await reader.read()).decode("latin-1")
    writer.close()
    return answer


@pytest.mark.real_time
async def test_the_scheduler_binds_pods_records_events_and_releases_its_lease(tmp_path: Path) -> None:
    server = await start_api_server(ApiServerSettings(default_gates(), None))
    client = LoopbackClient(server.api, "test")
    await client.create(KINDS.NODE, node("n1"))
    first, second = (_scheduler(server, tmp_path, metrics_port=0, election=_QUICK) for _ in range(2))
    await first.start()
    await client.create(KINDS.POD, pod("one"), "default")
    assert await _bound(client, "one") == "n1"
    await second.start()

    async def reported() -> bool:
        notes = [
            event.raw["note"] for event in (await client.list_all(KINDS.REPORTED_EVENT)).items if "note" in event.raw
        ]
        return "Successfully assigned default/one to n1" in notes

    await _until(reported)
    metrics = await _get(first.metrics_port, "/metrics")
    assert 'leader_election_master_status{name="kube-scheduler"} 1' in metrics
    assert 'scheduler_schedule_attempts_total{result="scheduled",profile="default-scheduler"} 1' in metrics
    profile = "/debug/pprof/profile?seconds=0.05"
    assert " 401 " in await _get(first.metrics_port, profile)
    assert " 401 " in await _get(first.metrics_port, profile, "Authorization: Bearer guessed")
    taken = await _get(first.metrics_port, profile, f"Authorization: Bearer {first.process.access.token}")
    assert " 200 " in taken.partition("\r\n")[0]
    assert "\x1f\x8b" in taken
    assert 'leader_election_master_status{name="kube-scheduler"} 0' in await _get(second.metrics_port, "/metrics")
    for path in ("/healthz", "/livez", "/readyz"):
        assert (await _get(first.metrics_port, path)).endswith("\r\n\r\nok")
    assert (await _get(first.metrics_port, "/other")).startswith("HTTP/1.1 404")
    await first.stop()
    await client.create(KINDS.POD, pod("two"), "default")
    assert await _bound(client, "two") == "n1"
    await second.stop()
    await server.stop()


async def test_a_scheduler_that_slept_through_its_lease_binds_nothing_and_stops(tmp_path: Path) -> None:
    server = await start_api_server(ApiServerSettings(default_gates(), None))
    client = LoopbackClient(server.api, "test")
    await client.create(KINDS.NODE, node("n1"))
    process = _scheduler(server, tmp_path, election=ElectionTimes(lease=600, deadline=500.0, retry=60.0))
    await process.start()
    await client.create(KINDS.POD, pod("one"), "default")
    assert await _bound(client, "one") == "n1"
    assert process._fence is not None
    process._fence._now = lambda: time.monotonic() + 700
    await client.create(KINDS.POD, pod("two"), "default")
    async with asyncio.timeout(60):
        lost = await process.failure()
    assert isinstance(lost, LeadershipLost)
    assert "the lease kube-system/kube-scheduler ran out 1" in str(lost)
    await process.stop()
    two = (await client.get(KINDS.POD, "two", "default")).raw
    assert "nodeName" not in two["spec"]
    assert "conditions" not in two["status"]
    lease = (await client.get(KINDS.LEASE, "kube-scheduler", "kube-system")).raw
    assert lease["spec"]["holderIdentity"] == ""
    events = (await client.list_all(KINDS.EVENT, "kube-system")).items
    messages = [event.raw.get("message", "").partition(" ")[2] for event in events]
    assert messages == ["became leader", "stopped leading"]
    await server.stop()


async def test_without_an_election_there_is_no_fence(tmp_path: Path) -> None:
    server = await start_api_server(ApiServerSettings(default_gates(), None))
    assert _scheduler(server, tmp_path)._fence is None
    await server.stop()


async def test_a_taken_port_is_reported(tmp_path: Path) -> None:
    server = await start_api_server(ApiServerSettings(default_gates(), None))
    port = int(server.url.rpartition(":")[2])
    process = _scheduler(server, tmp_path, metrics_port=port)
    with pytest.raises(CannotListen, match=f"cannot listen on 127.0.0.1:{port} for metrics"):
        await process.start()
    await process.stop()
    await server.stop()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--kubeconfig", "nowhere", "--wait-for-kubeconfig", "0"], "nowhere: cannot be read"),
        (["--leader-elect-lease-duration", "soon"], "'--leader-elect-lease-duration': time: invalid duration"),
        (["--leader-elect-lease-duration", "5s"], "leaseDuration must be greater than renewDeadline"),
        (["--feature-gates", "Nonsense=true"], "unrecognized feature gate: Nonsense"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 2
    assert said in result.output
    assert "Traceback" not in result.output
