"""Say what is wrong with a lowered pod or template: the part that repairing pods and templates have in common.

Kubernetes: has no such repair.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from moorage.attach import formats
from moorage.attach.formats import Raw
from moorage.attach.originals.belonging import affinity_belongs, has_added_terms
from moorage.attach.tolerations import is_comparing
from moorage.attached.controller.lowered_pods import (
    Identity,
    has_marker,
    identity_of,
    is_touched,
    raw_affinity,
    raw_toleration,
    read_identity,
)
from moorage.attached.names import EXEMPT_LABEL
from moorage.client.protocol import Object
from moorage.control.framework.world import World
from moorage.model.kinds import KINDS
from moorage.model.types.pod import NodeAffinity, Pod, PodTemplateSpec

_REMEMBERED = 4096
_MOST_OBJECTS = 16_384
Value = TypeVar("Value")
#: Reasons of events.
REPAIRED, NOT_REPAIRED = "LoweringRepaired", "LoweringInconsistent"


class Fault(StrEnum):
    """What is wrong, as the metric of repairs has it."""

    NO_MARKER = "annotation without marker"
    NO_ANNOTATION = "marker without annotation"
    AFFINITY = "affinity of other tolerations"


class Found(NamedTuple):
    """A fault, in words; whether pods would be `misplaced` because of it."""

    fault: Fault
    text: str
    misplaced: bool


_LEFT_BEHIND: Final = f"annotation {formats.TOLERATIONS} was left behind: the tolerations are not lowered"
_OTHER_AFFINITY: Final = "node affinity is not what the tolerations become"


def fault_of(pod: Pod | PodTemplateSpec, *, has_affinity: bool = True) -> Found | None:
    """Return what is wrong with a pod or template; None if nothing is, or if it is not lowered at all.

    `has_affinity` is False where the required node affinity is not the template's own, as with pods of a DaemonSet.
    """
    if not is_touched(pod):
        return None
    affinity = pod.spec.affinity.nodeAffinity if has_affinity and pod.spec.affinity is not None else None
    return _fault(identity_of(pod), affinity, has_marker(pod), has_affinity)


@lru_cache(_REMEMBERED)
def _fault(identity: Identity, affinity: NodeAffinity | None, is_marked: bool, has_affinity: bool) -> Found | None:
    there = {} if affinity is None else raw_affinity(affinity)
    if not is_marked:
        if formats.TOLERATIONS not in dict(identity.annotations):
            return None
        comparing = [each for each in map(raw_toleration, identity.tolerations) if is_comparing(each)]
        misplaced = has_added_terms(there) and not _belongs(there, comparing)
        return Found(Fault.NO_MARKER, _LEFT_BEHIND, misplaced)
    lowered = read_identity(identity)
    assert lowered is not None
    if lowered.original is None:
        return Found(Fault.NO_ANNOTATION, lowered.problem, False)
    kept, counting = lowered.original
    if not has_affinity or _belongs(there, kept) or _belongs(there, counting):
        return None
    return Found(Fault.AFFINITY, _OTHER_AFFINITY, True)


def _belongs(affinity: Raw, tolerations: Sequence[Raw]) -> bool:
    try:
        return affinity_belongs(affinity, tolerations)
    except ValueError:
        return False  # a number that no requirement can have


def is_exempt(found: Object, world: World) -> bool:
    """Whether an object, or its namespace, is to be left alone."""
    if found.view.metadata.labels.get(EXEMPT_LABEL) == formats.TRUE:
        return True
    namespace = world.view(KINDS.NAMESPACE, found.namespace)
    return namespace is not None and namespace.metadata.labels.get(EXEMPT_LABEL) == formats.TRUE


def remember(known: dict[str, Value], uid: str, value: Value) -> None:
    """Keep a value of an object, of a bounded number of objects."""
    if len(known) >= _MOST_OBJECTS:
        known.clear()
    known[uid] = value
