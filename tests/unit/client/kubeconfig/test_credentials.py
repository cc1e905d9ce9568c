"""Credentials: headers, files that change, plugins that are run, and what is said when they fail."""

import asyncio
import json
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from tests.unit.client.small_server import Asked, Reply, small_server

from moorage.client.http_client import HttpClient
from moorage.client.kubeconfig.access import Access, Credentials, ExecPlugin, KubeconfigError
from moorage.client.protocol import Unreachable
from moorage.model.api_error import ApiError, unauthorized
from moorage.model.kinds import KINDS

pytestmark = pytest.mark.real_time

VERSION = "client.authentication.k8s.io/v1"


def _plugin(script: str, **options: Any) -> ExecPlugin:
    return ExecPlugin(sys.executable, ("-c", script), **options)


def _printing(**status: Any) -> ExecPlugin:
    credential = {"apiVersion": VERSION, "kind": "ExecCredential", "status": status}
    return _plugin(f"print({json.dumps(credential)!r})")


def _refreshed(access: Access, now: float = 1000.0) -> Credentials:
    credentials = Credentials(access, now=lambda: now)
    asyncio.run(credentials.refresh())
    return credentials


def test_headers() -> None:
    def header(**fields: str) -> bytes:
        return Credentials(Access("https://x", **fields), now=lambda: 0.0).authorization  # type: ignore[arg-type]

    assert header() == b""
    assert header(token="t") == b"Bearer t"
    assert header(username="me", password="pass") == b"Basic " + b64encode(b"me:pass")
    with pytest.raises(KubeconfigError, match="token"):
        header(token="a\r\nEvil: b")


def test_a_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    access = Access("https://x", token="never used", token_file=str(file), origin="o")
    credentials = _refreshed(access)
    assert (credentials.authorization, credentials.expires) == (b"Bearer one", 1060.0)
    file.unlink()
    with pytest.raises(KubeconfigError, match="o: tokenFile: cannot read"):
        asyncio.run(credentials.refresh())


def test_a_plugin_gives_a_token_for_a_while() -> None:
    plugin = _printing(token="t", expirationTimestamp="2033-05-18T03:33:20Z")
    credentials = _refreshed(Access("https://x", plugin=plugin))
    assert (credentials.authorization, credentials.expires) == (b"Bearer t", 2e9)


def test_a_plugin_can_give_a_certificate() -> None:
    plugin = _printing(clientCertificateData="CERT", clientKeyData="KEY")
    credentials = _refreshed(Access("https://x", plugin=plugin))
    assert credentials.certificate == (b"CERT", b"KEY")
    assert credentials.authorization == b""


def test_an_exec_plugin_gets_the_cluster_that_it_is_for() -> None:
    script = """
import json, os
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert info["spec"]["interactive"] is False and info["kind"] == "ExecCredential", info
token = info["spec"]["cluster"]["server"] + os.environ["EXTRA"]
print(json.dumps({"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": {"token": token}}))
"""
    plugin = _plugin(script, provide_cluster_info=True, environment=(("EXTRA", "!"),), interactive_mode="Never")
    access = Access("https://x", certificate_authority=b"CA", server_name="n", plugin=plugin)
    assert _refreshed(access).authorization == b"Bearer https://x!"


@pytest.mark.parametrize(
    ("plugin", "complaint"),
    [
        (ExecPlugin("/does/not/exist", install_hint="get it at x"), "cannot be run.*\n.*get it at x"),
        (_plugin("raise SystemExit(3)"), "failed with exit code 3"),
        (_plugin("print('hello')"), "did not print an ExecCredential"),
        (_plugin("print('{}')"), "did not print an ExecCredential"),
        (_plugin("import sys; sys.stdout.write('x' * 5_000_000)"), "printed more than 1048576 bytes"),
        # Its child goes on to print after the plugin was killed.
        (_plugin("import subprocess; subprocess.run(['yes'])"), "printed more than 1048576 bytes"),
        (_plugin(f"print({json.dumps({'apiVersion': 'v9', 'kind': 'Pod', 'status': {}})!r})"), "printed v9 Pod, not"),
        (_printing(), "gave neither a token nor a certificate"),
        (_printing(clientCertificateData="x"), "gave neither a token nor a certificate with its key"),
        (_printing(token=5), "a status that is not one"),
        (_printing(token="t", expirationTimestamp="soon"), "expirationTimestamp that is no time"),
        (_plugin("", interactive_mode="Always"), "there is no terminal"),
    ],
)
def test_a_plugin_that_fails_is_named(plugin: ExecPlugin, complaint: str) -> None:
    with pytest.raises(KubeconfigError, match=f"(?s)o: exec: .*{complaint}"):
        _refreshed(Access("https://x", plugin=plugin, origin="o"))


def _counting(directory: Path, **status: Any) -> ExecPlugin:
    """Gives the tokens t1, t2, … one at each run."""
    script = f"""
import json, pathlib
file = pathlib.Path({str(directory / "runs")!r})
runs = int(file.read_text()) + 1 if file.exists() else 1
file.write_text(str(runs))
status = {{"token": f"t{{runs}}", **{status!r}}}
print(json.dumps({{"apiVersion": {VERSION!r}, "kind": "ExecCredential", "status": status}}))
"""
    return _plugin(script)


async def test_a_refused_token_is_renewed_once_for_all_waiting_requests(tmp_path: Path) -> None:
    async def answering(asked: Asked, reply: Reply) -> None:
        if asked.headers["authorization"] == "Bearer t2":
            reply.say(200, {"metadata": {"name": "n"}})
        else:
            reply.say(401, unauthorized().status)

    async with small_server(answering) as (_, access):
        client = HttpClient(access._replace(plugin=_counting(tmp_path)))
        await asyncio.gather(*(client.get(KINDS.NODE, "n") for _ in range(5)))
        assert (tmp_path / "runs").read_text() == "2"
        await client.close()


async def test_an_expired_token_is_renewed_before_it_is_sent(tmp_path: Path) -> None:
    now = 1_000_000_000.0

    async def answering(asked: Asked, reply: Reply) -> None:
        reply.say(200, {"metadata": {"name": "n"}})

    async with small_server(answering) as (server, access):
        plugin = _counting(tmp_path, expirationTimestamp="2001-09-09T01:50:00Z")
        client = HttpClient(access._replace(plugin=plugin), clock=lambda: now)
        await client.get(KINDS.NODE, "n")
        await client.get(KINDS.NODE, "n")
        now += 1000
        await client.get(KINDS.NODE, "n")
        assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer t1", "Bearer t1", "Bearer t2"]
        await client.close()


async def test_a_token_that_stays_refused_is_not_asked_for_again_and_again(tmp_path: Path) -> None:
    async def answering(asked: Asked, reply: Reply) -> None:
        reply.say(401, unauthorized().status)

    async with small_server(answering) as (server, access):
        client = HttpClient(access._replace(plugin=_counting(tmp_path)))
        with pytest.raises(ApiError, match="Unauthorized"):
            await client.get(KINDS.NODE, "n")
        assert len(server.asked) == 2
        await client.close()


async def test_a_plugin_that_fails_makes_the_server_unreachable() -> None:
    client = HttpClient(Access("http://127.0.0.1:1", plugin=_plugin("raise SystemExit(1)"), origin="o"))
    with pytest.raises(Unreachable, match=r"o: exec: .* failed with exit code 1"):
        await client.get(KINDS.NODE, "n")
    await client.close()
