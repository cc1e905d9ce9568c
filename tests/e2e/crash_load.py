"""Writers who remember what they were told, and a watcher who misses nothing: what a crash must not prove wrong.

In: a way to reach the server. Out: complaints in the form of failed assertions. A write that was acknowledged is
remembered; one whose answer never came may have happened or not, and both are fine.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.e2e.wire_client import Access, Answer, TooOld, WireClient

from moorage.model.quantity import parse_quantity

Raw = dict[str, Any]

_JSON = {"Content-Type": "application/json"}
_MERGE = {"Content-Type": "application/merge-patch+json"}
_LOST = (OSError, EOFError)
_OVER = ("Succeeded", "Failed")
_REQUESTS = ("250m", "500m", "1", "2")


@dataclass
class Known:
    """What a writer was told of one object. `attempted` is what it asked for without hearing of it again."""

    uid: str = ""
    created: str = ""
    revision: int = 0
    count: int = 0
    is_gone: bool = False
    is_going: bool = False
    attempted: set[int] = field(default_factory=set)
    may_be_gone: bool = False


class Writer:
    """Creates, changes and deletes objects of its own, until the server is gone."""

    def __init__(self, plural: str, number: int, seed: int, acknowledged: Callable[[], None]) -> None:
        self.known: dict[str, Known] = {}
        self._plural, self._number = plural, number
        self._random = Random(seed)
        self._acknowledged = acknowledged

    async def run(self, access: Access) -> None:
        async with WireClient(access) as client:
            try:
                while True:
                    await self._write(client)
                    self._acknowledged()
            except _LOST:
                return

    async def _write(self, client: WireClient) -> None:
        alive = [name for name, known in self.known.items() if known.count and not known.is_gone and not known.is_going]
        which = self._random.random()
        if len(alive) < 3 or which < 0.4:
            await self._create(client)
        elif which < 0.75:
            await self._change(client, self._random.choice(alive))
        else:
            await self._delete(client, self._random.choice(alive))

    async def _create(self, client: WireClient) -> None:
        name = f"{self._plural[0]}-{self._number}-{len(self.known)}"
        known = self.known[name] = Known(attempted={1})
        answer = await client.ask("POST", self._path(), json.dumps(self._document(name, 1)).encode(), _JSON)
        assert answer.status == 201, answer
        metadata = answer.json["metadata"]
        known.uid, known.created = metadata["uid"], metadata["creationTimestamp"]
        self._heard(known, answer, 1)

    async def _change(self, client: WireClient, name: str) -> None:
        known = self.known[name]
        count = known.count + 1
        known.attempted.add(count)
        if self._plural == "pods":
            patch = {"metadata": {"annotations": {"count": str(count)}}}
            answer = await client.ask("PATCH", self._path(name), json.dumps(patch).encode(), _MERGE)
        else:
            document = self._document(name, count)
            document["metadata"]["resourceVersion"] = str(known.revision)
            answer = await client.ask("PUT", self._path(name), json.dumps(document).encode(), _JSON)
        assert answer.status == 200, answer
        self._heard(known, answer, count)

    async def _delete(self, client: WireClient, name: str) -> None:
        known = self.known[name]
        known.may_be_gone = True
        at_once = self._plural != "pods" or self._random.random() < 0.5
        answer = await client.ask("DELETE", self._path(name) + ("?gracePeriodSeconds=0" if at_once else ""))
        assert answer.status == 200, answer
        known.is_gone, known.is_going = at_once, not at_once

    def _heard(self, known: Known, answer: Answer, count: int) -> None:
        metadata = answer.json["metadata"]
        assert metadata["uid"] == known.uid
        assert int(metadata["resourceVersion"]) > known.revision
        known.revision, known.count = int(metadata["resourceVersion"]), count
        known.attempted.clear()

    def _path(self, name: str = "") -> str:
        return f"/api/v1/namespaces/default/{self._plural}" + (f"/{name}" if name else "")

    def _document(self, name: str, count: int) -> Raw:
        metadata = {"name": name, "annotations": {"count": str(count)}}
        if self._plural == "configmaps":
            return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"count": str(count)}}
        resources = {"requests": {"cpu": self._random.choice(_REQUESTS)}}
        container = {"name": "main", "image": "nginx", "resources": resources}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}

    async def check(self, client: WireClient) -> int:
        """Everything acknowledged is there. Returns the highest revision that was heard of before."""
        highest = max((known.revision for known in self.known.values()), default=0)
        for name, known in self.known.items():
            answer = await client.ask("GET", self._path(name))
            assert answer.status in (200, 404), answer
            self._compare(name, known, answer)
        return highest

    def _compare(self, name: str, known: Known, answer: Answer) -> None:
        if answer.status == 404:
            may_be_missing = known.is_gone or known.is_going or known.may_be_gone or not known.count
            assert may_be_missing, f"{name} was acknowledged and is lost: {known}"
            known.is_gone = True
            return
        assert not known.is_gone, f"{name} was deleted and is back: {known}"
        metadata = answer.json["metadata"]
        count, revision = int(metadata["annotations"]["count"]), int(metadata["resourceVersion"])
        assert count == known.count or count in known.attempted, f"{name} is at {count}: {known}"
        assert revision >= known.revision, f"{name} is at revision {revision}: {known}"
        if known.uid:
            assert (metadata["uid"], metadata["creationTimestamp"]) == (known.uid, known.created), name
        deleting = "deletionTimestamp" in metadata
        assert deleting or not known.is_going, f"{name} is not being deleted any more: {known}"
        known.uid, known.created = metadata["uid"], metadata["creationTimestamp"]
        known.count, known.revision, known.is_going = count, revision, deleting
        known.may_be_gone = known.is_going
        known.attempted.clear()


class Watcher:
    """Knows all pods by their events alone, over all restarts; `last` is the revision up to which it does."""

    def __init__(self) -> None:
        self.pods: dict[str, Raw] = {}
        self.last = 0
        self.resumed = self.started_over = 0
        self._node_of: dict[str, str] = {}

    async def run(self, access: Access) -> None:
        async with WireClient(access) as client:
            try:
                if self.last:
                    self.resumed += 1
                else:
                    await self._list(client)
                async for event in client.watch(f"/api/v1/pods?watch=1&resourceVersion={self.last}"):
                    if event["type"] == "ERROR":
                        assert event["object"]["code"] == 410, event
                        self._start_over()
                        return
                    self._see(event["type"], event["object"])
            except TooOld:
                self._start_over()
            except _LOST:
                return

    def _start_over(self) -> None:
        self.started_over += 1
        self.last = 0

    async def _list(self, client: WireClient) -> None:
        page = (await client.ask("GET", "/api/v1/pods")).json
        self.pods = {}
        for pod in page["items"]:
            self._note(pod)
        self.last = int(page["metadata"]["resourceVersion"])

    def _see(self, kind: str, pod: Raw) -> None:
        name, revision = pod["metadata"]["name"], int(pod["metadata"]["resourceVersion"])
        assert revision > self.last, f"revision {revision} after {self.last}: told twice, or out of order"
        self.last = revision
        known = self.pods.get(name)
        assert (known is None) == (kind == "ADDED"), f"{kind} {name}, of which was known: {known}"
        if known is not None:
            assert pod["metadata"]["uid"] == known["metadata"]["uid"], name
        if kind == "DELETED":
            del self.pods[name]
        else:
            self._note(pod)
            self._check_room(pod["spec"].get("nodeName"))

    def _note(self, pod: Raw) -> None:
        name, uid, node = pod["metadata"]["name"], pod["metadata"]["uid"], pod["spec"].get("nodeName", "")
        phase = pod.get("status", {}).get("phase")
        assert phase != "Failed", f"the node did not admit what was bound to it: {pod['status']}"
        before = self._node_of.get(uid, "")
        assert node == before or not before, f"{name} was bound to {before} and then to {node or 'none'}"
        self._node_of[uid] = node
        self.pods[name] = pod

    def _check_room(self, node: str | None) -> None:
        there = [pod for pod in self.pods.values() if node and pod["spec"].get("nodeName") == node]
        used = {pod["metadata"]["name"]: _cpu(pod) for pod in there if pod["status"]["phase"] not in _OVER}
        assert sum(used.values()) <= 8000, f"{node} has 8 CPUs, and pods on it ask for {used}"

    async def check(self, client: WireClient) -> None:
        """What the watcher knows, once it has heard all, is what there is: no event was missed or made up."""
        page = (await client.ask("GET", "/api/v1/pods")).json
        there = {pod["metadata"]["name"]: pod["metadata"]["resourceVersion"] for pod in page["items"]}
        upto = int(page["metadata"]["resourceVersion"])
        async with asyncio.timeout(120):
            events = client.watch(f"/api/v1/pods?watch=1&resourceVersion={self.last}&timeoutSeconds=1")
            async for event in events:
                if int(event["object"]["metadata"]["resourceVersion"]) <= upto:
                    self._see(event["type"], event["object"])
        known = {name: pod["metadata"]["resourceVersion"] for name, pod in self.pods.items()}
        assert known == there


def _cpu(pod: Raw) -> int:
    """In thousandths."""
    requests = [container["resources"]["requests"]["cpu"] for container in pod["spec"]["containers"]]
    return sum(parse_quantity(request).milli_value() for request in requests)
