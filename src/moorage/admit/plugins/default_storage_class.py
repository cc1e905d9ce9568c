"""DefaultStorageClass: a claim that names no class gets the cluster's default one, if there is one.

In: a new claim and the StorageClasses there are. Out: the claim with `storageClassName`. Kubernetes:
plugin/pkg/admission/storage/storageclass/setdefault; of several defaults the newest wins, then the first by name.
"""

from collections.abc import Callable, Iterable

from moorage.admit.plugins import Plugin
from moorage.admit.raw import Raw, part
from moorage.match.volumes.default_class import default_class
from moorage.model.types.storage import StorageClass

_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


class DefaultStorageClass(Plugin):
    """`classes` gives the classes there are when it is asked."""

    def __init__(self, classes: Callable[[], Iterable[StorageClass]]) -> None:
        self._classes = classes

    def admit(self, kind: str, new: Raw, old: Raw | None) -> None:
        if kind != "PersistentVolumeClaim" or old is not None:
            return
        spec = part(new, "spec")
        annotations = (new.get("metadata") or {}).get("annotations") or {}
        if _CLASS_ANNOTATION in annotations or spec.get("storageClassName") is not None:
            return
        default = default_class(self._classes())
        if default is not None:
            spec["storageClassName"] = default.metadata.name
