"""Owner references, indexed by owner, and the state of owners. Kubernetes: isDangling, classifyReferences.

Owners are known by UID and need not exist. A namespaced owner is looked for in the dependent's namespace only. Differs:
the API server is asked only about owners that are not in the caches as the reference says.
"""

from collections import OrderedDict
from collections.abc import Iterable
from enum import Enum, auto
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.actions import Answers, Question
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.meta import ObjectMeta, OwnerReference


class ObjectPlace(NamedTuple):
    """Where an object is stored: its kind and its key."""

    kind: Kind
    key: str


class OwnerGraph:
    """Edges from dependents to owners, one per pair however many references there are."""

    def __init__(self) -> None:
        self.places: dict[str, ObjectPlace] = {}
        #: By the owner's UID and the dependent's: whether the dependent blocks the owner's deletion.
        self._dependents: dict[str, dict[str, bool]] = {}
        self._blocking: dict[str, int] = {}

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
                self._blocking[owner.uid] = self._blocking.get(owner.uid, 0) + 1
            known[uid] = blocks or known.get(uid, False)

    def unlink(self, uid: str, owners: Iterable[OwnerReference]) -> None:
        for owner in owners:
            known = self._dependents.get(owner.uid)
            if known is None or uid not in known:
                continue
            if known.pop(uid):
                left = self._blocking[owner.uid] - 1
                if left:
                    self._blocking[owner.uid] = left
                else:
                    del self._blocking[owner.uid]
            if not known:
                del self._dependents[owner.uid]


FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_MAX_ABSENT = 500


class OwnerState(Enum):
    """State of an owner. `UNSEEN`: not in the caches yet. `UNKNOWABLE`: no such kind."""

    SOLID = auto()
    WAITING = auto()
    ABSENT = auto()
    UNSEEN = auto()
    UNKNOWABLE = auto()


class AbsentOwners:
    """The owners most recently found to be gone. A UID is never reused."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Question, str], None] = OrderedDict()

    def add(self, where: Question, uid: str) -> None:
        self._known[where, uid] = None
        self._known.move_to_end((where, uid))
        if len(self._known) > _MAX_ABSENT:
            self._known.popitem(last=False)

    def has(self, where: Question, uid: str) -> bool:
        return (where, uid) in self._known


def where_is(reference: OwnerReference, item: Object) -> Question | None:
    """Return the lookup that finds the owner; None if there can be no such owner."""
    kind = KINDS.get((reference.apiVersion, reference.kind))
    if kind is None or (kind.namespaced and not item.kind.namespaced):
        return None
    return Question(kind, item.namespace if kind.namespaced else "", reference.name)


def known_state(
    reference: OwnerReference, item: Object, graph: OwnerGraph, world: World, absent: AbsentOwners
) -> OwnerState | Question:
    """Return the state of an owner, or the question that settles it."""
    where = where_is(reference, item)
    if where is None:
        return OwnerState.UNKNOWABLE
    if graph.places.get(reference.uid) == (
        where.kind,
        f"{where.namespace}/{where.name}" if where.namespace else where.name,
    ):
        owner = graph.find(reference.uid, world)
        if owner is not None:
            return OwnerState.WAITING if waits_for_dependents(owner.view.metadata) else OwnerState.SOLID
    return OwnerState.ABSENT if absent.has(where, reference.uid) else where


def state_by(answers: Answers, where: Question, uid: str, absent: AbsentOwners) -> OwnerState:
    """Return the state of an owner by the API server's answer."""
    owner = next((found for found in answers.get(where, ()) if found.uid == uid), None)
    if owner is None:
        absent.add(where, uid)
        return OwnerState.ABSENT
    return OwnerState.WAITING if waits_for_dependents(owner.view.metadata) else OwnerState.UNSEEN


def waits_for_dependents(metadata: ObjectMeta) -> bool:
    return metadata.deletionTimestamp is not None and FOREGROUND in metadata.finalizers


def waits_for_orphans(metadata: ObjectMeta) -> bool:
    return metadata.deletionTimestamp is not None and ORPHAN in metadata.finalizers


def is_in_another_namespace(reference: OwnerReference, item: Object, graph: OwnerGraph) -> bool:
    """Return whether the owner exists in a namespace where it cannot own this object."""
    place = graph.places.get(reference.uid)
    return place is not None and place.kind.namespaced and place.key.rpartition("/")[0] != item.namespace
