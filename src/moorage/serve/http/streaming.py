"""Sending an answer that goes on, such as a watch, for as long as its client reads.

In: a `Stream`. Out: chunks on the wire, each sent at once; the next is asked for only when the client has read most of
what went before, so what a slow client has not read waits in the stream's source, which may end the stream. Whatever
happens, the source is closed. Kubernetes: the watch handler's flush loop.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from moorage.serve.http.messages import Request, Stream
from moorage.serve.http.rendering import LAST_CHUNK, render_chunk, render_head

if TYPE_CHECKING:
    from moorage.serve.http.connection import Connection


async def send_stream(connection: "Connection", request: Request, stream: Stream) -> None:
    """Send until the source ends, the client goes or the server stops."""
    transport, chunks = connection.transport, stream.chunks
    chunked = request.version != "1.0"
    if not chunked or connection.stopping:
        request.keep_alive = False
    is_head = request.method == "HEAD"
    if not connection.is_lost():
        transport.write(render_head(request.version, stream, None, request.keep_alive))
    if connection.is_lost() or connection.stopping or is_head:
        await _start_and_close(chunks)
        if chunked and not is_head and not connection.is_lost():
            transport.write(LAST_CHUNK)
        return
    try:
        async for data in chunks:
            if data:
                transport.write(render_chunk(data) if chunked else data)
                if connection.is_blocked:
                    await connection.writable()
            if connection.is_lost():
                return
    except asyncio.CancelledError:
        request.keep_alive = False
        if connection.task is not None:
            connection.task.uncancel()
        if connection.is_lost():
            return
    except Exception:
        connection.server.log.exception("Stream failed", method=request.method, path=request.path)
        transport.abort()  # without its last chunk the client knows that the stream is incomplete
        return
    finally:
        await _close(chunks)
    if chunked:
        transport.write(LAST_CHUNK)


async def _start_and_close(chunks: AsyncIterator[bytes]) -> None:
    """A generator that never ran would not clean up after itself when it is closed: what it was given stays open."""

    async def first() -> None:
        await anext(chunks, b"")

    started = asyncio.ensure_future(first())
    await asyncio.sleep(0)
    started.cancel()
    await asyncio.gather(started, return_exceptions=True)
    await _close(chunks)


async def _close(chunks: AsyncIterator[bytes]) -> None:
    """Generators can be told that no more is wanted; plain iterators need not be."""
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()
