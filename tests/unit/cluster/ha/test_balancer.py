"""Connections through the balancer: to ready servers, past dead ones, closed when their server dies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from moorage.cluster.ha.balancer import Backend, Balancer, HealthCheck

HOST = "127.0.0.1"
pytestmark = [pytest.mark.real_time, pytest.mark.parametrize("loop", ["asyncio", "uvloop"])]


class FakeServer:
    """Says its name and then repeats what it hears; answers requests with `status`, or not at all while it hangs."""

    def __init__(self, name: str) -> None:
        self.name, self.status, self.hangs = name, 200, False
        self.port = 0
        self._listener: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._listener = await asyncio.start_server(self._serve, HOST, self.port)
        self.port = self._listener.sockets[0].getsockname()[1]

    async def die(self) -> None:
        assert self._listener is not None
        self._listener.close()
        for writer in list(self._writers):
            writer.transport.abort()
        await self._listener.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        with suppress(OSError):
            while line := await reader.readline():
                if line == b"\r\n":
                    while self.hangs:
                        await asyncio.sleep(0.01)
                    writer.write(b"HTTP/1.1 %d OK\r\ncontent-length: 2\r\n\r\nok" % self.status)
                elif line == b"name\n":
                    writer.write(self.name.encode() + b"\n")
                elif line.startswith(b"echo "):
                    writer.write(line)
                    await writer.drain()
        self._writers.discard(writer)
        writer.close()


class Scene:
    """Some servers and a balancer before them."""

    def __init__(self, *names: str) -> None:
        self.servers = {name: FakeServer(name) for name in names}
        self.balancer = Balancer([])
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        for name, server in self.servers.items():
            await server.start()
            self.balancer.backends.append(Backend(name, HOST, server.port))
        await self.balancer.start(HOST, 0)

    def check_health(self) -> None:
        for backend in self.balancer.backends:
            self.tasks.append(asyncio.create_task(HealthCheck(self.balancer, backend, None).run()))

    def backend(self, name: str) -> Backend:
        return next(one for one in self.balancer.backends if one.name == name)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(HOST, self.balancer.port)

    async def ask(self) -> str:
        reader, writer = await self.connect()
        writer.write(b"name\n")
        answer = await reader.readline()
        writer.close()
        return answer.decode().strip()

    async def until(self, name: str, *, answers: bool, ready: bool) -> None:
        while (self.backend(name).answers, self.backend(name).is_ready) != (answers, ready):
            await asyncio.sleep(0.01)


@asynccontextmanager
async def scene(*names: str) -> AsyncIterator[Scene]:
    made = Scene(*names)
    await made.start()
    try:
        yield made
    finally:
        for task in made.tasks:
            task.cancel()
        await asyncio.gather(*made.tasks, return_exceptions=True)
        await made.balancer.stop()
        for server in made.servers.values():
            server.hangs = False
            await server.die()


async def test_connections_are_spread_over_ready_servers(loop: str) -> None:
    async with scene("one", "two", "three") as made:
        for name in ("one", "two"):
            made.balancer.mark(made.backend(name), answers=True, is_ready=True)
        pairs = [await made.connect() for _ in range(4)]
        said = []
        for reader, writer in pairs:
            writer.write(b"name\n")
            said.append((await reader.readline()).strip().decode())
        assert sorted(said) == ["one", "one", "two", "two"]
        for _, writer in pairs:
            writer.close()


async def test_a_server_that_cannot_be_reached_is_passed_over_and_left_out(loop: str) -> None:
    async with scene("one", "two") as made:
        for name in ("one", "two"):
            made.balancer.mark(made.backend(name), answers=True, is_ready=True)
        await made.servers["one"].die()
        assert [await made.ask() for _ in range(4)] == ["two"] * 4
        assert not made.backend("one").answers
        await made.servers["one"].start()


async def test_without_a_ready_server_one_that_answers_is_used(loop: str) -> None:
    async with scene("one", "two") as made:
        made.balancer.mark(made.backend("two"), answers=True, is_ready=False)
        assert await made.ask() == "two"


async def test_without_any_server_the_connection_is_closed(loop: str) -> None:
    async with scene("one") as made:
        await made.servers["one"].die()
        reader, writer = await made.connect()
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        await made.servers["one"].start()


async def test_connections_to_a_server_that_died_are_closed_and_the_next_ones_go_elsewhere(loop: str) -> None:
    async with scene("one", "two") as made:
        made.check_health()
        await made.until("one", answers=True, ready=True)
        made.balancer.mark(made.backend("two"), answers=False)
        reader, writer = await made.connect()
        writer.write(b"name\n")
        assert await reader.readline() == b"one\n"
        await made.until("two", answers=True, ready=True)
        await made.servers["one"].die()
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        await made.until("one", answers=False, ready=False)
        assert await made.ask() == "two"
        await made.servers["one"].start()
        await made.until("one", answers=True, ready=True)


async def test_a_server_that_is_not_ready_keeps_its_connections_and_gets_no_new_ones(loop: str) -> None:
    async with scene("one", "two") as made:
        made.check_health()
        for name in ("one", "two"):
            await made.until(name, answers=True, ready=True)
        pairs = [await made.connect() for _ in range(2)]
        said = {}
        for reader, writer in pairs:
            writer.write(b"name\n")
            said[(await reader.readline()).decode().strip()] = reader, writer
        made.servers["one"].status = 500
        await made.until("one", answers=True, ready=False)
        assert [await made.ask() for _ in range(3)] == ["two"] * 3
        reader, writer = said["one"]
        writer.write(b"name\n")
        assert await reader.readline() == b"one\n"
        for _, writer in pairs:
            writer.close()


async def test_a_server_that_hangs_is_given_up_while_another_answers(
    loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moorage.cluster.ha.balancer.ANSWER_SECONDS", 0.3)
    async with scene("one", "two") as made:
        made.check_health()
        for name in ("one", "two"):
            await made.until(name, answers=True, ready=True)
        made.servers["one"].hangs = True
        await made.until("one", answers=False, ready=False)
        assert await made.ask() == "two"
        made.servers["one"].hangs = False
        await made.until("one", answers=True, ready=True)


async def test_much_data_passes_in_both_directions(loop: str) -> None:
    async with scene("one") as made:
        made.balancer.mark(made.backend("one"), answers=True, is_ready=True)
        reader, writer = await asyncio.open_connection(HOST, made.balancer.port, limit=1 << 24)
        line = b"echo " + b"x" * 60_000 + b"\n"

        async def send() -> None:
            for _ in range(200):
                writer.write(line)
                await writer.drain()

        sending = asyncio.create_task(send())
        for _ in range(200):
            assert await reader.readline() == line
        await sending
        writer.write_eof()
        assert await reader.read() == b""
        writer.close()
