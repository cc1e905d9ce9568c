"""Count attached volumes per driver and node against their limits, and find disks of pods that exclude each other.

A volume counts once per node, however many pods there use it. Kubernetes: nodevolumelimits/csi.go, which counts the
volumes of all pods of a node again for each pod, and isVolumeConflict of volumerestrictions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from moorage.columns.slots import NamedArrays, Slots
from moorage.match.volumes.csi_migration import MIGRATED_PLUGINS, Attachable
from moorage.model.types.pod import PodSpec
from moorage.model.types.storage import CSINode

NO_LIMIT = -1
VolumeId = tuple[str, str]  # driver and handle


class Attachments:
    """Volumes by slot; a migrated plugin's volume counts where its driver has taken over."""

    def __init__(self, slots: Slots) -> None:
        self._limits = NamedArrays(slots, NO_LIMIT)
        self._counts = NamedArrays(slots)
        self._moved = NamedArrays(slots)
        self._used: dict[VolumeId, dict[int, dict[Attachable, int]]] = {}
        self._on: dict[int, dict[Attachable, int]] = {}
        self._held: dict[VolumeId, dict[int, int]] = {}  # by VolumeAttachments

    # -- columns ------------------------------------------------------------------------------------------------

    def limits(self, driver: str) -> NDArray[np.int64]:
        """Return the most volumes of a driver that each slot takes; `NO_LIMIT` where the CSINode says none."""
        return self._limits[driver].values

    def counts(self, driver: str) -> NDArray[np.int64]:
        return self._counts[driver].values

    def moved(self, plugin: str) -> NDArray[np.int64]:
        """Return 1 for each slot on which a driver took over from an in-tree plugin."""
        return self._moved[plugin].values

    def matters(self, volume: Attachable, new: int) -> bool:
        """Return whether it depends on this attachment where a pod with this many new volumes fits."""
        slots = self._used.get((volume.driver, volume.handle))
        if slots is None:
            return False
        limits, counts = self.limits(volume.driver), self.counts(volume.driver)
        return any(limits[slot] != NO_LIMIT and counts[slot] + new > limits[slot] for slot in slots)

    def slots_with(self, volume: Attachable) -> list[int]:
        """Return the slots on which a pod's use of the volume is counted."""
        volume_id = (volume.driver, volume.handle)
        return [slot for slot in self._used.get(volume_id, ()) if self.is_counted(volume_id, slot)]

    # -- events -------------------------------------------------------------------------------------------------

    def use(self, volume: Attachable, slot: int, by: int) -> None:
        """Count a pod that uses the volume and came to a slot (1) or left it (-1)."""
        volume_id = (volume.driver, volume.handle)
        before = self.is_counted(volume_id, slot)
        slots = self._used.setdefault(volume_id, {})
        ways = slots.setdefault(slot, {})
        here = self._on.setdefault(slot, {})
        pods = ways.get(volume, 0) + by
        if pods:
            ways[volume] = here[volume] = pods
        else:
            del ways[volume], here[volume]
            if not here:
                del self._on[slot]
            if not ways:
                del slots[slot]
                if not slots:
                    del self._used[volume_id]
        if slot not in self._held.get(volume_id, ()):
            self.counts(volume_id[0])[slot] += self.is_counted(volume_id, slot) - before

    def hold(self, volume_id: VolumeId, slot: int, by: int) -> None:
        """Count a VolumeAttachment, which may outlast the pods that use the volume."""
        held = self._held.setdefault(volume_id, {})
        counted = self.is_counted(volume_id, slot)
        before = counted or slot in held
        held[slot] = held.get(slot, 0) + by
        if not held[slot]:
            del held[slot]
            if not held:
                del self._held[volume_id]
        self.counts(volume_id[0])[slot] += (counted or slot in held) - before

    def set_node(self, slot: int, csi_node: CSINode | None) -> None:
        """Set the limits and migrated plugins of a node; None if it has no CSINode."""
        limits = {
            driver.name: driver.allocatable.count
            for driver in (csi_node.spec.drivers if csi_node is not None else ())
            if driver.allocatable is not None and driver.allocatable.count is not None
        }
        for driver in limits.keys() | self._limits.keys():
            self.limits(driver)[slot] = limits.get(driver, NO_LIMIT)
        annotation = csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "") if csi_node is not None else ""
        plugins = set(annotation.split(",")) - {""}
        used = list(self._on.get(slot, {}).items())
        for volume, pods in used:
            self.use(volume, slot, -pods)
        for plugin in plugins | self._moved.keys():
            self.moved(plugin)[slot] = plugin in plugins
        for volume, pods in used:
            self.use(volume, slot, pods)

    def forget_drivers(self) -> None:
        """Forget drivers and plugins that no node has and no volume in use needs."""
        for arrays in (self._limits, self._counts, self._moved):
            arrays.forget_unused()

    def is_counted(self, volume_id: VolumeId, slot: int) -> bool:
        ways = self._used.get(volume_id, {}).get(slot, ())
        return any(not volume.plugin or self.moved(volume.plugin)[slot] for volume in ways)


DiskKey = tuple[str, ...]


class Disk(NamedTuple):
    """One disk. Two uses conflict unless both only read."""

    key: DiskKey
    read_only: bool


def inline_disks(spec: PodSpec) -> tuple[Disk, ...]:
    """Return the disks of a pod. An RBD image is one per monitor: one common monitor makes two the same."""
    disks: list[Disk] = []
    for volume in spec.volumes:
        if volume.gcePersistentDisk is not None:
            disks.append(Disk(("GCE disk", volume.gcePersistentDisk.pdName), volume.gcePersistentDisk.readOnly))
        if volume.awsElasticBlockStore is not None:  # which one can only mount once, to read or not
            disks.append(Disk(("AWS disk", volume.awsElasticBlockStore.volumeID), False))
        if volume.iscsi is not None:
            disks.append(Disk(("iSCSI target", volume.iscsi.iqn), volume.iscsi.readOnly))
        rbd = volume.rbd
        if rbd is not None:
            disks += [Disk(("RBD image", rbd.image, rbd.pool, monitor), rbd.readOnly) for monitor in rbd.monitors]
    return tuple(disks)


class DiskUsers:
    """The pods that use each disk, by slot."""

    __slots__ = ("_users",)

    def __init__(self) -> None:
        self._users: dict[DiskKey, dict[int, list[int]]] = {}  # slot → pods that write, pods that only read

    def use(self, disk: Disk, slot: int, by: int) -> None:
        """Count a pod with the disk that came to a slot (1) or left it (-1)."""
        slots = self._users.setdefault(disk.key, {})
        pods = slots.setdefault(slot, [0, 0])
        pods[disk.read_only] += by
        if not any(pods):
            del slots[slot]
            if not slots:
                del self._users[disk.key]

    def conflicts(self, disk: Disk) -> list[int]:
        """Return the slots where the disk is in use in a way that conflicts."""
        slots = self._users.get(disk.key)
        return [] if slots is None else [slot for slot in slots if self.conflicts_at(disk, slot)]

    def conflicts_at(self, disk: Disk, slot: int) -> bool:
        pods = self._users.get(disk.key, {}).get(slot)
        return pods is not None and (pods[False] > 0 or not disk.read_only)
