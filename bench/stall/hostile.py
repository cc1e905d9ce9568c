"""Bodies that are as expensive as three mebibytes can be: many tiny values, deep values, bombs of each encoding."""

from __future__ import annotations

import json
from typing import Any

LIMIT = 3 * 1024 * 1024 - 1024
Raw = dict[str, Any]


def pod(name: str, **spec: Any) -> Raw:
    containers = [{"name": "app", "image": "app:1"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, **spec},
    }


def config_map(name: str, data: dict[str, str], **metadata: Any) -> Raw:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data}


def encoded(document: Any) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def filled(before: str, piece: str, after: str, limit: int = LIMIT) -> bytes:
    """Repeat a piece, with commas, up to the limit."""
    count = (limit - len(before) - len(after)) // (len(piece) + 1)
    return (before + ",".join([piece] * count) + after).encode()


_POD = '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"hostile"},"spec":{"containers":['


def json_bodies() -> dict[str, bytes]:
    many_keys = ",".join(f'"k{i}":""' for i in range(LIMIT // 14))
    return {
        "empty containers": filled(_POD, "{}", "]}}"),
        "empty lists": filled('{"apiVersion":"v1","kind":"Pod","spec":{"unknown":[', "[]", "]}}"),
        "unknown fields": f'{{"apiVersion":"v1","kind":"Pod","spec":{{{many_keys}}}}}'.encode(),
        "duplicate fields": filled(_POD + '{"name":"a",', '"x":1', "}]}}"),
        "env": filled(_POD + '{"name":"a","image":"b","env":[', '{"name":"A","value":"b"}', "]}]}}"),
        "tolerations": filled(_POD + '{"name":"a","image":"b"}],"tolerations":[', '{"operator":"Exists"}', "]}}"),
        "owners": filled(
            '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hostile","ownerReferences":[',
            '{"apiVersion":"v1","kind":"Pod","name":"a","uid":"b"}',
            "]}}",
        ),
        "finalizers": filled(
            '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hostile","finalizers":[', '"a/b"', "]}}"
        ),
        "deep": b'{"apiVersion":"v1","kind":"Pod","spec":' + b"[" * 1_000_000 + b"]" * 1_000_000 + b"}",
        "long number": b'{"apiVersion":"v1","kind":"Pod","spec":{"priority":' + b"9" * LIMIT + b"}}",
        "long string": b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"' + b"\\u0041" * (LIMIT // 6) + b'"}}',
        "long quantity": (
            _POD + '{"name":"a","resources":{"requests":{"cpu":"' + "1" * (LIMIT - 500) + '"}}}]}}'
        ).encode(),
        "long label": encoded({"kind": "Pod", "metadata": {"name": "a", "labels": {"k" * 1_000_000: "v" * 1_000_000}}}),
        "config map": encoded(config_map("large", {f"k{i}": "v" for i in range(60_000)})),
    }


def yaml_bodies() -> dict[str, bytes]:
    laughs = "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10))
    return {
        "billion laughs": ("kind: Pod\napiVersion: v1\na0: &a0 [lol]\n" + laughs).encode(),
        "many lines": b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: y}\ndata:\n"
        + b"".join(b"  k%d: v\n" % i for i in range(100_000)),
        "deep flow": b"kind: Pod\nspec: " + b"[" * 500_000 + b"]" * 500_000,
        "deep block": b"kind: Pod\n" + b"".join(b" " * i + b"a:\n" for i in range(2_000)),
        "flow list": b"kind: Pod\nspec: [" + b"{}," * 900_000 + b"]",
    }


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def _field(number: int, body: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def protobuf_bodies() -> dict[str, bytes]:
    head = _field(1, _field(1, b"v1") + _field(2, b"Pod"))
    meta = _field(1, _field(1, b"bomb"))

    def body(spec: bytes) -> bytes:
        return b"k8s\0" + head + _field(2, meta + _field(2, spec))

    deep = b""
    while len(deep) < 200_000:
        deep = _field(2, deep)
    return {
        "protobuf containers": body(_field(2, b"") * (LIMIT // 2 - 100)),
        "protobuf unknown": body(b"\xf8\x7f\x01" * (LIMIT // 3 - 100)),
        "protobuf deep": body(deep),
        "protobuf labels": b"k8s\0" + head + _field(2, _field(1, _field(11, _field(1, b"k")) * (LIMIT // 5 - 100))),
    }


def json_patches() -> dict[str, bytes]:
    doubling: list[Raw] = [{"op": "add", "path": "/metadata/annotations", "value": {"a": ["x" * 1000]}}]
    doubling += [
        {"op": "copy", "from": "/metadata/annotations", "path": f"/metadata/annotations/{i}"} for i in range(64)
    ]
    deep = "/a" * 150
    return {
        "patch of 10,000 operations": encoded(
            [{"op": "add", "path": f"/data/k{i}", "value": "v"} for i in range(10_000)]
        ),
        "patch of 10,001 operations": encoded([{"op": "test", "path": "/data", "value": 1}] * 10_001),
        "patch of 100,000 operations": encoded([{"op": "test", "path": "/a"}] * 100_000),
        "patch of copies": encoded(doubling),
        "patch of deep paths": encoded([{"op": "test", "path": deep, "value": None}] * 9_000),
        "patch of list heads": encoded(
            [{"op": "add", "path": "/metadata/finalizers", "value": []}]
            + [{"op": "add", "path": "/metadata/finalizers/0", "value": "a/b"}] * 9_999
        ),
    }
