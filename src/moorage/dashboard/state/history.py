"""Keep the last changes of the state, within bounds, and tell how it was at any moment that they reach back to.

Changes are kept as msgpack, a fifth of what the rows take as objects, and are undone from the state as it is now.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from moorage.dashboard.state.rows import NodeRow, PodRow, Rows, RowsDelta
from moorage.watch.happenings import HappeningKind

MAX_ROWS = 20_000
MAX_BYTES = 32 * 1024 * 1024
MAX_MOMENTS = 500
MAX_STEPS = 200
_MAX_WORDS = 3

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RowsDelta).decode


class NotKept(Exception):
    """A moment that history does not have: why, for the user."""


class HistoryMoment(NamedTuple):
    """A place on the scrubber: the state with this number, when it came to be, and what led to it."""

    seq: int
    time: float
    what: str


class _Entry(NamedTuple):
    seq: int
    time: float
    rows: int
    body: bytes
    counts: dict[str, int]
    only: str


class _Before(msgspec.Struct, frozen=True):
    """The part of a change that is needed to take it back: rows after it are left as they are."""

    nodes: list[tuple[NodeRow | None, msgspec.Raw]] = []
    pods: list[tuple[PodRow | None, msgspec.Raw]] = []


_decode_before = msgspec.msgpack.Decoder(_Before).decode
_decode_node = msgspec.msgpack.Decoder(NodeRow).decode
_decode_pod = msgspec.msgpack.Decoder(PodRow).decode


def _take_back(rows: Rows, body: bytes) -> None:
    """Do what `undo` does, decoding half as much."""
    before = _decode_before(body)
    for node, new_node in before.nodes:
        if node is not None:
            rows.nodes[node["name"]] = node
        else:
            rows.nodes.pop(_decode_node(new_node)["name"], None)
    for pod, new_pod in before.pods:
        if pod is not None:
            rows.pods[pod.key] = pod
        else:
            rows.pods.pop(_decode_pod(new_pod).key, None)


class History:
    """Changes of the state. The first state that can be told is that before the first change that is kept."""

    def __init__(
        self, seq: int = 0, time: float = 0.0, *, max_rows: int = MAX_ROWS, max_bytes: int = MAX_BYTES
    ) -> None:
        """`seq` and `time` are those of the state that the first recorded change is made to."""
        self._entries: deque[_Entry] = deque()
        self._max_rows, self._max_bytes = max_rows, max_bytes
        self.reset(seq, time)

    def reset(self, seq: int, time: float) -> None:
        """Forget everything: the state was replaced as a whole."""
        self._entries.clear()
        self._start = seq, time
        self._rows = self._bytes = 0

    def record(self, delta: RowsDelta) -> None:
        """Keep a change of the state; its number is larger than all before it."""
        if delta.seq <= self.last:
            raise ValueError(f"change {delta.seq} after {self.last}")
        entry = _Entry(delta.seq, delta.time, delta.size, _encode(delta), *_summed(delta))
        self._entries.append(entry)
        self._rows += entry.rows
        self._bytes += len(entry.body)
        while self._entries and (self._rows > self._max_rows or self._bytes > self._max_bytes):
            gone = self._entries.popleft()
            self._rows -= gone.rows
            self._bytes -= len(gone.body)
            self._start = gone.seq, gone.time

    @property
    def first(self) -> int:
        return self._start[0]

    @property
    def last(self) -> int:
        return self._entries[-1].seq if self._entries else self._start[0]

    def at(self, seq: int, now: Rows) -> Rows:
        """Return the rows as of a number, of `now`, the rows after the last change. Raises NotKept."""
        return self.going_back(seq, now)()

    def going_back(self, seq: int, now: Rows) -> Callable[[], Rows]:
        """Return what makes the rows as of a number; a thread may call it, whatever changes meanwhile. Raises NotKept.

        `now` are the rows after the last change.
        """
        self._check(seq)
        bodies = [entry.body for entry in self._entries if entry.seq > seq]
        rows = Rows(dict(now.nodes), dict(now.pods))

        def go_back() -> Rows:
            for body in reversed(bodies):
                _take_back(rows, body)
            return rows

        return go_back

    def time_of(self, seq: int) -> float:
        """Return when the state of this number came to be. Raises NotKept."""
        self._check(seq)
        return next((entry.time for entry in reversed(self._entries) if entry.seq <= seq), self._start[1])

    def steps(self, *, after: int, most: int = MAX_STEPS) -> list[RowsDelta]:
        """Return the changes that follow a state, the next one first. Raises NotKept."""
        self._check(after)
        later = (entry for entry in self._entries if entry.seq > after)
        return [_decode(entry.body) for entry in islice(later, min(most, MAX_STEPS))]

    def steps_back(self, *, upto: int, most: int = MAX_STEPS) -> list[RowsDelta]:
        """Return the changes that led to a state, the last one first. Raises NotKept."""
        self._check(upto)
        earlier = (entry for entry in reversed(self._entries) if entry.seq <= upto)
        return [_decode(entry.body) for entry in islice(earlier, min(most, MAX_STEPS))]

    def moments(self, most: int = MAX_MOMENTS) -> list[HistoryMoment]:
        """Return the states to choose from, the first one first; neighbours are merged where there are many."""
        start = HistoryMoment(*self._start, "the earliest state that is kept" if self._entries else "now")
        size = -(-len(self._entries) // max(1, most - 1))
        return [start, *(_merged(group) for group in _groups(self._entries, size))]

    def document(self) -> dict[str, Any]:
        """Return the answer to `GET /api/history`."""
        return {"first": self.first, "last": self.last, "moments": self.moments()}

    def _check(self, seq: int) -> None:
        if seq > self.last:
            raise NotKept(f"moment {seq} has not come yet: the last one is {self.last}")
        if seq < self.first:
            raise NotKept(f"moment {seq} is not kept any more: history begins with {self.first}")


def _groups(entries: Iterable[_Entry], size: int) -> Iterator[list[_Entry]]:
    rest = iter(entries)
    while group := list(islice(rest, size)):
        yield group


def _merged(group: list[_Entry]) -> HistoryMoment:
    last = group[-1]
    if len(group) == 1 and last.only:
        return HistoryMoment(last.seq, last.time, last.only)
    counts: Counter[str] = Counter()
    for entry in group:
        counts.update(entry.counts)
    words = [f"{number} {_noun(word, number)}" for word, number in counts.most_common(_MAX_WORDS)]
    return HistoryMoment(last.seq, last.time, ", ".join(words) + (" …" if len(counts) > _MAX_WORDS else ""))


def _summed(delta: RowsDelta) -> tuple[dict[str, int], str]:
    """Return how many things of each sort happened, and the sentence where it is one."""
    if delta.happenings:
        counts = Counter(_WORDS.get(happening.kind, happening.kind.value) for happening in delta.happenings)
        one = delta.happenings[0]
        only = " ".join(part for part in (one.subject, _verb(one.kind), one.detail) if part)
        return dict(counts), only if len(delta.happenings) == 1 else ""
    counts = Counter()
    for old, new in delta.pods:
        counts[_of_pod(old, new)] += 1
    counts.update({"of nodes": len(delta.nodes)} if delta.nodes and not delta.pods else {})
    return dict(counts), _only_row(delta)


def _only_row(delta: RowsDelta) -> str:
    if len(delta.pods) == 1:
        old, new = delta.pods[0]
        row = new or old
        return f"{row.key} {_of_pod(old, new)}" if row is not None else ""
    if len(delta.nodes) == 1 and not delta.pods:
        return f"node {_node_name(*delta.nodes[0])} changed"
    return ""


def _node_name(old: NodeRow | None, new: NodeRow | None) -> str:
    return str((new or old or {}).get("name", ""))


def _of_pod(old: PodRow | None, new: PodRow | None) -> str:
    if new is None:
        return "gone"
    if old is None:
        return "created"
    return new.phase.lower() if old.phase != new.phase else "changed"


_WORDS = {
    HappeningKind.NODE: "of nodes",
    HappeningKind.CONTROL: "of workloads",
    HappeningKind.SERVER: "of the API server",
}


def _noun(word: str, number: int) -> str:
    if not word.startswith("of "):
        return word
    return f"change {word}" if number == 1 else f"changes {word}"


def _verb(kind: HappeningKind) -> str:
    return "" if kind in _WORDS else kind.value
