"""Serve what CustomResourceDefinitions define: establish them, follow their changes, clean up before they go.

A definition is established before the request that made it is answered, so that its objects can be created at once.
While it is being deleted, its objects are deleted first; a task waits until the last is gone. Each server of a store
follows all definitions, also those of others: what two do at the same time, such as writing a status, one does and the
other finds done. Kubernetes: apiextensions-apiserver, the CRD handler with the naming, establishing and finalizing
controllers.
"""

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.model.api_error import ApiError
from moorage.model.kind_rows.kind import CustomKind, has_condition, stored_kind
from moorage.model.kinds import KINDS
from moorage.model.types.request import DeleteOptions
from moorage.serve.apply.managed_fields import on_update
from moorage.serve.custom.conditions import (
    DELETION_DONE,
    DELETION_PENDING,
    DELETION_RUNS,
    FINALIZER,
    NEVER_ESTABLISHED,
    DefinitionCondition,
    deletion_failed,
    next_status,
    with_conditions,
)
from moorage.serve.custom.served_kind import served_kinds
from moorage.serve.requests.long_work import in_slices, is_large
from moorage.serve.resources.objects import decode, encode, key_of, name_in, prefix_of
from moorage.store.protocol import (
    Compacted,
    KeyMissing,
    RevisionMismatch,
    Stored,
    StoreError,
    StoreFailed,
    StoreUncertain,
)
from moorage.telemetry.logs import get_logger

if TYPE_CHECKING:
    from moorage.serve.verbs.api import Api

Raw = dict[str, Any]

_LOG = get_logger("apiserver")
_MANAGER = "kube-apiserver"
_TRIES = 100
_RETRY_SECONDS = 5.0


class _Known(NamedTuple):
    """What is remembered of a definition: all that what is served depends on, and since which revision."""

    uid: str
    generation: int
    group: str
    wanted: Raw
    accepted: Raw
    is_established: bool
    is_going: bool
    since: int


class Definitions:
    """The definitions of one API server."""

    def __init__(self, api: "Api") -> None:
        self._api = api
        self._known: dict[str, _Known] = {}
        self._cleaning: dict[str, asyncio.Task[None]] = {}
        #: The keys of definitions that were written, by group, which may share names: a task looks at them in turn.
        self._behind: dict[str, dict[str, None]] = {}
        self._following: dict[str, asyncio.Task[None]] = {}
        self._seen: dict[str, int] = {}
        #: How often a definition was followed.
        self.followed = 0
        api.store.subscribe(prefix_of(KINDS.CUSTOM_RESOURCE_DEFINITION), lambda change: self._heard(change.key))

    async def load(self) -> None:
        """Serve what was established before, and go on with what was interrupted."""
        listing = await self._api.store.list(prefix_of(KINDS.CUSTOM_RESOURCE_DEFINITION))
        async for _, stored in in_slices(listing.items):
            self._learn(stored, decode(KINDS.CUSTOM_RESOURCE_DEFINITION, stored))
        for stored in listing.items:
            self._heard(stored.key)
        await self.settled()

    def _heard(self, key: str) -> None:
        group = name_in(key).partition(".")[2]
        self._behind.setdefault(group, {})[key] = None
        if group not in self._following:
            self._following[group] = asyncio.get_running_loop().create_task(self._follow(group))

    async def _follow(self, group: str) -> None:
        """Look at the definitions of a group that were written, until all have been looked at."""
        behind = self._behind[group]
        try:
            while behind:
                key = next(iter(behind))
                del behind[key]
                newest = self._api.store.peek(key)
                if newest is None or self._seen.get(key) != newest.revision:
                    await self._try_to_follow(key)
        finally:
            del self._behind[group], self._following[group]

    async def _try_to_follow(self, key: str) -> None:
        try:
            await self._changed(key)
            self.followed += 1
        except (StoreFailed, StoreUncertain) as error:
            _LOG.warning("A CustomResourceDefinition is not followed, trying again", name=name_in(key), err=str(error))
            asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._heard, key)
        except StoreError:
            pass  # the store is closed

    async def settled(self) -> None:
        """Return when all definitions that have been heard of so far are followed."""
        if self._following:
            await asyncio.wait(tuple(self._following.values()))

    async def _changed(self, key: str) -> None:
        """Follow a definition that was written or deleted: its status first, then what is served."""
        stored = await self._api.store.get(key)
        for _ in range(_TRIES):
            if stored is None:
                await self._gone(name_in(key))
                return
            raw = await self._decoded(stored)
            status = next_status(raw, self._others(raw), self._api.now_text())
            if status == raw.get("status"):
                break
            try:
                stored = await self._write(stored, raw, {"status": status})
            except RevisionMismatch as mismatch:
                stored = mismatch.found
            except KeyMissing:
                stored = None
        if stored is None:
            await self._gone(name_in(key))
            return
        before = self._known.get(name_in(key))
        now = self._learn(stored, raw)
        self._seen[key] = stored.revision
        if before is not None and before.accepted != now.accepted:
            await self._reconsider(now.group, name_in(key))
        if _is_going(raw):
            self._clean_up(name_in(key))

    def marked(self, raw: Raw) -> Raw:
        """Return a definition that is to be deleted: its objects go first."""
        metadata = raw["metadata"]
        if metadata.get("deletionTimestamp"):
            return raw
        finalizers = [name for name in metadata.get("finalizers") or () if name != FINALIZER]
        status = with_conditions(raw.get("status") or {}, [DELETION_PENDING], self._api.now_text())
        return {**raw, "metadata": {**metadata, "finalizers": [*finalizers, FINALIZER]}, "status": status}

    def _learn(self, stored: Stored, raw: Raw) -> _Known:
        """Serve a definition as it is stored."""
        name, spec, metadata = name_in(stored.key), raw["spec"], raw["metadata"]
        before, generation = self._known.get(name), metadata.get("generation") or 0
        is_same_spec = before is not None and (before.uid, before.generation) == (metadata["uid"], generation)
        known = _Known(
            metadata["uid"],
            generation,
            spec["group"],
            spec["names"],
            (raw.get("status") or {}).get("acceptedNames") or {},
            has_condition(raw, "Established"),
            has_condition(raw, "Terminating"),
            before.since if before is not None and is_same_spec else stored.revision,
        )
        if known != before:
            self._known[name] = known
            self._api.resources.serve(name, served_kinds(raw, stored.value, known.since))
        return known

    def _others(self, raw: Raw) -> list[Raw]:
        name, group = raw["metadata"]["name"], raw["spec"]["group"]
        return [known.accepted for other, known in self._known.items() if other != name and known.group == group]

    async def _gone(self, name: str) -> None:
        known = self._known.pop(name, None)
        self._seen.pop(key_of(KINDS.CUSTOM_RESOURCE_DEFINITION, "", name), None)
        self._api.resources.serve(name, ())
        if known is not None:
            await self._reconsider(known.group, name)

    async def _reconsider(self, group: str, changed: str) -> None:
        """Look again at definitions that may have waited for a name."""
        waiting = [
            name
            for name, known in self._known.items()
            if name != changed and known.group == group and known.accepted != known.wanted
        ]
        for name in waiting:
            await self._changed(key_of(KINDS.CUSTOM_RESOURCE_DEFINITION, "", name))

    async def _decoded(self, stored: Stored) -> Raw:
        if is_large(stored.value):
            return await self._api.long_work.run(decode, KINDS.CUSTOM_RESOURCE_DEFINITION, stored)
        return decode(KINDS.CUSTOM_RESOURCE_DEFINITION, stored)

    async def _write(self, stored: Stored, raw: Raw, part: Raw) -> Stored:
        """Write parts of a definition, as the API server itself. Raises RevisionMismatch, KeyMissing."""
        long_work, now = self._api.long_work, self._api.now_text()
        is_much = is_large(stored.value)
        value = await long_work.run(_written, raw, part, now) if is_much else _written(raw, part, now)
        return await self._api.store.update(stored.key, value, stored.revision)

    # -- deletion -----------------------------------------------------------------------------------------------------

    def _clean_up(self, name: str) -> None:
        if name not in self._cleaning:
            self._cleaning[name] = task = asyncio.get_running_loop().create_task(self._delete_objects(name))
            task.add_done_callback(lambda _: self._cleaning.pop(name, None))

    async def _delete_objects(self, name: str) -> None:
        """Delete all objects of a definition, then let it go."""
        while True:
            try:
                await self._try_to_delete_objects(key_of(KINDS.CUSTOM_RESOURCE_DEFINITION, "", name))
            except (StoreFailed, StoreUncertain):
                await asyncio.sleep(_RETRY_SECONDS)
            except StoreError:
                return  # the server stops; it goes on after its next start
            else:
                return

    async def _try_to_delete_objects(self, key: str) -> None:
        while True:
            stored = await self._api.store.get(key)
            if stored is None or not _is_going(raw := await self._decoded(stored)):
                return
            kind = stored_kind(raw)
            outcome = NEVER_ESTABLISHED
            if kind is not None:
                if not await self._set(stored, raw, DELETION_RUNS):
                    continue
                outcome = await self._empty(kind)
                stored = await self._api.store.get(key)
                if stored is None:
                    return
                raw = await self._decoded(stored)
            if outcome.status == "True":
                await self._set(stored, raw, outcome)
                await asyncio.sleep(_RETRY_SECONDS)
            elif await self._let_go(stored, raw, outcome):
                return

    async def _set(self, stored: Stored, raw: Raw, condition: DefinitionCondition) -> bool:
        status = with_conditions(raw.get("status") or {}, [condition], self._api.now_text())
        if status == raw.get("status"):
            return True
        try:
            written = await self._write(stored, raw, {"status": status})
        except (RevisionMismatch, KeyMissing):
            return False
        self._learn(written, {**raw, "status": status})
        return True

    async def _let_go(self, stored: Stored, raw: Raw, condition: DefinitionCondition) -> bool:
        """Remove the finalizer, and the definition if it was the last one."""
        metadata = raw["metadata"]
        left = [name for name in metadata.get("finalizers") or () if name != FINALIZER]
        status = with_conditions(raw.get("status") or {}, [condition], self._api.now_text())
        metadata = {field: value for field, value in metadata.items() if field != "finalizers"}
        try:
            if left:
                written = await self._write(
                    stored, raw, {"metadata": {**metadata, "finalizers": left}, "status": status}
                )
                self._learn(written, {**raw, "status": status})
            else:
                await self._api.store.delete(stored.key, stored.revision)
                await self._gone(name_in(stored.key))
        except RevisionMismatch:
            return False
        except KeyMissing:
            await self._gone(name_in(stored.key))
        return True

    async def _empty(self, kind: CustomKind) -> DefinitionCondition:
        """Delete all objects of a kind and wait until they are gone."""
        from moorage.serve.requests.options import ListOptions
        from moorage.serve.verbs.deleting import delete_collection

        api = self._api
        served = api.resources.custom_kind(kind.api_version, kind.name) or kind
        prefix = prefix_of(kind)
        watch = api.store.watch(prefix, api.store.revision)
        try:
            await delete_collection(api, served, "", ListOptions(), DeleteOptions())
            while await api.store.count(prefix):
                await watch.next()
        except Compacted:
            return DELETION_RUNS  # there were more changes than are remembered: look again
        except ApiError as error:
            _LOG.warning("Deleting custom objects failed", resource=kind.plural, err=error.message)
            return deletion_failed(error.message)
        finally:
            watch.close()
        return DELETION_DONE


def _written(raw: Raw, part: Raw, now: str) -> bytes:
    """Return a definition with parts that the API server itself has changed, as it is stored."""
    new = {**raw, **part}
    new["metadata"] = dict(new["metadata"])
    on_update(new, raw, KINDS.CUSTOM_RESOURCE_DEFINITION, _MANAGER, "status", now)
    return encode(KINDS.CUSTOM_RESOURCE_DEFINITION, new)


def _is_going(raw: Raw) -> bool:
    metadata = raw["metadata"]
    return bool(metadata.get("deletionTimestamp")) and FINALIZER in (metadata.get("finalizers") or ())
