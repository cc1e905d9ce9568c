"""Messages as bytes: what is sent, what is read, and input that must end in an error."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.store.etcd.messages import Compare, Delete, Get, KeyValue, Put, RangeResult, TxnResult, WatchedEvent
from moorage.store.etcd.wire import requests
from moorage.store.etcd.wire.answers import (
    BadAnswer,
    decode_lease,
    decode_range,
    decode_status,
    decode_token,
    decode_txn,
    decode_watch,
    decode_written,
)


def field(number: int, content: bytes | int) -> bytes:
    if isinstance(content, int):
        return requests.varint(number << 3) + requests.varint(content)
    return requests.varint(number << 3 | 2) + requests.varint(len(content)) + content


def run(result: Any) -> Any:
    """Return the answer of a decoder, whether it is async or not."""
    if not asyncio.iscoroutine(result):
        return result
    try:
        while True:
            result.send(None)
    except StopIteration as end:
        return end.value


HEADER = field(1, field(1, 2**63 + 5) + field(2, 2**64 - 1) + field(3, 1234567) + field(4, 3))
ITEM = field(1, b"/a") + field(2, 3) + field(3, 300) + field(4, 2) + field(5, b"v" * 200) + field(6, 2**62)
READ = KeyValue(b"/a", b"v" * 200, 3, 300, 2**62)
TXN = HEADER + field(2, 1) + field(3, field(2, HEADER)) + field(3, field(1, HEADER + field(2, ITEM) + field(4, 1)))
RANGE = HEADER + field(2, ITEM) + field(2, ITEM) + field(3, 1) + field(4, 9)
WATCH = (
    HEADER + field(2, 1) + field(11, field(2, ITEM)) + field(11, field(1, 1) + field(2, field(1, b"/b") + field(3, 7)))
)
STATUS = (
    HEADER + field(2, b"3.5.1") + field(3, 25) + field(4, 9) + field(8, b"memberID:9 alarm:NOSPACE ") + field(9, 20)
)


def test_a_range() -> None:
    assert run(decode_range(RANGE)) == RangeResult([READ, READ], 1234567, 9, True)


def test_a_write_that_was_made_is_seen_at_a_glance() -> None:
    assert decode_written(TXN) == decode_txn(TXN).revision
    assert decode_written(HEADER + field(3, field(1, HEADER))) == 0
    assert decode_written(field(1, field(3, 7)) + field(2, 1)) == 0  # for `decode_txn`
    assert {decode_written(TXN[:end]) for end in range(len(TXN))} == {0, 1234567}
    assert decode_written(field(1, field(1, 1) + field(2, 1) + b"\x18\xff") + field(2, 1)) == 0


@given(
    key=st.binary(min_size=1, max_size=300),
    modified=st.integers(0, 2**62),
    value=st.binary(max_size=20_000),
    lease=st.integers(0, 2**62),
)
def test_a_write_is_the_transaction_that_it_stands_for(key: bytes, modified: int, value: bytes, lease: int) -> None:
    conditions = Compare(key, modified), Compare(b"/fence", 12345)
    written = requests.encode_txn(conditions, [Put(key, value, lease)], [Get(key), Get(b"/fence")])
    assert requests.encode_write(key, modified, value, lease, requests.encode_fence(b"/fence", 12345)) == written


def test_a_transaction() -> None:
    assert decode_txn(TXN) == TxnResult(True, 1234567, (READ,))
    assert decode_txn(HEADER + field(3, field(1, HEADER))) == TxnResult(False, 1234567, (None,))


def test_a_watch() -> None:
    answer = run(decode_watch(WATCH))
    assert answer.events == [
        WatchedEvent(False, READ),
        WatchedEvent(True, KeyValue(b"/b", b"", 0, 7, 0)),
    ]
    assert (answer.revision, answer.is_created, answer.is_canceled, answer.compacted) == (1234567, False, False, 0)
    ended = run(decode_watch(HEADER + field(3, 1) + field(4, 1) + field(5, 88) + field(6, b"why")))
    assert (ended.is_created, ended.is_canceled, ended.compacted, ended.reason) == (True, True, 88, "why")


def test_a_status() -> None:
    status, cluster = decode_status(STATUS)
    assert (status.version, status.size, status.size_in_use, status.leader) == ("3.5.1", 25, 20, 9)
    assert (status.alarms, status.is_learner, cluster) == (("NOSPACE",), False, 2**63 + 5)


def test_a_lease_and_a_token() -> None:
    assert decode_lease(HEADER + field(2, 77) + field(3, 60)) == 77
    assert decode_token(HEADER + field(2, b"abc.1")) == "abc.1"
    for bad in (HEADER, HEADER + field(2, 77) + field(4, b"no")):
        with pytest.raises(BadAnswer):
            decode_lease(bad)
    with pytest.raises(BadAnswer):
        decode_token(field(2, b"line\r\nbreak"))


def test_a_header_in_another_order() -> None:
    assert decode_txn(field(1, field(3, 5) + field(2, 1))).revision == 5


def test_unknown_fields_are_skipped() -> None:
    unknown = field(15, 1) + field(16, b"x") + field(500, 2**40) + b"\x79" + bytes(8) + b"\x7d" + bytes(4)
    item = field(2, ITEM + unknown)
    assert run(decode_range(unknown + HEADER + item + unknown)).items == [READ]
    assert run(decode_watch(unknown + field(11, unknown + field(2, ITEM)))).events == [WatchedEvent(False, READ)]


def test_requests() -> None:
    assert requests.encode_range(b"/a", b"/b", 5, 10, True, True, True) == (
        field(1, b"/a") + field(2, b"/b") + field(3, 10) + field(4, 5) + field(7, 1) + field(8, 1) + field(9, 1)
    )
    condition = field(2, 2) + field(3, b"/a") + field(6, 400)
    absent = field(2, 2) + field(3, b"/b") + field(6, 0)
    put = field(2, field(1, b"/a") + field(2, b"v" * 5000) + field(3, 6))
    assert requests.encode_txn(
        [Compare(b"/a", 400), Compare(b"/b", 0)],
        [Put(b"/a", b"v" * 5000, 6), Delete(b"/b"), Delete(b"/c", b"/d")],
        [Get(b"/a")],
    ) == (
        field(1, condition)
        + field(1, absent)
        + field(2, put)
        + field(2, field(3, field(1, b"/b")))
        + field(2, field(3, field(1, b"/c") + field(2, b"/d")))
        + field(3, field(1, field(1, b"/a")))
    )
    assert requests.encode_watch(b"/a", b"/b", 3) == field(
        1, field(1, b"/a") + field(2, b"/b") + field(3, 3) + field(4, 1)
    )


Decoder = Callable[[bytes], Any | Coroutine[Any, Any, Any]]
DECODERS: list[tuple[Decoder, bytes]] = [
    (decode_range, RANGE),
    (decode_txn, TXN),
    (decode_watch, WATCH),
    (decode_status, STATUS),
    (decode_lease, HEADER + field(2, 77)),
    (decode_token, HEADER + field(2, b"abc")),
]


@pytest.mark.parametrize(("decode", "whole"), DECODERS, ids=lambda one: getattr(one, "__name__", ""))
def test_what_is_cut_off_or_changed_is_an_error_or_less(decode: Decoder, whole: bytes) -> None:
    errors = 0
    for at in range(len(whole)):
        for hostile in (whole[:at], whole[:at] + b"\xff" + whole[at + 1 :], whole[:at] + b"\xff" * 9 + whole[at:]):
            try:
                run(decode(hostile))
            except BadAnswer:
                errors += 1
    assert errors


@pytest.mark.parametrize("decode", [decode for decode, _ in DECODERS], ids=lambda one: getattr(one, "__name__", ""))
@given(data=st.binary(max_size=400))
def test_any_bytes_are_a_message_or_an_error(decode: Decoder, data: bytes) -> None:
    try:
        run(decode(data))
    except BadAnswer:
        return


async def test_the_event_loop_has_turns_while_a_long_answer_is_read() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    result = await decode_range(HEADER + field(2, ITEM) * 10_000)
    large = await decode_range(HEADER + field(2, field(1, b"/a") + field(5, bytes(3 * 2**20))) * 8)
    counting.cancel()
    assert len(result.items) == 10_000
    assert len(large.items) == 8
    assert turns >= 12
