"""Random documents: long texts, numbers and lists at random paths of every kind's schema, for as long as is asked for.

`python -m bench.stall generated --seconds 3600 --seed 7`: the same seed makes the same documents. Custom objects with a
field for each format are among them. What stalls is what the watchdog reports.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench.stall.custom import DEFINITIONS
from bench.stall.hostile import encoded
from bench.stall.texts import FORMATS, TEXTS, custom_text, texts_definition
from bench.stall.wire import Wire
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema import shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.stall.loads import Context

Raw = dict[str, Any]
Answers = Counter[str]
_TOKENS = (
    *("0", "1", "a", "A", "-", "_", ".", "/", ":", "@", "%", "*", "+", "=", ",", ";", "(", ")", "[", "]", "{", "}"),
    *("0s", "1h", "a/", "a.", "::", "\\", '"', "'", " ", "\n", "\0", "\u00e9", "@every ", "1.2.3", "AAAA", "true", "!"),
    *("-----BEGIN CERTIFICATE-----\n", "self.", "matches('a')", "https://", "kubernetes.io/"),
)
_CLIENTS = 3
_MAX_DEPTH = 9
_PATCHES = ("application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml")


class Generator:
    """Makes documents of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._kinds = [kind for kind in KINDS.values() if "create" in kind.verbs]
        self._made = 0

    def request(self) -> tuple[str, str, str, bytes, str]:
        """Return (label, method, path, body, content type)."""
        self._made += 1
        if self._random.random() < 0.1:
            field = self._random.choice(FORMATS)
            return (
                "texts",
                "POST",
                TEXTS,
                encoded(custom_text(f"t{self._made}", field, self._text())),
                "application/json",
            )
        kind = self._random.choice(self._kinds)
        name = f"g{self._made % 40}"
        document: Raw = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {"name": name}}
        for _ in range(self._random.randint(1, 4)):
            self._put(document, shapes.struct_shape(kind.view), 0)
        document |= {"apiVersion": kind.api_version, "kind": kind.name}
        if isinstance(document.get("metadata"), dict):
            document["metadata"].setdefault("name", name)
        path = _path(kind)
        if self._random.random() < 0.3:
            content_type = self._random.choice(_PATCHES)
            return kind.plural, "PATCH", f"{path}/{name}?fieldManager=g&force=true", encoded(document), content_type
        return kind.plural, "POST", path, encoded(document), "application/json"

    def _put(self, holder: Raw, shape: shapes.StructShape, depth: int) -> None:
        """Put something at one field of an object, or of an object in it."""
        name = self._random.choice(sorted(shape.known))
        value = self._value(shape.field(name), holder.get(name), depth + 1)
        if value is not None:
            holder[name] = value

    def _value(self, shape: shapes.Shape, present: Any, depth: int) -> Any:
        if isinstance(shape, shapes.StructShape):
            inner: Raw = present if isinstance(present, dict) else {}
            if depth < _MAX_DEPTH and shape.known:
                self._put(inner, shape, depth)
            return inner
        if isinstance(shape, shapes.ListShape):
            one = self._value(shape.item, None, depth + 1)
            size = len(encoded(one)) + 1
            return [one] * self._random.choice((1, 1, 1, max(1, min(self._length() // size, 100_000))))
        if isinstance(shape, shapes.MapShape):
            key = self._random.choice(("a", self._text()))
            return {key: self._value(shape.value, None, depth + 1)}
        make: list[Callable[[], Any]] = [self._text, self._text, self._text, self._number, lambda: True]
        return self._random.choice(make)()

    def _length(self) -> int:
        return int(10 ** self._random.uniform(1, 6.4))

    def _text(self) -> str:
        """Return a beginning, something that is repeated, and an end."""
        pick = self._random.choice
        unit = "".join(pick(_TOKENS) for _ in range(self._random.randint(1, 3)))
        begin, end = ("".join(pick(_TOKENS) for _ in range(self._random.randint(0, 2))) for _ in range(2))
        return begin + unit * max(1, self._length() // len(unit)) + end

    def _number(self) -> int:
        return int(
            self._random.choice((0, 1, -1, 2**31, 2**63 - 1, -(2**63), 2**64, 10 ** self._random.randint(1, 4000)))
        )


def _path(kind: Kind) -> str:
    root = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    return f"{root}/namespaces/default/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"


async def generated(context: Context) -> Answers:
    """Send random documents."""
    answers: Answers = Counter()
    generator, until = Generator(context.seed), time.monotonic() + context.seconds
    first = Wire(context.access)
    await first.ask("POST", DEFINITIONS, encoded(texts_definition()))
    first.close()

    async def client() -> None:
        wire = Wire(context.access)
        while time.monotonic() < until:
            label, method, path, body, content_type = generator.request()
            reply = await wire.ask(method, path, body, content_type)
            answers[str(reply.status)] += 1
            if reply.status == 500 and b"etcdserver: request is too large" not in reply.start:
                answers[f"500 {label}: {reply.start[:200].decode(errors='replace')}"] += 1
        wire.close()

    await asyncio.gather(*(client() for _ in range(_CLIENTS)))
    return answers
