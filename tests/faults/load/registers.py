"""Let clients write and read ConfigMaps through several API servers at once, and record what they were told.

Each ConfigMap's data is a set of tokens, as `check/history` has it. An object is left alone after some requests, or
some of unknown fate, and another takes its place: histories stay short enough to be searched.
"""

import asyncio
import random
import time
from collections.abc import Sequence
from typing import Any

from tests.faults.check.history import Action, Fate, Operation, State
from tests.faults.load.wire import MERGE_PATCH, Reply, Wire

MOST_REQUESTS, MOST_UNKNOWN, MOST_TOKENS = 60, 3, 6
_WEIGHTS = {Action.CREATE: 3, Action.READ: 4, Action.UPDATE: 4, Action.PATCH: 4, Action.DELETE: 1}


def state_of(document: Any) -> State:
    """Return the tokens of a ConfigMap."""
    return frozenset(document.get("data") or ())


class Registers:
    """The objects that are written to, and the history of it."""

    def __init__(self, namespace: str, wires: Sequence[Wire], seed: int, *, objects: int = 4) -> None:
        self.namespace, self._wires = namespace, list(wires)
        self._random = random.Random(seed)
        self.operations: list[Operation] = []
        self.odd_answers: list[str] = []
        self._next = 0
        self._counts: dict[str, tuple[int, int]] = {}
        self._names = [self._new_name() for _ in range(objects)]
        self._clock = time.monotonic

    def _new_name(self) -> str:
        self._next += 1
        return f"r-{self._next}"

    def _path(self, name: str = "") -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps" + (f"/{name}" if name else "")

    def _count(self, slot: int, fate: Fate) -> None:
        name = self._names[slot]
        requests, unknown = self._counts.get(name, (0, 0))
        self._counts[name] = requests + 1, unknown + (fate is Fate.UNKNOWN)
        if requests + 1 >= MOST_REQUESTS or unknown >= MOST_UNKNOWN:
            self._names[slot] = self._new_name()

    async def run_client(self, number: int, pause: float) -> None:
        """Send requests, one after the other, until cancelled."""
        client = f"c{number}"
        known: dict[str, tuple[State, int]] = {}
        count = 0
        while True:
            count += 1
            slot = self._random.randrange(len(self._names))
            name, wire = self._names[slot], self._random.choice(self._wires)
            asked = self._choose(client, name, f"{client}.{count}", known.get(name, (None, 0)), wire.name)
            begun = self._clock()
            try:
                reply = await self._send(wire, asked)
            except asyncio.CancelledError:
                self._record(asked._replace(begun=begun, ended=self._clock()), Reply(Fate.UNKNOWN))
                raise
            done = self._record(asked._replace(begun=begun, ended=self._clock()), reply)
            self._count(slot, done.fate)
            if done.fate is Fate.DONE:
                known[name] = done.state, done.revision
            elif done.code == 404:
                known.pop(name, None)
            await asyncio.sleep(pause * (0.5 + self._random.random()))

    def _choose(self, client: str, name: str, token: str, known: tuple[State, int], server: str) -> Operation:
        state, revision = known
        action = self._random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0]
        if state is None and action is Action.UPDATE:
            action = Action.CREATE
        asked = Operation(f"{self.namespace}/{name}", action, 0.0, 0.0, Fate.UNKNOWN, client=client, server=server)
        if action in (Action.CREATE, Action.PATCH):
            return asked._replace(token=token)
        if action is Action.UPDATE:
            assert state is not None
            wanted = frozenset((*sorted(state)[: MOST_TOKENS - 1], token))
            return asked._replace(token=token, expected=state, expected_revision=revision, wanted=wanted)
        if action is Action.DELETE and state is not None and self._random.random() < 0.5:
            return asked._replace(expected=state, expected_revision=revision)
        return asked

    async def _send(self, wire: Wire, asked: Operation) -> Reply:
        name = asked.key.rpartition("/")[2]
        metadata: dict[str, Any] = {"name": name, "namespace": self.namespace}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        match asked.action:
            case Action.CREATE:
                return await wire.send("POST", self._path(), {**document, "data": {asked.token: ""}})
            case Action.READ:
                return await wire.send("GET", self._path(name))
            case Action.UPDATE:
                metadata["resourceVersion"] = str(asked.expected_revision)
                data = dict.fromkeys(sorted(asked.wanted or ()), "")
                return await wire.send("PUT", self._path(name), {**document, "data": data})
            case Action.PATCH:
                return await wire.send("PATCH", self._path(name), {"data": {asked.token: ""}}, MERGE_PATCH)
            case Action.DELETE:
                wanted = {"preconditions": {"resourceVersion": str(asked.expected_revision)}}
                options = {"apiVersion": "v1", "kind": "DeleteOptions", **wanted} if asked.expected_revision else None
                return await wire.send("DELETE", self._path(name), options)

    def _record(self, asked: Operation, reply: Reply) -> Operation:
        done = asked._replace(fate=reply.fate, code=reply.code)
        if reply.fate is Fate.DONE and asked.action is not Action.DELETE:
            done = done._replace(state=state_of(reply.body), revision=reply.revision)
        if reply.code in (400, 401, 403, 405, 410, 415, 422, 500):
            message = reply.body.get("message") if isinstance(reply.body, dict) else reply.body
            self.odd_answers.append(f"{done}: {message}")
        self.operations.append(done)
        return done

    async def settle(self, seconds: float = 30.0) -> None:
        """Read every object through every API server once more, so that the last writes are looked at, too."""
        for name in [*self._counts]:
            for wire in self._wires:
                asked = Operation(
                    f"{self.namespace}/{name}", Action.READ, 0.0, 0.0, Fate.UNKNOWN, client="last", server=wire.name
                )
                begun = self._clock()
                reply = await wire.send("GET", self._path(name), seconds=seconds)
                self._record(asked._replace(begun=begun, ended=self._clock()), reply)
