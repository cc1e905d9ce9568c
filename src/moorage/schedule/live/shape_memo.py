"""Pods that come from one template → their shape, looked up by the identity of the spec they share.

In: typed pods. Out: `PodRecord`s. To know a pod's shape, all that scheduling reads of it has to be written down; that
takes longer than to schedule it. Pods of one template have one and the same `spec` object where the API server runs in
the same process, and an equal one where the client keeps the last few it decoded: such a pod costs a look-up.
"""

from collections.abc import Mapping

from moorage.columns.cluster import Cluster, PodRecord
from moorage.columns.shape import Shape, controller_of
from moorage.match.volumes.claims import claims_of
from moorage.model.types.pod import Pod, PodSpec

_KEPT = 4096


class _Known:
    """The shape of pods with this spec and this metadata. The spec is held, so that its identity is no one else's."""

    __slots__ = ("controller", "deleting", "labels", "namespace", "shape", "spec")

    def __init__(self, spec: PodSpec, pod: Pod, controller: tuple[str, str] | None, shape: Shape) -> None:
        metadata = pod.metadata
        self.spec = spec
        self.namespace = metadata.namespace
        self.labels: Mapping[str, str] = metadata.labels
        self.controller = controller
        self.deleting = metadata.deletionTimestamp is not None
        self.shape = shape


class ShapeMemo:
    """Records for pods of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[int, _Known] = {}

    def clear(self) -> None:
        """Shapes are about to be retired, and must not be given out any more."""
        self._known.clear()

    def record(self, key: str, pod: Pod) -> PodRecord:
        """The same as the cluster's `record`, quickly."""
        spec, metadata = pod.spec, pod.metadata
        known = self._known.get(id(spec))
        controller = controller_of(metadata) if metadata.ownerReferences else None
        if (
            known is not None
            and known.labels == metadata.labels
            and known.namespace == metadata.namespace
            and known.controller == controller
            and known.deleting is (metadata.deletionTimestamp is not None)
        ):
            return PodRecord(key, pod, known.shape)
        shape = self._cluster.shape_of(pod)
        if not spec.volumes or not claims_of(pod):  # what becomes of claims changes shapes
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[id(spec)] = _Known(spec, pod, controller, shape)
        return PodRecord(key, pod, shape)
