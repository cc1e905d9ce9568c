"""Write profiles for `go tool pprof` (gzipped protobuf) and for speedscope.app (JSON).

Kubernetes: github.com/google/pprof's profile.proto.
"""

import zlib
from collections.abc import Iterable

import msgspec

from moorage.model.protobuf_encoding import encode_bytes, encode_number, encode_varint
from moorage.telemetry.profiling import PERIOD_SECONDS, CpuProfile, ProfiledFunction

_PERIOD = int(PERIOD_SECONDS * 1e9)


class _Strings:
    """The string table, whose first entry is empty."""

    def __init__(self) -> None:
        self.codes = {"": 0}

    def code(self, text: str) -> int:
        return self.codes.setdefault(text, len(self.codes))


def to_pprof(profile: CpuProfile) -> bytes:
    strings = _Strings()
    functions: dict[ProfiledFunction, int] = {}
    locations: dict[tuple[ProfiledFunction, int], int] = {}
    out = bytearray()
    for kind, unit in (("samples", "count"), ("cpu", "nanoseconds")):
        out += encode_bytes(1, encode_number(1, strings.code(kind)) + encode_number(2, strings.code(unit)))
    thread_key = strings.code("thread")
    for (thread, stack), samples in profile.samples.items():
        ids = [locations.setdefault(place, len(locations) + 1) for place in stack]
        label = encode_bytes(3, encode_number(1, thread_key) + encode_number(2, strings.code(thread)))
        values = _packed(2, (samples, profile.nanoseconds[thread, stack]))
        out += encode_bytes(2, _packed(1, ids) + values + label)
    for (function, line), number in locations.items():
        code = functions.setdefault(function, len(functions) + 1)
        out += encode_bytes(
            4, encode_number(1, number) + encode_bytes(4, encode_number(1, code) + encode_number(2, line))
        )
    for function, number in functions.items():
        name = strings.code(function.name)
        body = encode_number(1, number) + encode_number(2, name) + encode_number(3, name)
        out += encode_bytes(5, body + encode_number(4, strings.code(function.file)) + encode_number(5, function.line))
    period_type = encode_number(1, strings.code("cpu")) + encode_number(2, strings.code("nanoseconds"))
    for text in strings.codes:
        out += encode_bytes(6, text.encode("utf-8", "replace"))
    out += (
        encode_number(9, profile.began)
        + encode_number(10, profile.duration)
        + encode_bytes(11, period_type)
        + encode_number(12, _PERIOD)
    )
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return packer.compress(bytes(out)) + packer.flush()


def to_speedscope(profile: CpuProfile) -> bytes:
    frames: dict[tuple[ProfiledFunction, int], int] = {}
    threads: dict[str, tuple[list[list[int]], list[int]]] = {}
    for (thread, stack), spent in profile.nanoseconds.items():
        samples, weights = threads.setdefault(thread, ([], []))
        samples.append([frames.setdefault(place, len(frames)) for place in reversed(stack)])
        weights.append(spent)
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": "moorage",
        "name": "CPU",
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": one.name, "file": one.file, "line": line} for one, line in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": thread,
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
            for thread, (samples, weights) in threads.items()
        ],
    }
    return msgspec.json.encode(document)


def _packed(field: int, values: Iterable[int]) -> bytes:
    return encode_bytes(field, b"".join(map(encode_varint, values)))
