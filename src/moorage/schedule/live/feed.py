"""Inboxes of informer batches, emptied in slices: nodes and everything else before pods.

Kinds are not ordered among each other, so a pod is looked at when its node, its claims and its Service are known.
Kubernetes: eventhandlers.go and the informers' processors.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from moorage.client.informer import Delta
from moorage.client.protocol import Object
from moorage.model.kinds import KINDS, Kind
from moorage.model.schema.conversion import ConversionError
from moorage.schedule.live.pod_feed import PodFeed
from moorage.schedule.live.surroundings_feed import SurroundingsFeed
from moorage.telemetry.logs import get_logger

_LOG = get_logger("scheduler")
# In the order in which they are looked at; pods come last.
_WATCHED = (
    ("v1", "Node"),
    ("v1", "Namespace"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("storage.k8s.io/v1", "CSINode"),
    ("storage.k8s.io/v1", "CSIDriver"),
    ("storage.k8s.io/v1", "CSIStorageCapacity"),
    ("v1", "PersistentVolume"),
    ("v1", "PersistentVolumeClaim"),
    ("storage.k8s.io/v1", "VolumeAttachment"),
    ("v1", "Service"),
    ("v1", "ReplicationController"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "Pod"),
)
#: The kinds that scheduling reads, as far as Moorage knows them.
WATCHED_KINDS: tuple[Kind, ...] = tuple(KINDS[key] for key in _WATCHED if key in KINDS)
_POD, _NODE = KINDS["v1", "Pod"], KINDS["v1", "Node"]


class Feed:
    """One inbox per watched kind. `wake` is called when something arrives."""

    def __init__(self, pods: PodFeed, surroundings: SurroundingsFeed, wake: Callable[[], None] = lambda: None) -> None:
        self._pods = pods
        self._surroundings = surroundings
        self._wake = wake
        self._inboxes: dict[Kind, deque[Delta]] = {kind: deque() for kind in WATCHED_KINDS}
        self._arrived = 0

    def handler(self, kind: Kind) -> Callable[[Sequence[Delta]], None]:
        """Return the handler for an informer of this kind."""
        inbox = self._inboxes[kind]

        def arrived(deltas: Sequence[Delta]) -> None:
            inbox.extend(deltas)
            self._arrived += len(deltas)
            self._wake()

        return arrived

    def __bool__(self) -> bool:
        return self._arrived > 0

    def take(self, clock: Callable[[], float], until: float) -> int:
        """Process what arrived until the time is up, at least one delta; return how many."""
        taken = 0
        for kind, inbox in self._inboxes.items():
            while inbox:
                if taken and not taken & 7 and clock() >= until:
                    self._arrived -= taken
                    return taken
                taken += 1
                self._tell(kind, inbox.popleft(), clock())
        self._arrived -= taken
        return taken

    def _tell(self, kind: Kind, delta: Delta, now: float) -> None:
        old, new = delta
        try:
            if kind is _POD:
                self._tell_pod(old, new, now)
            elif kind is _NODE:
                if new is not None:
                    self._pods.node_changed(new.view, now)
                elif old is not None:
                    self._pods.node_gone(old.name, now)
            elif new is not None:
                self._surroundings.changed(kind.name, _view(old), new.view, now)
            elif old is not None:
                self._surroundings.gone(kind.name, old.view, now)
        except ConversionError as error:
            # Only a foreign API server has such objects. What it was before still holds.
            _LOG.error("An object that cannot be read", kind=kind.name, key=_key(delta), err=str(error))
        except Exception:
            # A mistake of ours, about one object: the others must not suffer for it.
            _LOG.exception("An object could not be taken in", kind=kind.name, key=_key(delta))

    def _tell_pod(self, old: Object | None, new: Object | None, now: float) -> None:
        if new is not None:
            self._pods.pod_changed(new.key, new.view, now, new.template)
        elif old is not None:
            self._pods.pod_gone(old.key, old.view, now)


def _key(delta: Delta) -> str:
    return next((found.key for found in (delta.new, delta.old) if found is not None), "")


def _view(found: Object | None) -> Any:
    return found.view if found is not None else None
