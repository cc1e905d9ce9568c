"""Indexes of pods by claim, and of volumes and claims by what they want of each other.

The latter also has which volume was chosen for which claim before the objects say so, since claims are reconciled
concurrently. All of it can be rebuilt from the objects. Kubernetes: volume/common, persistentvolume/index.go.
"""

from bisect import bisect_left, insort

from moorage.client.protocol import Object
from moorage.control.framework.world import World, controller_of
from moorage.match.volumes.claims import BIND_COMPLETED, claim_class, claims_of, volume_class
from moorage.match.volumes.volume_matching import ClaimMatcher, preference
from moorage.model.kinds import KINDS
from moorage.model.types.pod import FINISHED_PHASES, Pod
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim


class PodUses:
    """Pods by claim, including the claims of ephemeral volumes."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Object]] = {}

    def changed(self, old: Object | None, new: Object | None) -> list[str]:
        """Record a pod and return the keys of its claims, before and now."""
        before = claim_keys(old) if old is not None else []
        after = claim_keys(new) if new is not None else []
        if not before and not after:
            return []
        for key in before:
            pods = self._pods.get(key, {})
            if old is not None:
                pods.pop(old.key, None)
            if not pods:
                self._pods.pop(key, None)
        if new is not None:
            for key in after:
                self._pods.setdefault(key, {})[new.key] = new
        return list(dict.fromkeys((*before, *after)))

    def of(self, claim: str) -> list[Object]:
        return list(self._pods.get(claim, {}).values())


def claim_keys(found: Object) -> list[str]:
    pod: Pod = found.view
    return [f"{found.namespace}/{use.name}" for use in claims_of(pod)] if pod.spec.volumes else []


def is_over(pod: Pod) -> bool:
    """Return whether the pod's containers have stopped for good or will never start."""
    if pod.status.phase in FINISHED_PHASES:
        return True
    statuses = (*pod.status.initContainerStatuses, *pod.status.containerStatuses)
    return pod.metadata.deletionTimestamp is not None and all(
        status.state is not None and (status.state.terminated or status.state.waiting) for status in statuses
    )


def keeps(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Return whether a pod with a node uses the claim. A pod without one cannot get one any more."""
    if not pod.spec.nodeName:
        return False
    owner = controller_of(claim.metadata)
    for use in claims_of(pod):
        if use.name == claim.metadata.name and (
            not use.ephemeral or (owner is not None and owner.uid == pod.metadata.uid and not _is_shut_down(pod))
        ):
            return True
    return False


def _is_shut_down(pod: Pod) -> bool:
    """Return whether the kubelet has finished with the pod, or it was force deleted."""
    return pod.metadata.deletionTimestamp is not None and pod.metadata.deletionGracePeriodSeconds == 0


_Preference = tuple[int, int, str]


class VolumeIndex:
    """Free volumes by class, unbound claims by class, and volumes and claims that name each other."""

    def __init__(self) -> None:
        self._free: dict[str, list[_Preference]] = {}  # by class, smallest first
        self._naming_claim: dict[str, set[str]] = {}  # volumes by the claim that they name
        self._naming_volume: dict[str, set[str]] = {}  # claims by the volume that they name
        self._waiting: dict[str, dict[str, ClaimMatcher]] = {}  # claims without a volume, by class
        self._chosen: dict[str, str] = {}  # volume → claim
        self._choice: dict[str, str] = {}  # claim → volume

    def volume_changed(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            volume: PersistentVolume = old.view
            if is_free(volume):
                free = self._free[volume_class(volume)]
                del free[bisect_left(free, preference(volume))]
                if not free:
                    del self._free[volume_class(volume)]
            _drop(self._naming_claim, claim_of(volume), old.key)
        if new is not None:
            volume = new.view
            if is_free(volume):
                insort(self._free.setdefault(volume_class(volume), []), preference(volume))
            if claim_of(volume):
                self._naming_claim.setdefault(claim_of(volume), set()).add(new.key)
        gone = new or old
        if gone is not None and (new is None or not is_free(new.view)):
            self._choice.pop(self._chosen.pop(gone.key, ""), None)

    def claim_changed(self, old: Object | None, new: Object | None) -> None:
        if old is not None:
            claim: PersistentVolumeClaim = old.view
            _drop(self._naming_volume, claim.spec.volumeName, old.key)
            waiting = self._waiting.get(claim_class(claim), {})
            if waiting.pop(old.key, None) is not None and not waiting:
                del self._waiting[claim_class(claim)]
        if new is not None:
            claim = new.view
            if claim.spec.volumeName:
                self._naming_volume.setdefault(claim.spec.volumeName, set()).add(new.key)
            elif BIND_COMPLETED not in claim.metadata.annotations:
                self._waiting.setdefault(claim_class(claim), {})[new.key] = ClaimMatcher(claim)

    def volumes_naming(self, claim: str) -> list[str]:
        return sorted(self._naming_claim.get(claim, ()))

    def claims_naming(self, volume: str) -> list[str]:
        return sorted(self._naming_volume.get(volume, ()))

    def waiting(self, storage_class: str) -> list[str]:
        return list(self._waiting.get(storage_class, ()))

    def waiting_for(self, volume: PersistentVolume) -> list[str]:
        """Return the unbound claims that this volume matches."""
        if not is_free(volume):
            return []
        waiting = self._waiting.get(volume_class(volume), {})
        return [key for key, matcher in waiting.items() if matcher.free(volume)]

    def best(self, key: str, claim: PersistentVolumeClaim, world: World, *, delayed: bool) -> Object | None:
        """Return a volume that names the claim; else, if not delayed, the smallest that matches."""
        matcher = self._waiting.get(claim_class(claim), {}).get(key) or ClaimMatcher(claim)
        for name in self.volumes_naming(key):
            volume = world.get(KINDS.PERSISTENT_VOLUME, name)
            if volume is not None and matcher.promised(volume.view):
                return volume
        if delayed:
            return None
        for _, _, name in self._free.get(matcher.storage_class, ()):
            volume = world.get(KINDS.PERSISTENT_VOLUME, name)
            if volume is not None and self._chosen.get(name, key) == key and matcher.free(volume.view):
                return volume
        return None

    def choose(self, volume: str, claim: str) -> None:
        """Reserve a volume for a claim that is about to be bound to it."""
        self._chosen[volume], self._choice[claim] = claim, volume

    def give_back(self, claim: str) -> str:
        """Release the reservation of a claim and return the volume, if any."""
        volume = self._choice.pop(claim, "")
        self._chosen.pop(volume, None)
        return volume


def is_free(volume: PersistentVolume) -> bool:
    """Return whether the volume has no claimRef, is Available and is not being deleted."""
    return (
        volume.spec.claimRef is None
        and volume.status.phase == "Available"
        and volume.metadata.deletionTimestamp is None
    )


def claim_of(volume: PersistentVolume) -> str:
    """Return the key of the claim that the volume names; empty if none."""
    reference = volume.spec.claimRef
    return "" if reference is None else f"{reference.namespace}/{reference.name}"


def _drop(index: dict[str, set[str]], key: str, member: str) -> None:
    members = index.get(key)
    if members is not None:
        members.discard(member)
        if not members:
            del index[key]
