"""Pods, pod templates and what places them: affinity, tolerations, spread.

Kubernetes: k8s.io/api/core/v1.
"""

from moorage.model.schema import named_types as named
from moorage.model.types.container import Container, EphemeralContainer, PodSecurityContext, ResourceRequirements
from moorage.model.types.meta import ApiObject, LabelSelector, LocalObjectReference, ObjectMeta
from moorage.model.types.node import NodeSelector, NodeSelectorTerm
from moorage.model.types.pod_status import PodStatus
from moorage.model.types.storage import Volume
from moorage.model.types.view import ABSENT_LIST, ABSENT_MAP, Int32, Int64, View


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
    key: str = ""
    operator: named.TolerationOperator = ""
    value: str = ""
    effect: named.TaintEffect = ""
    tolerationSeconds: Int64 | None = None
    expression: str = ""


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
