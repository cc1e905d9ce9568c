"""PersistentVolumeClaimResize: a bound claim may ask for more if its class allows volumes to grow.

In: a claim, the old one, and the StorageClasses there are. Out: nothing, or `Forbidden`. Kubernetes:
plugin/pkg/admission/storage/persistentvolume/resize. That nothing shrinks is for validation to say.
"""

from collections.abc import Callable, Mapping

from moorage.admit.plugins import Forbidden, Plugin
from moorage.admit.raw import Raw
from moorage.match.volumes.claims import claim_class
from moorage.model.schema.conversion import convert_view
from moorage.model.types.storage import PersistentVolumeClaim, StorageClass

_NOT_BOUND = "Only bound persistent volume claims can be expanded"
_NOT_ALLOWED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)
_STORAGE = "storage"


class PersistentVolumeClaimResize(Plugin):
    """`classes` gives the classes there are, by name, when it is asked."""

    def __init__(self, classes: Callable[[], Mapping[str, StorageClass]]) -> None:
        self._classes = classes

    def validate(self, kind: str, new: Raw, old: Raw | None) -> None:
        if kind != "PersistentVolumeClaim" or old is None:
            return
        claim, before = convert_view(new, PersistentVolumeClaim), convert_view(old, PersistentVolumeClaim)
        size, size_before = (one.spec.resources.requests.get(_STORAGE) for one in (claim, before))
        if size is None or (size_before is not None and not size_before < size):
            return
        if before.status.phase != "Bound":
            raise Forbidden(_NOT_BOUND)
        name = claim_class(claim)
        storage_class = self._classes().get(name) if name == claim_class(before) else None
        if storage_class is None or not storage_class.allowVolumeExpansion:
            raise Forbidden(_NOT_ALLOWED)
