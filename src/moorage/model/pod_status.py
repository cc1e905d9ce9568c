"""What is reported back about a pod and its containers.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1. Next: `pod`.
"""

# The names are the API's own and its reference documents each of them; msgspec copies the empty dict of a default.
# ruff: noqa: D101, RUF012

from moorage.model.container import ResourceRequirements
from moorage.model.named_types import (
    ConditionStatus,
    PodConditionType,
    PodPhase,
    PodQOSClass,
    PodResizeStatus,
    RecursiveReadOnlyMode,
    ResourceHealthStatus,
    ResourceID,
    ResourceList,
    ResourceName,
    Signal,
)
from moorage.model.quantity import Quantity
from moorage.model.view import Int32, Int64, View


class PodCondition(View, frozen=True, gc=False):
    type: PodConditionType = ""
    observedGeneration: Int64 = 0
    status: ConditionStatus = ""
    lastProbeTime: str | None = None
    lastTransitionTime: str | None = None
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
    startedAt: str | None = None


class ContainerStateTerminated(View, frozen=True, gc=False):
    exitCode: Int32 = 0
    signal: Int32 = 0
    reason: str = ""
    message: str = ""
    startedAt: str | None = None
    finishedAt: str | None = None
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
    recursiveReadOnly: RecursiveReadOnlyMode | None = None
    volumeStatus: VolumeStatus | None = None


class LinuxContainerUser(View, frozen=True, gc=False):
    uid: Int64 = 0
    gid: Int64 = 0
    supplementalGroups: tuple[Int64, ...] = ()


class ContainerUser(View, frozen=True, gc=False):
    linux: LinuxContainerUser | None = None


class ResourceHealth(View, frozen=True, gc=False):
    resourceID: ResourceID = ""
    health: ResourceHealthStatus = ""
    message: str | None = None


class ResourceStatus(View, frozen=True, gc=False):
    name: ResourceName = ""
    resources: tuple[ResourceHealth, ...] = ()


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
    allocatedResources: ResourceList = {}
    resources: ResourceRequirements | None = None
    volumeMounts: tuple[VolumeMountStatus, ...] = ()
    user: ContainerUser | None = None
    allocatedResourcesStatus: tuple[ResourceStatus, ...] = ()
    stopSignal: Signal | None = None


class PodResourceClaimStatus(View, frozen=True, gc=False):
    name: str = ""
    resourceClaimName: str | None = None


class ContainerExtendedResourceRequest(View, frozen=True, gc=False):
    containerName: str = ""
    resourceName: str = ""
    requestName: str = ""


class PodExtendedResourceClaimStatus(View, frozen=True, gc=False):
    requestMappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resourceClaimName: str = ""


class NodeAllocatableResourceClaimStatus(View, frozen=True, gc=False):
    resourceClaimName: str = ""
    containers: tuple[str, ...] = ()
    resources: dict[str, Quantity] = {}


class PodStatus(View, frozen=True, gc=False):
    observedGeneration: Int64 = 0
    phase: PodPhase = ""
    conditions: tuple[PodCondition, ...] = ()
    message: str = ""
    reason: str = ""
    nominatedNodeName: str = ""
    hostIP: str = ""
    hostIPs: tuple[HostIP, ...] = ()
    podIP: str = ""
    podIPs: tuple[PodIP, ...] = ()
    startTime: str | None = None
    initContainerStatuses: tuple[ContainerStatus, ...] = ()
    containerStatuses: tuple[ContainerStatus, ...] = ()
    qosClass: PodQOSClass = ""
    ephemeralContainerStatuses: tuple[ContainerStatus, ...] = ()
    resize: PodResizeStatus = ""
    resourceClaimStatuses: tuple[PodResourceClaimStatus, ...] = ()
    extendedResourceClaimStatus: PodExtendedResourceClaimStatus | None = None
    allocatedResources: ResourceList = {}
    resources: ResourceRequirements | None = None
    nodeAllocatableResourceClaimStatuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()
