"""An API server that stops, and servers that share certificates."""

import asyncio
import datetime
import json
from pathlib import Path

import pytest

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import Access
from moorage.client.kubeconfig.context_file import Login
from moorage.client.protocol import EventType, Unreachable
from moorage.cluster.api_server import ApiServerProcess, ApiServerSettings, start_api_server
from moorage.model.api_error import ApiError
from moorage.model.gates import default_gates
from moorage.model.kinds import KINDS
from moorage.serve.pki.certificates import Authority
from moorage.serve.pki.credentials import GivenFiles


def client_of(login: Login, **options: float) -> HttpClient:
    access = Access(login.server, certificate_authority=login.authority, token=login.token)
    return HttpClient(access, **options)  # type: ignore[arg-type]


@pytest.mark.real_time(loop="uvloop")
@pytest.mark.parametrize("kept", [True, False])
async def test_a_stopping_server_fails_readyz_and_serves_for_the_shutdown_delay(tmp_path: Path, kept: bool) -> None:
    settings = ApiServerSettings(default_gates(), tmp_path if kept else None, shutdown_delay=1.0)
    process = ApiServerProcess(settings, tmp_path / "kubeconfig")
    await process.start()
    assert process._server is not None
    client = client_of(process._server.login())
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
    made = await client.create(KINDS.CONFIG_MAP, document, "default")
    told: list[tuple[EventType, int]] = []

    async def follow() -> None:
        async for events in client.watch(KINDS.CONFIG_MAP, made.revision, "default"):
            told.extend((event.type, event.object.revision) for event in events)

    following = asyncio.create_task(follow())
    while not process._server.api.open_watches:
        await asyncio.sleep(0.01)
    stopping = asyncio.create_task(process.stop())
    while not process._server._phase.is_stopping:
        await asyncio.sleep(0.01)
    with pytest.raises(ApiError) as refused:
        await client.get_path("/readyz")
    assert refused.value.code == 500
    assert await client.get_path("/livez") == b"ok"
    changed = await client.create(KINDS.CONFIG_MAP, {**document, "metadata": {"name": "two"}}, "default")
    await stopping
    await following
    assert [kind for kind, _ in told] == [EventType.ADDED, EventType.BOOKMARK]
    assert told[-1][1] >= changed.revision
    with pytest.raises(Unreachable):
        await client.get_path("/livez")
    await client.close()


@pytest.mark.real_time(loop="uvloop")
async def test_servers_that_share_a_directory_have_one_authority_and_one_administrator(tmp_path: Path) -> None:
    settings = ApiServerSettings(default_gates(), None, cert_dir=tmp_path)
    servers = await asyncio.gather(*(start_api_server(settings) for _ in range(3)))
    try:
        logins = [server.login() for server in servers]
        assert len({(login.authority, login.token, login.certificate) for login in logins}) == 1
        assert not (tmp_path / "apiserver.crt").exists()
        for login in logins:
            client = client_of(login._replace(authority=logins[0].authority))
            assert await client.get_path("/readyz") == b"ok"
            await client.close()
        keys = {server.api.tokens.issue_for_secret("default", "one", "uid", "secret") for server in servers}
        assert len({key.split(".")[0] for key in keys}) == 1
    finally:
        for server in servers:
            await server.stop()


@pytest.mark.real_time(loop="uvloop")
async def test_with_files_for_everything_nothing_of_the_clusters_own_is_accepted(tmp_path: Path) -> None:
    now = datetime.datetime.now(datetime.UTC)
    authority, clients = Authority.create(now), Authority.create(now)
    serving = authority.issue_server(("localhost", "127.0.0.1"))
    paths = {name: tmp_path / name for name in ("server.crt", "server.key", "clients.crt")}
    paths["server.crt"].write_bytes(serving.certificate + authority.issued.certificate)
    paths["server.key"].write_bytes(serving.key)
    paths["clients.crt"].write_bytes(clients.issued.certificate)
    files = GivenFiles(*paths.values())
    server = await start_api_server(ApiServerSettings(default_gates(), tmp_path / "data", files=files))
    try:
        assert not (tmp_path / "data" / "pki" / "ca.crt").exists()
        login = server.login()
        assert (login.authority, login.token) == (authority.issued.certificate, "")
        user = clients.issue_client("jane", ("system:masters",))
        known = HttpClient(
            Access(
                server.url,
                certificate_authority=authority.issued.certificate,
                client_certificate=user.certificate,
                client_key=user.key,
            )
        )
        assert (await known.list_all(KINDS.CONFIG_MAP, "kube-system")).items
        await known.close()
        published = await server.api.store.get("/configmaps/kube-system/extension-apiserver-authentication")
        assert published is not None
        assert clients.issued.certificate.decode().splitlines()[1] in published.value.decode()
    finally:
        await server.stop()


@pytest.mark.real_time(loop="uvloop")
async def test_the_core_root_says_where_the_server_is() -> None:
    server = await start_api_server(ApiServerSettings(default_gates(), None))
    try:
        login = server.login()
        client = client_of(login)
        versions = json.loads(await client.get_path("/api"))
        await client.close()
    finally:
        await server.stop()
    address = login.server.removeprefix("https://")
    assert versions["serverAddressByClientCIDRs"] == [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
