"""Sending an answer that goes on, such as a watch, for as long as its client reads.

In: a `Stream`. Out: chunks on the wire, each sent at once; the next is asked for only when the client has read most of
what went before, so what a slow client has not read waits in the stream's source, which may end the stream. Whatever
happens, the source is closed. Kubernetes: the watch handler's flush loop. Next: `connection`, which cuts off a
client that does not read.
"""

import asyncio
from typing import TYPE_CHECKING

from moorage.serve.http.messages import Request, Stream, close_chunks
from moorage.serve.http.rendering import LAST_CHUNK, render_chunk, render_head

if TYPE_CHECKING:
    from moorage.serve.http.connection import Connection


async def send_stream(connection: "Connection", request: Request, stream: Stream) -> None:
    """Send until the source ends, the client goes or the server stops; only the last two close the connection."""
    transport, chunks = connection.transport, stream.chunks
    chunked = request.version != "1.0"
    if not chunked:
        request.keep_alive = False
    try:
        transport.write(render_head(request, stream, None, request.keep_alive))
        if request.method == "HEAD":
            return
        async for data in chunks:
            if data:
                transport.write(render_chunk(data) if chunked else data)
                if connection.is_blocked:
                    await connection.writable()
            if connection.lost:
                return
    except asyncio.CancelledError:
        request.keep_alive = False
        if connection.lost:
            return
    except Exception:
        connection.server.log.exception("Stream failed", method=request.method, path=request.path)
        transport.abort()  # without its last chunk the client knows that the stream is incomplete
        return
    finally:
        await close_chunks(chunks)
    if chunked:
        transport.write(LAST_CHUNK)
