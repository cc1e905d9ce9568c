"""A request that servers read in different ways is refused, and no second request is read from its body.

Each head is sent with a body in which a proxy may see no request, and this server could see one. What is refused is
closed, so that nothing behind it is read. Kubernetes: readTransfer of net/http.
"""

import pytest
from tests.unit.serve.http.serving import connect, serving

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked"


def _posted(*headers: bytes, body: bytes = b"0\r\n\r\n", version: bytes = b"1.1") -> bytes:
    lines = (b"POST /a HTTP/" + version, b"Host: x", *headers, b"", b"")
    return b"\r\n".join(lines) + body + SMUGGLED


REFUSED = {
    "identity, chunked": (501, _posted(b"Transfer-Encoding: identity, chunked")),
    "gzip, chunked": (501, _posted(b"Transfer-Encoding: gzip, chunked")),
    "an empty coding": (501, _posted(b"Transfer-Encoding: ,chunked")),
    "unknown coding before": (501, _posted(b"Transfer-Encoding: cow", CHUNKED)),
    "identity before": (501, _posted(b"Transfer-Encoding: identity", CHUNKED)),
    "identity": (501, _posted(b"Transfer-Encoding: identity")),
    "chunked twice": (400, _posted(b"Transfer-Encoding: chunked, chunked")),
    "chunked on two lines": (400, _posted(CHUNKED, CHUNKED)),
    "identity after": (400, _posted(b"Transfer-Encoding: chunked, identity")),
    "identity after, on two lines": (400, _posted(CHUNKED, b"Transfer-Encoding: identity")),
    "trailing comma": (400, _posted(b"Transfer-Encoding: chunked,")),
    "parameter": (501, _posted(b"Transfer-Encoding: chunked;q=1")),
    "quoted": (501, _posted(b'Transfer-Encoding: "chunked"')),
    "another word": (501, _posted(b"Transfer-Encoding: xchunked")),
    "vertical tab": (400, _posted(b"Transfer-Encoding: \x0bchunked")),
    "nothing": (400, _posted(b"Transfer-Encoding:")),
    "space before the colon": (400, _posted(b"Transfer-Encoding : chunked")),
    "tab before the colon": (400, _posted(b"Transfer-Encoding\t: chunked")),
    "space before the name": (400, _posted(b" Transfer-Encoding: chunked")),
    "folded line": (400, _posted(b"Transfer-Encoding:\r\n chunked")),
    "folded other line": (400, _posted(b"X: a\r\n " + CHUNKED)),
    "bare line feed": (400, _posted(b"X: a\n" + CHUNKED)),
    "bare carriage return": (400, _posted(b"X: a\r" + CHUNKED)),
    "length, then encoding": (400, _posted(b"Content-Length: 5", CHUNKED)),
    "encoding, then length": (400, _posted(CHUNKED, b"Content-Length: 5")),
    "two equal lengths": (400, _posted(b"Content-Length: 5", b"Content-Length: 5")),
    "two lengths": (400, _posted(b"Content-Length: 5", b"Content-Length: 6")),
    "a list of lengths": (400, _posted(b"Content-Length: 5, 5")),
    "a signed length": (400, _posted(b"Content-Length: +5")),
    "a hexadecimal length": (400, _posted(b"Content-Length: 0x5")),
    "no length": (400, _posted(b"Content-Length:")),
    "encoding of HTTP/1.0": (400, _posted(CHUNKED, version=b"1.0")),
    "HTTP/2.0": (505, _posted(CHUNKED, version=b"2.0")),
    "HTTP/0.9": (400, b"GET /a\r\n\r\n" + SMUGGLED),
    "two hosts": (400, _posted(b"Host: y", CHUNKED)),
    "chunk size in C": (400, _posted(CHUNKED, body=b"0x1\r\na\r\n0\r\n\r\n")),
    "signed chunk size": (400, _posted(CHUNKED, body=b"+1\r\na\r\n0\r\n\r\n")),
    "chunk size with a space": (400, _posted(CHUNKED, body=b"1 \r\na\r\n0\r\n\r\n")),
    "chunk size without end": (400, _posted(CHUNKED, body=b"f" * 18 + b"\r\n")),
    "chunk of line feeds": (400, _posted(CHUNKED, body=b"1\na\n0\n\n")),
    "line feed in an extension": (400, _posted(CHUNKED, body=b"1;a\nb\r\na\r\n0\r\n\r\n")),
    "longer chunk": (400, _posted(CHUNKED, body=b"1\r\naX\r\n0\r\n\r\n")),
    "length as a trailer": (400, _posted(CHUNKED, body=b"0\r\nContent-Length: 9\r\n\r\n")),
}


@pytest.mark.real_time
@pytest.mark.parametrize("name", REFUSED)
async def test_an_ambiguous_request_is_refused_and_closed(name: str) -> None:
    status, sent = REFUSED[name]
    async with serving() as server:
        client = await connect(server)
        client.writer.write(sent)
        answer = await client.answer()
        assert (answer.status, answer.headers["connection"]) == (status, "close")
        assert await client.is_closed()


@pytest.mark.real_time
@pytest.mark.parametrize("encoding", [b"chunked", b"Chunked", b" chunked"])
async def test_what_is_chunked_in_any_case_is_read(encoding: bytes) -> None:
    async with serving() as server:
        client = await connect(server)
        client.writer.write(_posted(b"Transfer-Encoding:" + encoding, body=b"1\r\na\r\n0\r\n\r\n"))
        assert (await client.answer()).json == {"method": "POST", "path": "/a", "body": "a"}
        assert (await client.answer()).json["path"] == "/smuggled"  # a request of its own here
