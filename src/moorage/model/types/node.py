"""Views of nodes: taints, capacity, conditions, and the selectors that choose them.

Kubernetes: k8s.io/api/core/v1.
"""

from msgspec import field

from moorage.model.schema import named_types as named
from moorage.model.types.meta import ApiObject
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, ATTACHED, Int32, Int64, View


class Taint(View, frozen=True, gc=False):
    key: str = ""
    value: str = ""
    effect: named.TaintEffect = ""
    timeAdded: named.Time | None = None


class NodeSelectorRequirement(View, frozen=True, gc=False):
    internal = frozenset({"attached"})

    key: str = ""
    operator: named.NodeSelectorOperator = ""
    values: tuple[str, ...] = ABSENT_LIST
    attached: str = field(default="", name=ATTACHED)


class NodeSelectorTerm(View, frozen=True, gc=False):
    matchExpressions: tuple[NodeSelectorRequirement, ...] = ABSENT_LIST
    matchFields: tuple[NodeSelectorRequirement, ...] = ABSENT_LIST


class NodeSelector(View, frozen=True, gc=False):
    nodeSelectorTerms: tuple[NodeSelectorTerm, ...] = ABSENT_LIST


class ConfigMapNodeConfigSource(View, frozen=True, gc=False):
    namespace: str = ""
    name: str = ""
    uid: named.UID = ""
    resourceVersion: str = ""
    kubeletConfigKey: str = ""


class NodeConfigSource(View, frozen=True, gc=False):
    configMap: ConfigMapNodeConfigSource | None = None


class NodeSpec(View, frozen=True, gc=False):
    podCIDR: str = ""
    podCIDRs: tuple[str, ...] = ABSENT_LIST
    providerID: str = ""
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ABSENT_LIST
    configSource: NodeConfigSource | None = None
    externalID: str = ""


class NodeCondition(View, frozen=True, gc=False):
    type: named.NodeConditionType = ""
    status: named.ConditionStatus = ""
    lastHeartbeatTime: named.Time | None = None
    lastTransitionTime: named.Time | None = None
    reason: str = ""
    message: str = ""


class NodeAddress(View, frozen=True, gc=False):
    type: named.NodeAddressType = ""
    address: str = ""


class DaemonEndpoint(View, frozen=True, gc=False):
    Port: Int32 = 0


class NodeDaemonEndpoints(View, frozen=True, gc=False):
    kubeletEndpoint: DaemonEndpoint = DaemonEndpoint()


class NodeSwapStatus(View, frozen=True, gc=False):
    capacity: Int64 | None = None


class NodeSystemInfo(View, frozen=True, gc=False):
    machineID: str = ""
    systemUUID: str = ""
    bootID: str = ""
    kernelVersion: str = ""
    osImage: str = ""
    containerRuntimeVersion: str = ""
    kubeletVersion: str = ""
    kubeProxyVersion: str = ""
    operatingSystem: str = ""
    architecture: str = ""
    swap: NodeSwapStatus | None = None


class ContainerImage(View, frozen=True, gc=False):
    names: tuple[str, ...] = ABSENT_LIST
    sizeBytes: Int64 = 0


class AttachedVolume(View, frozen=True, gc=False):
    name: named.UniqueVolumeName = ""
    devicePath: str = ""


class NodeConfigStatus(View, frozen=True, gc=False):
    assigned: NodeConfigSource | None = None
    active: NodeConfigSource | None = None
    lastKnownGood: NodeConfigSource | None = None
    error: str = ""


class NodeRuntimeHandlerFeatures(View, frozen=True, gc=False):
    recursiveReadOnlyMounts: bool | None = None
    userNamespaces: bool | None = None


class NodeRuntimeHandler(View, frozen=True, gc=False):
    name: str = ""
    features: NodeRuntimeHandlerFeatures | None = None


class NodeFeatures(View, frozen=True, gc=False):
    supplementalGroupsPolicy: bool | None = None


class NodeStatus(View, frozen=True, gc=False):
    capacity: named.ResourceList = ABSENT_MAP
    allocatable: named.ResourceList = ABSENT_MAP
    phase: named.NodePhase = ""
    conditions: tuple[NodeCondition, ...] = ABSENT_LIST
    addresses: tuple[NodeAddress, ...] = ABSENT_LIST
    daemonEndpoints: NodeDaemonEndpoints = NodeDaemonEndpoints()
    nodeInfo: NodeSystemInfo = NodeSystemInfo()
    images: tuple[ContainerImage, ...] = ABSENT_LIST
    volumesInUse: tuple[named.UniqueVolumeName, ...] = ABSENT_LIST
    volumesAttached: tuple[AttachedVolume, ...] = ABSENT_LIST
    config: NodeConfigStatus | None = None
    runtimeHandlers: tuple[NodeRuntimeHandler, ...] = ABSENT_LIST
    features: NodeFeatures | None = None
    declaredFeatures: tuple[str, ...] = ABSENT_LIST


class Node(ApiObject, frozen=True, gc=False):
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
