"""List the kinds in which autoscalers keep their pools in a cluster; a cluster without such an autoscaler has none."""

from moorage.model.kind_rows.kind import CustomKind, CustomObject, Kind
from moorage.pools.reading import BUFFER_GROUP, KARPENTER_GROUP


def _row(name: str, group: str, version: str, plural: str, *, namespaced: bool = False) -> Kind:
    return CustomKind(f"{group}/{version}", plural, CustomObject, namespaced=namespaced, custom_name=name)


POOL_KINDS: tuple[Kind, ...] = (
    _row("NodePool", KARPENTER_GROUP, "v1", "nodepools"),
    _row("NodeOverlay", KARPENTER_GROUP, "v1alpha1", "nodeoverlays"),
    _row("CapacityBuffer", BUFFER_GROUP, "v1beta1", "capacitybuffers", namespaced=True),
    _row("CapacityBuffer", BUFFER_GROUP, "v1alpha1", "capacitybuffers", namespaced=True),
)
