"""Write profiles for `go tool pprof` (gzipped protobuf) and for speedscope.app (JSON).

Kubernetes: github.com/google/pprof's profile.proto.
"""

import zlib
from collections.abc import Iterable

import msgspec

from moorage.telemetry.profiling import PERIOD_SECONDS, Function, Profile

_PERIOD = int(PERIOD_SECONDS * 1e9)


class _Strings:
    """The string table, whose first entry is empty."""

    def __init__(self) -> None:
        self.codes = {"": 0}

    def code(self, text: str) -> int:
        return self.codes.setdefault(text, len(self.codes))


def to_pprof(profile: Profile) -> bytes:
    strings = _Strings()
    functions: dict[Function, int] = {}
    locations: dict[tuple[Function, int], int] = {}
    out = bytearray()
    for kind, unit in (("samples", "count"), ("cpu", "nanoseconds")):
        out += _message(1, _number(1, strings.code(kind)) + _number(2, strings.code(unit)))
    thread_key = strings.code("thread")
    for (thread, stack), samples in profile.samples.items():
        ids = [locations.setdefault(place, len(locations) + 1) for place in stack]
        label = _message(3, _number(1, thread_key) + _number(2, strings.code(thread)))
        values = _packed(2, (samples, profile.nanoseconds[thread, stack]))
        out += _message(2, _packed(1, ids) + values + label)
    for (function, line), number in locations.items():
        code = functions.setdefault(function, len(functions) + 1)
        out += _message(4, _number(1, number) + _message(4, _number(1, code) + _number(2, line)))
    for function, number in functions.items():
        name = strings.code(function.name)
        body = _number(1, number) + _number(2, name) + _number(3, name)
        out += _message(5, body + _number(4, strings.code(function.file)) + _number(5, function.line))
    period_type = _number(1, strings.code("cpu")) + _number(2, strings.code("nanoseconds"))
    for text in strings.codes:
        out += _message(6, text.encode("utf-8", "replace"))
    out += _number(9, profile.began) + _number(10, profile.duration) + _message(11, period_type) + _number(12, _PERIOD)
    packer = zlib.compressobj(6, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return packer.compress(bytes(out)) + packer.flush()


def to_speedscope(profile: Profile) -> bytes:
    frames: dict[tuple[Function, int], int] = {}
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


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, body: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(body)) + body


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _message(field, b"".join(map(_varint, values)))
