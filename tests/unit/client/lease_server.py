"""One Lease with compare-and-swap, and the lines of its candidates: the other half of leader election."""

import asyncio
import random
from typing import Any

from moorage.client.leader_election import ElectionRecord, read_record
from moorage.client.protocol import Object, Unreachable
from moorage.model.api_error import already_exists, not_found, stale
from moorage.model.kinds import KINDS, Kind


class LeaseServer:
    """One Lease with compare-and-swap, behind a line of which every candidate has its own end."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.revision = 0
        self.records: list[ElectionRecord] = []

    def object(self) -> Object:
        assert self.lease is not None
        return Object(KINDS.LEASE, "kube-system/sched", self.revision, raw=self.lease)

    def put(self, document: dict[str, Any]) -> Object:
        self.revision += 1
        metadata = {**document["metadata"], "resourceVersion": str(self.revision)}
        self.lease = {**document, "metadata": metadata}
        self.records.append(read_record(self.lease))
        return self.object()


class Line:
    """A candidate's way to the server: slow, or cut, before or after the server hears."""

    def __init__(self, server: LeaseServer, dice: random.Random | None = None) -> None:
        self._server, self._dice = server, dice
        self.is_cut = False

    async def _travel(self) -> None:
        if self.is_cut:
            await asyncio.sleep(1)
            raise Unreachable("cut")
        if self._dice is not None:
            await asyncio.sleep(self._dice.choice((0.0, 0.01, 0.5, 4.0, 9.0)))
            if self._dice.random() < 0.2:
                raise Unreachable("lost")

    async def get(self, facts: Kind, name: str, namespace: str = "") -> Object:
        await self._travel()
        if self._server.lease is None:
            raise not_found(facts, name)
        found = self._server.object()
        await self._travel()
        return found

    async def create(self, facts: Kind, document: dict[str, Any], namespace: str = "") -> Object:
        await self._travel()
        if self._server.lease is not None:
            raise already_exists(facts, "sched")
        made = self._server.put(document)
        await self._travel()
        return made

    async def update(self, facts: Kind, document: dict[str, Any]) -> Object:
        await self._travel()
        if document["metadata"]["resourceVersion"] != str(self._server.revision):
            raise stale(facts, "sched")
        made = self._server.put(document)
        await self._travel()
        return made
