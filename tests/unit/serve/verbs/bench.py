"""An API on an empty store, whose clock, uids and suffixes are the test's."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest

from moorage.model.api_error import ApiError
from moorage.model.gates import GateSet, gates_from
from moorage.model.kinds import KINDS, Kind
from moorage.serve.cluster.bootstrap import bootstrap
from moorage.serve.requests.options import WriteOptions
from moorage.serve.resources.objects import decode, key_of
from moorage.serve.verbs.api import Api
from moorage.serve.verbs.creating import create
from moorage.serve.verbs.registry import WriteResult
from moorage.store.memory import MemoryStore
from moorage.store.protocol import Stored

Raw = dict[str, Any]

ME = WriteOptions("me")
DRY = WriteOptions("me", dry_run=True)
AT, NOW = 1767323045.0, "2026-01-02T03:04:05Z"


@asynccontextmanager
async def new_api(*, suffixes: Iterator[str] | None = None, gates: GateSet | None = None) -> AsyncIterator[Api]:
    """An API on an empty store, with the namespaces that every cluster has."""
    uids = count(1)
    api = Api(MemoryStore(), gates or gates_from({}), clock=lambda: AT, new_uid=lambda: f"uid-{next(uids)}")
    await api.start()
    await bootstrap(api, 443)
    if suffixes is not None:
        api.new_suffix = lambda: next(suffixes)
    yield api


def document(kind: Kind, name: str, **rest: Any) -> Raw:
    metadata = {"name": name} if name else {}
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": metadata | rest.pop("metadata", {}),
        **rest,
    }


def pod(name: str, **metadata: Any) -> Raw:
    return document(KINDS.POD, name, metadata=metadata, spec={"containers": [{"name": "c", "image": "i"}]})


def deployment(name: str, replicas: int = 1) -> Raw:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return document(KINDS.DEPLOYMENT, name, spec=spec)


async def make(api: Api, kind: Kind, raw: Raw) -> WriteResult:
    return await create(api, kind, "default" if kind.namespaced else "", raw, ME)


async def read(api: Api, kind: Kind, name: str) -> Raw | None:
    """The object as it is stored, or nothing."""
    stored = await api.store.get(key_of(kind, "default" if kind.namespaced else "", name))
    return None if stored is None else decode(kind, stored)


def shown(kind: Kind, outcome: WriteResult) -> Raw:
    return decode(kind, outcome.stored)


def meddle(api: Api) -> None:
    """Let somebody else come in between: before the next change is stored, `"a":"1"` becomes `"a":"9"`."""
    store, update = api.store, api.store.update

    async def late(
        key: str, value: bytes, expected: int, view: Any = None, template: Any = None, **claims: Any
    ) -> Stored:
        store.update = update  # type: ignore[method-assign]
        current = await store.get(key)
        assert current is not None
        await update(key, current.value.replace(b'"a":"1"', b'"a":"9"'), expected)
        return await update(key, value, expected, view, template, **claims)

    store.update = late  # type: ignore[method-assign]


async def refused(attempt: Awaitable[object]) -> tuple[int, str]:
    """The code and the words with which something is refused."""
    with pytest.raises(ApiError) as refusal:
        await attempt
    return refusal.value.code, refusal.value.message


def write_late(api: Api) -> None:
    """Let other requests run before each change is stored, as a durable store does."""
    update = api.store.update

    async def late(*arguments: Any, **options: Any) -> Stored:
        await asyncio.sleep(0)
        return await update(*arguments, **options)

    api.store.update = late  # type: ignore[method-assign]
