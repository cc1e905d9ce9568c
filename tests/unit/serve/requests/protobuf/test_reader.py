"""Protobuf bodies become the documents that they would be in JSON; garbage becomes an error, and nothing else."""

import random

import pytest

from moorage.model.kinds import KINDS
from moorage.serve.requests.protobuf_reader import WireError, read_object


def field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def envelope(api_version: bytes, kind: bytes, message: bytes) -> bytes:
    return b"k8s\x00" + field(1, field(1, api_version) + field(2, kind)) + field(2, message)


def test_a_pod() -> None:
    labels = field(1, b"app") + field(2, b"web")
    metadata = field(1, b"p") + field(2, b"") + field(11, labels)
    requests = field(1, b"cpu") + field(2, field(1, b"100m"))
    container = field(1, b"c") + field(2, b"i") + field(8, field(2, requests))
    toleration = field(1, b"sla") + field(2, b"Gt") + field(3, b"950") + field(5, -1)
    spec = field(2, container) + field(4, 0) + field(22, toleration)
    assert read_object(envelope(b"v1", b"Pod", field(1, metadata) + field(2, spec)), KINDS.POD) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"app": "web"}},
        "spec": {
            "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "100m"}}}],
            "terminationGracePeriodSeconds": 0,
            "tolerations": [{"key": "sla", "operator": "Gt", "value": "950", "tolerationSeconds": -1}],
        },
    }


def test_groups_without_a_level_and_shares() -> None:
    probe = field(1, field(2, field(1, b"/") + field(2, field(1, 1) + field(3, b"http")))) + field(4, 5)
    container = field(1, b"c") + field(11, probe)
    document = read_object(envelope(b"v1", b"Pod", field(2, field(2, container))), KINDS.POD)
    assert document["spec"]["containers"][0]["readinessProbe"] == {
        "httpGet": {"path": "/", "port": "http"},
        "periodSeconds": 5,
    }


def test_a_pointer_to_zero_is_kept_and_an_empty_field_is_dropped() -> None:
    spec = field(1, 0) + field(5, 0)
    document = read_object(envelope(b"apps/v1", b"Deployment", field(2, spec)), KINDS.DEPLOYMENT)
    assert document["spec"] == {"replicas": 0}


def test_garbage_is_refused_whatever_it_is() -> None:
    noise = random.Random(7)
    good = envelope(b"v1", b"Pod", field(1, field(1, b"p")) + field(2, field(2, field(1, b"c"))))
    for _ in range(3_000):
        body = bytearray(good)
        for _ in range(noise.randrange(1, 6)):
            body[noise.randrange(4, len(body))] = noise.randrange(256)
        try:
            read_object(bytes(body[: noise.randrange(4, len(body) + 1)]), KINDS.POD)
        except WireError:
            continue
    with pytest.raises(WireError, match="does not begin"):
        read_object(b"{}", KINDS.POD)


def test_a_claim_whose_name_a_part_of_pods_has_too() -> None:
    opaque = field(1, b"d.example.com") + field(2, field(1, b'{"b":1,"a":2}'))
    config = field(1, b"r") + field(2, field(1, opaque))
    request = field(1, b"r") + field(2, field(1, b"gpu") + field(4, 2))
    spec = field(1, field(1, request) + field(3, config))
    result = field(1, b"r") + field(9, b"share") + field(10, field(1, b"m") + field(2, field(1, b"1Gi")))
    consumer = field(3, b"pods") + field(4, b"p") + field(5, b"uid")
    device = field(1, b"d.example.com") + field(5, field(1, b"{}")) + field(7, b"share")
    status = field(1, field(1, field(1, result))) + field(2, consumer) + field(4, device)
    message = field(1, field(1, b"c")) + field(2, spec) + field(3, status)
    body = envelope(b"resource.k8s.io/v1", b"ResourceClaim", message)
    assert read_object(body, KINDS.RESOURCE_CLAIM) == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {
            "devices": {
                "requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "count": 2}}],
                "config": [{"requests": ["r"], "opaque": {"driver": "d.example.com", "parameters": {"b": 1, "a": 2}}}],
            }
        },
        "status": {
            "allocation": {
                "devices": {"results": [{"request": "r", "shareID": "share", "consumedCapacity": {"m": "1Gi"}}]}
            },
            "reservedFor": [{"resource": "pods", "name": "p", "uid": "uid"}],
            "devices": [{"driver": "d.example.com", "data": {}, "shareID": "share"}],
        },
    }


def test_attributes_of_devices() -> None:
    values = {b"i": field(2, 7), b"b": field(3, 0), b"s": field(4, b""), b"l": field(6, 1) + field(6, 2)}
    device = field(1, b"a") + b"".join(field(2, field(1, name) + field(2, value)) for name, value in values.items())
    message = field(2, field(1, b"d.example.com") + field(5, 1) + field(6, device))
    body = envelope(b"resource.k8s.io/v1", b"ResourceSlice", message)
    found = read_object(body, KINDS.RESOURCE_SLICE)
    attributes = {"i": {"int": 7}, "b": {"bool": False}, "s": {"string": ""}, "l": {"ints": [1, 2]}}
    assert found["spec"] == {
        "driver": "d.example.com",
        "allNodes": True,
        "devices": [{"name": "a", "attributes": attributes}],
    }


def test_lists_in_a_map_are_messages() -> None:
    kind = KINDS.CERTIFICATE_SIGNING_REQUEST
    extra = field(1, b"team") + field(2, field(1, b"a") + field(1, b"b"))
    raw = read_object(
        envelope(b"certificates.k8s.io/v1", b"CertificateSigningRequest", field(2, field(6, extra))), kind
    )
    assert raw["spec"]["extra"] == {"team": ["a", "b"]}


TIMES = [
    (field(1, -62135596798), "0001-01-01T00:00:02.000000Z"),
    (field(1, -30610224001) + field(2, 999_000), "0999-12-31T23:59:59.000999Z"),
    (field(1, 0) + field(2, 0), "1970-01-01T00:00:00.000000Z"),
    (field(1, 1790000000) + field(2, 5_000), "2026-09-21T14:13:20.000005Z"),
]


@pytest.mark.parametrize(("time", "text"), TIMES)
def test_years_have_four_digits(time: bytes, text: str) -> None:
    lease = read_object(envelope(b"coordination.k8s.io/v1", b"Lease", field(2, field(3, time))), KINDS.LEASE)
    assert lease["spec"]["acquireTime"] == text
    creation = field(1, field(1, b"l") + field(8, time))
    lease = read_object(envelope(b"coordination.k8s.io/v1", b"Lease", creation), KINDS.LEASE)
    assert lease["metadata"]["creationTimestamp"] == f"{text[:19]}Z"
