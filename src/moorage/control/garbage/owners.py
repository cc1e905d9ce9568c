"""What is known of the owner that a reference names: it is there, it waits for its dependents to go, or it is absent.

In: a reference, the object that has it, the graph, the world, and answers of the API server. Out: an `OwnerState`, or
the question that would settle it. An owner of a kind that has namespaces is looked for in the namespace of the
dependent and nowhere else. Kubernetes: isDangling and classifyReferences of pkg/controller/garbagecollector. Differs:
the API server is asked only about owners that have not been seen, or are not what the reference says they are.
"""

from collections import OrderedDict
from enum import Enum, auto

from moorage.client.protocol import Object
from moorage.control.framework.actions import Answers, Question
from moorage.control.framework.world import World
from moorage.control.garbage.graph import OwnerGraph
from moorage.model.kinds import KINDS
from moorage.model.types.meta import ObjectMeta, OwnerReference

FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_MAX_ABSENT = 500


class OwnerState(Enum):
    """`UNSEEN`: the API server has it, but no watch has told of it yet. `UNKNOWABLE`: nobody can say."""

    SOLID = auto()
    WAITING = auto()
    ABSENT = auto()
    UNSEEN = auto()
    UNKNOWABLE = auto()


class AbsentOwners:
    """The owners most recently found to be gone. A UID never comes back, so this is never wrong."""

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
    """Where the owner would be; None if there can be no such owner."""
    kind = KINDS.get((reference.apiVersion, reference.kind))
    if kind is None or (kind.namespaced and not item.kind.namespaced):
        return None
    return Question(kind, item.namespace if kind.namespaced else "", reference.name)


def known_state(
    reference: OwnerReference, item: Object, graph: OwnerGraph, world: World, absent: AbsentOwners
) -> OwnerState | Question:
    """The state of an owner, or what to ask."""
    where = where_is(reference, item)
    if where is None:
        return OwnerState.UNKNOWABLE
    if graph.place(reference.uid) == (
        where.kind,
        f"{where.namespace}/{where.name}" if where.namespace else where.name,
    ):
        owner = graph.find(reference.uid, world)
        if owner is not None:
            return OwnerState.WAITING if waits_for_dependents(owner.view.metadata) else OwnerState.SOLID
    return OwnerState.ABSENT if absent.has(where, reference.uid) else where


def state_by(answers: Answers, where: Question, uid: str, absent: AbsentOwners) -> OwnerState:
    """The state of an owner that was asked for."""
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
    """Whether the owner exists, but where it cannot own this."""
    place = graph.place(reference.uid)
    return place is not None and place.kind.namespaced and place.key.rpartition("/")[0] != item.namespace
