"""StorageObjectInUseProtection: volumes and claims begin with a finalizer that keeps them while they are in use.

In: a new volume or claim. Out: the same with its finalizer. Kubernetes:
plugin/pkg/admission/storage/storageobjectinuseprotection. Only a cluster with the controllers that take the finalizers
away may use it; without them nothing could ever be deleted.
"""

from moorage.admit.plugins import Plugin
from moorage.admit.raw import Raw, part

FINALIZERS = {
    "PersistentVolume": "kubernetes.io/pv-protection",
    "PersistentVolumeClaim": "kubernetes.io/pvc-protection",
}


class StorageObjectInUseProtection(Plugin):
    """Adds the finalizer when the object is made, and never again."""

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        finalizer = FINALIZERS.get(kind)
        if finalizer is None or old is not None:
            return
        metadata = part(new, "metadata")
        present = metadata.get("finalizers") or []
        if finalizer not in present:
            metadata["finalizers"] = [*present, finalizer]
