"""Which StorageClass is the cluster's default one.

In: the classes there are. Out: the one that claims without a class get: of several that are marked the newest, then the
first by name. Kubernetes: pkg/volume/util, GetDefaultClass.
"""

from collections.abc import Iterable

from moorage.model.types.storage import StorageClass

_DEFAULT_ANNOTATIONS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)


def default_class(classes: Iterable[StorageClass]) -> StorageClass | None:
    marked = sorted((one for one in classes if is_default(one)), key=lambda one: one.metadata.name)
    marked.sort(key=lambda one: one.metadata.creationTimestamp or "", reverse=True)
    return marked[0] if marked else None


def is_default(one: StorageClass) -> bool:
    """Return whether it is marked as default; several classes may be."""
    return any(one.metadata.annotations.get(key) == "true" for key in _DEFAULT_ANNOTATIONS)
