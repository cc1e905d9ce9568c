"""API servers and whole clusters on a real etcd: what they say when it fails, and who works when one of them ends."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.etcd_process import EtcdCluster, etcd_cluster, free_ports, make_certificates
from tests.log_text import log_text
from tests.objects import pod

from moorage.cli.commands.processes.apiserver import apiserver
from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import Access
from moorage.client.leader_election import ElectionTimes, LeaderElector
from moorage.cluster.api_server import ApiServer, ApiServerSettings, start_api_server
from moorage.cluster.control_plane import ControlPlane, Settings
from moorage.model.api_error import ApiError
from moorage.model.gates import Component, default_gates
from moorage.model.kinds import KINDS
from moorage.schedule.config.configured_scheduler import DEFAULT_CONFIGURATION
from moorage.serve.access.bootstrap.policy import CONTROLLERS
from moorage.serve.requests.loopback import LoopbackClient

_QUICK = ElectionTimes(4, 3.0, 0.5)


def client_of(server: ApiServer) -> HttpClient:
    login = server.login()
    return HttpClient(Access(login.server, certificate_authority=login.authority, token=login.token))


@asynccontextmanager
async def serving(etcd: EtcdCluster, pki: Path, **changes: object) -> AsyncIterator[tuple[ApiServer, HttpClient]]:
    settings = ApiServerSettings(default_gates(), None, etcd=etcd.settings(**changes), cert_dir=pki)
    server = await start_api_server(settings)
    client = client_of(server)
    try:
        yield server, client
    finally:
        await client.close()
        await server.stop()


def config_map(name: str, size: int = 1) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "x" * size}}


async def readiness(client: HttpClient) -> str:
    """What /readyz says of etcd; empty if all is well."""
    try:
        await client.get_path("/readyz")
    except ApiError as error:
        lines = error.message.splitlines()
        return next((line for line in lines if line.startswith("[-]etcd failed: ")), "?")
    return ""


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    while not await holds():
        await asyncio.sleep(0.05)


@pytest.mark.real_time(loop="uvloop")
async def test_without_quorum_readyz_says_so_and_reads_of_what_is_known_go_on(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path / "etcd", certificates=True) as etcd:
        async with serving(etcd, tmp_path / "pki") as (_, client):
            await client.create(KINDS.CONFIG_MAP, config_map("one"), "default")
            assert await readiness(client) == ""
            etcd.members[0].kill()
            await until(lambda: readiness(client))
            said = await readiness(client)
            assert said.startswith("[-]etcd failed: "), said
            assert etcd.urls[0] in said
            found = await client.get_path("/api/v1/namespaces/default/configmaps?resourceVersion=0")
            assert b'"one"' in found
            with pytest.raises(ApiError) as refused:
                await client.create(KINDS.CONFIG_MAP, config_map("two"), "default")
            assert refused.value.code in (500, 503, 504)
            etcd.members[0].start()

            async def is_well() -> bool:
                return await readiness(client) == ""

            await until(is_well)
            await client.create(KINDS.CONFIG_MAP, config_map("three"), "default")


@pytest.mark.real_time(loop="uvloop")
async def test_a_full_etcd_is_named_and_can_be_read(tmp_path: Path) -> None:
    with etcd_cluster(tmp_path / "etcd", arguments=["--quota-backend-bytes", "4000000"]) as etcd:
        async with serving(etcd, tmp_path / "pki") as (_, client):
            refusal = ""
            for number in range(200):  # etcd learns of its size every 100 ms
                try:
                    await client.create(KINDS.CONFIG_MAP, config_map(f"map-{number}", 400_000), "default")
                except ApiError as error:
                    refusal = error.message
                    break
            assert "NOSPACE" in refusal
            assert "etcdctl alarm disarm" in refusal
            assert "NOSPACE" in await readiness(client)
            assert (await client.get(KINDS.CONFIG_MAP, "map-0", "default")).name == "map-0"


@pytest.mark.parametrize("what", ["endpoint", "certificate", "authority", "plain"])
def test_an_etcd_that_cannot_be_used_is_one_line(what: str, tmp_path: Path) -> None:
    with etcd_cluster(tmp_path / "etcd", certificates=True) as etcd:
        files, other = etcd.certificates, make_certificates(tmp_path / "other")
        assert files is not None
        urls = {"endpoint": f"https://127.0.0.1:{free_ports(1)[0]}", "plain": etcd.urls[0].replace("https", "http")}
        options = ["--ephemeral", "--port=0", "--etcd-servers", urls.get(what, etcd.urls[0])]
        options += ["--etcd-cafile", str(other.ca if what == "authority" else files.ca)]
        certificate, key = (
            (other.client, other.client_key) if what == "certificate" else (files.client, files.client_key)
        )
        options += ["--etcd-certfile", str(certificate), "--etcd-keyfile", str(key)]
        ran = CliRunner().invoke(apiserver, options)
    assert ran.exit_code == 1, ran.output
    (line,) = ran.output.splitlines()
    assert line.startswith("moorage: ")
    words = {"endpoint": "connection refused", "certificate": "--etcd-certfile", "authority": "--etcd-cafile"}
    assert words.get(what, "need https://") in line


def plane_of(
    etcd: EtcdCluster,
    directory: Path,
    pki: Path,
    nodes: int | None = 2,
    election: ElectionTimes = _QUICK,
) -> ControlPlane:
    settings = Settings(
        dict.fromkeys(Component, default_gates()),
        DEFAULT_CONFIGURATION,
        nodes,
        True,
        directory,
        "127.0.0.1",
        0,
        directory / "kubeconfig",
        (),
        etcd=etcd.settings(),
        cert_dir=pki,
        election=election,
    )
    return ControlPlane(settings)


@pytest.mark.real_time(loop="uvloop")
async def test_of_two_clusters_on_one_etcd_one_works_and_the_other_takes_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    awaited: list[int] = []
    wait = ControlPlane._nodes_are_ready

    async def noted(self: ControlPlane, client: LoopbackClient, wanted: int) -> None:
        awaited.append(wanted)
        await wait(self, client, wanted)

    monkeypatch.setattr(ControlPlane, "_nodes_are_ready", noted)
    with etcd_cluster(tmp_path / "etcd") as etcd:
        planes = [plane_of(etcd, tmp_path / "one", tmp_path / "pki")]
        planes.append(plane_of(etcd, tmp_path / "two", tmp_path / "pki", None))
        try:
            for plane in planes:
                await plane.start()
            assert [plane.node_count for plane in planes] == [2, 2]
            assert awaited == [2, 0]  # the second one is content with the nodes of the first
            server = planes[1]._server
            assert server is not None
            client = client_of(server)

            async def running(count: int) -> None:
                async def are_there() -> bool:
                    pods = (await client.list_all(KINDS.POD, "default")).items
                    return len([pod for pod in pods if pod.view.status.phase == "Running"]) == count

                await until(are_there)

            container = {"name": "web", "image": "nginx"}
            template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
            spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": template}
            document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
            await client.create(KINDS.DEPLOYMENT, document, "default")
            await running(3)
            endpoints = (await client.get(KINDS.ENDPOINTS, "kubernetes", "default")).raw["subsets"]
            assert len(endpoints) == 2
            holders = [lease.raw["spec"]["holderIdentity"] for lease in (await client.list_all(KINDS.LEASE)).items]
            assert len(set(holders)) == len(holders)
            await planes[0].stop()
            await client.patch(KINDS.DEPLOYMENT, "web", "default", {"spec": {"replicas": 5}})
            await running(5)
            assert len((await client.get(KINDS.ENDPOINTS, "kubernetes", "default")).raw["subsets"]) == 1
            await client.close()
        finally:
            await planes[1].stop()


@pytest.mark.real_time(loop="uvloop")
async def test_components_whose_lease_ran_out_write_nothing_until_they_are_elected_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    electors: list[LeaderElector] = []

    class Noted(LeaderElector):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            electors.append(self)

    clients: list[LoopbackClient] = []

    class NotedClient(LoopbackClient):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            clients.append(self)

    monkeypatch.setattr("moorage.cluster.control_plane.LeaderElector", Noted)
    monkeypatch.setattr("moorage.cluster.control_plane.LoopbackClient", NotedClient)
    with etcd_cluster(tmp_path / "etcd") as etcd:
        plane = plane_of(etcd, tmp_path / "one", tmp_path / "pki", election=ElectionTimes(600, 500.0, 0.5))
        try:
            await plane.start()
            assert plane._server is not None
            client = LoopbackClient(plane._server.api)

            async def leads() -> bool:
                return all(elector.fence.is_open for elector in electors)

            await until(leads)
            first = list(electors)
            assert len(first) == 3
            users = [client for client in clients if client._user is not None]
            unfenced = [client.manager for client in users if client._fence is None]
            assert sorted(unfenced) == [
                f"moorage-{elector._name}" for elector in sorted(first, key=lambda one: one._name)
            ]
            assert len(users) == len(unfenced) + 3 + len(CONTROLLERS)
            for elector in first:
                elector.fence._now = lambda: time.monotonic() + 700
            await client.create(KINDS.POD, pod("one"), "default")
            spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}}
            template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("any")["spec"]}
            document = {"metadata": {"name": "web"}, "spec": {**spec, "template": template}}
            await client.create(KINDS.DEPLOYMENT, document, "default")

            async def are_running() -> bool:
                pods = (await client.list_all(KINDS.POD, "default")).items
                return [pod.view.status.phase for pod in pods] == ["Running"] * 2

            await until(are_running)
            assert all(elector.fence.refused.is_set() for elector in first)
            assert log_text(caplog).count("Another process may take over") == 3
        finally:
            await plane.stop()


@pytest.mark.real_time(loop="uvloop")
async def test_servers_with_different_authorities_say_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with etcd_cluster(tmp_path / "etcd") as etcd:
        async with serving(etcd, tmp_path / "pki"), serving(etcd, tmp_path / "pki"):
            assert "another authority" not in log_text(caplog)
            async with serving(etcd, tmp_path / "other"):
                assert log_text(caplog).count("Another API server on this etcd had another authority") == 1
