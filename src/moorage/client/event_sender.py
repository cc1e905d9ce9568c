"""Send events in the background, from a queue that never blocks and drops what it has no room for.

Actions about one event keep their order. An unreachable server is retried, twelve times in all; refused events are
given up, and those that a leader has not sent when its Lease runs out. Kubernetes: the broadcasters of client-go's
tools/events and tools/record.
"""

import asyncio
import random as randomness
from collections.abc import Callable
from typing import NamedTuple

from moorage.client.lease_fence import LeaseRanOut
from moorage.client.pacing import TokenBucket
from moorage.client.protocol import Client, Raw, Unreachable
from moorage.model.api_error import ApiError
from moorage.model.kinds import Kind
from moorage.telemetry.logs import get_logger

MAX_QUEUED = 10_000
MAX_TRIES = 12
RETRY_SECONDS = 10.0
#: Sustained rate and burst, so that events are not most of a busy cluster's requests.
PER_SECOND, BURST = 100.0, 300
_LANES = 32  # a durable store writes many in the time of one

_LOG = get_logger("client")


class EventAction(NamedTuple):
    """Create the event; with a `patch`, patch it and create it if it is absent."""

    kind: Kind
    document: Raw
    patch: Raw | None = None


class EventSender:
    """The queue and its `run` task. `dropped` and `failed` count lost events."""

    def __init__(
        self,
        client: Client,
        *,
        most_queued: int = MAX_QUEUED,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self.dropped = 0  # because the queue was full
        self.failed = 0  # refused, or tried too often
        self.sent = 0
        self._client, self._most_queued, self._random = client, most_queued, random
        self._pace = TokenBucket(PER_SECOND, BURST)
        self._lanes: list[asyncio.Queue[EventAction]] = [asyncio.Queue() for _ in range(_LANES)]
        self._waiting = 0

    def put(self, action: EventAction) -> bool:
        """Queue an action without waiting; return False if there is no room."""
        if self._waiting >= self._most_queued:
            self.dropped += 1
            if self.dropped == 1 or self.dropped % 1000 == 0:
                _LOG.warning("Too many queued events, dropped some", dropped=self.dropped)
            return False
        lane = hash(action.document["metadata"]["name"]) % _LANES
        self._lanes[lane].put_nowait(action)
        self._waiting += 1
        return True

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for lane in self._lanes:
                group.create_task(self._run_lane(lane))

    async def drain(self, seconds: float) -> None:
        """Wait until all is sent, at most this many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(lane.join() for lane in self._lanes))
        except TimeoutError:
            _LOG.warning("Events were not sent", count=self._waiting)

    async def _run_lane(self, lane: asyncio.Queue[EventAction]) -> None:
        while True:
            action = await lane.get()
            if wait := self._pace.reserve(asyncio.get_running_loop().time()):
                await asyncio.sleep(wait)
            try:
                await self._send(action)
            except Exception:
                # One event that cannot be sent must not stop the others.
                self.failed += 1
                _LOG.exception("Unable to write event (will not retry!)")
            finally:
                self._waiting -= 1
                lane.task_done()

    async def _send(self, action: EventAction) -> None:
        for tries in range(1, MAX_TRIES + 1):
            try:
                await self._send_once(action)
            except LeaseRanOut as error:
                self._lose(action, str(error), is_news=False)
                return
            except Unreachable as error:
                why = str(error)
            except ApiError as error:
                if action.patch is None or error.reason != "AlreadyExists":
                    self._lose(action, error.message, is_news=not _has_lost_its_namespace(error))
                    return
                why = error.message  # it was created between the patch and the create: patch again
            else:
                self.sent += 1
                return
            if tries < MAX_TRIES:
                await asyncio.sleep(RETRY_SECONDS * (1 + 0.25 * self._random()))
        self._lose(action, why)

    def _lose(self, action: EventAction, why: str, *, is_news: bool = True) -> None:
        self.failed += 1
        metadata = action.document["metadata"]
        event = f"{metadata['namespace']}/{metadata['name']}"
        if is_news:
            _LOG.warning("Unable to write event (will not retry!)", event=event, err=why)
        else:
            _LOG.debug(5, "Server rejected event (will not retry!)", event=event, err=why)

    async def _send_once(self, action: EventAction) -> None:
        kind, document, patch = action
        metadata = document["metadata"]
        if patch is not None:
            try:
                await self._client.patch(kind, metadata["name"], metadata["namespace"], patch)
                return
            except ApiError as error:
                if error.code != 404:
                    raise
        # A copy: an in-process server may keep and change it, and a later patch is made from this document.
        await self._client.create(kind, {**document, "metadata": dict(metadata)}, metadata["namespace"])


def _has_lost_its_namespace(error: ApiError) -> bool:
    """Return whether the event's namespace is gone or terminating."""
    if error.code == 404:
        return bool((error.status.get("details") or {}).get("kind") == "namespaces")
    return error.has_cause("NamespaceTerminating")
