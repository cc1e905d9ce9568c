"""Who depends on whom: all ownerReferences, found from the owner's side.

In: objects as they come, change and go. Out: where an object with a UID is, which objects name it as their owner, and
whether any of these are to be gone before it. Owners are known by UID alone, and need not exist. Kubernetes: the graph
of pkg/controller/garbagecollector.
"""

from collections.abc import Iterable
from typing import NamedTuple

from moorage.client.protocol import Object
from moorage.control.framework.world import World
from moorage.model.kinds import Kind
from moorage.model.types.meta import OwnerReference


class Place(NamedTuple):
    """Where an object is kept: its kind and its key."""

    kind: Kind
    key: str


class OwnerGraph:
    """See the module. There is one edge from a dependent to an owner, however many references say so."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        #: By the owner's UID and the dependent's: whether the dependent is to be gone first.
        self._dependents: dict[str, dict[str, bool]] = {}
        self._blocking: dict[str, int] = {}

    def place(self, uid: str) -> Place | None:
        return self._places.get(uid)

    def find(self, uid: str, world: World) -> Object | None:
        """The object with this UID, if it is there."""
        place = self._places.get(uid)
        found = world.get(*place) if place is not None else None
        return found if found is not None and found.uid == uid else None

    def dependents(self, uid: str) -> list[str]:
        """The UIDs of those that name it as an owner."""
        return list(self._dependents.get(uid, ()))

    def blocking(self, uid: str) -> list[str]:
        """The UIDs of those that are to be gone before it."""
        return [dependent for dependent, blocks in self._dependents.get(uid, {}).items() if blocks]

    def is_blocked(self, uid: str) -> bool:
        """Whether somebody wants to be gone before it."""
        return uid in self._blocking

    def place_at(self, uid: str, place: Place) -> None:
        self._places[uid] = place

    def forget(self, uid: str) -> None:
        self._places.pop(uid, None)

    def link(self, uid: str, owners: Iterable[OwnerReference]) -> None:
        for owner in owners:
            if owner.uid == uid:
                continue  # nothing waits for itself
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
