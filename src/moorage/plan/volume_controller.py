"""Claims that do not wait for a pod → volumes, as the volume controller would bind or provision them.

In: an inventory. Out: its claims and volumes, bound to each other. A claim without a class gets the default one. One
whose class waits for its first consumer is left to the scheduler. One that names a volume gets it; others get the
smallest that fits, or a new one if their class provisions. Kubernetes: pkg/controller/volume/persistentvolume and the
DefaultStorageClass admission plugin. Differs: what is provisioned is there at once.
"""

from collections.abc import Iterable

import msgspec

from moorage.match.volumes.claims import BIND_COMPLETED, claim_class
from moorage.match.volumes.volume_matching import ClaimMatcher, preference
from moorage.model.kinds import KINDS
from moorage.model.types.meta import ObjectMeta, ObjectReference
from moorage.model.types.node import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from moorage.model.types.storage import (
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeNodeAffinity,
)
from moorage.plan.input.inventory import Inventory, Item, Key
from moorage.plan.input.notes import Level
from moorage.plan.naming import name_suffix

_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_LEGACY_CLASS = "volume.beta.kubernetes.io/storage-class"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_DELAYED = "WaitForFirstConsumer"


def bind_claims(inventory: Inventory, keys: Iterable[Key] | None = None) -> None:
    """Bind what can be bound: all claims, or these. Volumes that were just created become available first."""
    for item in list(inventory.of_kind("PersistentVolume")):
        if item.view.status.phase == "Pending":
            status = msgspec.structs.replace(item.view.status, phase="Available")
            _put(inventory, item, msgspec.structs.replace(item.view, status=status))
    for key in [item.key for item in inventory.of_kind("PersistentVolumeClaim")] if keys is None else keys:
        _bind(inventory, _with_class(inventory, inventory.items[key]))


def _bind(inventory: Inventory, item: Item) -> None:
    claim: PersistentVolumeClaim = item.view
    if BIND_COMPLETED in claim.metadata.annotations or claim.metadata.deletionTimestamp is not None:
        return
    if claim.spec.volumeName:
        named = inventory.items.get(Key("PersistentVolume", "", claim.spec.volumeName))
        if named is not None:
            _tie(inventory, item, named)
        return
    name = claim_class(claim)
    found = inventory.items.get(Key("StorageClass", "", name))
    storage_class: StorageClass | None = found.view if found is not None else None
    if storage_class is not None and storage_class.volumeBindingMode == _DELAYED:
        return
    volume = _volume_for(inventory, claim) or _provisioned(inventory, item, storage_class)
    if volume is not None:
        _tie(inventory, item, volume)
    elif not name or storage_class is not None:
        inventory.note(Level.WARNING, item.key, "is not bound, and no volume in the input fits it", item.place)


def _with_class(inventory: Inventory, item: Item) -> Item:
    """A claim without a class gets the default class, as at its admission."""
    claim: PersistentVolumeClaim = item.view
    if claim.spec.storageClassName is not None or _LEGACY_CLASS in claim.metadata.annotations:
        return item
    classes = inventory.of_kind("StorageClass")
    default = next((c.key.name for c in classes if c.view.metadata.annotations.get(_DEFAULT_CLASS) == "true"), None)
    if default is None:
        return item
    spec = msgspec.structs.replace(claim.spec, storageClassName=default)
    return _put(inventory, item, msgspec.structs.replace(claim, spec=spec))


def _put(inventory: Inventory, item: Item, view: object) -> Item:
    """Another view of an object; the item itself may belong to other inventories, too."""
    changed = msgspec.structs.replace(item, view=view)
    inventory.items[item.key] = changed
    return changed


def _volume_for(inventory: Inventory, claim: PersistentVolumeClaim) -> Item | None:
    matcher = ClaimMatcher(claim)
    volumes = list(inventory.of_kind("PersistentVolume"))
    fitting = [v for v in volumes if matcher.reserved(v.view)] or [v for v in volumes if matcher.free(v.view)]
    return min(fitting, key=lambda volume: preference(volume.view), default=None)


def _provisioned(inventory: Inventory, item: Item, storage_class: StorageClass | None) -> Item | None:
    claim: PersistentVolumeClaim = item.view
    if storage_class is None or storage_class.provisioner == _NO_PROVISIONER or claim.spec.selector is not None:
        return None  # what is selected by labels cannot be made: a new volume has none
    key = Key("PersistentVolume", "", f"pvc-{name_suffix(str(item.key))}")
    view = PersistentVolume(
        kind="PersistentVolume",
        apiVersion="v1",
        metadata=ObjectMeta(name=key.name),
        spec=PersistentVolumeSpec(
            capacity=dict(claim.spec.resources.requests),
            accessModes=claim.spec.accessModes,
            storageClassName=storage_class.metadata.name,
            volumeMode=claim.spec.volumeMode,
            nodeAffinity=_allowed(storage_class),
        ),
        status=PersistentVolumeStatus(phase="Available"),
    )
    made = Item(key, KINDS["v1", "PersistentVolume"], {}, view, False, item.place)
    inventory.items[key] = made
    return made


def _allowed(storage_class: StorageClass) -> VolumeNodeAffinity | None:
    """Where a class provisions: in any one of its allowed topologies; which one, nobody here can know."""
    terms = tuple(
        NodeSelectorTerm(
            matchExpressions=tuple(
                NodeSelectorRequirement(key=one.key, operator="In", values=one.values)
                for one in term.matchLabelExpressions
            )
        )
        for term in storage_class.allowedTopologies
    )
    return VolumeNodeAffinity(required=NodeSelector(nodeSelectorTerms=terms)) if terms else None


def _tie(inventory: Inventory, claim: Item, volume: Item) -> None:
    """Bind the two to each other."""
    view: PersistentVolumeClaim = claim.view
    metadata = view.metadata
    annotations = {**metadata.annotations, BIND_COMPLETED: "yes"}
    bound = msgspec.structs.replace(
        view,
        metadata=msgspec.structs.replace(metadata, annotations=annotations),
        spec=msgspec.structs.replace(view.spec, volumeName=volume.key.name),
    )
    _put(inventory, claim, bound)
    reference = ObjectReference(
        kind=claim.key.kind, namespace=claim.key.namespace, name=claim.key.name, uid=metadata.uid
    )
    spec = msgspec.structs.replace(volume.view.spec, claimRef=reference)
    status = msgspec.structs.replace(volume.view.status, phase="Bound")
    _put(inventory, volume, msgspec.structs.replace(volume.view, spec=spec, status=status))
