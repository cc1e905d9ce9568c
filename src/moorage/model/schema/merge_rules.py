"""Which lists are merged element by element, and which objects are replaced as a whole: the table.

In: the name of a Go type and one of its fields. Out: a row, or none in the usual case, where a list is atomic and an
object is granular. Two readers with different rules share a row: server-side apply looks at `topology` and `keys`,
strategic merge patch at `patch_strategy` and `patch_merge_key`. They disagree for a few fields, as upstream's do.
Kubernetes: the `+listType`, `+listMapKey`, `+structType`, `+mapType` and `patchStrategy` marks of k8s.io/api.
"""

from typing import Any, Final, Literal, NamedTuple

Topology = Literal["atomic", "set", "map"]


class MergeRow(NamedTuple):
    """How one field is merged."""

    topology: Topology = "atomic"
    keys: tuple[str, ...] = ()
    patch_strategy: str = ""
    patch_merge_key: str = ""


def _by(*keys: str, retain_keys: bool = False) -> MergeRow:
    """A list of objects told apart by keys, of which strategic merge looks at the first only."""
    return MergeRow("map", keys, "merge,retainKeys" if retain_keys else "merge", keys[0])


def _patched_by(key: str) -> MergeRow:
    """A list that strategic merge patches merge, and server-side apply replaces."""
    return MergeRow("atomic", (), "merge", key)


def _applied_by(key: str) -> MergeRow:
    """A list that server-side apply merges, and strategic merge patches replace."""
    return MergeRow("map", (key,))


_SET = MergeRow("set")
_PATCHED_SET = MergeRow("set", (), "merge")

MERGED_FIELDS: Final[dict[tuple[str, str], MergeRow]] = {
    # What every object carries
    ("ObjectMeta", "ownerReferences"): _by("uid"),
    ("ObjectMeta", "finalizers"): _PATCHED_SET,
    # Pods
    ("PodSpec", "containers"): _by("name"),
    ("PodSpec", "initContainers"): _by("name"),
    ("PodSpec", "ephemeralContainers"): _by("name"),
    ("PodSpec", "volumes"): _by("name", retain_keys=True),
    ("PodSpec", "resourceClaims"): _by("name", retain_keys=True),
    ("PodSpec", "imagePullSecrets"): _by("name"),
    ("PodSpec", "schedulingGates"): _by("name"),
    ("PodSpec", "hostAliases"): _by("ip"),
    ("PodSpec", "topologySpreadConstraints"): _by("topologyKey", "whenUnsatisfiable"),
    ("PodStatus", "conditions"): _by("type"),
    ("PodStatus", "podIPs"): _by("ip"),
    ("PodStatus", "hostIPs"): _patched_by("ip"),
    ("PodStatus", "resourceClaimStatuses"): _by("name", retain_keys=True),
    ("NodeAllocatableResourceClaimStatus", "containers"): _SET,
    # Containers
    ("Container", "env"): _by("name"),
    ("Container", "ports"): _by("containerPort", "protocol"),
    ("Container", "volumeMounts"): _by("mountPath"),
    ("Container", "volumeDevices"): _by("devicePath"),
    ("EphemeralContainerCommon", "env"): _by("name"),
    ("EphemeralContainerCommon", "ports"): _by("containerPort", "protocol"),
    ("EphemeralContainerCommon", "volumeMounts"): _by("mountPath"),
    ("EphemeralContainerCommon", "volumeDevices"): _by("devicePath"),
    ("ResourceRequirements", "claims"): _applied_by("name"),
    ("ContainerRestartRuleOnExitCodes", "values"): _SET,
    ("ContainerStatus", "volumeMounts"): _by("mountPath"),
    ("ContainerStatus", "allocatedResourcesStatus"): _by("name"),
    ("ResourceStatus", "resources"): _applied_by("resourceID"),
    # Nodes and namespaces
    ("NodeSpec", "podCIDRs"): _PATCHED_SET,
    ("NodeStatus", "conditions"): _by("type"),
    ("NodeStatus", "addresses"): _by("type"),
    ("NamespaceStatus", "conditions"): _by("type"),
    # Services and their accounts
    ("ServiceSpec", "ports"): _by("port", "protocol"),
    ("ServiceStatus", "conditions"): _by("type"),
    ("ServiceAccount", "secrets"): _by("name"),
    # Storage
    ("PersistentVolumeClaimStatus", "conditions"): _by("type"),
    ("CSINodeSpec", "drivers"): _by("name"),
    ("CSIDriverSpec", "volumeLifecycleModes"): _SET,
    # Controllers
    ("DeploymentSpec", "strategy"): MergeRow(patch_strategy="retainKeys"),
    ("DeploymentStatus", "conditions"): _by("type"),
    ("ReplicaSetStatus", "conditions"): _by("type"),
    ("StatefulSetStatus", "conditions"): _by("type"),
    ("DaemonSetStatus", "conditions"): _by("type"),
    ("JobStatus", "conditions"): _patched_by("type"),
    ("UncountedTerminatedPods", "succeeded"): _SET,
    ("UncountedTerminatedPods", "failed"): _SET,
    ("PodFailurePolicyOnExitCodesRequirement", "values"): _SET,
    # Policy
    ("PodDisruptionBudgetSpec", "selector"): MergeRow(patch_strategy="replace"),
    ("PodDisruptionBudgetStatus", "conditions"): _by("type"),
}

#: Objects that server-side apply owns and replaces as a whole, wherever they occur.
ATOMIC_STRUCTS: Final = frozenset(
    {
        "ConfigMapKeySelector",
        "FileKeySelector",
        "LabelSelector",
        "LocalObjectReference",
        "NodeSelector",
        "NodeSelectorTerm",
        "ObjectFieldSelector",
        "ObjectReference",
        "OwnerReference",
        "ResourceFieldSelector",
        "SecretKeySelector",
        "SecretReference",
        "TopologySelectorTerm",
        "TypedLocalObjectReference",
    }
)

#: Single fields that are replaced as a whole, or are not although their type is.
ATOMIC_FIELDS: Final[dict[tuple[str, str], bool]] = {
    ("PodSpec", "nodeSelector"): True,
    ("ServiceSpec", "selector"): True,
    ("PersistentVolumeSpec", "claimRef"): False,
}

NO_DEFAULT: Final = object()
#: What a key is taken for where an element lacks it. Every other key is taken for its type's zero value.
KEY_DEFAULTS: Final[dict[tuple[str, str], Any]] = {
    ("ContainerPort", "protocol"): "TCP",
    ("ServicePort", "protocol"): "TCP",
    ("ObjectReference", "name"): NO_DEFAULT,
}
