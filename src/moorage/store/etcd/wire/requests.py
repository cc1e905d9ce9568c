"""Encode requests to etcd as protobuf messages. Kubernetes: etcd's api/etcdserverpb/rpc.proto.

The few messages that we send are written out by hand: the field numbers are those of the `.proto` file, and stand
beside each byte that carries one.
"""

from collections.abc import Iterable

from moorage.store.etcd.messages import Compare, Get, Operation, Put


def _encode_varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


#: Most lengths are small.
_SMALL = tuple(_encode_varint(value) for value in range(4096))


def varint(value: int) -> bytes:
    """Return a number that is not negative."""
    return _SMALL[value] if value < 4096 else _encode_varint(value)


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + varint(len(content)) + content


def encode_range(
    key: bytes, end: bytes, revision: int, limit: int, count_only: bool, keys_only: bool, serializable: bool
) -> bytes:
    """RangeRequest: key 1, range_end 2, limit 3, revision 4, serializable 7, keys_only 8, count_only 9."""
    parts = [_field(b"\x0a", key)]
    if end:
        parts.append(_field(b"\x12", end))
    if limit:
        parts.append(b"\x18" + varint(limit))
    if revision:
        parts.append(b"\x20" + varint(revision))
    if serializable:
        parts.append(b"\x38\x01")
    if keys_only:
        parts.append(b"\x40\x01")
    if count_only:
        parts.append(b"\x48\x01")
    return b"".join(parts)


def encode_txn(compares: Iterable[Compare], then: Iterable[Operation], otherwise: Iterable[Operation]) -> bytes:
    """TxnRequest: compare 1, success 2, failure 3."""
    parts: list[bytes] = []
    for key, modified in compares:
        # Compare: result 1 (EQUAL is 0), target 2 (MOD is 2), key 3, mod_revision 6.
        content = b"\x10\x02\x1a%b%b\x30%b" % (varint(len(key)), key, varint(modified))
        parts.append(b"\x0a" + varint(len(content)) + content)
    for operation in then:
        parts.append(_field(b"\x12", _encode_operation(operation)))
    for operation in otherwise:
        parts.append(_field(b"\x1a", _encode_operation(operation)))
    return b"".join(parts)


def encode_fence(key: bytes, modified: int) -> tuple[bytes, bytes]:
    """Return a condition of a TxnRequest, and the reading of its key if the conditions do not hold."""
    return encode_txn((Compare(key, modified),), (), ()), encode_txn((), (), (Get(key),))


def encode_write(key: bytes, modified: int, value: bytes, lease: int, fence: tuple[bytes, bytes]) -> bytes:
    """TxnRequest of a Put on conditions of its key and of a fence; both are read if they do not hold."""
    size = varint(len(key))
    compare = b"\x10\x02\x1a%b%b\x30%b" % (size, key, varint(modified))
    put = b"\x0a%b%b\x12%b%b" % (size, key, varint(len(value)), value)
    if lease:
        put += b"\x18" + varint(lease)
    put_size = varint(len(put))
    get_size = 1 + len(size) + len(key)
    return b"\x0a%b%b%b\x12%b\x12%b%b\x1a%b\x0a%b\x0a%b%b%b" % (
        varint(len(compare)),
        compare,
        fence[0],
        varint(1 + len(put_size) + len(put)),
        put_size,
        put,
        varint(1 + len(varint(get_size)) + get_size),
        varint(get_size),
        size,
        key,
        fence[1],
    )


def _encode_operation(operation: Operation) -> bytes:
    """RequestOp: request_range 1, request_put 2, request_delete_range 3. All of these have the key as field 1."""
    key = operation.key
    content = b"\x0a" + varint(len(key)) + key
    if isinstance(operation, Put):
        value = operation.value
        content = b"%b\x12%b%b" % (content, varint(len(value)), value)
        if operation.lease:
            content += b"\x18" + varint(operation.lease)
        return b"\x12" + varint(len(content)) + content
    if isinstance(operation, Get):
        return b"\x0a" + varint(len(content)) + content
    if operation.end:
        content += _field(b"\x12", operation.end)
    return b"\x1a" + varint(len(content)) + content


def encode_compaction(revision: int) -> bytes:
    """CompactionRequest: revision 1."""
    return b"\x08" + varint(revision)


def encode_grant(seconds: int) -> bytes:
    """LeaseGrantRequest: TTL 1; etcd chooses the ID."""
    return b"\x08" + varint(seconds)


def encode_revoke(lease: int) -> bytes:
    """LeaseRevokeRequest: ID 1."""
    return b"\x08" + varint(lease)


def encode_authenticate(name: str, password: str) -> bytes:
    """AuthenticateRequest: name 1, password 2."""
    return _field(b"\x0a", name.encode()) + _field(b"\x12", password.encode())


def encode_watch(key: bytes, end: bytes, start: int) -> bytes:
    """WatchRequest with create_request 1: key 1, range_end 2, start_revision 3, progress_notify 4."""
    parts = [_field(b"\x0a", key)]
    if end:
        parts.append(_field(b"\x12", end))
    if start:
        parts.append(b"\x18" + varint(start))
    parts.append(b"\x20\x01")
    return _field(b"\x0a", b"".join(parts))


#: WatchRequest with progress_request 3.
WATCH_PROGRESS = b"\x1a\x00"
