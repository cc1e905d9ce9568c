"""Bodies that are not what their content type says: broken JSON, YAML that explodes, protobuf with bits exchanged.

In: a seeded `Random` and a document. Out: bytes.
"""

import json
import struct
from random import Random
from typing import Any

import yaml

from moorage.model.kinds import Kind

_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
_ODD_YAML = (
    _BOMB,
    "a: &a [*a]",
    "&a {a: *a}",
    "--- {}\n--- {}\n",
    "",
    "---",
    "- 1\n- 2",
    "? {a: b}\n: c",
    "<<: {a: b}\nmetadata: {<<: [1]}",
    "!!python/object/apply:os.getcwd []",
    "a: !!binary x",
    "2001-01-01: 2001-01-01",
    "metadata: {name: 012, labels: {yes: no, 1: 2, ~: ~, .nan: .inf}}",
    "\t",
    "a: b: c",
    "{" * 500,
    "- " * 2000,
    "\ufeff{}",
    "%YAML 9.9\n---\n{}",
)
_ODD_JSON = (
    b"",
    b"null",
    b"true",
    b"[]",
    b'"x"',
    b"1e999",
    b"NaN",
    b"{}",
    b"{",
    b'{"metadata":{}',
    b"\xff\xfe\x00",
    b"\xef\xbb\xbf{}",
    b'{"metadata":{"name":"\xff"}}',
    b'{"metadata":{"name":"\\ud800"}}',
    b'{"metadata":{"name":"a","name":"b"}}',
    b'{"metadata":{"name":"a"},"metadata":null}',
    b'{"metadata":{"labels":{"\\ud800":"\\udfff"}}}',
    b'{"spec":{"replicas":1e400}}',
    b'{"kind":5,"apiVersion":[],"metadata":{}}',
    b'{"kind":{},"metadata":{"name":"a"}}',
    b'{"apiVersion":"v1","kind":"List","items":[]}',
    b"[" * 100_000,
    b'{"a":' * 20_000,
    b'{"a":' * 200 + b"1" + b"}" * 200,
    b'{"metadata":{"name":"a"},"x":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b"1" * 10_000,
    b'{"metadata":{"name":' + b"9" * 5000 + b"}}",
    b'{"metadata":{"name":"a","generation":' + b"9" * 400 + b"}}",
)


def disfigured(random: Random, document: Any) -> tuple[bytes, str]:
    """A body, and the content type that it claims."""
    which = random.randrange(6)
    if which == 0:
        return random.choice(_ODD_JSON), "application/json"
    if which == 1:
        return random.choice(_ODD_YAML).encode(), "application/yaml"
    if which == 2:
        return yaml.safe_dump(document, allow_unicode=random.random() < 0.5).encode(), "application/yaml"
    text = json.dumps(document).encode()
    if which == 3:
        return text[: random.randrange(len(text))], "application/json"
    if which == 4:
        return exchanged(random, text), "application/json"
    twice = text.replace(b'": ', b'": 1, "', 1)
    return twice, "application/json"


def exchanged(random: Random, data: bytes) -> bytes:
    """The same bytes but for a few."""
    changed = bytearray(data)
    for _ in range(random.randrange(1, 6)):
        if not changed:
            break
        at = random.randrange(len(changed))
        which = random.randrange(3)
        if which == 0:
            changed[at] = random.randrange(256)
        elif which == 1:
            del changed[at]
        else:
            changed.insert(at, random.randrange(256))
    return bytes(changed)


def protobuf_of(random: Random, kind: Kind) -> bytes:
    """A message with Kubernetes' envelope: its fields are random numbers with random contents, nested at random."""
    about = _bytes_field(1, kind.api_version.encode()) + _bytes_field(2, kind.name.encode())
    metadata = _bytes_field(1, b"a") + _bytes_field(3, b"default") + _message(random, 0)
    message = _bytes_field(1, metadata) + _message(random, 0)
    body = b"k8s\x00" + _bytes_field(1, about) + _bytes_field(2, message)
    return exchanged(random, body) if random.random() < 0.3 else body


def _message(random: Random, depth: int) -> bytes:
    return b"".join(_field(random, depth) for _ in range(random.randrange(4)))


def _field(random: Random, depth: int) -> bytes:
    number = random.randrange(1, 25)
    which = random.randrange(7)
    if which == 0:
        return _varint(number << 3) + _varint(random.choice((0, 1, 2**31, 2**63, 2**64 - 1)))
    if which == 1:
        return _varint(number << 3 | 1) + struct.pack("<d", random.choice((0.0, float("nan"), float("inf"), 1e308)))
    if which == 2:
        return _varint(number << 3 | 5) + struct.pack("<f", random.random())
    if which == 3 or depth > 8:
        return _bytes_field(number, random.choice((b"", b"a", b"\xff", b"{", b'{"f:a":{}}', b"[" * 5000, b"1Gi")))
    return _bytes_field(number, _message(random, depth + 1))


def _bytes_field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)
