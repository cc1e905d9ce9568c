"""Pods and pod templates. Every type a pod is made of can be imported from here.

In: raw documents, by way of `kinds.view_of`. Out: frozen views, field for field the API's. Kubernetes:
k8s.io/api/core/v1.
"""

# The names are the API's own and its reference documents each of them.
# ruff: noqa: D101

from moorage.model.schema.absent import ABSENT_LIST, ABSENT_MAP
from moorage.model.schema.named_types import (
    DNSPolicy,
    OSName,
    PodConditionType,
    PreemptionPolicy,
    ResourceList,
    RestartPolicy,
)
from moorage.model.types.container import (
    ConfigMapEnvSource,
    ConfigMapKeySelector,
    Container,
    ContainerPort,
    ContainerResizePolicy,
    ContainerRestartRule,
    ContainerRestartRuleOnExitCodes,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    EphemeralContainer,
    EphemeralContainerCommon,
    FileKeySelector,
    ObjectFieldSelector,
    ResourceClaim,
    ResourceFieldSelector,
    ResourceRequirements,
    SecretEnvSource,
    SecretKeySelector,
    VolumeDevice,
    VolumeMount,
)
from moorage.model.types.meta import LocalObjectReference, ObjectMeta, TypeMeta
from moorage.model.types.pod_status import (
    ContainerExtendedResourceRequest,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    ContainerUser,
    HostIP,
    ImageVolumeStatus,
    LinuxContainerUser,
    NodeAllocatableResourceClaimStatus,
    PodCondition,
    PodExtendedResourceClaimStatus,
    PodIP,
    PodResourceClaimStatus,
    PodStatus,
    ResourceHealth,
    ResourceStatus,
    VolumeMountStatus,
    VolumeStatus,
)
from moorage.model.types.probe import (
    ExecAction,
    GRPCAction,
    HTTPGetAction,
    HTTPHeader,
    Lifecycle,
    LifecycleHandler,
    Probe,
    ProbeHandler,
    SleepAction,
    TCPSocketAction,
)
from moorage.model.types.scheduling import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from moorage.model.types.security import (
    AppArmorProfile,
    Capabilities,
    PodSecurityContext,
    SeccompProfile,
    SecurityContext,
    SELinuxOptions,
    Sysctl,
    WindowsSecurityContextOptions,
)
from moorage.model.types.storage.claim_spec import PersistentVolumeClaimSpec, VolumeResourceRequirements
from moorage.model.types.storage.volume import (
    EphemeralVolumeSource,
    ImageVolumeSource,
    PersistentVolumeClaimTemplate,
    PersistentVolumeClaimVolumeSource,
    Volume,
    VolumeSource,
)
from moorage.model.types.storage.volume_backends import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CephFSVolumeSource,
    CinderVolumeSource,
    CSIVolumeSource,
    FCVolumeSource,
    FlexVolumeSource,
    FlockerVolumeSource,
    GCEPersistentDiskVolumeSource,
    GitRepoVolumeSource,
    GlusterfsVolumeSource,
    ISCSIVolumeSource,
    NFSVolumeSource,
    PhotonPersistentDiskVolumeSource,
    PortworxVolumeSource,
    QuobyteVolumeSource,
    RBDVolumeSource,
    ScaleIOVolumeSource,
    StorageOSVolumeSource,
    VsphereVirtualDiskVolumeSource,
)
from moorage.model.types.storage.volume_files import (
    ClusterTrustBundleProjection,
    ConfigMapProjection,
    ConfigMapVolumeSource,
    DownwardAPIProjection,
    DownwardAPIVolumeFile,
    DownwardAPIVolumeSource,
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    KeyToPath,
    PodCertificateProjection,
    ProjectedVolumeSource,
    SecretProjection,
    SecretVolumeSource,
    ServiceAccountTokenProjection,
    VolumeProjection,
)
from moorage.model.types.view import Int32, Int64, View

__all__ = [
    "AWSElasticBlockStoreVolumeSource",
    "Affinity",
    "AppArmorProfile",
    "AzureDiskVolumeSource",
    "AzureFileVolumeSource",
    "CSIVolumeSource",
    "Capabilities",
    "CephFSVolumeSource",
    "CinderVolumeSource",
    "ClusterTrustBundleProjection",
    "ConfigMapEnvSource",
    "ConfigMapKeySelector",
    "ConfigMapProjection",
    "ConfigMapVolumeSource",
    "Container",
    "ContainerExtendedResourceRequest",
    "ContainerPort",
    "ContainerResizePolicy",
    "ContainerRestartRule",
    "ContainerRestartRuleOnExitCodes",
    "ContainerState",
    "ContainerStateRunning",
    "ContainerStateTerminated",
    "ContainerStateWaiting",
    "ContainerStatus",
    "ContainerUser",
    "DownwardAPIProjection",
    "DownwardAPIVolumeFile",
    "DownwardAPIVolumeSource",
    "EmptyDirVolumeSource",
    "EnvFromSource",
    "EnvVar",
    "EnvVarSource",
    "EphemeralContainer",
    "EphemeralContainerCommon",
    "EphemeralVolumeSource",
    "ExecAction",
    "FCVolumeSource",
    "FileKeySelector",
    "FlexVolumeSource",
    "FlockerVolumeSource",
    "GCEPersistentDiskVolumeSource",
    "GRPCAction",
    "GitRepoVolumeSource",
    "GlusterfsVolumeSource",
    "HTTPGetAction",
    "HTTPHeader",
    "HostAlias",
    "HostIP",
    "HostPathVolumeSource",
    "ISCSIVolumeSource",
    "ImageVolumeSource",
    "ImageVolumeStatus",
    "KeyToPath",
    "Lifecycle",
    "LifecycleHandler",
    "LinuxContainerUser",
    "LocalObjectReference",
    "NFSVolumeSource",
    "NodeAffinity",
    "NodeAllocatableResourceClaimStatus",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "ObjectFieldSelector",
    "PersistentVolumeClaimSpec",
    "PersistentVolumeClaimTemplate",
    "PersistentVolumeClaimVolumeSource",
    "PhotonPersistentDiskVolumeSource",
    "Pod",
    "PodAffinity",
    "PodAffinityTerm",
    "PodAntiAffinity",
    "PodCertificateProjection",
    "PodCondition",
    "PodDNSConfig",
    "PodDNSConfigOption",
    "PodExtendedResourceClaimStatus",
    "PodIP",
    "PodOS",
    "PodReadinessGate",
    "PodResourceClaim",
    "PodResourceClaimStatus",
    "PodSchedulingGate",
    "PodSchedulingGroup",
    "PodSecurityContext",
    "PodSpec",
    "PodStatus",
    "PodTemplateSpec",
    "PortworxVolumeSource",
    "PreferredSchedulingTerm",
    "Probe",
    "ProbeHandler",
    "ProjectedVolumeSource",
    "QuobyteVolumeSource",
    "RBDVolumeSource",
    "ResourceClaim",
    "ResourceFieldSelector",
    "ResourceHealth",
    "ResourceRequirements",
    "ResourceStatus",
    "SELinuxOptions",
    "ScaleIOVolumeSource",
    "SeccompProfile",
    "SecretEnvSource",
    "SecretKeySelector",
    "SecretProjection",
    "SecretVolumeSource",
    "SecurityContext",
    "ServiceAccountTokenProjection",
    "SleepAction",
    "StorageOSVolumeSource",
    "Sysctl",
    "TCPSocketAction",
    "Taint",
    "Toleration",
    "TopologySpreadConstraint",
    "Volume",
    "VolumeDevice",
    "VolumeMount",
    "VolumeMountStatus",
    "VolumeProjection",
    "VolumeResourceRequirements",
    "VolumeSource",
    "VolumeStatus",
    "VsphereVirtualDiskVolumeSource",
    "WeightedPodAffinityTerm",
    "WindowsSecurityContextOptions",
]


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
    conditionType: PodConditionType = ""


class PodOS(View, frozen=True, gc=False):
    name: OSName = ""


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
    restartPolicy: RestartPolicy = ""
    terminationGracePeriodSeconds: Int64 | None = None
    activeDeadlineSeconds: Int64 | None = None
    dnsPolicy: DNSPolicy = ""
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
    preemptionPolicy: PreemptionPolicy | None = None
    overhead: ResourceList = ABSENT_MAP
    topologySpreadConstraints: tuple[TopologySpreadConstraint, ...] = ABSENT_LIST
    setHostnameAsFQDN: bool | None = None
    os: PodOS | None = None
    hostUsers: bool | None = None
    schedulingGates: tuple[PodSchedulingGate, ...] = ABSENT_LIST
    resourceClaims: tuple[PodResourceClaim, ...] = ABSENT_LIST
    resources: ResourceRequirements | None = None
    hostnameOverride: str | None = None
    schedulingGroup: PodSchedulingGroup | None = None


class Pod(TypeMeta, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplateSpec(View, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
