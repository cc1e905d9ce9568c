"""Ways into a real server: by token, by certificate, by plugin, and ways that do not lead in."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import uvloop
from tests.contract.client.transports import NODES, running_server

from moorage.client.http.client import HttpClient
from moorage.client.kubeconfig.access import Access, ExecPlugin
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Unreachable
from moorage.cluster.api_server import ApiServer
from moorage.model.api_error import ApiError

Way = Callable[[Access], Access]


def _try(way: Way, directory: Path, attempt: Callable[[HttpClient], Awaitable[object]]) -> None:
    async def main() -> None:
        async with running_server() as server:
            client = HttpClient(way(_administrator(server, directory)))
            try:
                await attempt(client)
            finally:
                await client.close()

    for factory in (asyncio.new_event_loop, uvloop.new_event_loop):
        with asyncio.Runner(loop_factory=factory) as runner:
            runner.run(main())


def _administrator(server: ApiServer, directory: Path) -> Access:
    kubeconfig = directory / "kubeconfig"
    kubeconfig.write_text(server.kubeconfig())
    return load_access(str(kubeconfig))


def _plugin(access: Access, **status: str) -> Access:
    version = "client.authentication.k8s.io/v1"
    printed = json.dumps({"apiVersion": version, "kind": "ExecCredential", "status": status})
    plugin = ExecPlugin(sys.executable, ("-c", f"print({printed!r})"))
    return access._replace(token="", client_certificate=b"", client_key=b"", plugin=plugin)


WAYS: dict[str, Way] = {
    "all": lambda access: access,
    "token": lambda access: access._replace(client_certificate=b"", client_key=b""),
    "certificate": lambda access: access._replace(token=""),
    "without looking": lambda access: access._replace(insecure=True, certificate_authority=b""),
    "by another name": lambda access: access._replace(server_name="localhost"),
    "plugin with a token": lambda access: _plugin(access, token=access.token),
    "plugin with a certificate": lambda access: _plugin(
        access,
        clientCertificateData=access.client_certificate.decode(),
        clientKeyData=access.client_key.decode(),
    ),
}


@pytest.mark.parametrize("name", WAYS)
def test_ways_that_lead_in(name: str, tmp_path: Path) -> None:
    async def attempt(client: HttpClient) -> None:
        assert (await client.list_all(NODES)).items == []

    _try(WAYS[name], tmp_path, attempt)


STRANGERS: dict[str, Way] = {
    "a wrong token": lambda access: access._replace(token="guess", client_certificate=b"", client_key=b""),
    "nothing to show": lambda access: access._replace(token="", client_certificate=b"", client_key=b""),
}
ATTEMPTS: dict[str, Callable[[HttpClient], Awaitable[object]]] = {
    "get": lambda client: client.get(NODES, "n"),
    "list": lambda client: client.list_all(NODES),
    "watch": lambda client: anext(
        client.watch(NODES, 10**9)
    ),  # whoever is let in is told that there is no such revision
    "create": lambda client: client.create(NODES, {"metadata": {"name": "n"}}),
    "patch": lambda client: client.patch(NODES, "n", "", {}),
    "delete": lambda client: client.delete(NODES, "n"),
    "delete with options": lambda client: client.delete(NODES, "n", uid="x"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_strangers_are_told_so_whatever_they_try(name: str, tmp_path: Path) -> None:
    async def attempt(client: HttpClient) -> None:
        told = {}
        for verb, tried in ATTEMPTS.items():
            try:
                told[verb] = str(await tried(client))
            except ApiError as error:
                told[verb] = error.reason
        assert told == dict.fromkeys(ATTEMPTS, "Unauthorized")

    _try(STRANGERS[name], tmp_path, attempt)


@pytest.mark.parametrize(
    "way",
    [
        lambda access: access._replace(certificate_authority=b""),
        lambda access: access._replace(server_name="somewhere.else"),
    ],
)
def test_a_server_that_is_not_trusted_is_not_talked_to(way: Way, tmp_path: Path) -> None:
    async def attempt(client: HttpClient) -> None:
        with pytest.raises(Unreachable, match="the server's certificate is not trusted"):
            await client.list_all(NODES)

    _try(way, tmp_path, attempt)
