"""Sends requests over a bounded number of connections, each with one request at a time.

In: requests as bytes. Out: the answers' bodies, with the times when the request was sent and when its answer was there.
As little as possible is done for each, so that the server is what is measured. A server that asks to come back later is
obeyed. Kubernetes: ParallelizeUntil with 30 workers in CreatePod of test/utils/runners.go.
"""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING

from bench.e2e.problems import RunFailed
from moorage.client.http_connections import ConnectionPool
from moorage.client.http_wire import read_error
from moorage.client.kubeconfig.access import KubeconfigError, tls_context
from moorage.client.protocol import Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from moorage.client.http_connections import Answer, Connection
    from moorage.client.kubeconfig.access import Access

    Answered = Callable[[bytes, float, float], None]

CONNECTIONS = 30
REQUEST_SECONDS = 120.0
_TOO_MANY_REQUESTS = 429


class Sender:
    """See the module."""

    def __init__(self, access: Access, connections: int = CONNECTIONS) -> None:
        try:
            tls = tls_context(access) if access.server.startswith("https:") else None
        except KubeconfigError as error:
            raise RunFailed(str(error)) from None
        self._connections = connections
        # Beyond those that do the work there are some for what goes on beside it.
        self.pool = ConnectionPool(access.server, tls, server_name=access.server_name, most=connections + 4)

    async def open(self, request: bytes) -> None:
        """Use all connections once, so that no request waits for one while something is measured. Raises RunFailed."""
        try:
            made = await asyncio.gather(*(self.pool.take() for _ in range(self._connections)))
            await asyncio.gather(*(_exchange(connection, request, ()) for connection in made))
        except Unreachable as error:
            raise RunFailed(str(error)) from None
        for connection in made:
            self.pool.give_back(connection)

    async def one(self, request: bytes, *allowed: int) -> Answer:
        """The answer, which is a good one or has one of the allowed codes. Raises RunFailed."""
        try:
            connection = await self.pool.take()
            try:
                return await _exchange(connection, request, allowed)
            finally:
                self.pool.give_back(connection)
        except Unreachable as error:
            raise RunFailed(str(error)) from None

    async def all(self, requests: Sequence[bytes], answered: Answered) -> None:
        """Send all of them; `answered` gets each body and its two times. Raises RunFailed at the first that fails."""
        shared = iter(requests)
        count = min(self._connections, len(requests))
        workers = [asyncio.create_task(self._work(shared, answered)) for _ in range(count)]
        try:
            await asyncio.gather(*workers)
        except Unreachable as error:
            raise RunFailed(str(error)) from None
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _work(self, requests: Iterator[bytes], answered: Answered) -> None:
        pool = self.pool
        connection = await pool.take()
        try:
            for request in requests:
                if not connection.usable:
                    pool.give_back(connection)
                    connection = await pool.take()
                sent = perf_counter()
                answer = await connection.send(request, REQUEST_SECONDS)
                now = perf_counter()
                if answer.status >= 300:
                    answer = await _after_refusal(answer, connection, request, ())
                answered(answer.body, sent, now)
        except BaseException:
            connection.close()
            raise
        finally:
            pool.give_back(connection)

    def close(self) -> None:
        self.pool.close()


async def _exchange(connection: Connection, request: bytes, allowed: tuple[int, ...]) -> Answer:
    try:
        answer = await connection.send(request, REQUEST_SECONDS)
        return answer if answer.status < 300 else await _after_refusal(answer, connection, request, allowed)
    except BaseException:
        connection.close()
        raise


async def _after_refusal(answer: Answer, connection: Connection, request: bytes, allowed: tuple[int, ...]) -> Answer:
    """The answer after all, if the server only wanted to be left alone for a while. Raises RunFailed."""
    while answer.status == _TOO_MANY_REQUESTS and (pause := answer.header(b"retry-after")).isdigit():
        await asyncio.sleep(float(pause))
        answer = await connection.send(request, REQUEST_SECONDS)
    if answer.status < 300 or answer.status in allowed:
        return answer
    line = request.partition(b" HTTP/1.1\r\n")[0].decode("ascii", "replace")
    raise RunFailed(f"{line}: {answer.status}: {read_error(answer.status, answer.body).message}")
