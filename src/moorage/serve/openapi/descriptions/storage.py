"""Texts about volumes, claims and classes of storage.

In: nothing. Out: tables that `descriptions` reads.
"""

from typing import Final

TYPES: Final[dict[str, str]] = {
    "CSIDriver": "A storage driver that the cluster has, and what it can do.",
    "CSINode": "The storage drivers of a node, and how many volumes each can attach.",
    "CSIStorageCapacity": "How much room a storage driver has in a part of the cluster.",
    "PersistentVolume": "A piece of storage that a claim can be bound to.",
    "PersistentVolumeClaim": "A request for storage, which pods name instead of a volume.",
    "PersistentVolumeClaimSpec": "What kind of storage is asked for, and how much.",
    "PersistentVolumeSpec": "Where the storage is, how much it is, and which nodes can reach it.",
    "StorageClass": "A kind of storage that volumes can be made of on demand.",
    "VolumeAttachment": "A volume that is, or is to be, attached to a node.",
    "VolumeNodeAffinity": "Which nodes can reach a volume.",
}

_MODES = "How it can be mounted: ReadWriteOnce, ReadOnlyMany, ReadWriteMany, ReadWriteOncePod."

FIELDS: Final[dict[str, dict[str, str]]] = {
    "PersistentVolumeSpec": {
        "accessModes": _MODES,
        "capacity": "How much room there is.",
        "claimRef": "The claim that the volume is bound to, or kept for.",
        "nodeAffinity": "Which nodes can reach the volume. A pod that uses it is only scheduled to those.",
        "persistentVolumeReclaimPolicy": "What becomes of the volume once its claim is gone: Retain or Delete.",
        "storageClassName": "The class that the volume belongs to.",
        "volumeMode": "Filesystem (the default) or Block.",
    },
    "VolumeNodeAffinity": {
        "required": "The nodes, chosen as in a pod's node affinity, with the Semver operators too if their feature "
        "gate is on.",
    },
    "PersistentVolumeClaimSpec": {
        "accessModes": _MODES,
        "dataSource": "What the new volume is filled with.",
        "dataSourceRef": "What the new volume is filled with, of any kind.",
        "resources": "How much room is asked for.",
        "selector": "Which volumes will do, by their labels.",
        "storageClassName": "The class that is asked for. The default class if this is not set, none if it is empty.",
        "volumeMode": "Filesystem (the default) or Block.",
        "volumeName": "The volume that the claim is bound to.",
    },
    "StorageClass": {
        "allowVolumeExpansion": "Whether claims may ask for more later.",
        "allowedTopologies": "Where in the cluster volumes may be made.",
        "mountOptions": "Options with which volumes are mounted.",
        "parameters": "What the provisioner is told.",
        "provisioner": "Who makes volumes of this class.",
        "reclaimPolicy": "What becomes of a volume once its claim is gone: Delete (the default) or Retain.",
        "volumeBindingMode": "Immediate binds a claim at once, WaitForFirstConsumer when a pod that uses it is "
        "scheduled, to storage that the pod's node can reach.",
    },
    "CSIStorageCapacity": {
        "capacity": "How much room there is.",
        "maximumVolumeSize": "How large a single volume can be.",
        "nodeTopology": "The nodes from which this storage can be reached.",
        "storageClassName": "The class that this is about.",
    },
    "CSINodeDriver": {
        "allocatable": "How many volumes of the driver can be attached to the node.",
        "name": "Name of the driver.",
        "nodeID": "What the driver calls the node.",
        "topologyKeys": "Labels of the node that say where its storage is.",
    },
}
