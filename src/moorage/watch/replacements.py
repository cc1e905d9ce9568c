"""Decide which pod a new one replaces, or that it is not certain which.

A pod replaces another one only if both have the same owner and revision, and it was first seen shortly after the other
had left and before another pod took that place. Pods with an identity (ordinal of a StatefulSet, index of a Job, node
of a DaemonSet) replace only the one with the same. Where several pods have left, it is one of them.

A pod that was deleted without a disruption may have been scaled away: it is replaced only if its ReplicaSet is known
and has not become smaller. Kubernetes: controllers do not write down which pod they create a new one for.
"""

from collections import OrderedDict, deque
from typing import Any, NamedTuple

import msgspec

from moorage.client.protocol import Object
from moorage.control.framework.workloads import desired_replicas
from moorage.control.framework.world import controller_of
from moorage.lint.report.form import counted
from moorage.model.types.meta import OwnerReference
from moorage.model.types.pod import Pod
from moorage.model.well_known.labels import JOB_COMPLETION_INDEX, POD_TEMPLATE_HASH, REVISION_HASH
from moorage.plan.report.node_lists import shown_nodes

#: How many seconds after a pod has left its place may be taken, and after a ReplicaSet became smaller it may have.
WINDOW = 30.0
#: Pods of one owner that left and were not replaced yet.
_MAX_PLACES = 100
_MAX_OWNERS = 10_000
_MAX_CLAIMS = 10_000
_MAX_SIZES = 100_000
_NEVER = float("-inf")

#: Kind, namespace, name and UID.
Owner = tuple[str, str, str, str]


class Left(NamedTuple):
    """A pod that left its node, when, and because of what if a taint evicted it."""

    pod: str
    node: str
    time: float
    because: str


class Replaced(NamedTuple):
    """The pod that another one replaces; if several, it is one of them, and it is not known which."""

    candidates: tuple[Left, ...] = ()
    is_update: bool = False  # it was of another revision, and had the same identity


NONE = Replaced()


class _Place(msgspec.Struct, eq=False):
    """A place that a pod left. `candidates` are the pods that it may be of, where it is not certain."""

    revision: str
    slot: str
    is_certain: bool  # that a new pod is wanted
    left: float
    open_since: float
    pod_uid: str
    candidates: tuple[Left, ...]


class Places:
    """The places that pods left, by owner, and the new pods that took them."""

    def __init__(self) -> None:
        self._places: OrderedDict[Owner, deque[_Place]] = OrderedDict()
        self._taken: OrderedDict[str, Replaced] = OrderedDict()  # by UID of the new pod
        self._shrunk: OrderedDict[str, float] = OrderedDict()  # by UID of a known ReplicaSet: when it became smaller

    def replica_set_changed(self, old: Object | None, new: Object | None, now: float) -> None:
        """Take a ReplicaSet as it is now: its pods that are deleted while it stays as large are replaced."""
        if new is None:
            if old is not None:
                self._shrunk.pop(old.uid, None)
            return
        if old is not None and old.uid == new.uid and desired_replicas(new) < desired_replicas(old):
            self._shrunk[new.uid] = now
        else:
            self._shrunk.setdefault(new.uid, _NEVER)
        _trim(self._shrunk, _MAX_SIZES)

    def leave(self, pod: Pod, now: float, because: str, *, is_disrupted: bool) -> None:
        """Open the place of a pod that leaves its node. `is_disrupted`: its controller did not want it to."""
        owner = controller_of(pod.metadata)
        if owner is None or not pod.spec.nodeName:
            return
        key, slot = _owner_key(pod, owner), _slot(pod, owner)
        left = Left(_key(pod), pod.spec.nodeName, now, because)
        place = _Place(_revision(pod), slot, is_disrupted or bool(slot), now, now, pod.metadata.uid, (left,))
        self._places.setdefault(key, deque(maxlen=_MAX_PLACES)).append(place)
        self._places.move_to_end(key)
        _trim(self._places, _MAX_OWNERS)

    def end(self, pod: Pod, now: float) -> None:
        """Take it that a pod which was leaving is gone: some controllers make the next one only now."""
        owner = controller_of(pod.metadata)
        if owner is None:
            return
        for place in self._places.get(_owner_key(pod, owner), ()):
            if place.is_certain and place.pod_uid == pod.metadata.uid:
                place.open_since = now

    def arrive(self, pod: Pod, now: float, *, is_new: bool) -> None:
        """Let a pod that is seen for the first time take the place that it was made for; one that gets its node, too.

        Only for the pod of a DaemonSet the node decides which place that is.
        """
        owner = controller_of(pod.metadata)
        if owner is None or not (bool(pod.spec.nodeName) if owner.kind == _DAEMON_SET else is_new):
            return
        key, slot, revision = _owner_key(pod, owner), _slot(pod, owner), _revision(pod)
        places = [place for place in self._places.get(key, ()) if now <= place.open_since + WINDOW]
        if slot:
            free = [place for place in places if place.slot == slot]
            if free:  # the last one is its predecessor, those before it have had a successor
                last, places = free[-1], [place for place in places if place.slot != slot]
                self._take(pod, Replaced(last.candidates, last.revision != revision))
        else:
            free = [place for place in places if place.revision == revision and self._is_wanted(place, owner)]
            if free:
                groups = {id(place.candidates): place.candidates for place in free}.values()
                candidates = tuple(dict.fromkeys(left for group in groups for left in group))
                places.remove(free[0])
                for place in free[1:]:
                    place.candidates = candidates
                self._take(pod, Replaced(candidates))
        if places:
            self._places[key] = deque(places, _MAX_PLACES)
        else:
            self._places.pop(key, None)

    def _take(self, pod: Pod, replaced: Replaced) -> None:
        self._taken[pod.metadata.uid] = replaced
        _trim(self._taken, _MAX_CLAIMS)

    def _is_wanted(self, place: _Place, owner: OwnerReference) -> bool:
        """Return whether a new pod is made for a place: its owner did not become smaller."""
        shrunk = self._shrunk.get(owner.uid)
        return place.is_certain if shrunk is None else shrunk < place.left - WINDOW

    def replaced_by(self, pod: Pod) -> Replaced:
        """Return the pod that this one replaces, or those of which it is one; empty if it is not known to."""
        return self._taken.get(pod.metadata.uid, NONE)

    def forget(self, pod: Pod) -> Replaced:
        """Return the same once more, when the new pod leaves, too."""
        return self._taken.pop(pod.metadata.uid, NONE)


def where_placed(pod: Pod, replaced: Replaced) -> tuple[bool, str]:
    """Return whether a pod that got a node has moved, and a sentence about where it is now and was before."""
    node, candidates = pod.spec.nodeName, replaced.candidates
    nodes = list(dict.fromkeys(left.node for left in candidates))
    if replaced.is_update:
        if nodes == [node]:
            return False, f"on {node} again with a new revision"
        return False, f"on {node} with a new revision, before on {nodes[0]}"
    if len(nodes) > 1:
        return False, f"on {node}, replaces one of {counted(len(candidates), 'pod')} that left {shown_nodes(nodes)}"
    instead = ""
    if len(candidates) > 1:
        instead = f", instead of one of {counted(len(candidates), 'pod')}"
    elif candidates and candidates[0].pod != _key(pod):
        instead = f", instead of {candidates[0].pod.rpartition('/')[2]}"
    if nodes == [node]:
        return False, f"on {node} again{instead}"
    return bool(nodes), f"from {nodes[0]} to {node}{instead}" if nodes else f"on {node}"


_DAEMON_SET = "DaemonSet"


def _slot(pod: Pod, owner: OwnerReference) -> str:
    """Return what a pod keeps when it is made again; empty for pods that are all alike."""
    if owner.kind == "StatefulSet":
        return pod.metadata.name
    if owner.kind == _DAEMON_SET:
        return pod.spec.nodeName
    return pod.metadata.labels.get(JOB_COMPLETION_INDEX, "") if owner.kind == "Job" else ""


def _revision(pod: Pod) -> str:
    labels = pod.metadata.labels
    return labels.get(POD_TEMPLATE_HASH) or labels.get(REVISION_HASH, "")


def _owner_key(pod: Pod, owner: OwnerReference) -> Owner:
    return owner.kind, pod.metadata.namespace, owner.name, owner.uid


def _key(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"


def _trim(entries: OrderedDict[Any, Any], most: int) -> None:
    while len(entries) > most:
        entries.popitem(last=False)
