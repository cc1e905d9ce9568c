"""Disks that pods name in their specs, and which of them can be on one node together.

Kubernetes: volumerestrictions/volume_restrictions.go, isVolumeConflict.
"""

from typing import NamedTuple

from moorage.model.types.pod import PodSpec

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
