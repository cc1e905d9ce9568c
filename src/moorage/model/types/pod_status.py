"""What is reported back about a pod and its containers.

Kubernetes: k8s.io/api/core/v1.
"""

from typing import Final

from moorage.model.quantity import Quantity
from moorage.model.schema import named_types as named
from moorage.model.types.container import ResourceRequirements
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, Int64, View

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
