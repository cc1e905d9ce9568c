"""An API server in memory, as far as a scheduler can tell: it stores, watches, binds, and fails when it is told to.

`fate` is asked before each call and says what becomes of it; `hold` keeps what happened from those who watch, until
`release`. Nothing here takes any time.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from copy import deepcopy
from enum import Enum, auto
from typing import Any

from moorage.client.protocol import EventType, Listing, Object, PatchType, Raw, Unreachable, WatchEvent
from moorage.model import api_error
from moorage.model.api_error import ApiError, stale
from moorage.model.kinds import KINDS, Kind
from moorage.model.patch.json_patch import apply_merge_patch


class Fate(Enum):
    """What becomes of a call."""

    OK = auto()
    LOST = auto()  # it never arrives
    UNANSWERED = auto()  # it is carried out, and the answer is lost
    ERROR = auto()  # the server says 500 and does nothing


class FakeApi:
    """See the module."""

    def __init__(self) -> None:
        self.revision = 0
        self.objects: dict[Kind, dict[str, Object]] = {facts: {} for facts in KINDS.values()}
        self.history: list[tuple[Kind, WatchEvent]] = []
        self.visible = 0
        self.holds = False
        self.calls: list[tuple[str, str]] = []
        self.fate: Callable[[str, str], Fate] = lambda verb, key: Fate.OK
        self.recorded: list[tuple[str, str, str]] = []
        self.rewritten: list[tuple[str, str, str, str, int]] = []
        self.recorded_by: list[tuple[str, Raw]] = []
        self._news = asyncio.Event()
        self._uid = 0

    # -- for tests ----------------------------------------------------------------------------------------------------

    def put(self, facts: Kind, document: Raw) -> Object:
        """Create or replace."""
        metadata = document.setdefault("metadata", {})
        key = f"{metadata['namespace']}/{metadata['name']}" if facts.namespaced else metadata["name"]
        old = self.objects[facts].get(key)
        if not metadata.get("uid"):
            self._uid += 1
            metadata["uid"] = old.uid if old is not None else f"uid-{self._uid}"
        return self._store(facts, key, document)

    def drop(self, facts: Kind, key: str) -> None:
        old = self.objects[facts].pop(key)
        self.revision += 1
        self._say(facts, WatchEvent(EventType.DELETED, Object(facts, key, self.revision, raw=old.raw)))

    def pod(self, name: str, cpu: str = "1", **spec: Any) -> Object:
        """A new pod in namespace default."""
        container = {"name": "c", "image": "web:1", "resources": {"requests": {"cpu": cpu}}}
        labels = spec.pop("labels", {})
        made = {"containers": [container], "schedulerName": "default-scheduler", **spec}
        return self.put(KINDS.POD, {"metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": made})

    def node(self, name: str, cpu: str = "4", **more: Any) -> Object:
        status = {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110"}}
        metadata = {"name": name, "labels": {"kubernetes.io/hostname": name, **more.pop("labels", {})}}
        return self.put(KINDS.NODE, {"metadata": metadata, "spec": more, "status": status})

    def raw(self, key: str, facts: Kind = KINDS.POD) -> Raw:
        return self.objects[facts][key].raw

    def nodes_of_pods(self) -> dict[str, str]:
        return {
            key.removeprefix("default/"): pod.raw["spec"].get("nodeName", "")
            for key, pod in self.objects[KINDS.POD].items()
        }

    def release(self, events: int | None = None) -> None:
        """Let those who watch see so many more events, or all."""
        self.visible = len(self.history) if events is None else min(len(self.history), self.visible + events)
        self._ring()

    def _ring(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    def _store(self, facts: Kind, key: str, document: Raw) -> Object:
        self.revision += 1
        kind = EventType.MODIFIED if key in self.objects[facts] else EventType.ADDED
        made = self.objects[facts][key] = Object(facts, key, self.revision, raw=document)
        self._say(facts, WatchEvent(kind, made))
        return made

    def _say(self, facts: Kind, event: WatchEvent) -> None:
        self.history.append((facts, event))
        if not self.holds:
            self.release()

    async def _call(self, verb: str, key: str) -> Fate:
        self.calls.append((verb, key))
        await asyncio.sleep(0)
        fate = self.fate(verb, key)
        if fate is Fate.LOST:
            raise Unreachable("connection reset by peer")
        if fate is Fate.ERROR:
            raise api_error.internal("the disk is full")
        return fate

    def _answer(self, fate: Fate) -> None:
        if fate is Fate.UNANSWERED:
            raise Unreachable("connection reset by peer")

    # -- the client ---------------------------------------------------------------------------------------------------

    async def get(self, facts: Kind, name: str, namespace: str = "") -> Object:
        key = f"{namespace}/{name}" if namespace else name
        self._answer(await self._call("get", key))
        return self._existing(facts, key)

    def _existing(self, facts: Kind, key: str) -> Object:
        found = self.objects[facts].get(key)
        if found is None:
            raise api_error.not_found(facts, key.rpartition("/")[2])
        return found

    async def read(self, path: str) -> Raw:
        raise AssertionError("no scheduler reads a Scale or metrics")

    async def list_all(self, facts: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Listing:
        await asyncio.sleep(0)
        return Listing(list(self.objects[facts].values()), self.revision)

    async def watch(
        self, facts: Kind, revision: int, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> AsyncGenerator[list[WatchEvent], None]:
        position = 0
        while True:
            news = self._news
            found = [
                event
                for kind, event in self.history[position : self.visible]
                if kind is facts and event.object.revision > revision
            ]
            position = max(position, self.visible)
            if found:
                yield found
            else:
                await news.wait()

    async def create(self, facts: Kind, document: Raw, namespace: str = "") -> Object:
        document = deepcopy(document)
        metadata = document["metadata"]
        if "name" not in metadata:
            self._uid += 1
            metadata["name"] = f"{metadata['generateName']}{self._uid}"
        fate = await self._call("create", metadata["name"])
        made = self.put(facts, document)
        self._answer(fate)
        return made

    async def update(self, facts: Kind, document: Raw, *, subresource: str = "") -> Object:
        metadata = document["metadata"]
        key = f"{metadata['namespace']}/{metadata['name']}" if facts.namespaced else metadata["name"]
        fate = await self._call("update", key)
        found = self._existing(facts, key)
        if metadata.get("resourceVersion", str(found.revision)) != str(found.revision):
            raise stale(facts, metadata["name"])
        made = self._store(facts, key, deepcopy(document))
        self._answer(fate)
        return made

    async def patch(
        self,
        facts: Kind,
        name: str,
        namespace: str,
        patch: Raw | list[Raw],
        *,
        subresource: str = "",
        patch_type: PatchType = PatchType.STRATEGIC,
    ) -> Object:
        key = f"{namespace}/{name}"
        fate = await self._call("patch", key)
        document = deepcopy(self._existing(facts, key).raw)
        assert isinstance(patch, dict)
        if patch_type is PatchType.MERGE:
            if patch["metadata"]["resourceVersion"] != str(self._existing(facts, key).revision):
                raise stale(facts, name)
            made = self._store(facts, key, apply_merge_patch(document, patch))
            self._answer(fate)
            return made
        assert subresource == "status"
        if patch["metadata"]["uid"] != document["metadata"]["uid"]:
            raise api_error.conflict(facts, name, "the UID does not match")
        status = document.setdefault("status", {})
        for user in patch["status"].get("reservedFor", []):
            assert user["$patch"] == "delete"
            status["reservedFor"] = [one for one in status["reservedFor"] if one["uid"] != user["uid"]]
        conditions = {one["type"]: one for one in status.get("conditions", [])}
        for one in patch["status"].get("conditions", []):
            conditions[one["type"]] = {field: value for field, value in one.items() if value is not None}
        if conditions:
            status["conditions"] = list(conditions.values())
        if "extendedResourceClaimStatus" in patch["status"]:
            status["extendedResourceClaimStatus"] = patch["status"]["extendedResourceClaimStatus"]
        if "nominatedNodeName" in patch["status"]:
            status.pop("nominatedNodeName", None)
            if patch["status"]["nominatedNodeName"] is not None:
                status["nominatedNodeName"] = patch["status"]["nominatedNodeName"]
        made = self._store(facts, key, document)
        self._answer(fate)
        return made

    async def delete(
        self,
        facts: Kind,
        name: str,
        namespace: str = "",
        *,
        uid: str = "",
        grace_seconds: int | None = None,
        propagation: str = "",
        revision: int = 0,
    ) -> None:
        key = f"{namespace}/{name}" if namespace else name
        fate = await self._call("delete", key)
        found = self._existing(facts, key)
        if uid and found.uid != uid:
            raise api_error.conflict(facts, name, "the UID in the precondition does not match")
        if revision and found.revision != revision:
            raise api_error.conflict(facts, name, "the ResourceVersion in the precondition does not match")
        self.drop(facts, key)
        self._answer(fate)

    async def bind(self, namespace: str, name: str, uid: str, node: str) -> None:
        key = f"{namespace}/{name}"
        fate = await self._call("bind", key)
        self.bind_now(key, uid, node)
        self._answer(fate)

    def bind_now(self, key: str, uid: str, node: str) -> None:
        """What a server does: a pod is bound once, and only if it is that pod."""
        name = key.rpartition("/")[2]
        document = deepcopy(self._existing(KINDS.POD, key).raw)
        if uid and document["metadata"]["uid"] != uid:
            raise api_error.conflict(KINDS.POD, name, "the UID in the precondition does not match")
        if document["spec"].get("nodeName"):
            raise api_error.conflict(
                KINDS.POD, name, f'pod {name} is already assigned to node "{document["spec"]["nodeName"]}"'
            )
        document["spec"]["nodeName"] = node
        status = document.setdefault("status", {})
        others = [one for one in status.get("conditions", []) if one["type"] != "PodScheduled"]
        status["conditions"] = [*others, {"type": "PodScheduled", "status": "True"}]
        self._store(KINDS.POD, key, document)

    async def evict(self, namespace: str, name: str, uid: str = "") -> None:
        await self.delete(KINDS.POD, name, namespace, uid=uid)

    async def close(self) -> None:
        return None

    # -- the recorder -------------------------------------------------------------------------------------------------

    def report(
        self, regarding: Raw, kind: str, reason: str, action: str, note: str, related: Raw | None = None, *, by: str
    ) -> None:
        self.recorded.append((regarding["name"], reason, note))
        self.recorded_by.append((by, regarding))

    def rewrite(self, regarding: Raw, reason: str, name: str, note: str, count: int, *, by: str) -> None:
        self.rewritten.append((regarding["name"], reason, name, note, count))


__all__ = ["ApiError", "FakeApi", "Fate"]
