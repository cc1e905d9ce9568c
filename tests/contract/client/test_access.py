"""Ways into a real server: by token, by certificate, by plugin, and ways that do not lead in."""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.contract.client.transports import running_server

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import Access, ExecPlugin
from moorage.client.kubeconfig.loading import load_access
from moorage.client.protocol import Unreachable
from moorage.cluster.api_server import ApiServer
from moorage.model.api_error import ApiError
from moorage.model.kinds import KINDS

pytestmark = pytest.mark.real_time

Way = Callable[[Access], Access]


@asynccontextmanager
async def entered(way: Way, directory: Path) -> AsyncIterator[HttpClient]:
    async with running_server() as server:
        client = HttpClient(way(_administrator(server, directory)))
        try:
            yield client
        finally:
            await client.close()


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
async def test_ways_that_lead_in(name: str, tmp_path: Path) -> None:
    async with entered(WAYS[name], tmp_path) as client:
        assert (await client.list_all(KINDS.NODE)).items == []


STRANGERS: dict[str, Way] = {
    "a wrong token": lambda access: access._replace(token="guess", client_certificate=b"", client_key=b""),
    "nothing to show": lambda access: access._replace(token="", client_certificate=b"", client_key=b""),
}
ATTEMPTS: dict[str, Callable[[HttpClient], Awaitable[object]]] = {
    "get": lambda client: client.get(KINDS.NODE, "n"),
    "list": lambda client: client.list_all(KINDS.NODE),
    "watch": lambda client: anext(
        client.watch(KINDS.NODE, 10**9)
    ),  # whoever is let in is told that there is no such revision
    "create": lambda client: client.create(KINDS.NODE, {"metadata": {"name": "n"}}),
    "patch": lambda client: client.patch(KINDS.NODE, "n", "", {}),
    "delete": lambda client: client.delete(KINDS.NODE, "n"),
    "delete with options": lambda client: client.delete(KINDS.NODE, "n", uid="x"),
}


@pytest.mark.parametrize("name", STRANGERS)
async def test_strangers_are_told_so_whatever_they_try(name: str, tmp_path: Path) -> None:
    async with entered(STRANGERS[name], tmp_path) as client:
        told = {}
        for verb, tried in ATTEMPTS.items():
            try:
                told[verb] = str(await tried(client))
            except ApiError as error:
                told[verb] = error.reason
        assert told == dict.fromkeys(ATTEMPTS, "Unauthorized")


@pytest.mark.parametrize(
    "way",
    [
        lambda access: access._replace(certificate_authority=b""),
        lambda access: access._replace(server_name="somewhere.else"),
    ],
)
async def test_a_server_that_is_not_trusted_is_not_talked_to(way: Way, tmp_path: Path) -> None:
    async with entered(way, tmp_path) as client:
        with pytest.raises(Unreachable, match="the server's certificate is not trusted"):
            await client.list_all(KINDS.NODE)
