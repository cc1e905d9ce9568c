"""Call webhooks over real sockets: those that answer, and those that hang, flood, close, redirect and lie."""

import asyncio
import datetime
import json
import ssl
import time

import pytest
from tests.unit.serve.webhooks.hostile import (
    AUTHORITY,
    NOW,
    OK,
    Behave,
    Hostile,
    close,
    context_of,
    drip,
    flood,
    hang,
    plain,
    request_of,
    saying,
    serving,
)

from moorage.admit.extension.steps import WebhookAnswer, WebhookCall
from moorage.model.types.extension.admission_policies import ServiceReference, WebhookClientConfig
from moorage.serve.pki.certificates import Authority
from moorage.serve.webhooks.client import MAX_ANSWER_BYTES, WebhookClient, go_seconds, is_small
from moorage.serve.webhooks.connections import MOST_CONNECTIONS, MOST_WAITING
from moorage.testing import WebhookServer

pytestmark = pytest.mark.real_time(loop="uvloop")
REVIEW = json.loads(OK)


@pytest.fixture
def client() -> WebhookClient:
    return WebhookClient()


async def ask(client: WebhookClient, *calls: WebhookCall) -> list[WebhookAnswer]:
    try:
        return await client.answer(calls)
    finally:
        client.close()


async def failure_of(client: WebhookClient, behave: Behave, seconds: float = 5) -> tuple[str, Hostile]:
    async with serving(behave) as server:
        [answer] = await ask(client, server.call(seconds=seconds))
    assert answer.review is None
    return answer.failure, server


async def no_longer_open(client: WebhookClient) -> None:
    """Wait until the server has closed the connections that are kept."""
    (connections,) = client._targets.values()
    while any(connection.usable for connection in connections._idle):
        await asyncio.sleep(0.001)


async def test_answers_come_in_the_order_of_calls_made_at_the_same_time(client: WebhookClient) -> None:
    everybody_asked = asyncio.Event()
    asked: list[bytes] = []

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await request_of(reader)
        asked.append(head)
        if len(asked) == 3:
            everybody_asked.set()
        await everybody_asked.wait()  # no call is answered before all were made
        writer.write(plain(json.dumps({"path": head.split()[1].decode()}).encode()))

    async with serving(behave) as server:
        answers = await ask(client, *(server.call(path=path) for path in ("/a", "/b", "/c")))
    assert [answer.review["path"] for answer in answers] == ["/a?timeout=5s", "/b?timeout=5s", "/c?timeout=5s"]


async def test_request_has_the_headers_of_kubernetes_and_nothing_of_the_client(client: WebhookClient) -> None:
    heads: list[bytes] = []

    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await request_of(reader))
        writer.write(plain(OK))

    async with serving(behave) as server:
        [answer] = await ask(client, server.call(path="/a%20b/../x/"))
    assert answer.review == REVIEW
    head, _, body = heads[0].partition(b"\r\n\r\n")
    request, *headers = head.decode().split("\r\n")
    assert request == "POST /x?timeout=5s HTTP/1.1"
    assert dict(line.split(": ", 1) for line in headers) == {
        "Host": f"127.0.0.1:{server.port}",
        "User-Agent": "kube-apiserver-admission",
        "Content-Length": str(len(body)),
        "Accept": "application/json, */*",
        "Content-Type": "application/json",
        "Accept-Encoding": "identity",
    }


async def test_connections_are_kept_and_bounded(client: WebhookClient) -> None:
    async with serving(saying(plain(OK))) as server:
        for _ in range(5):
            assert (await client.answer([server.call()]))[0].review == REVIEW
        assert len(server.accepted) == 1
        answers = await ask(client, *[server.call() for _ in range(4 * MOST_CONNECTIONS)])
    assert all(answer.review == REVIEW for answer in answers)
    assert len(server.accepted) <= MOST_CONNECTIONS + 1


async def test_kept_connection_that_the_server_closed_is_replaced(client: WebhookClient) -> None:
    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(plain(OK))

    async with serving(once) as server:
        assert (await client.answer([server.call()]))[0].review == REVIEW
        await no_longer_open(client)
        assert (await ask(client, server.call()))[0].review == REVIEW
    assert len(server.accepted) == 2


async def test_call_on_a_kept_connection_is_made_once(client: WebhookClient) -> None:
    asked: list[bytes] = []

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(plain(OK))
        asked.append(await request_of(reader))  # and goes away when it is asked again

    async with serving(once) as server:
        assert (await client.answer([server.call()]))[0].review == REVIEW
        (answer,) = await client.answer([server.call()])
    assert answer.failure.endswith(": EOF")
    assert (len(server.accepted), len(asked)) == (1, 1)


async def test_webhook_that_hangs(client: WebhookClient) -> None:
    failure, server = await failure_of(client, hang, seconds=1)
    assert failure == server.post(1) + "context deadline exceeded"


async def test_webhook_that_closes(client: WebhookClient) -> None:
    failure, server = await failure_of(client, close)
    assert failure == server.post() + "EOF"


async def test_webhook_that_drips(client: WebhookClient) -> None:
    failure, _ = await failure_of(client, drip, seconds=1)
    reading = "failed to call webhook: unexpected error when reading response body. Please retry. Original error: "
    assert failure == reading + "context deadline exceeded"


async def test_webhook_that_ends_in_the_middle(client: WebhookClient) -> None:
    failure, _ = await failure_of(client, flood(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", b"{", 1))
    assert failure.endswith("Original error: unexpected EOF")


_CHUNK = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
FLOODS = {
    "body": flood(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n", b" " * (1 << 20), 100),
    "chunks": flood(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", _CHUNK, 100),
    "endless": flood(b"HTTP/1.0 200 OK\r\n\r\n", b" " * (1 << 20), 100),
    "one header": flood(b"HTTP/1.1 200 OK\r\nX-Much: ", b"x" * (1 << 20), 100),
    "interim answers": flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 40_000, 100),
}


@pytest.mark.parametrize("form", FLOODS)
async def test_flood_of_100_megabytes_is_cut_off(client: WebhookClient, form: str) -> None:
    sent = 0
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    other = asyncio.create_task(others())
    try:
        failure, _ = await failure_of(client, FLOODS[form])
    finally:
        other.cancel()
    assert "answered with more than" in failure or "does not speak HTTP" in failure
    assert turns > sent + MAX_ANSWER_BYTES // (1 << 20)  # the loop turned between the pieces


async def test_other_requests_go_on_while_a_webhook_hangs(client: WebhookClient) -> None:
    async with serving(hang) as dead, serving(saying(plain(OK))) as alive:
        waiting = [asyncio.create_task(client.answer([dead.call(seconds=30)])) for _ in range(3 * MOST_CONNECTIONS)]
        for _ in range(200):
            assert (await client.answer([alive.call()]))[0].review == REVIEW
        assert len(dead.accepted) <= MOST_CONNECTIONS
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        client.close()


async def test_calls_beyond_a_bound_are_refused_at_once(client: WebhookClient) -> None:
    async with serving(hang) as dead:
        waiting = [
            asyncio.create_task(client.answer([dead.call(seconds=30)])) for _ in range(MOST_CONNECTIONS + MOST_WAITING)
        ]
        while sum(connections.waiting for connections in client._targets.values()) < MOST_WAITING:
            await asyncio.sleep(0)
        [answer] = await client.answer([dead.call(seconds=30)])
        assert "wait for their turn" in answer.failure
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        client.close()


async def test_redirects_are_not_followed(client: WebhookClient) -> None:
    async with serving(saying(plain(OK))) as other:
        location = f"Location: https://127.0.0.1:{other.port}/x\r\n"
        for status in ("302 Found", "307 Temporary Redirect", "308 Permanent Redirect"):
            failure, _ = await failure_of(client, saying(plain(b"", status, headers=location)))
            assert "redirect" in failure
            assert "not followed" in failure
    assert not other.accepted


ANSWERS = [
    (plain(b"nope", "404 Not Found", "text/plain"), "the server could not find the requested resource"),
    (plain(b"denied", "403 Forbidden", "text/plain"), "denied"),
    *(
        (plain(b"", status), f"the server responded with the status code {status[:3]} but did not return more")
        for status in ("301 Moved", "304 Not Modified")  # a redirect says where to
    ),
    (plain(b"x", "400 Bad Request", "text/plain"), "the server rejected our request for an unknown reason"),
    (
        plain(b"boom", "500 Internal Server Error", "text/plain; charset=utf-8"),
        'an error on the server ("boom") has prevented the request from succeeding',
    ),
    (plain(OK, "500 Oh"), 'an error on the server ("unknown") has prevented the request from succeeding'),
    (
        plain(b"<html>bad gateway</html>", "502 Bad Gateway", "text/html"),
        'an error on the server ("<html>bad gateway</html>") has prevented the request from succeeding',
    ),
    (
        plain(b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"unavailable"}', "503 Unavailable"),
        "unavailable",
    ),
    (
        plain(b"", "204 No Content"),
        "0-length response with status code: 204 and content type: application/json",
    ),
    (
        plain(b"garbage"),
        "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct "
        '{ APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
    ),
    (plain(b'{"a":'), "couldn't get version/kind; json parse error: unexpected end of JSON input"),
    (plain(b"[" * 100_000), "yaml: nested deeper than 200 levels"),
]


@pytest.mark.parametrize(("answer", "text"), ANSWERS)
async def test_words_of_answers_that_are_no_reviews(client: WebhookClient, answer: bytes, text: str) -> None:
    failure, _ = await failure_of(client, saying(answer))
    assert failure.startswith(f"failed to call webhook: {text}")


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "206 Partial Content"])
async def test_successes(client: WebhookClient, status: str) -> None:
    async with serving(saying(plain(OK, status, "text/plain"))) as server:
        assert (await ask(client, server.call()))[0].review == REVIEW


async def test_null_is_a_document(client: WebhookClient) -> None:
    async with serving(saying(plain(b"null"))) as server:
        [answer] = await ask(client, server.call())
    assert (answer.review, answer.failure, answer.not_called) == (None, "", False)


async def test_no_server(client: WebhookClient) -> None:
    async with serving(hang) as server:
        pass
    [answer] = await ask(client, server.call())
    where = f"127.0.0.1:{server.port}"
    assert answer.failure == f"{server.post()}dial tcp {where}: connect: connection refused"


async def test_server_without_tls(client: WebhookClient) -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with serving(behave, has_tls=False) as hostile:
        [answer] = await ask(client, hostile.call())
    assert answer.failure == hostile.post() + "tls: first record does not look like a TLS handshake"


async def test_server_that_closes_in_the_handshake(client: WebhookClient) -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.close()

    async with serving(behave, has_tls=False) as hostile:
        [answer] = await ask(client, hostile.call())
    assert answer.failure.endswith(": EOF") or "connection reset by peer" in answer.failure


async def test_server_that_hangs_in_the_handshake(client: WebhookClient) -> None:
    async def behave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3600)

    async with serving(behave, has_tls=False) as hostile:
        [answer] = await ask(client, hostile.call(seconds=1))
    assert answer.failure == hostile.post(1) + "context deadline exceeded"


async def test_calls_that_end_during_their_handshakes_leave_no_errors_behind(client: WebhookClient) -> None:
    loop = asyncio.get_running_loop()
    errors: list[object] = []
    loop.set_exception_handler(lambda _, context: errors.append(context))
    with WebhookServer() as server:
        config = server.client_config
        hook = WebhookClientConfig(url=config["url"], caBundle=config["caBundle"])
        call = WebhookCall("hooks", "a.example.com", hook, {}, 0.05, False)
        answers = asyncio.gather(*[client.answer([call]) for _ in range(16)])
        while not client._targets:
            await asyncio.sleep(0)
        for _ in range(10):  # handshakes go on when deadlines have passed
            time.sleep(0.06)  # the loop is to stand still
            await asyncio.sleep(0)
        assert all("context deadline exceeded" in answer.failure for [answer] in await answers if answer.failure)
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0)
        client.close()
    assert errors == []


def _tls_1_0() -> ssl.SSLContext:
    context = context_of(AUTHORITY.issue_server(["127.0.0.1"]))
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1
    return context


def _expired() -> ssl.SSLContext:
    long_ago = NOW - datetime.timedelta(days=800)
    return context_of(Authority(AUTHORITY.issued, long_ago).issue_server(["127.0.0.1"]))


def _of_another_authority() -> ssl.SSLContext:
    return context_of(Authority.create(NOW).issue_server(["127.0.0.1"]))


X509 = "tls: failed to verify certificate: x509: "
CERTIFICATES = {
    "expired": (_expired, X509 + "certificate has expired or is not yet valid"),
    "unknown authority": (_of_another_authority, X509 + "certificate signed by unknown authority"),
    "other name": (lambda: context_of(AUTHORITY.issue_server(["b.example.com"])), X509 + "cannot validate certificate"),
    "TLS 1.0": (_tls_1_0, ""),
}


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1 is deprecated")
@pytest.mark.parametrize("problem", CERTIFICATES)
async def test_servers_that_are_not_trusted(client: WebhookClient, problem: str) -> None:
    context, text = CERTIFICATES[problem]
    async with serving(saying(plain(OK)), context()) as server:
        [answer] = await ask(client, server.call())
    assert answer.failure.startswith(server.post() + text), answer.failure
    assert answer.review is None


async def test_without_a_bundle_the_authorities_of_the_system_are_trusted(client: WebhookClient) -> None:
    async with serving(saying(plain(OK))) as server:
        [answer] = await ask(client, server.call(bundle=b""))
    assert answer.failure == server.post() + X509 + "certificate signed by unknown authority"


async def test_certificate_that_signs_itself_is_trusted_if_it_is_in_the_bundle(client: WebhookClient) -> None:
    issued = AUTHORITY.issue_server(["127.0.0.1"])
    async with serving(saying(plain(OK)), context_of(issued)) as server:
        [answer] = await ask(client, server.call(bundle=issued.certificate))
    assert answer.review == REVIEW


async def test_bundle_that_is_none(client: WebhookClient) -> None:
    async with serving(saying(plain(OK))) as server:
        [answer] = await ask(client, server.call(bundle=b"nothing"))
    assert answer.failure.startswith("could not get REST client: unable to load root certificates: ")
    assert answer.code == 500


@pytest.mark.parametrize(
    ("service", "url"),
    [
        (ServiceReference("team-a", "nosvc", "/p"), "https://nosvc.team-a.svc:443/p"),
        (ServiceReference("team-a", "nosvc", None, 8443), "https://nosvc.team-a.svc:8443/"),
    ],
)
async def test_service_that_is_not_there(client: WebhookClient, service: ServiceReference, url: str) -> None:
    call = WebhookCall("hooks", "a.example.com", WebhookClientConfig(service=service), {}, 5, False)
    [answer] = await ask(client, call)
    assert answer.failure == f'failed to call webhook: Post "{url}?timeout=5s": service "nosvc" not found'


def test_seconds_are_written_as_go_does() -> None:
    assert [go_seconds(seconds) for seconds in (1, 1.2, 30, 60, 90)] == ["1s", "2s", "30s", "1m0s", "1m30s"]


def test_large_documents_are_recognised_without_looking_at_all_of_them() -> None:
    assert is_small({"a": [{"b": "c"}] * 100})
    assert not is_small({"a": [{"b": "c"}] * 10_000})
    assert not is_small({"a": "x" * 100_000})
