"""updateAny: objects that are there get a new spec, and a new status where the template has one.

In: the operation, its template. Out: updates at their rate. What admission put into a live pod stays in it, because
the server would refuse its removal. Kubernetes: update.go.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from bench.e2e.documents import updated_document, wire_document
from bench.e2e.requests import facts_of
from moorage.client.http_wire import object_path

if TYPE_CHECKING:
    from bench.e2e.requests import Raw, Requests
    from bench.e2e.sender import Sender
    from bench.perf.operations import UpdateAny
    from bench.perf.templates import Template


async def update_all(operation: UpdateAny, template: Template, requests: Requests, sender: Sender) -> None:
    """All updates of the operation, `updatePerSecond` of them in a second, as fast as can be for 0."""
    loop = asyncio.get_running_loop()
    interval = 1 / operation.updatePerSecond if operation.updatePerSecond else 0.0
    due = loop.time()
    for index in range(operation.count):
        due += interval
        await asyncio.sleep(max(0.0, due - loop.time()))
        await _update(wire_document(template.document(index, operation.count)), operation.namespace, requests, sender)


async def _update(wanted: Raw, namespace: str, requests: Requests, sender: Sender) -> None:
    path = object_path(facts_of(wanted), wanted["metadata"]["name"], namespace)
    live = msgspec.json.decode((await sender.one(requests.get(path))).body)
    updated = msgspec.json.decode((await sender.one(requests.update(updated_document(wanted, live), namespace))).body)
    if "status" in wanted:
        with_status = {**updated, "status": wanted["status"]}
        await sender.one(requests.update(with_status, namespace, "status"))
