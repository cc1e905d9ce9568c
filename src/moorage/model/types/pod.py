"""Views of pods: spec, template, status, and what places them (affinity, tolerations, spread).

Kubernetes: k8s.io/api/core/v1.
"""

from typing import Final

from msgspec import field

from moorage.model.quantity import Quantity
from moorage.model.schema import named_types as named
from moorage.model.types.container import Container, EphemeralContainer, PodSecurityContext, ResourceRequirements
from moorage.model.types.meta import ApiObject, LabelSelector, LocalObjectReference, ObjectMeta
from moorage.model.types.node import NodeSelector, NodeSelectorTerm
from moorage.model.types.storage import Volume
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, ATTACHED, Int32, Int64, View

#: The phases of pods that have finished: their containers never start again.
FINISHED_PHASES: Final = frozenset({"Succeeded", "Failed"})


class PodCondition(View, frozen=True, gc=False):
    type: named.PodConditionType = ""
    observedGeneration: Int64 = 0
    status: named.ConditionStatus = ""
    lastProbeTime: named.Time | None = None
    lastTransitionTime: named.Time | None = None
    reason: str = ""
    message: str = ""


class HostIP(View, frozen=True, gc=False):
    ip: str = ""


class PodIP(View, frozen=True, gc=False):
    ip: str = ""


class ContainerStateWaiting(View, frozen=True, gc=False):
    reason: str = ""
    message: str = ""


class ContainerStateRunning(View, frozen=True, gc=False):
    startedAt: named.Time | None = None


class ContainerStateTerminated(View, frozen=True, gc=False):
    exitCode: Int32 = 0
    signal: Int32 = 0
    reason: str = ""
    message: str = ""
    startedAt: named.Time | None = None
    finishedAt: named.Time | None = None
    containerID: str = ""


class ContainerState(View, frozen=True, gc=False):
    waiting: ContainerStateWaiting | None = None
    running: ContainerStateRunning | None = None
    terminated: ContainerStateTerminated | None = None


class ImageVolumeStatus(View, frozen=True, gc=False):
    imageRef: str = ""


class VolumeStatus(View, frozen=True, gc=False):
    image: ImageVolumeStatus | None = None


class VolumeMountStatus(View, frozen=True, gc=False):
    name: str = ""
    mountPath: str = ""
    readOnly: bool = False
    recursiveReadOnly: named.RecursiveReadOnlyMode | None = None
    volumeStatus: VolumeStatus | None = None


class LinuxContainerUser(View, frozen=True, gc=False):
    uid: Int64 = 0
    gid: Int64 = 0
    supplementalGroups: tuple[Int64, ...] = ABSENT_LIST


class ContainerUser(View, frozen=True, gc=False):
    linux: LinuxContainerUser | None = None


class ResourceHealth(View, frozen=True, gc=False):
    resourceID: named.ResourceID = ""
    health: named.ResourceHealthStatus = ""
    message: str | None = None


class ResourceStatus(View, frozen=True, gc=False):
    name: named.ResourceName = ""
    resources: tuple[ResourceHealth, ...] = ABSENT_LIST


class ContainerStatus(View, frozen=True, gc=False):
    name: str = ""
    state: ContainerState = ContainerState()
    lastState: ContainerState = ContainerState()
    ready: bool = False
    restartCount: Int32 = 0
    image: str = ""
    imageID: str = ""
    containerID: str = ""
    started: bool | None = None
    allocatedResources: named.ResourceList = ABSENT_MAP
    resources: ResourceRequirements | None = None
    volumeMounts: tuple[VolumeMountStatus, ...] = ABSENT_LIST
    user: ContainerUser | None = None
    allocatedResourcesStatus: tuple[ResourceStatus, ...] = ABSENT_LIST
    stopSignal: named.Signal | None = None


class PodResourceClaimStatus(View, frozen=True, gc=False):
    name: str = ""
    resourceClaimName: str | None = None


class ContainerExtendedResourceRequest(View, frozen=True, gc=False):
    containerName: str = ""
    resourceName: str = ""
    requestName: str = ""


class PodExtendedResourceClaimStatus(View, frozen=True, gc=False):
    requestMappings: tuple[ContainerExtendedResourceRequest, ...] = ABSENT_LIST
    resourceClaimName: str = ""


class NodeAllocatableResourceClaimStatus(View, frozen=True, gc=False):
    resourceClaimName: str = ""
    containers: tuple[str, ...] = ABSENT_LIST
    resources: dict[str, Quantity] = ABSENT_MAP


class PodStatus(View, frozen=True, gc=False):
    observedGeneration: Int64 = 0
    phase: named.PodPhase = ""
    conditions: tuple[PodCondition, ...] = ABSENT_LIST
    message: str = ""
    reason: str = ""
    nominatedNodeName: str = ""
    hostIP: str = ""
    hostIPs: tuple[HostIP, ...] = ABSENT_LIST
    podIP: str = ""
    podIPs: tuple[PodIP, ...] = ABSENT_LIST
    startTime: named.Time | None = None
    initContainerStatuses: tuple[ContainerStatus, ...] = ABSENT_LIST
    containerStatuses: tuple[ContainerStatus, ...] = ABSENT_LIST
    qosClass: named.PodQOSClass = ""
    ephemeralContainerStatuses: tuple[ContainerStatus, ...] = ABSENT_LIST
    resize: named.PodResizeStatus = ""
    resourceClaimStatuses: tuple[PodResourceClaimStatus, ...] = ABSENT_LIST
    extendedResourceClaimStatus: PodExtendedResourceClaimStatus | None = None
    allocatedResources: named.ResourceList = ABSENT_MAP
    resources: ResourceRequirements | None = None
    nodeAllocatableResourceClaimStatuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ABSENT_LIST


class PreferredSchedulingTerm(View, frozen=True, gc=False):
    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(View, frozen=True, gc=False):
    requiredDuringSchedulingIgnoredDuringExecution: NodeSelector | None = None
    preferredDuringSchedulingIgnoredDuringExecution: tuple[PreferredSchedulingTerm, ...] = ABSENT_LIST


class PodAffinityTerm(View, frozen=True, gc=False):
    labelSelector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ABSENT_LIST
    topologyKey: str = ""
    namespaceSelector: LabelSelector | None = None
    matchLabelKeys: tuple[str, ...] = ABSENT_LIST
    mismatchLabelKeys: tuple[str, ...] = ABSENT_LIST


class WeightedPodAffinityTerm(View, frozen=True, gc=False):
    weight: Int32 = 0
    podAffinityTerm: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(View, frozen=True, gc=False):
    requiredDuringSchedulingIgnoredDuringExecution: tuple[PodAffinityTerm, ...] = ABSENT_LIST
    preferredDuringSchedulingIgnoredDuringExecution: tuple[WeightedPodAffinityTerm, ...] = ABSENT_LIST


class PodAntiAffinity(View, frozen=True, gc=False):
    requiredDuringSchedulingIgnoredDuringExecution: tuple[PodAffinityTerm, ...] = ABSENT_LIST
    preferredDuringSchedulingIgnoredDuringExecution: tuple[WeightedPodAffinityTerm, ...] = ABSENT_LIST


class Affinity(View, frozen=True, gc=False):
    nodeAffinity: NodeAffinity | None = None
    podAffinity: PodAffinity | None = None
    podAntiAffinity: PodAntiAffinity | None = None


class Toleration(View, frozen=True, gc=False):
    internal = frozenset({"attached"})

    key: str = ""
    operator: named.TolerationOperator = ""
    value: str = ""
    effect: named.TaintEffect = ""
    tolerationSeconds: Int64 | None = None
    expression: str = ""
    attached: str = field(default="", name=ATTACHED)


class TopologySpreadConstraint(View, frozen=True, gc=False):
    maxSkew: Int32 = 0
    topologyKey: str = ""
    whenUnsatisfiable: named.UnsatisfiableConstraintAction = ""
    labelSelector: LabelSelector | None = None
    minDomains: Int32 | None = None
    nodeAffinityPolicy: named.NodeInclusionPolicy | None = None
    nodeTaintsPolicy: named.NodeInclusionPolicy | None = None
    matchLabelKeys: tuple[str, ...] = ABSENT_LIST


class HostAlias(View, frozen=True, gc=False):
    ip: str = ""
    hostnames: tuple[str, ...] = ABSENT_LIST


class PodDNSConfigOption(View, frozen=True, gc=False):
    name: str = ""
    value: str | None = None


class PodDNSConfig(View, frozen=True, gc=False):
    nameservers: tuple[str, ...] = ABSENT_LIST
    searches: tuple[str, ...] = ABSENT_LIST
    options: tuple[PodDNSConfigOption, ...] = ABSENT_LIST


class PodReadinessGate(View, frozen=True, gc=False):
    conditionType: named.PodConditionType = ""


class PodOS(View, frozen=True, gc=False):
    name: named.OSName = ""


class PodSchedulingGate(View, frozen=True, gc=False):
    name: str = ""


class PodResourceClaim(View, frozen=True, gc=False):
    name: str = ""
    resourceClaimName: str | None = None
    resourceClaimTemplateName: str | None = None


class PodSchedulingGroup(View, frozen=True, gc=False):
    podGroupName: str | None = None


class PodSpec(View, frozen=True, gc=False):
    volumes: tuple[Volume, ...] = ABSENT_LIST
    initContainers: tuple[Container, ...] = ABSENT_LIST
    containers: tuple[Container, ...] = ABSENT_LIST
    ephemeralContainers: tuple[EphemeralContainer, ...] = ABSENT_LIST
    restartPolicy: named.RestartPolicy = ""
    terminationGracePeriodSeconds: Int64 | None = None
    activeDeadlineSeconds: Int64 | None = None
    dnsPolicy: named.DNSPolicy = ""
    nodeSelector: dict[str, str] = ABSENT_MAP
    serviceAccountName: str = ""
    serviceAccount: str = ""
    automountServiceAccountToken: bool | None = None
    nodeName: str = ""
    hostNetwork: bool = False
    hostPID: bool = False
    hostIPC: bool = False
    shareProcessNamespace: bool | None = None
    securityContext: PodSecurityContext | None = None
    imagePullSecrets: tuple[LocalObjectReference, ...] = ABSENT_LIST
    hostname: str = ""
    subdomain: str = ""
    affinity: Affinity | None = None
    schedulerName: str = ""
    tolerations: tuple[Toleration, ...] = ABSENT_LIST
    hostAliases: tuple[HostAlias, ...] = ABSENT_LIST
    priorityClassName: str = ""
    priority: Int32 | None = None
    dnsConfig: PodDNSConfig | None = None
    readinessGates: tuple[PodReadinessGate, ...] = ABSENT_LIST
    runtimeClassName: str | None = None
    enableServiceLinks: bool | None = None
    preemptionPolicy: named.PreemptionPolicy | None = None
    overhead: named.ResourceList = ABSENT_MAP
    topologySpreadConstraints: tuple[TopologySpreadConstraint, ...] = ABSENT_LIST
    setHostnameAsFQDN: bool | None = None
    os: PodOS | None = None
    hostUsers: bool | None = None
    schedulingGates: tuple[PodSchedulingGate, ...] = ABSENT_LIST
    resourceClaims: tuple[PodResourceClaim, ...] = ABSENT_LIST
    resources: ResourceRequirements | None = None
    hostnameOverride: str | None = None
    schedulingGroup: PodSchedulingGroup | None = None


class Pod(ApiObject, frozen=True, gc=False):
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplateSpec(View, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
