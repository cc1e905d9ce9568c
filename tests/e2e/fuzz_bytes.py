"""Bytes that are nearly HTTP: request lines, headers, lengths and chunks that no client should send.

In: a seeded `Random` and a token that lets in. Out: what to write to a connection, and whether more is to be promised
than is sent.
"""

from random import Random

from tests.e2e.fuzz_bodies import exchanged
from tests.e2e.fuzz_requests import Asked

_LINES = (
    b"GET / HTTP/1.1",
    b"GET /",
    b"GET  /  HTTP/1.1",
    b"get / http/1.1",
    b"GET / HTTP/9.9",
    b"GET / HTTP/1.0",
    b"GET / HTTP/2.0",
    b"PRI * HTTP/2.0",
    b"GET http://[::1/ HTTP/1.1",
    b"OPTIONS * HTTP/1.1",
    b"CONNECT x:443 HTTP/1.1",
    b"\x16\x03\x01\x02\x00\x01",
    b"GET /\x00 HTTP/1.1",
    b"GET /\xff\xfe HTTP/1.1",
    b"GET /api/v1/pods?watch=1&timeoutSeconds=0 HTTP/1.1",
    b"POST /api/v1/namespaces/default/configmaps HTTP/1.1",
    b"DELETE /api/v1/namespaces/default/configmaps HTTP/1.1",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1",
    b"A" * 5_000,
    b"",
)
_HEADERS = (
    b"Host: x",
    b"Host: x\r\nHost: y",
    b"Host:",
    b"Content-Length: 5",
    b"Content-Length: -1",
    b"Content-Length: 5, 5",
    b"Content-Length: 5\r\nContent-Length: 6",
    b"Content-Length: 99999999999999999999",
    b"Content-Length: 4000000",
    b"Content-Length: 0x5",
    b"Content-Length: \xef\xbc\x95",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding: chunked\r\nContent-Length: 5",
    b"Transfer-Encoding : chunked",
    b"Expect: 100-continue",
    b"Expect: tea",
    b"Connection: close",
    b"Connection: Upgrade\r\nUpgrade: websocket",
    b"Connection: keep-alive, x",
    b"Content-Encoding: gzip",
    b"Accept-Encoding: gzip",
    b" folded: header",
    b"a: b\r\n c",
    b"no colon",
    b": empty",
    b"x: \x00",
    b"x: \xff",
    b"x" * 9_000 + b": y",
    b"x: " + b"y" * 70_000,
    b"\r\n".join(b"x%d: y" % number for number in range(200)),
    b"Content-Type: application/json",
)
_ENDS = (
    b"",
    b"hello",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
    b"5;ext=1\r\nhello\r\n0\r\n\r\n",
    b"-5\r\nhello\r\n",
    b"ffffffffffffffffff\r\nhello",
    b"zz\r\n",
    b"5\r\nhel",
    b"{}" * 3,
    b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 3,
)


def raw_request(random: Random, token: str) -> bytes:
    """One to three of them, pipelined."""
    return b"".join(_one(random, token) for _ in range(random.choice((1, 1, 1, 2, 3))))


def _one(random: Random, token: str) -> bytes:
    headers = random.sample(_HEADERS, random.randrange(4))
    if random.random() < 0.7:
        headers.append(b"Host: x")
    if random.random() < 0.7:
        headers.append(b"Authorization: Bearer " + token.encode())
    ending = b"\r\n" if random.random() < 0.9 else b"\n"
    data = ending.join([random.choice(_LINES), *headers, b"", b""]) + random.choice(_ENDS)
    return exchanged(random, data) if random.random() < 0.2 else data


def wire_form(asked: Asked, token: str) -> bytes:
    """A request of `fuzz_requests` as a client would send it, were it sent at all."""
    target = asked.target.encode("utf-8").replace(b" ", b"%20") or b"/"
    head = [f"{asked.method} ".encode() + target + b" HTTP/1.1", b"Host: x", b"Authorization: Bearer " + token.encode()]
    head += [f"{name}: {_one_line(value)}".encode() for name, value in asked.headers.items()]
    return b"\r\n".join([*head, b"Content-Length: %d" % len(asked.body), b"", b""]) + asked.body


def _one_line(text: str) -> str:
    return "".join(char for char in text if char.isprintable())
