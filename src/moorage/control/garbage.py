"""Delete objects whose owners are gone, and finish foreground and orphan deletion.

Keys are UIDs. A namespaced owner is looked for in the dependent's namespace only; one that is not in the caches as the
reference says is looked up at the API server before its dependents are deleted, and objects are deleted only if
unchanged since the decision. Kubernetes: pkg/controller/garbagecollector. Differs: owners that were never seen have no
node in the graph; a finalizer is removed in a step after the last dependent; cycles of objects that block each other
are detected when they close; references to kinds that do not exist keep an object without retries.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import NamedTuple

from moorage.client.protocol import Object, PatchType
from moorage.control.framework.actions import (
    NOTHING,
    Action,
    Answers,
    Delete,
    Patch,
    Plan,
    Question,
    Raw,
    Report,
    patch_metadata,
    warn,
)
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, OLDER_VERSIONS, CustomKind, Kind
from moorage.model.types.meta import ObjectMeta, OwnerReference

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_MAX_ABSENT = 500


class ObjectPlace(NamedTuple):
    """Where an object is stored: its kind and its key."""

    kind: Kind
    key: str


class OwnerState(Enum):
    """State of an owner. `UNSEEN`: not in the caches yet. `UNKNOWABLE`: no such kind."""

    SOLID = auto()
    WAITING = auto()
    ABSENT = auto()
    UNSEEN = auto()
    UNKNOWABLE = auto()


def where_is(reference: OwnerReference, item: Object, world: World) -> Question | None:
    """Return the lookup that finds the owner; None if there can be no such owner."""
    named = reference.apiVersion, reference.kind
    group = reference.apiVersion.rpartition("/")[0]
    kind = KINDS.get(named) or OLDER_VERSIONS.get(named) or world.custom_kinds.get((group, reference.kind))
    if kind is None or (kind.namespaced and not item.kind.namespaced):
        return None
    return Question(kind, item.namespace if kind.namespaced else "", reference.name)


def waits_for_dependents(metadata: ObjectMeta) -> bool:
    return metadata.deletionTimestamp is not None and FOREGROUND in metadata.finalizers


def waits_for_orphans(metadata: ObjectMeta) -> bool:
    return metadata.deletionTimestamp is not None and ORPHAN in metadata.finalizers


class OwnerGraph:
    """Edges from dependents to owners, one per pair however many references there are, and states of owners."""

    def __init__(self) -> None:
        self.places: dict[str, ObjectPlace] = {}
        #: By the owner's UID and the dependent's: whether the dependent blocks the owner's deletion.
        self._dependents: dict[str, dict[str, bool]] = {}
        self._blocking: Counter[str] = Counter()
        #: The owners most recently found to be gone. A UID is never reused.
        self._absent: OrderedDict[tuple[Question, str], None] = OrderedDict()

    def find(self, uid: str, world: World) -> Object | None:
        place = self.places.get(uid)
        found = world.get(*place) if place is not None else None
        return found if found is not None and found.uid == uid else None

    def dependents(self, uid: str) -> list[str]:
        return list(self._dependents.get(uid, ()))

    def blocking(self, uid: str) -> list[str]:
        """Return the UIDs of dependents that must be gone before the owner."""
        return [dependent for dependent, blocks in self._dependents.get(uid, {}).items() if blocks]

    def is_blocked(self, uid: str) -> bool:
        return uid in self._blocking

    def link(self, uid: str, owners: Iterable[OwnerReference]) -> None:
        for owner in owners:
            if owner.uid == uid:
                continue  # an object does not block itself
            known = self._dependents.setdefault(owner.uid, {})
            blocks = bool(owner.blockOwnerDeletion)
            if blocks and not known.get(uid):
                self._blocking[owner.uid] += 1
            known[uid] = blocks or known.get(uid, False)

    def unlink(self, uid: str, owners: Iterable[OwnerReference]) -> None:
        for owner in owners:
            known = self._dependents.get(owner.uid)
            if known is None or uid not in known:
                continue
            if known.pop(uid):
                self._blocking[owner.uid] -= 1
                if not self._blocking[owner.uid]:
                    del self._blocking[owner.uid]
            if not known:
                del self._dependents[owner.uid]

    def without_owner(self) -> list[str]:
        """Return the UIDs of dependents with an owner that is not in the caches."""
        unknown = (known for owner, known in self._dependents.items() if owner not in self.places)
        return list({dependent: None for known in unknown for dependent in known})

    def add_absent(self, where: Question, uid: str) -> None:
        self._absent[where, uid] = None
        self._absent.move_to_end((where, uid))
        if len(self._absent) > _MAX_ABSENT:
            self._absent.popitem(last=False)

    def known_state(self, reference: OwnerReference, item: Object, world: World) -> OwnerState | Question:
        """Return the state of an owner, or the question that settles it."""
        where = where_is(reference, item, world)
        if where is None:
            return OwnerState.UNKNOWABLE
        if self.places.get(reference.uid) == (where.kind, where.key):
            owner = self.find(reference.uid, world)
            if owner is not None:
                return OwnerState.WAITING if waits_for_dependents(owner.view.metadata) else OwnerState.SOLID
        return OwnerState.ABSENT if (where, reference.uid) in self._absent else where

    def state_by(self, answers: Answers, where: Question, uid: str) -> OwnerState:
        owner = next((found for found in answers.get(where, ()) if found.uid == uid), None)
        if owner is None:
            self.add_absent(where, uid)
            return OwnerState.ABSENT
        return OwnerState.WAITING if waits_for_dependents(owner.view.metadata) else OwnerState.UNSEEN

    def is_in_another_namespace(self, reference: OwnerReference, item: Object) -> bool:
        """Return whether the owner exists in a namespace where it cannot own this object."""
        place = self.places.get(reference.uid)
        return place is not None and place.kind.namespaced and place.key.rpartition("/")[0] != item.namespace


States = Mapping[OwnerReference, OwnerState]


class GarbageCollector(Controller):
    """Deletes dependents, removes references and finalizers."""

    name = "garbage-collector-controller"
    workers = 64
    watches_custom = True
    watches: tuple[Kind, ...] = tuple(kind for kind in KINDS.values() if kind.name != "Event")

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.watches = tuple(watch for watch in self.watches if watch.gate is None or context.gates.enabled(watch.gate))
        self._graph = OwnerGraph()

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if new is None:
            return list(self._gone(old, world)) if old is not None else ()
        metadata = new.view.metadata
        before = old.view.metadata if old is not None and old.uid == new.uid else None
        references = metadata.ownerReferences
        if before is None:
            self._graph.places[new.uid] = ObjectPlace(kind, new.key)
        elif (
            before.deletionTimestamp == metadata.deletionTimestamp
            and before.ownerReferences == references
            and before.finalizers == metadata.finalizers
        ):
            return ()
        keys: dict[str, None] = {}
        owners_before = before.ownerReferences if before is not None else ()
        if owners_before != references:
            keys.update(dict.fromkeys(self._owners_changed(new, owners_before, world)))
        if waits_for_dependents(metadata) and not (before is not None and waits_for_dependents(before)):
            keys[new.uid] = None
            keys.update(dict.fromkeys(self._graph.dependents(new.uid)))
        elif waits_for_orphans(metadata):
            keys[new.uid] = None
        return keys

    def kind_added(self, kind: CustomKind) -> Iterable[str]:
        return self._graph.without_owner()

    def _owners_changed(self, item: Object, before: Sequence[OwnerReference], world: World) -> Iterator[str]:
        references = item.view.metadata.ownerReferences
        removed = [reference for reference in before if reference not in references]
        added = [reference for reference in references if reference not in before]
        self._graph.unlink(item.uid, before)
        self._graph.link(item.uid, references)
        yield from self._unblocked(removed, world)
        for reference in added:
            if self._graph.known_state(reference, item, world) is not OwnerState.SOLID:
                yield item.uid
                return

    def _unblocked(self, removed: Iterable[OwnerReference], world: World) -> Iterator[str]:
        """Yield the owners in foreground deletion that no dependent blocks any more."""
        for reference in removed:
            if not self._graph.is_blocked(reference.uid):
                owner = self._graph.find(reference.uid, world)
                if owner is not None and waits_for_dependents(owner.view.metadata):
                    yield reference.uid

    def _gone(self, item: Object, world: World) -> Iterator[str]:
        uid, references = item.uid, item.view.metadata.ownerReferences
        dependents = self._graph.dependents(uid)
        if dependents:
            self._graph.add_absent(Question(item.kind, item.namespace, item.name), uid)
        self._graph.places.pop(uid, None)
        self._graph.unlink(uid, references)
        yield from dependents
        yield from self._unblocked(references, world)

    def questions(self, key: str, world: World, now: float) -> Sequence[Question]:
        item = self._graph.find(key, world)
        if item is None or item.view.metadata.deletionTimestamp is not None:
            return ()
        known = self._known_states(item, world).values()
        return () if OwnerState.UNKNOWABLE in known else [state for state in known if isinstance(state, Question)]

    def _known_states(self, item: Object, world: World) -> dict[OwnerReference, OwnerState | Question]:
        return {
            reference: self._graph.known_state(reference, item, world)
            for reference in item.view.metadata.ownerReferences
        }

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        return self.decide(key, world, {}, now)

    def decide(self, key: str, world: World, answers: Answers, now: float) -> Plan:
        item = self._graph.find(key, world)
        if item is None:
            return NOTHING
        metadata = item.view.metadata
        if waits_for_orphans(metadata):
            return self._orphan(item, world)
        if waits_for_dependents(metadata):
            return self._wait(item, world)
        if metadata.deletionTimestamp is not None or not metadata.ownerReferences:
            return NOTHING
        states: dict[OwnerReference, OwnerState] = {}
        known = self._known_states(item, world)
        if OwnerState.UNKNOWABLE in known.values():
            return NOTHING
        for reference, state in known.items():
            if isinstance(state, Question):
                if state not in answers:
                    return Plan(again_after=0.0)  # the owner disappeared from the caches after `questions`
                state = self._graph.state_by(answers, state, reference.uid)
            states[reference] = state
        return self._collect(item, states, world)

    def _collect(self, item: Object, states: States, world: World) -> Plan:
        found = set(states.values())
        actions: list[Action] = [
            _invalid_namespace(reference, item)
            for reference, state in states.items()
            if state is OwnerState.ABSENT and self._graph.is_in_another_namespace(reference, item)
        ]
        if found & {OwnerState.SOLID, OwnerState.UNSEEN}:
            gone = [one for one, state in states.items() if state in (OwnerState.ABSENT, OwnerState.WAITING)]
            if gone:
                actions.append(_without_owners(item, [one.uid for one in gone]))
            return Plan(tuple(actions), retries=OwnerState.UNSEEN in found)
        if OwnerState.WAITING in found and self._graph.dependents(item.uid):
            return Plan((*actions, _delete(item, "Foreground")))
        finalizers = item.view.metadata.finalizers
        policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        return Plan((*actions, _delete(item, policy)))

    def _wait(self, item: Object, world: World) -> Plan:
        if not self._graph.is_blocked(item.uid):
            return Plan((_without_finalizer(item, FOREGROUND),))
        return Plan((_unblocking(item),)) if self._waits_for_itself(item.uid, world) else NOTHING

    def _waits_for_itself(self, uid: str, world: World) -> bool:
        """Return whether the object is in a cycle of blocking owner references."""
        seen: set[str] = set()
        waiting = [uid]
        while waiting:
            for dependent in self._graph.blocking(waiting.pop()):
                if dependent == uid:
                    return True
                found = self._graph.find(dependent, world)
                if dependent not in seen and found is not None and waits_for_dependents(found.view.metadata):
                    waiting.append(dependent)
                seen.add(dependent)
        return False

    def _orphan(self, owner: Object, world: World) -> Plan:
        found = (self._graph.find(uid, world) for uid in self._graph.dependents(owner.uid))
        patches = tuple(_without_owners(dependent, [owner.uid]) for dependent in found if dependent is not None)
        if patches:
            return Plan(patches, again_after=0.0)
        return Plan((_without_finalizer(owner, ORPHAN),))


def _delete(item: Object, policy: str) -> Delete:
    return Delete(item.kind, item.namespace, item.name, item.uid, propagation=policy, revision=item.revision)


def _without_owners(item: Object, owners: Iterable[str]) -> Patch:
    if isinstance(item.kind, CustomKind):
        gone = set(owners)
        return _with_references(
            item, [reference for reference in _references(item) if reference.get("uid") not in gone]
        )
    removed = [{"$patch": "delete", "uid": uid} for uid in owners]
    return patch_metadata(item, {"ownerReferences": removed})


def _unblocking(item: Object) -> Patch:
    """Set blockOwnerDeletion to false in all references."""
    if isinstance(item.kind, CustomKind):
        return _with_references(item, [{**reference, "blockOwnerDeletion": False} for reference in _references(item)])
    blocking = [owner.uid for owner in item.view.metadata.ownerReferences if owner.blockOwnerDeletion]
    return patch_metadata(item, {"ownerReferences": [{"uid": uid, "blockOwnerDeletion": False} for uid in blocking]})


def _references(item: Object) -> list[Raw]:
    return item.raw["metadata"].get("ownerReferences") or []


def _with_references(item: Object, references: list[Raw]) -> Patch:
    """Replace all references of a custom object, whose lists no patch merges, if it is unchanged."""
    metadata = {"resourceVersion": str(item.revision), "ownerReferences": references or None}
    return patch_metadata(item, metadata)._replace(patch_type=PatchType.MERGE)


def _without_finalizer(item: Object, finalizer: str) -> Patch:
    left = [name for name in item.view.metadata.finalizers if name != finalizer]
    metadata = {"resourceVersion": str(item.revision), "finalizers": left or None}
    return patch_metadata(item, metadata)._replace(patch_type=PatchType.MERGE)


def _invalid_namespace(owner: OwnerReference, item: Object) -> Report:
    what = f"{owner.apiVersion}/{owner.kind}, namespace: {item.namespace}, name: {owner.name}, uid: {owner.uid}"
    text = f'ownerRef [{what}] does not exist in namespace "{item.namespace}"'
    return warn(item, "OwnerRefInvalidNamespace", text)
