"""What browsers get with and without a session, by a real server on a real socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import pytest

from moorage.dashboard.http.application import Application, Routes, as_json, body_of
from moorage.dashboard.http.guard import Guard
from moorage.dashboard.http.sessions import Sessions
from moorage.serve.http.messages import Request, Response
from moorage.serve.http.server import Server


class Running(NamedTuple):
    port: int
    sessions: Sessions
    announced: list[str]

    async def ask(self, request: str, headers: str = "", body: str = "") -> tuple[str, str, str]:
        """Return status line, headers and body."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        lines = f"{request} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n{length}{headers}\r\n{body}"
        writer.write(lines.encode("utf-8", "surrogateescape"))
        answer = (await reader.read()).decode()
        writer.close()
        head, _, content = answer.partition("\r\n\r\n")
        status, _, fields = head.partition("\r\n")
        return status.partition(" ")[2], fields, content

    async def cookie(self) -> str:
        _, fields, _ = await self.ask(f"GET /?token={self.sessions.token}")
        line = next(line for line in fields.splitlines() if line.startswith("Set-Cookie: "))
        return f"Cookie: {line.removeprefix('Set-Cookie: ').partition(';')[0]}\r\n"


@asynccontextmanager
async def running() -> AsyncIterator[Running]:
    async def echo(request: Request, values: tuple[str, ...]) -> Response:
        return as_json({"values": values, "body": body_of(request)})

    async def unused(request: Request) -> Response:
        raise AssertionError

    routes, sessions, announced = Routes(), Sessions(), list[str]()
    routes.add("POST", "/api/echo/*", echo)
    server = Server(unused)
    await server.start("127.0.0.1", 0, None)
    application = Application(Guard("127.0.0.1", server.port), sessions, server.port, routes, announced.append)
    server.gate, server.handler = application.gate, application.handle
    try:
        yield Running(server.port, sessions, announced)
    finally:
        await server.stop(1.0)


@pytest.mark.real_time
async def test_requests_without_a_session_get_no_data() -> None:
    async with running() as one:
        for path in ("/api/state", "/app.js", "/api/nothing", "/index.html"):
            status, _, content = await one.ask(f"GET {path}")
            assert status == "401 Unauthorized", path
            assert "needs the address" in content
        status, _, content = await one.ask("GET /")
        assert status == "401 Unauthorized"
        assert "Open the link with the token" in content


@pytest.mark.real_time
async def test_the_page_comes_with_a_strict_policy() -> None:
    async with running() as one:
        cookie = await one.cookie()
        for path in ("/", "/app.js", "/styles/base.css"):
            status, fields, _ = await one.ask(f"GET {path}", cookie)
            assert status == "200 OK", path
            assert (
                "Content-Security-Policy: default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self';"
                in fields
            )
            assert "X-Content-Type-Options: nosniff" in fields
            assert "unsafe" not in fields


@pytest.mark.real_time
async def test_an_asset_that_did_not_change_is_not_sent_again() -> None:
    async with running() as one:
        cookie = await one.cookie()
        _, fields, _ = await one.ask("GET /app.js", cookie)
        digest = next(line.partition(": ")[2] for line in fields.splitlines() if line.startswith("ETag: "))
        status, _, content = await one.ask("GET /app.js", f"{cookie}If-None-Match: {digest}\r\n")
        assert (status, content) == ("304 Not Modified", "")


@pytest.mark.real_time
async def test_a_used_address_is_reported_and_a_new_one_announced_once() -> None:
    async with running() as one:
        token = one.sessions.token
        await one.cookie()
        for _ in range(3):
            status, _, content = await one.ask(f"GET /?token={token}")
            assert status == "401 Unauthorized"
            assert "has printed a new link" in content
        assert one.announced == [one.sessions.token]


@pytest.mark.real_time
async def test_a_token_that_was_never_valid_makes_no_new_one() -> None:
    async with running() as one:
        await one.cookie()
        status, _, content = await one.ask("GET /?token=guessed")
        assert status == "401 Unauthorized"
        assert "This link is not valid" in content
        assert one.announced == []


@pytest.mark.real_time
async def test_routes_take_values_and_bodies() -> None:
    async with running() as one:
        cookie = await one.cookie()
        own = f"{cookie}Origin: http://127.0.0.1:{one.port}\r\n"
        is_json = "Content-Type: application/json\r\n"
        assert await _told(one, "POST /api/echo/a%20b", own + is_json, '{"x":1}') == (
            "200 OK",
            '{"values":["a b"],"body":{"x":1}}',
        )
        for headers, body, status, said in (
            (own, "{}", "415 Unsupported Media Type", "must be application/json"),
            (own + is_json, "[1]", "400 Bad Request", "not a JSON object"),
            (own + is_json, "{", "400 Bad Request", "not JSON"),
            (own + is_json, '{"x":"\udcff"}', "400 Bad Request", "not JSON"),
            (own + is_json, "[" * 100_000, "400 Bad Request", "not JSON"),
            (cookie + is_json, "{}", "403 Forbidden", "no Origin"),
        ):
            got, content = await _told(one, "POST /api/echo/a", headers, body)
            assert got == status, content
            assert said in content
        assert (await _told(one, "GET /api/echo/a", cookie))[0] == "405 Method Not Allowed"
        assert (await _told(one, "GET /api/none", cookie))[0] == "404 Not Found"
        assert (await _told(one, "GET /../service.py", cookie))[0] == "404 Not Found"


async def _told(one: Running, request: str, headers: str, body: str = "") -> tuple[str, str]:
    status, _, content = await one.ask(request, headers, body)
    return status, content
