"""Hold volumes, claims and classes: what there is, which pods use it, and what was promised to pods.

A promise of VolumeBinding holds until an event says the same or `release` takes it back: two pods never get one volume.
Kubernetes: the listers and assume caches of volumebinding, and the scheduler cache's PVC reference counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from moorage.columns.attachments import Attachments, VolumeId
from moorage.columns.change_log import ChangeLog
from moorage.columns.node_table import NodeTable
from moorage.match.volumes.claims import (
    BIND_COMPLETED,
    READ_WRITE_ONCE_POD,
    SELECTED_NODE,
    ClaimFacts,
    ClaimKey,
    ClaimState,
    ClaimUse,
    claim_class,
    volume_class,
)
from moorage.match.volumes.csi_migration import Attachable, moved_disk, provisioned_disk
from moorage.match.volumes.volume_matching import ClaimMatcher
from moorage.model.types.meta import ObjectMeta, ObjectReference
from moorage.model.types.pod import Pod
from moorage.model.types.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

K = TypeVar("K")
N = TypeVar("N")
V = TypeVar("V")
_DELAYED = "WaitForFirstConsumer"
_LOST = "Lost"
_NOT_YET_MADE = "not yet made "  # before a claim's name it is a handle that no driver gives
StorageObject = (
    PersistentVolume
    | PersistentVolumeClaim
    | StorageClass
    | CSINode
    | CSIDriver
    | CSIStorageCapacity
    | VolumeAttachment
)


class VolumeDecision(msgspec.Struct, frozen=True):
    """What becomes of a claim because its pod got a node: bound to `volume`, or made by `provisioner`."""

    claim: ClaimKey
    node: str
    volume: str = ""
    provisioner: str = ""


class Storage:
    """All that scheduling reads of storage."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self.volumes: dict[str, PersistentVolume] = {}
        self.claims: dict[ClaimKey, PersistentVolumeClaim] = {}
        self.classes: dict[str, StorageClass] = {}
        self.drivers: dict[str, CSIDriver] = {}
        self.capacities: dict[ClaimKey, CSIStorageCapacity] = {}
        self.attachments = Attachments(nodes.slots)
        self.decisions: dict[str, tuple[VolumeDecision, ...]] = {}  # by the pod's key
        self.users: dict[ClaimKey, dict[int, int]] = {}  # slot → pods
        self.changed: ChangeLog[str] = ChangeLog()  # names of volumes
        # Moves when drivers or what is left in their pools changes.
        self.capacity_generation = 0
        self._by_class: dict[str, dict[str, None]] = {}
        self._by_reference: dict[ClaimKey, dict[str, None]] = {}
        self._claims_on: dict[str, dict[ClaimKey, None]] = {}  # volume → claims that name it
        self._counted: dict[ClaimKey, Attachable] = {}  # as what the claims in use are counted
        self._csi_nodes: dict[str, CSINode] = {}
        self._held_on: dict[str, dict[str, VolumeAttachment]] = {}  # by the node's name
        self._held_of: dict[str, dict[str, VolumeAttachment]] = {}  # by the volume's name
        self._holds: dict[str, tuple[VolumeId, int]] = {}  # as what an attachment is counted
        self._relied_on: Counter[str | ClaimKey] = Counter()  # pods per volume, or claim for which one is made
        self._promised: dict[str, ObjectReference] = {}  # volume → claim
        self._selected: dict[ClaimKey, str] = {}  # claim → node

    # -- events -------------------------------------------------------------------------------------------------

    def set(self, thing: StorageObject) -> None:
        self._take_in(thing, exists=True)

    def remove(self, thing: StorageObject) -> None:
        self._take_in(thing, exists=False)

    def _take_in(self, thing: StorageObject, exists: bool) -> None:
        name, key = thing.metadata.name, (thing.metadata.namespace, thing.metadata.name)
        if isinstance(thing, PersistentVolume):
            if not exists:
                self._promised.pop(name, None)
            self._replace_volume(name, self._as_promised(thing) if exists else None)
        elif isinstance(thing, PersistentVolumeClaim):
            if not exists:
                self._selected.pop(key, None)
            self._replace_claim(key, self._as_selected(key, thing) if exists else None)
        elif isinstance(thing, StorageClass):
            _put(self.classes, name, thing, exists)
            self._count_again(self._counted_in_class(name))
        elif isinstance(thing, CSINode):
            _put(self._csi_nodes, name, thing, exists)
            self._tell_node(name)
        elif isinstance(thing, VolumeAttachment):
            self._release_hold(name)
            volume = thing.spec.source.persistentVolumeName or ""
            for filed, under in ((self._held_on, thing.spec.nodeName), (self._held_of, volume)):
                if exists:
                    filed.setdefault(under, {})[name] = thing
                else:
                    _unfile(filed, under, name)
            if exists:
                self._hold(thing)
        else:
            self.capacity_generation += 1
            if isinstance(thing, CSIDriver):
                _put(self.drivers, name, thing, exists)
            else:
                _put(self.capacities, key, thing, exists)

    def _replace_volume(self, name: str, new: PersistentVolume | None) -> None:
        old = self.volumes.get(name)
        if old is not None:
            _unfile(self._by_class, volume_class(old), name)
            if old.spec.claimRef is not None:
                _unfile(self._by_reference, (old.spec.claimRef.namespace, old.spec.claimRef.name), name)
            del self.volumes[name]
        if new is not None:
            self.volumes[name] = new
            self._by_class.setdefault(volume_class(new), {})[name] = None
            if new.spec.claimRef is not None:
                reference = (new.spec.claimRef.namespace, new.spec.claimRef.name)
                self._by_reference.setdefault(reference, {})[name] = None
        self.changed.note(name)
        self._count_again(self._claims_on.get(name, ()))
        for attachment in self._held_of.get(name, {}).values():
            self._release_hold(attachment.metadata.name)
            self._hold(attachment)

    def _replace_claim(self, key: ClaimKey, new: PersistentVolumeClaim | None) -> None:
        old = self.claims.pop(key, None)
        if old is not None:
            _unfile(self._claims_on, old.spec.volumeName, key)
        if new is not None:
            self.claims[key] = new
            self._claims_on.setdefault(new.spec.volumeName, {})[key] = None
        self._count_again((key,))

    # -- nodes --------------------------------------------------------------------------------------------------

    def node_added(self, name: str) -> None:
        """Count what is known of a new node's drivers and volumes."""
        if name in self._csi_nodes:
            self._tell_node(name)
        for attachment in self._held_on.get(name, {}).values():
            self._hold(attachment)

    def node_leaves(self, name: str) -> None:
        """Forget the attachments of a node without pods."""
        for attachment in self._held_on.get(name, {}):
            self._release_hold(attachment)
        self.attachments.set_node(self._nodes.slot_of[name], None)

    def _tell_node(self, name: str) -> None:
        slot = self._nodes.slot_of.get(name)
        if slot is not None:
            self.attachments.set_node(slot, self._csi_nodes.get(name))
            self._nodes.changes.note(slot)

    def _hold(self, attachment: VolumeAttachment) -> None:
        slot = self._nodes.slot_of.get(attachment.spec.nodeName)
        volume = self.volumes.get(attachment.spec.source.persistentVolumeName or "")
        if slot is None or not attachment.spec.attacher or volume is None or volume.spec.csi is None:
            return
        volume_id = (attachment.spec.attacher, volume.spec.csi.volumeHandle)
        self._holds[attachment.metadata.name] = volume_id, slot
        self.attachments.hold(volume_id, slot, 1)
        self._nodes.changes.note(slot)

    def _release_hold(self, name: str) -> None:
        held = self._holds.pop(name, None)
        if held is not None:
            self.attachments.hold(*held, -1)
            self._nodes.changes.note(held[1])

    # -- pods ---------------------------------------------------------------------------------------------------

    def use(self, key: ClaimKey, slot: int, by: int) -> None:
        """Count a pod with the claim that came to a slot (1) or left it (-1)."""
        users = self.users.setdefault(key, {})
        if not users:
            attachable = self.attachable(key)
            if attachable is not None:
                self._counted[key] = attachable
        counted = self._counted.get(key)
        if counted is not None:
            self.attachments.use(counted, slot, by)
        users[slot] = users.get(slot, 0) + by
        if not users[slot]:
            del users[slot]
            if not users:
                del self.users[key]
                self._counted.pop(key, None)

    def _counted_in_class(self, name: str) -> list[ClaimKey]:
        return [key for key in self.users if key in self.claims and claim_class(self.claims[key]) == name]

    def _count_again(self, keys: Iterable[ClaimKey]) -> None:
        """Count claims again that may have become other volumes."""
        for key in keys:
            users = self.users.get(key)
            if not users:
                continue
            old, new = self._counted.get(key), self.attachable(key)
            if old == new:
                continue
            for slot, pods in users.items():
                if old is not None:
                    self.attachments.use(old, slot, -pods)
                if new is not None:
                    self.attachments.use(new, slot, pods)
                self._nodes.changes.note(slot)
            if new is None:
                del self._counted[key]
            else:
                self._counted[key] = new

    def attachable(self, key: ClaimKey) -> Attachable | None:
        """Return what a claim's volume is counted as on a node, also if it is yet to be provisioned."""
        claim = self.claims.get(key)
        if claim is None:
            return None
        volume = self.volumes.get(claim.spec.volumeName)
        if volume is None:
            storage_class = self.classes.get(claim_class(claim))
            provisioner = storage_class.provisioner if storage_class is not None else ""
            return provisioned_disk(provisioner, f"{_NOT_YET_MADE}{key[0]}/{key[1]}")
        source = volume.spec.csi
        if source is None:
            return moved_disk(volume.spec, volume.metadata.labels)
        return Attachable(source.driver, source.volumeHandle) if source.driver and source.volumeHandle else None

    # -- facts --------------------------------------------------------------------------------------------------

    def claim_facts(self, pod: Pod, use: ClaimUse, by_name: bool = False) -> ClaimFacts:
        """Return the facts about a pod's claim; with `by_name`, distinct from those of all other claims."""
        key = (pod.metadata.namespace, use.name)
        claim = self.claims.get(key)
        if claim is None:
            return ClaimFacts(use, ClaimState.MISSING)
        state = self._state(pod, use, claim)
        if state is ClaimState.FOREIGN:
            return ClaimFacts(use, state, claim, pod=pod.metadata.name)
        attachable = self.attachable(key)
        contested = self._is_contested(key, claim, attachable, len(pod.spec.volumes))
        reserved = state is ClaimState.DELAYED and key in self._by_reference and self._is_reserved(claim)
        return ClaimFacts(
            use,
            state,
            claim,
            self.volumes.get(claim.spec.volumeName),
            self.classes.get(claim_class(claim)),
            attachable,
            reserved,
            contested or reserved or by_name,
        )

    def _is_contested(
        self, key: ClaimKey, claim: PersistentVolumeClaim, attachable: Attachable | None, volumes: int
    ) -> bool:
        """Return whether the users of the claim matter: it is exclusive, or on a node with no room for one."""
        if key in self.users and READ_WRITE_ONCE_POD in claim.spec.accessModes:
            return True
        return attachable is not None and self.attachments.matters(attachable, volumes)

    def _state(self, pod: Pod, use: ClaimUse, claim: PersistentVolumeClaim) -> ClaimState:
        if claim.status.phase == _LOST:
            return ClaimState.LOST
        if claim.metadata.deletionTimestamp is not None:
            return ClaimState.DELETED
        if use.ephemeral and not _is_controlled_by(claim.metadata, pod):
            return ClaimState.FOREIGN
        if claim.spec.volumeName:
            return ClaimState.BOUND if BIND_COMPLETED in claim.metadata.annotations else ClaimState.IMMEDIATE
        storage_class = self.classes.get(claim_class(claim))
        delayed = storage_class is not None and storage_class.volumeBindingMode == _DELAYED
        return ClaimState.DELAYED if delayed else ClaimState.IMMEDIATE

    def _is_reserved(self, claim: PersistentVolumeClaim) -> bool:
        matcher = ClaimMatcher(claim)
        key = (claim.metadata.namespace, claim.metadata.name)
        return any(matcher.reserved(self.volumes[name]) for name in self._by_reference[key])

    def in_class(self, name: str) -> Mapping[str, None]:
        return self._by_class.get(name, {})

    # -- promises -----------------------------------------------------------------------------------------------

    def promise(self, pod: str, decisions: tuple[VolumeDecision, ...]) -> None:
        """Keep for a pod what was decided for it."""
        if not decisions:
            return
        self._forget(pod)
        self.decisions[pod] = decisions
        self._relied_on.update(map(_subject, decisions))
        for decision in decisions:
            claim = self.claims[decision.claim]
            if decision.volume:
                volume = self.volumes[decision.volume]
                if volume.spec.claimRef is None:
                    self._promised[decision.volume] = _reference_to(claim)
                    self._replace_volume(decision.volume, self._as_promised(volume))
            elif SELECTED_NODE not in claim.metadata.annotations:
                self._selected[decision.claim] = decision.node
                self._replace_claim(decision.claim, self._as_selected(decision.claim, claim))

    def release(self, pod: str) -> None:
        """Take back what was decided for a pod that does not get its node, unless other pods rely on it."""
        for decision in self._forget(pod):
            if self._relied_on[_subject(decision)]:
                continue
            if self._promised.pop(decision.volume, None) is not None:
                volume = self.volumes[decision.volume]
                spec = msgspec.structs.replace(volume.spec, claimRef=None)
                self._replace_volume(decision.volume, msgspec.structs.replace(volume, spec=spec))
            if not decision.volume and self._selected.pop(decision.claim, None) is not None:
                self._replace_claim(decision.claim, _with_node(self.claims[decision.claim], None))

    def settle(self, pod: str) -> None:
        """Make what was decided for a pod permanent, because the pod is on its node."""
        self._forget(pod)

    def _forget(self, pod: str) -> tuple[VolumeDecision, ...]:
        decisions = self.decisions.pop(pod, ())
        for subject in map(_subject, decisions):
            self._relied_on[subject] -= 1
            if not self._relied_on[subject]:
                del self._relied_on[subject]
        return decisions

    def _as_promised(self, volume: PersistentVolume) -> PersistentVolume:
        """Return a promised volume with its claimRef, until an event has it."""
        reference = self._promised.get(volume.metadata.name)
        if reference is None:
            return volume
        if volume.spec.claimRef is not None:  # now the cluster knows, too
            del self._promised[volume.metadata.name]
            return volume
        return msgspec.structs.replace(volume, spec=msgspec.structs.replace(volume.spec, claimRef=reference))

    def _as_selected(self, key: ClaimKey, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        node = self._selected.get(key)
        if node is None:
            return claim
        if SELECTED_NODE in claim.metadata.annotations or claim.spec.volumeName:
            del self._selected[key]
            return claim
        return _with_node(claim, node)


def _put(objects: dict[K, V], key: K, thing: V, exists: bool) -> None:
    if exists:
        objects[key] = thing
    else:
        objects.pop(key, None)


def _unfile(filed: dict[K, dict[N, V]], under: K, name: N) -> None:
    """Remove a name from one of several lists, and the list when it is empty."""
    names = filed.get(under)
    if names is not None:
        names.pop(name, None)
        if not names:
            del filed[under]


def _subject(decision: VolumeDecision) -> str | ClaimKey:
    return decision.volume or decision.claim


def _is_controlled_by(metadata: ObjectMeta, pod: Pod) -> bool:
    controller = next((owner for owner in metadata.ownerReferences if owner.controller), None)
    return controller is not None and controller.uid == pod.metadata.uid


def _reference_to(claim: PersistentVolumeClaim) -> ObjectReference:
    metadata = claim.metadata
    return ObjectReference("PersistentVolumeClaim", metadata.namespace, metadata.name, metadata.uid, "v1")


def _with_node(claim: PersistentVolumeClaim, node: str | None) -> PersistentVolumeClaim:
    annotations = {key: value for key, value in claim.metadata.annotations.items() if key != SELECTED_NODE}
    if node is not None:
        annotations[SELECTED_NODE] = node
    return msgspec.structs.replace(claim, metadata=msgspec.structs.replace(claim.metadata, annotations=annotations))
