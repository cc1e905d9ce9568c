"""One watch of all objects of a kind, as whole lines of bytes.

In: a kind. Out: the server's watch events, unread, to a function that says up to which revision they go. A watch that
ends is resumed where it was; one that the server has forgotten ends the run, because figures would be wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bench.e2e.problems import RunFailed
from bench.e2e.sender import REQUEST_SECONDS
from moorage.client.http_wire import collection_path, read_error, read_page
from moorage.client.protocol import Unreachable

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.e2e.requests import Requests
    from bench.e2e.sender import Sender
    from moorage.model.kinds import Kind

_WATCH_SECONDS = "3600"


class WatchLines:
    """See the module. `receive` gets lines, and returns the last revision in them, or nothing."""

    def __init__(self, kind: Kind, requests: Requests, sender: Sender, receive: Callable[[bytes], str]) -> None:
        self._facts, self._path = kind, collection_path(kind, "")
        self._requests, self._sender, self._receive = requests, sender, receive
        self._revision = ""

    async def begin(self) -> None:
        """From now on everything is watched; what the server has already is from another run."""
        answer = await self._sender.one(self._requests.get(self._path, limit="1"))
        self._revision = str(read_page(self._facts, answer.body).revision)

    async def run(self) -> RunFailed:
        """Follow the watch until this task is cancelled; or what went wrong."""
        try:
            while True:
                await self._follow()
        except (RunFailed, Unreachable, msgspec.DecodeError) as error:
            return RunFailed(f"the watch of {self._facts.plural}: {error}")

    async def _follow(self) -> None:
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": _WATCH_SECONDS}
        connection = await self._sender.pool.dial_stream()
        try:
            request = self._requests.get(self._path, resourceVersion=self._revision, **query)
            answer = await connection.send(request, REQUEST_SECONDS, stream=True)
            if answer.stream is None:
                raise RunFailed(read_error(answer.status, answer.body).message)
            rest = b""
            while piece := await answer.stream.read():
                lines, newline, rest = (rest + piece if rest else piece).rpartition(b"\n")
                if newline:
                    self._revision = self._receive(lines) or self._revision
        finally:
            self._sender.pool.end_stream(connection)
