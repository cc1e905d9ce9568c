"""Decode what etcd answers from protobuf messages. Kubernetes: etcd's api/etcdserverpb/rpc.proto, api/mvccpb/kv.proto.

Fields that are not needed are skipped, whatever they are. What cannot be decoded raises BadAnswer. Long answers are
decoded in pieces with other work of the event loop in between.
"""

import asyncio
import re
from typing import NamedTuple

from moorage.store.etcd.messages import KeyValue, MemberStatus, RangeResult, TxnResult, WatchedEvent

#: After this many items, or this many bytes of them, the event loop has a turn.
_ITEMS_AT_ONCE, _BYTES_AT_ONCE = 1000, 4 * 1024 * 1024
#: A header's cluster_id and member_id, and the tag of its revision.
_BEFORE_REVISION = re.compile(rb"\x08[\x80-\xff]{,9}[\x00-\x7f]\x10[\x80-\xff]{,9}[\x00-\x7f]\x18").match


class BadAnswer(Exception):
    """The bytes are not the message that they should be."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number, and where it ends."""
    byte = data[at]
    at += 1
    if byte < 128:
        return byte, at
    value, shift = byte & 127, 7
    while shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise BadAnswer("a number is too large")


def _span(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Return where the content of a field begins and ends."""
    length, at = _varint(data, at)
    if at + length > end:
        raise BadAnswer("a field is longer than its message")
    return at, at + length


def _skip(data: bytes, tag: int, at: int, end: int) -> int:
    """Return where a field that is not needed ends."""
    if tag > 127:  # a field number above 15: the rest of the tag comes first
        rest, at = _varint(data, at)
        if rest > 1 << 22:
            raise BadAnswer("a field has a number that is too large")
    kind = tag & 7
    if kind == 0:
        return _varint(data, at)[1]
    if kind == 2:
        return _span(data, at, end)[1]
    if kind in (1, 5):
        return at + (8 if kind == 1 else 4)
    raise BadAnswer(f"a field is of kind {kind}")


def _check_end(at: int, end: int) -> None:
    if at != end:
        raise BadAnswer("a message is cut off")


def _key_value(data: bytes, at: int, end: int) -> KeyValue:
    """KeyValue: key 1, create_revision 2, mod_revision 3, version 4, value 5, lease 6."""
    key = value = b""
    created = modified = lease = 0
    while at < end:
        tag = data[at]
        at += 1
        if tag == 0x0A:
            start, at = _span(data, at, end)
            key = data[start:at]
        elif tag == 0x10:
            created, at = _varint(data, at)
        elif tag == 0x18:
            modified, at = _varint(data, at)
        elif tag == 0x2A:
            start, at = _span(data, at, end)
            value = data[start:at]
        elif tag == 0x30:
            lease, at = _varint(data, at)
        else:
            at = _skip(data, tag, at, end)
    _check_end(at, end)
    return KeyValue(key, value, created, modified, lease)


def _header_numbers(data: bytes, at: int, end: int) -> dict[int, int]:
    """ResponseHeader, by tag: cluster_id 1, member_id 2, revision 3, raft_term 4."""
    found: dict[int, int] = {}
    while at < end:
        tag = data[at]
        at += 1
        if tag & 7:
            at = _skip(data, tag, at, end)
        else:
            found[tag], at = _varint(data, at)
    _check_end(at, end)
    return found


def _revision(data: bytes, at: int, end: int) -> int:
    begin = _BEFORE_REVISION(data, at, end)
    if begin is not None:  # as etcd writes it: the IDs are long, and not needed
        return _varint(data, begin.end())[0]
    return _header_numbers(data, at, end).get(0x18, 0)


async def decode_range(data: bytes) -> RangeResult:
    """RangeResponse: header 1, kvs 2, more 3, count 4. Raises BadAnswer."""
    items: list[KeyValue] = []
    revision = more = total = 0
    at, end = 0, len(data)
    pause_items, pause_at = _ITEMS_AT_ONCE, _BYTES_AT_ONCE
    try:
        while at < end:
            tag = data[at]
            at += 1
            if tag == 0x12:
                start, at = _span(data, at, end)
                items.append(_key_value(data, start, at))
                if at > pause_at or len(items) >= pause_items:
                    pause_items, pause_at = len(items) + _ITEMS_AT_ONCE, at + _BYTES_AT_ONCE
                    await asyncio.sleep(0)
            elif tag == 0x0A:
                start, at = _span(data, at, end)
                revision = _revision(data, start, at)
            elif tag == 0x18:
                more, at = _varint(data, at)
            elif tag == 0x20:
                total, at = _varint(data, at)
            else:
                at = _skip(data, tag, at, end)
        _check_end(at, end)
    except IndexError:
        raise BadAnswer("a range is cut off") from None
    return RangeResult(items, revision, total, bool(more))


def decode_txn(data: bytes) -> TxnResult:
    """TxnResponse: header 1, succeeded 2, responses 3. Raises BadAnswer."""
    found: list[KeyValue | None] = []
    revision = succeeded = 0
    at, end = 0, len(data)
    try:
        while at < end:
            tag = data[at]
            at += 1
            if tag == 0x0A:
                start, at = _span(data, at, end)
                revision = _revision(data, start, at)
            elif tag == 0x10:
                succeeded, at = _varint(data, at)
            elif tag == 0x1A:
                start, at = _span(data, at, end)
                if start < at and data[start] == 0x0A:  # ResponseOp: response_range 1
                    start, stop = _span(data, start + 1, at)
                    found.append(_first_item(data, start, stop))
            else:
                at = _skip(data, tag, at, end)
        _check_end(at, end)
    except IndexError:
        raise BadAnswer("a transaction is cut off") from None
    return TxnResult(bool(succeeded), revision, tuple(found))


def decode_written(data: bytes) -> int:
    """Return the revision of a TxnResponse whose conditions held, 0 for any other: `decode_txn` reads it."""
    if len(data) < 2 or data[0] != 0x0A or data[1] > 127:
        return 0
    after = 2 + data[1]
    begin = _BEFORE_REVISION(data, 2, after)
    if begin is None or data[after : after + 2] != b"\x10\x01":
        return 0
    revision, end = _varint(data, begin.end())
    return revision if end <= after else 0


def _first_item(data: bytes, at: int, end: int) -> KeyValue | None:
    while at < end:
        tag = data[at]
        at += 1
        if tag == 0x12:
            start, at = _span(data, at, end)
            return _key_value(data, start, at)
        at = _skip(data, tag, at, end)
    return None


class WatchAnswer(NamedTuple):
    """One message of a watch stream. `reason` is why it was cancelled."""

    revision: int
    is_created: bool
    is_canceled: bool
    compacted: int
    reason: str
    events: list[WatchedEvent]


async def decode_watch(data: bytes) -> WatchAnswer:
    """WatchResponse: header 1, created 3, canceled 4, compact_revision 5, cancel_reason 6, events 11.

    Raises BadAnswer.
    """
    events: list[WatchedEvent] = []
    revision = created = canceled = compacted = 0
    reason = ""
    at, end = 0, len(data)
    pause_items, pause_at = _ITEMS_AT_ONCE, _BYTES_AT_ONCE
    try:
        while at < end:
            tag = data[at]
            at += 1
            if tag == 0x5A:
                start, at = _span(data, at, end)
                events.append(_event(data, start, at))
                if at > pause_at or len(events) >= pause_items:
                    pause_items, pause_at = len(events) + _ITEMS_AT_ONCE, at + _BYTES_AT_ONCE
                    await asyncio.sleep(0)
            elif tag == 0x0A:
                start, at = _span(data, at, end)
                revision = _revision(data, start, at)
            elif tag == 0x18:
                created, at = _varint(data, at)
            elif tag == 0x20:
                canceled, at = _varint(data, at)
            elif tag == 0x28:
                compacted, at = _varint(data, at)
            elif tag == 0x32:
                start, at = _span(data, at, end)
                reason = data[start:at].decode("utf-8", "replace")
            else:
                at = _skip(data, tag, at, end)
        _check_end(at, end)
    except IndexError:
        raise BadAnswer("a message of a watch is cut off") from None
    return WatchAnswer(revision, bool(created), bool(canceled), compacted, reason, events)


_NOTHING = KeyValue(b"", b"", 0, 0, 0)


def _event(data: bytes, at: int, end: int) -> WatchedEvent:
    """Event: type 1 (PUT is 0, DELETE is 1), kv 2, prev_kv 3."""
    kind, item = 0, _NOTHING
    while at < end:
        tag = data[at]
        at += 1
        if tag == 0x12:
            start, at = _span(data, at, end)
            item = _key_value(data, start, at)
        elif tag == 0x08:
            kind, at = _varint(data, at)
        else:
            at = _skip(data, tag, at, end)
    _check_end(at, end)
    return WatchedEvent(kind == 1, item)


def _fields(data: bytes) -> tuple[dict[int, int], dict[int, list[bytes]]]:
    """Return the numbers and the contents of a message by their tags. Raises BadAnswer."""
    numbers: dict[int, int] = {}
    contents: dict[int, list[bytes]] = {}
    at, end = 0, len(data)
    try:
        while at < end:
            tag = data[at]
            if tag & 7 == 2 and tag < 128:
                start, at = _span(data, at + 1, end)
                contents.setdefault(tag, []).append(data[start:at])
            elif tag & 7 == 0 and tag < 128:
                numbers[tag], at = _varint(data, at + 1)
            else:
                at = _skip(data, tag, at + 1, end)
        _check_end(at, end)
    except IndexError:
        raise BadAnswer("an answer is cut off") from None
    return numbers, contents


def decode_lease(data: bytes) -> int:
    """LeaseGrantResponse: ID 2, error 4. Raises BadAnswer."""
    numbers, contents = _fields(data)
    if 0x22 in contents or not numbers.get(0x10):
        raise BadAnswer("etcd gave no lease: " + b" ".join(contents.get(0x22, ())).decode("utf-8", "replace"))
    return numbers[0x10]


def decode_token(data: bytes) -> str:
    """AuthenticateResponse: token 2. Raises BadAnswer."""
    token = b"".join(_fields(data)[1].get(0x12, ())).decode("utf-8", "replace")
    if not token.isascii() or not token.isprintable():
        raise BadAnswer("the token has characters that no header can have")
    return token


def decode_status(data: bytes) -> tuple[MemberStatus, int]:
    """Return the status and the cluster's ID. Raises BadAnswer.

    StatusResponse: header 1, version 2, dbSize 3, leader 4, raftTerm 6, errors 8, dbSizeInUse 9, isLearner 10.
    """
    numbers, contents = _fields(data)
    header = b"".join(contents.get(0x0A, ()))
    try:
        said = _header_numbers(header, 0, len(header))
    except IndexError:
        raise BadAnswer("an answer is cut off") from None
    # Alarms are words among the errors: "memberID:1234 alarm:NOSPACE ".
    words = b" ".join(contents.get(0x42, ())).decode("utf-8", "replace").split()
    alarms = tuple(sorted({word.removeprefix("alarm:") for word in words if word.startswith("alarm:")}))
    status = MemberStatus(
        version=b"".join(contents.get(0x12, ())).decode("utf-8", "replace"),
        size=numbers.get(0x18, 0),
        size_in_use=numbers.get(0x48, 0),
        alarms=alarms,
        leader=numbers.get(0x20, 0),
        member=said.get(0x10, 0),
        revision=said.get(0x18, 0),
        raft_term=numbers.get(0x30, 0),
        is_learner=bool(numbers.get(0x50, 0)),
    )
    return status, said.get(0x08, 0)
