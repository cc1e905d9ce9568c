"""Convert custom objects between versions by the webhook of their definition: what is read, and what is stored.

Reads are remembered by revision, so that a list, its watches and gets ask for each object once. Objects that are asked
for at the same time go in one review. Kubernetes: apiextensions-apiserver, the converter in front of the storage of a
custom kind, and the watch cache of each version. Differs: a call may take half a minute.
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from moorage.admit.extension.steps import ConversionAnswer, ConversionCall
from moorage.model.api_error import ApiError, failure
from moorage.model.schema.conversion import convert_view
from moorage.model.types.extension.admission_policies import WebhookClientConfig
from moorage.model.well_known.limits import MAX_OBJECT_BYTES
from moorage.serve.custom.served_kind import ServedKind
from moorage.serve.requests.long_work import LongWork
from moorage.serve.resources.objects import encode
from moorage.serve.webhooks.client import MAX_ANSWER_BYTES, NoAnswer, WebhookClient, is_small
from moorage.serve.webhooks.conversion_review import ConversionFailed, ConversionReview
from moorage.store.protocol import Stored
from moorage.telemetry.admission_metrics import AdmissionMetrics

Raw = dict[str, Any]
Result = TypeVar("Result")

_SECONDS: Final = 30.0
_MUCH: Final = 64 * 1024
_MOST_REMEMBERED, _MOST_BYTES = 20_000, 32 * 1024 * 1024
_GROWTH: Final = 4  # an object may become larger

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class _Key(NamedTuple):
    """What a converted object depends on: `kind` is another one after each change of its definition."""

    kind: ServedKind
    key: str
    revision: int


class Converter:
    """Converts objects, and remembers them."""

    def __init__(self, client: WebhookClient, long_work: LongWork, metrics: AdmissionMetrics) -> None:
        self._client, self._long_work, self._metrics = client, long_work, metrics
        self._known: OrderedDict[_Key, Stored] = OrderedDict()
        self._bytes = 0
        self._asked: dict[_Key, asyncio.Future[Stored]] = {}

    async def read(self, kind: ServedKind, items: Sequence[Stored]) -> list[Stored]:
        """Return stored objects as they are in the version of a kind. Raises ApiError."""
        tail = b"," + _encode({"apiVersion": kind.api_version, "kind": kind.name})[1:]
        others = [item for item in items if not item.value.endswith(tail)]
        if not others:
            return list(items)
        converted = iter(await self._all(kind, others))
        return [item if item.value.endswith(tail) else next(converted) for item in items]

    async def _all(self, kind: ServedKind, items: Sequence[Stored]) -> list[Stored]:
        """Convert those that are not known, in one review, unless they are asked for already."""
        keys = [_Key(kind, item.key, item.revision) for item in items]
        waiting = {key: self._asked[key] for key in keys if key in self._asked}
        missing = {
            key: item for key, item in zip(keys, items, strict=True) if key not in self._known and key not in waiting
        }
        found = {key: self._known[key] for key in keys if key in self._known}
        if missing:
            futures = {key: asyncio.get_running_loop().create_future() for key in missing}
            self._asked |= futures
            await asyncio.shield(asyncio.create_task(self._convert(kind, missing, futures)))
            waiting |= futures
        for key, future in waiting.items():
            found[key] = await asyncio.shield(future)
        return [found[key] for key in keys]

    async def _convert(
        self, kind: ServedKind, missing: dict[_Key, Stored], futures: "dict[_Key, asyncio.Future[Stored]]"
    ) -> None:
        """Convert objects for all that wait for them. Never raises: the futures do."""
        try:
            values = await self._values(kind, list(missing.values()))
        except Exception as error:
            for key, future in futures.items():
                del self._asked[key]
                future.set_exception(error)
                future.exception()  # looked at, whether anyone waits or not
            return
        for (key, item), value in zip(missing.items(), values, strict=True):
            converted = item._replace(value=value)
            self._asked.pop(key).set_result(converted)
            if key.revision:  # else it is not stored
                self._remember(key, converted)

    def _remember(self, key: _Key, item: Stored) -> None:
        self._known[key] = item
        self._bytes += len(item.value)
        while self._bytes > _MOST_BYTES or len(self._known) > _MOST_REMEMBERED:
            _, oldest = self._known.popitem(last=False)
            self._bytes -= len(oldest.value)

    async def _values(self, kind: ServedKind, items: list[Stored]) -> list[bytes]:
        size = sum(len(item.value) for item in items)
        documents = await self._run(size, _as_stored, kind, items)
        converted = await self._ask(kind, documents, kind.api_version, size)
        return await self._run(size, _encoded, kind, converted)

    async def stored(self, kind: ServedKind, value: bytes) -> bytes:
        """Return an object in the version that is stored. Raises ApiError."""
        if kind.is_stored:
            return value
        size = len(value)
        documents = await self._run(size, lambda: [_decode(value)])
        converted = await self._ask(kind, documents, f"{kind.group}/{kind.stored_version}", size)
        return (await self._run(size, _encoded_to_store, kind, converted))[0]

    async def answer(self, calls: Sequence[ConversionCall], seconds: float) -> list[ConversionAnswer]:
        """Convert objects for admission, all at the same time and each in a review of its own. See `ConversionCall`."""
        return list(await asyncio.gather(*(self._answer(call, min(seconds, _SECONDS)) for call in calls)))

    async def _answer(self, call: ConversionCall, seconds: float) -> ConversionAnswer:
        size = 0 if is_small(call.document) else MAX_OBJECT_BYTES
        try:
            (document,) = await self._ask(call.target, [call.document], call.api_version, size, seconds)
        except ApiError as error:
            return ConversionAnswer(failure=error.message)
        return ConversionAnswer(document, is_large=not is_small(document))

    async def _run(self, size: int, function: Callable[..., list[Result]], *arguments: Any) -> list[Result]:
        return await self._long_work.run(function, *arguments) if size > _MUCH else function(*arguments)

    async def _ask(
        self, kind: ServedKind, documents: list[Raw], wanted: str, size: int, seconds: float = _SECONDS
    ) -> list[Raw]:
        """Post one review. Raises ApiError."""
        webhook = kind.conversion.get("webhook") or {}
        began, failure_type = perf_counter(), ""
        try:
            review = ConversionReview(
                documents, wanted, str(uuid.uuid4()), webhook.get("conversionReviewVersions") or ()
            )
            client = convert_view(webhook.get("clientConfig") or {}, WebhookClientConfig)
            try:
                most_bytes = MAX_ANSWER_BYTES + _GROWTH * size
                answer = await self._client.post(client, review.document(), "", seconds, most_bytes)
            except NoAnswer as error:
                raise review.failed(str(error)) from None
            return await self._run(size if is_small(answer) else _MUCH + size, review.read, answer)
        except ConversionFailed as failed:
            failure_type = failed.failure_type
            raise failure(500, "", str(failed)) from None
        finally:
            before = str(documents[0].get("apiVersion")).rpartition("/")[2]
            between = (before, wanted.rpartition("/")[2])
            self._metrics.converted(kind.definition, between, perf_counter() - began, failure_type)


def _as_stored(kind: ServedKind, items: list[Stored]) -> list[Raw]:
    """Return objects in the versions in which they are stored."""
    documents: list[Raw] = []
    for item in items:
        document: Raw = _decode(item.value)
        if item.revision:
            document["metadata"]["resourceVersion"] = str(item.revision)
        documents.append(kind.read_as_stored(document))
    return documents


def _encoded(kind: ServedKind, documents: list[Raw]) -> list[bytes]:
    return [encode(kind, document) for document in documents]


def _encoded_to_store(kind: ServedKind, documents: list[Raw]) -> list[bytes]:
    return [encode(kind, kind.complete_as_stored(document)) for document in documents]
