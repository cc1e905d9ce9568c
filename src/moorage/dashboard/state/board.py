"""Keep the rows that the page shows, number their changes, and tell pages that follow what changed.

Changes are gathered and become one delta when they are committed. Deltas are kept as the bytes that are sent, within
bounds; a page that is further behind loads the whole state again.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any

import msgspec

from moorage.dashboard.state.history import History
from moorage.dashboard.state.rows import NodeRow, PodRow, Rows, RowsDelta, pod_table, told_pod
from moorage.watch.happenings import Happening

MAX_HAPPENINGS = 500
MAX_KEPT_BYTES = 16 * 1024 * 1024
#: Seconds between signs of life, by which both sides notice that the other is gone.
HEARTBEAT = 15.0
_encode = msgspec.json.Encoder().encode


class Unread(msgspec.Struct, frozen=True):
    """What is missing on the page, a kind (`nodes`) or an object (`Node a`), and why it was not read."""

    what: str
    why: str


class SourceInfo(msgspec.Struct, frozen=True):
    """Where the rows come from, and whether they are up to date.

    `problem` says what is wrong in one line, `command` what tells more about it.
    """

    kind: str
    name: str
    context: str = ""
    connected: bool = True
    problem: str = ""
    time: float = 0.0
    unread: tuple[Unread, ...] = ()
    command: str = ""


class Board:
    """The rows as they are now, and the latest changes."""

    def __init__(self, source: SourceInfo) -> None:
        self.source = source
        self.rows = Rows({}, {})
        self.seq = 0
        self.since = self.changed = 0.0  # when following began, and of the last change; 0 if there was none
        self.history = History()
        self.happenings: deque[Happening] = deque(maxlen=MAX_HAPPENINGS)
        self.is_ending = False
        self.followers = 0  # pages that look on
        self._nodes_before: dict[str, NodeRow | None] = {}
        self._pods_before: dict[str, PodRow | None] = {}
        self._told: list[Happening] = []
        self._kept: deque[tuple[int, bytes]] = deque()
        self._kept_bytes = 0
        self._first_kept = 0  # changes after this number are kept
        self._news = asyncio.Event()
        self._snapshot: tuple[int, SourceInfo, bytes] | None = None

    # -- changing -----------------------------------------------------------------------------------------------------

    def set_node(self, name: str, row: NodeRow | None) -> None:
        before = self.rows.nodes.get(name)
        if row == before:
            return
        self._nodes_before.setdefault(name, before)
        _put(self.rows.nodes, name, row)

    def set_pod(self, key: str, row: PodRow | None) -> None:
        before = self.rows.pods.get(key)
        if row == before:
            return
        self._pods_before.setdefault(key, before)
        _put(self.rows.pods, key, row)

    def tell(self, happenings: Iterable[Happening]) -> None:
        self._told += happenings

    def set_source(self, source: SourceInfo) -> None:
        """Tell pages that the cluster is gone, back, or another."""
        if source != self.source:
            self.source = source
            self._wake()

    def commit(self, now: float) -> RowsDelta | None:
        """Number what has changed since the last time, and tell it; None if nothing has."""
        nodes = [(old, self.rows.nodes.get(name)) for name, old in self._nodes_before.items()]
        pods = [(old, self.rows.pods.get(key)) for key, old in self._pods_before.items()]
        nodes = [pair for pair in nodes if pair[0] != pair[1]]
        pods = [pair for pair in pods if pair[0] != pair[1]]
        happenings, self._told = sorted(self._told, key=lambda happening: happening.time), []
        self._nodes_before.clear()
        self._pods_before.clear()
        if not nodes and not pods and not happenings:
            return None
        self.seq += 1
        self.changed = now
        delta = RowsDelta(self.seq, now, nodes, pods, happenings)
        self.happenings += happenings
        self.history.record(delta)
        self._keep(delta)
        self._wake()
        return delta

    def begin_anew(self, now: float) -> None:
        """Take all rows as the beginning: nothing that came before is history, and pages load the whole state."""
        self._nodes_before.clear()
        self._pods_before.clear()
        self.seq += 1
        self.since, self.changed = now, 0.0
        self.history.reset(self.seq, now)
        self._kept.clear()
        self._kept_bytes, self._first_kept = 0, self.seq
        self._wake()

    def _keep(self, delta: RowsDelta) -> None:
        body = _event("delta", delta_document(delta), delta.seq)
        self._kept.append((delta.seq, body))
        self._kept_bytes += len(body)
        while self._kept_bytes > MAX_KEPT_BYTES:
            self._first_kept, dropped = self._kept.popleft()
            self._kept_bytes -= len(dropped)

    def _wake(self) -> None:
        news, self._news = self._news, asyncio.Event()
        news.set()

    # -- reading ------------------------------------------------------------------------------------------------------

    def snapshot(self, extra: dict[str, Any]) -> bytes:
        """Return the whole state as JSON. `extra` are members that do not change while the server runs."""
        known = self._snapshot
        if known is None or known[0] != self.seq or known[1] is not self.source:
            document = state_document(self.rows, self.seq, list(self.happenings))
            times = {"since": self.since, "changed": self.changed}
            body = _encode({**document, **times, "source": self.source, **extra})
            known = self._snapshot = (self.seq, self.source, body)
        return known[2]

    async def follow(self, after: int) -> AsyncGenerator[bytes, None]:
        """Yield server-sent events: the changes after a number, then those to come, until the server stops."""
        self.followers += 1
        try:
            async for event in self._follow(after):
                yield event
        finally:
            self.followers -= 1

    async def _follow(self, after: int) -> AsyncIterator[bytes]:
        yield b"retry: 1000\n\n"
        source = None
        while not self.is_ending:
            news = self._news
            if self.source is not source:
                source = self.source
                yield _event("source", source)
            if after > self.seq or after < self._first_kept:
                yield _event("reload", {"seq": self.seq})
                after = self.seq
            for seq, body in [kept for kept in self._kept if kept[0] > after]:
                yield body
                after = seq
            if self._news is news and not await _within(news, HEARTBEAT):
                yield b": alive\n\n"

    def end(self) -> None:
        """End all streams: the server stops."""
        self.is_ending = True
        self._wake()


def state_document(rows: Rows, seq: int, happenings: list[Happening]) -> dict[str, Any]:
    """Return the part of `/api/state` that follows from the rows."""
    return {
        "seq": seq,
        "nodes": list(rows.nodes.values()),
        "pods": pod_table(rows.pods.values()),
        "happenings": happenings,
    }


def delta_document(delta: RowsDelta) -> dict[str, Any]:
    """Return a change as pages are told it: new rows, and the names of those that are gone."""
    return {
        "seq": delta.seq,
        "time": delta.time,
        "nodes": [new for _, new in delta.nodes if new is not None],
        "nodesGone": [old["name"] for old, new in delta.nodes if new is None and old is not None],
        "pods": [told_pod(old, new) for old, new in delta.pods if new is not None],
        "podsGone": [old.key for old, new in delta.pods if new is None and old is not None],
        "happenings": delta.happenings,
    }


def _put(rows: dict[str, Any], key: str, row: Any) -> None:
    if row is None:
        rows.pop(key, None)
    else:
        rows[key] = row


def _event(name: str, document: object, number: int | None = None) -> bytes:
    identity = b"" if number is None else b"id: %d\n" % number
    return b"event: %s\n%sdata: %s\n\n" % (name.encode(), identity, _encode(document))


async def _within(news: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(news.wait(), seconds)
    except TimeoutError:
        return False
    return True
