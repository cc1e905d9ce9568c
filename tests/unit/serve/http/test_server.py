import asyncio
import datetime
import resource
import ssl
from pathlib import Path

import pytest
from tests.log_text import log_text
from tests.unit.serve.http.serving import connect, echo, serving

from moorage.serve.http.messages import Request, Response
from moorage.serve.http.receiving import Limits
from moorage.serve.http.server import Server
from moorage.serve.pki.authentication import ADMIN
from moorage.serve.pki.authenticator import Authenticator
from moorage.serve.pki.credentials import Credentials, open_credentials, server_names

pytestmark = pytest.mark.real_time(loop="uvloop")


@pytest.fixture(scope="module")
def credentials() -> Credentials:
    return open_credentials(None, server_names("127.0.0.1"), datetime.datetime.now(datetime.UTC))


def client_context(credentials: Credentials, directory: Path | None = None) -> ssl.SSLContext:
    """What a careful client uses, with the administrator's certificate if there is a directory to put it in."""
    context = ssl.create_default_context(cadata=credentials.authority.issued.certificate.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    if directory is not None:
        chain = directory / "client.pem"
        chain.write_bytes(credentials.admin.certificate + credentials.admin.key)
        context.load_cert_chain(chain)
    return context


async def test_a_client_certificate_says_who_asks(credentials: Credentials, tmp_path: Path) -> None:
    authenticator = Authenticator({credentials.token: ADMIN})

    async def handler(request: Request) -> Response:
        return Response(200, authenticator.authenticate(request).name.encode())

    async with serving(handler, context=credentials.server_context()) as server:
        known = await connect(server, client_context(credentials, tmp_path))
        known.send("GET /api")
        assert (await known.answer()).body == b"kubernetes-admin"
        stranger = await connect(server, client_context(credentials))
        stranger.send("GET /api")
        assert (await stranger.answer()).reason == "Unauthorized"
        stranger.send("GET /api", f"Authorization: Bearer {credentials.token}")
        assert (await stranger.answer()).body == b"kubernetes-admin"
        stranger.send("GET /livez")
        assert (await stranger.answer()).body == b"system:anonymous"


async def test_a_certificate_of_another_authority_is_refused_by_tls(credentials: Credentials, tmp_path: Path) -> None:
    other = open_credentials(None, server_names("127.0.0.1"), datetime.datetime.now(datetime.UTC))
    async with serving(context=credentials.server_context()) as server:
        context = client_context(credentials)
        chain = tmp_path / "other.pem"
        chain.write_bytes(other.admin.certificate + other.admin.key)
        context.load_cert_chain(chain)

        async def ask() -> None:
            client = await connect(server, context)
            client.send("GET /")
            await client.answer()

        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            await ask()
        with pytest.raises(ssl.SSLCertVerificationError):
            await connect(server, client_context(other))


async def test_large_answers_and_streams_of_bodies_pass_through_tls(credentials: Credentials) -> None:
    body = b"x" * 10_000_000

    async def handler(request: Request) -> Response:
        return Response(200, body)

    async with serving(handler, context=credentials.server_context()) as server:
        client = await connect(server, client_context(credentials))
        client.send("POST /", "Content-Length: 3000000", body=b"y" * 3_000_000)
        assert (await client.answer()).body == body


async def test_stop_lets_requests_finish_and_takes_no_more() -> None:
    reached, let_go = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        reached.set()
        await let_go.wait()
        return await echo(request)

    async with serving(handler) as server:
        busy, idle = await connect(server), await connect(server)
        busy.send("GET /a")
        busy.send("GET /b")
        await reached.wait()
        stopping = asyncio.ensure_future(server.stop(5.0))
        assert await idle.is_closed()
        with pytest.raises(OSError, match=r"refused|Connect call failed"):
            await connect(server)
        let_go.set()
        first, second = await busy.answer(), await busy.answer()
        assert ("connection" in first.headers, second.headers["connection"]) == (False, "close")
        await stopping


async def test_a_connection_whose_handshake_ends_after_the_stop_is_told_to_come_back(credentials: Credentials) -> None:
    reached, let_go = asyncio.Event(), asyncio.Event()

    async def handler(request: Request) -> Response:
        reached.set()
        await let_go.wait()
        return await echo(request)

    async with serving(handler, context=credentials.server_context()) as server:
        context = client_context(credentials)
        busy = await connect(server, context)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        busy.send("GET /a")
        await reached.wait()
        while len(server.connections) < 1:
            await asyncio.sleep(0)
        stopping = asyncio.ensure_future(server.stop(5.0))
        await asyncio.sleep(0.05)
        await writer.start_tls(context, server_hostname="127.0.0.1")
        answer = (await reader.read()).decode()
        assert answer.startswith("HTTP/1.1 503 ")
        assert "\r\nRetry-After: 1\r\n" in answer
        assert '"reason":"ServiceUnavailable"' in answer
        let_go.set()
        assert (await busy.answer()).status == 200
        await stopping


async def test_stop_answers_a_request_whose_body_is_still_on_its_way() -> None:
    passed = asyncio.Event()
    async with serving(gate=lambda request: passed.set()) as server:
        client, idle = await connect(server), await connect(server)
        client.send("POST /a", "Content-Length: 4", body=b"ab")
        await passed.wait()
        stopping = asyncio.ensure_future(server.stop(5.0))
        assert await idle.is_closed()
        client.writer.write(b"cd")
        answer = await client.answer()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        await stopping


async def test_stop_waits_no_longer_than_its_timeout(caplog: pytest.LogCaptureFixture) -> None:
    reached = asyncio.Event()

    async def handler(request: Request) -> Response:
        reached.set()
        await asyncio.Event().wait()
        return Response(200)

    server = Server(handler)
    await server.start("127.0.0.1", 0, None)
    client = await connect(server)
    client.send("GET /")
    await reached.wait()
    await server.stop(0.01)
    assert await client.is_closed()
    await server.stop(0.01)
    assert "connections=1" in log_text(caplog)


def test_a_process_that_may_open_few_files_takes_fewer_connections() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert Server(echo, Limits(connections=2)).limits.connections == 2
    assert 0 < Server(echo, Limits(connections=10**9)).limits.connections <= before[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_port_in_use_is_an_os_error() -> None:
    async with serving() as server:
        with pytest.raises(OSError, match=r"^\[Errno \d+\] Address already in use$"):
            await Server(echo).start("127.0.0.1", server.port, None)
