"""Blocks of headers: the examples of RFC 7541, and input that must end in an error."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.store.etcd.wire.frames import BadHeaders, Heading, decode_headers, encode_headers

TEXT = st.binary(max_size=300)


@pytest.mark.parametrize(
    ("block", "headers"),
    [
        # C.2: a literal with a new name, one with a known name, one that is never indexed, an indexed field
        ("400a637573746f6d2d6b65790d637573746f6d2d686561646572", ((b"custom-key", b"custom-header"),)),
        ("040c2f73616d706c652f70617468", ((b":path", b"/sample/path"),)),
        ("100870617373776f726406736563726574", ((b"password", b"secret"),)),
        ("82", ((b":method", b"GET"),)),
        # C.4.1, C.6.1: Huffman codes
        ("418cf1e3c2e5f23a6ba0ab90f4ff", ((b":authority", b"www.example.com"),)),
        ("488264025885aec3771a4b", ((b":status", b"302"), (b"cache-control", b"private"))),
        # A table of no size is what we asked for.
        ("2088", ((b":status", b"200"),)),
    ],
)
def test_blocks_of_the_standard(block: str, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    assert decode_headers(bytes.fromhex(block)) == headers


@given(st.lists(st.tuples(TEXT, TEXT), max_size=8).map(tuple))
def test_what_is_encoded_is_decoded(headers: tuple[tuple[bytes, bytes], ...]) -> None:
    assert decode_headers(encode_headers(headers)) == headers


@pytest.mark.parametrize(
    "block",
    [
        "80",  # index 0
        "be",  # index 62: a dynamic table, which there is not
        "3f01",  # a table of 32 bytes
        "ff",  # a number that is cut off
        "ffffffffffffffffff01",  # a number without end
        "00",  # no name
        "0005616263",  # a name that is cut off
        "007fffffff7f",  # a name of hundreds of megabytes
        "000161" + "84ffffffff",  # Huffman's end within a value
        "000161" + "8100",  # a Huffman code that is padded with zeros
        "000161" + "82f8ff",  # padded with more than seven bits
    ],
)
def test_wrong_blocks(block: str) -> None:
    with pytest.raises(BadHeaders):
        decode_headers(bytes.fromhex(block))


@given(st.binary(max_size=200))
def test_any_bytes_are_headers_or_an_error(block: bytes) -> None:
    try:
        decode_headers(block)
    except BadHeaders:
        return


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (b"etcdserver: no leader", "etcdserver: no leader"),
        (b"100%25 of %C3%A4", "100% of ä"),
        (b"50% %zz %", "50% %zz %"),
        (b"two%0Alines", "two lines"),
    ],
)
def test_messages_of_statuses(message: bytes, text: str) -> None:
    heading = Heading(encode_headers(((b"grpc-status", b"14"), (b"grpc-message", message))))
    assert (heading.status, heading.text) == (14, text)


@pytest.mark.parametrize(("said", "status"), [(b"", -1), (b"0", 0), (b"16", 16), (b"-1", 2), (b"1e9", 2), (b"9999", 2)])
def test_statuses(said: bytes, status: int) -> None:
    headers = ((b"grpc-status", said),) if said else ()
    assert Heading(encode_headers(headers)).status == status
