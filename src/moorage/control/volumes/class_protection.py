"""Keep VolumeAttributesClasses that claims or volumes name: their finalizer is removed when none does any more.

Missing finalizers are added. Kubernetes: pkg/controller/volume/vacprotection.
"""

from collections.abc import Iterable

from moorage.client.protocol import Object
from moorage.control.framework.actions import NOTHING, Plan, patch_metadata
from moorage.control.framework.controller import Controller, ControllerContext
from moorage.control.framework.world import World
from moorage.control.volumes.protection import is_to_go, is_wrong, lacks, without
from moorage.model.kinds import KINDS, Kind
from moorage.model.types.meta import ObjectMeta
from moorage.model.types.storage import PersistentVolume, PersistentVolumeClaim
from moorage.model.well_known.finalizers import VOLUME_ATTRIBUTES_CLASS_IN_USE


def named_classes(view: PersistentVolumeClaim | PersistentVolume) -> set[str]:
    """Return the classes that a claim wants, has or is being changed to, or that a volume has."""
    names = {view.spec.volumeAttributesClassName}
    if isinstance(view, PersistentVolumeClaim):
        names.add(view.status.currentVolumeAttributesClassName)
        if view.status.modifyVolumeStatus is not None:
            names.add(view.status.modifyVolumeStatus.targetVolumeAttributesClassName)
    return {name for name in names if name}


class AttributesClassProtection(Controller):
    """Protects VolumeAttributesClasses."""

    name = "volumeattributesclass-protection-controller"
    watches = (KINDS.VOLUME_ATTRIBUTES_CLASS, KINDS.PERSISTENT_VOLUME_CLAIM, KINDS.PERSISTENT_VOLUME)

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        #: How many claims and volumes name a class.
        self._uses: dict[str, int] = {}

    def concerns(self, kind: Kind, old: Object | None, new: Object | None, world: World) -> Iterable[str]:
        if kind is KINDS.VOLUME_ATTRIBUTES_CLASS:
            return (new.key,) if new is not None and is_wrong(new.view.metadata, VOLUME_ATTRIBUTES_CLASS_IN_USE) else ()
        before = named_classes(old.view) if old is not None else set[str]()
        after = named_classes(new.view) if new is not None else set[str]()
        for name in after - before:
            self._uses[name] = self._uses.get(name, 0) + 1
        for name in before - after:
            self._uses[name] -= 1
            if not self._uses[name]:
                del self._uses[name]
        return before - after

    def reconcile(self, key: str, world: World, now: float) -> Plan:
        found = world.get(KINDS.VOLUME_ATTRIBUTES_CLASS, key)
        if found is None:
            return NOTHING
        metadata: ObjectMeta = found.view.metadata
        if lacks(metadata, VOLUME_ATTRIBUTES_CLASS_IN_USE):
            return Plan((patch_metadata(found, {"finalizers": [VOLUME_ATTRIBUTES_CLASS_IN_USE]}),))
        if is_to_go(metadata, VOLUME_ATTRIBUTES_CLASS_IN_USE) and key not in self._uses:
            return Plan((without(found, VOLUME_ATTRIBUTES_CLASS_IN_USE),))
        return NOTHING
