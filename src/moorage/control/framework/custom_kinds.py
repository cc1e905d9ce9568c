"""Watch the kinds that custom resource definitions add, for controllers that act on objects of every kind.

An informer starts when a definition is established and stops when it is gone; its objects are then reported as
deleted. Kubernetes: the garbage collector's and the namespace controller's discovery. Differs: definitions are
watched, so nothing is discovered again and again; APIs of other servers are not seen.
"""

import asyncio
from collections.abc import Callable

import msgspec

from moorage.client.informer import Delta, Informer
from moorage.client.protocol import Client, Object
from moorage.control.framework.world import World
from moorage.model.kind_rows.kind import CustomKind, stored_kind
from moorage.model.kinds import Kind

Handler = Callable[[Kind, list[Delta]], None]


class CustomInformers:
    """One informer for each established definition. `added` is told of a kind once its objects are known."""

    def __init__(self, client: Client, world: World, handler: Handler, added: Callable[[CustomKind], None]) -> None:
        self._client, self._world, self._handler, self._added = client, world, handler, added
        self._running: dict[str, tuple[CustomKind, Informer, asyncio.Task[None]]] = {}

    def definitions_changed(self, deltas: list[Delta]) -> None:
        for old, new in deltas:
            changed = new or old
            assert changed is not None, "a delta has an object"
            self._follow(changed.name, None if new is None else kind_of_definition(new))

    def seen(self, kind: Kind) -> int | None:
        """Return the revision up to which a custom kind is known; None if it is not watched."""
        return next((informer.revision for found, informer, _ in self._running.values() if found is kind), None)

    async def close(self) -> None:
        tasks = [task for _, _, task in self._running.values()]
        self._running.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _follow(self, definition: str, kind: CustomKind | None) -> None:
        running = self._running.get(definition)
        if running is not None:
            before, informer, task = running
            if kind is not None and _facts(kind) == _facts(before):
                return
            del self._running[definition]
            task.cancel()
            self._world.custom_kinds.pop((before.group, before.name), None)
            if informer.cache:
                self._handler(before, [Delta(item, None) for item in informer.cache.values()])
        if kind is not None:
            self._world.custom_kinds[kind.group, kind.name] = kind
            informer = Informer(self._client, kind, lambda deltas: self._handler(kind, deltas))
            task = asyncio.get_running_loop().create_task(self._run(kind, informer))
            self._running[definition] = kind, informer, task

    async def _run(self, kind: CustomKind, informer: Informer) -> None:
        watching = asyncio.get_running_loop().create_task(informer.run())
        try:
            await informer.synced()
            self._added(kind)
            await watching
        finally:
            watching.cancel()


def kind_of_definition(definition: Object) -> CustomKind | None:
    view = definition.view
    return stored_kind({"spec": msgspec.to_builtins(view.spec), "status": msgspec.to_builtins(view.status)})


def _facts(kind: CustomKind) -> tuple[str, str, str, bool]:
    return kind.api_version, kind.plural, kind.name, kind.namespaced
