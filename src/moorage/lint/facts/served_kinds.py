"""List what Kubernetes 1.36 serves by itself: every kind of every version, and what became of kinds that are gone.

Versions that are off by default are among them. Kubernetes: api/discovery, the deprecated API migration guide.
"""

_SERVED = """
v1: Binding ComponentStatus ConfigMap Endpoints Event LimitRange List Namespace Node PersistentVolume
    PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount Status
admissionregistration.k8s.io/v1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration
    ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration
admissionregistration.k8s.io/v1alpha1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1beta1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
apiextensions.k8s.io/v1: CustomResourceDefinition
apiregistration.k8s.io/v1: APIService
apps/v1: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet
authentication.k8s.io/v1: SelfSubjectReview TokenRequest TokenReview
authorization.k8s.io/v1: LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview
autoscaling/v1: HorizontalPodAutoscaler Scale
autoscaling/v2: HorizontalPodAutoscaler
batch/v1: CronJob Job
certificates.k8s.io/v1: CertificateSigningRequest
certificates.k8s.io/v1alpha1: ClusterTrustBundle
certificates.k8s.io/v1beta1: ClusterTrustBundle PodCertificateRequest
coordination.k8s.io/v1: Lease
coordination.k8s.io/v1alpha2: LeaseCandidate
coordination.k8s.io/v1beta1: LeaseCandidate
discovery.k8s.io/v1: EndpointSlice
events.k8s.io/v1: Event
flowcontrol.apiserver.k8s.io/v1: FlowSchema PriorityLevelConfiguration
internal.apiserver.k8s.io/v1alpha1: StorageVersion
networking.k8s.io/v1: IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR
networking.k8s.io/v1beta1: IPAddress ServiceCIDR
node.k8s.io/v1: RuntimeClass
policy/v1: Eviction PodDisruptionBudget
rbac.authorization.k8s.io/v1: ClusterRole ClusterRoleBinding Role RoleBinding
resource.k8s.io/v1: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
resource.k8s.io/v1alpha3: DeviceTaintRule ResourcePoolStatusRequest
resource.k8s.io/v1beta1: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
resource.k8s.io/v1beta2: DeviceClass DeviceTaintRule ResourceClaim ResourceClaimTemplate ResourceSlice
scheduling.k8s.io/v1: PriorityClass
scheduling.k8s.io/v1alpha2: PodGroup Workload
storage.k8s.io/v1: CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass
storage.k8s.io/v1beta1: VolumeAttributesClass
storagemigration.k8s.io/v1beta1: StorageVersionMigration
"""


def _parsed() -> dict[str, frozenset[str]]:
    kinds: dict[str, list[str]] = {}
    version = ""
    for word in _SERVED.split():
        if word.endswith(":"):
            version = word[:-1]
        else:
            kinds.setdefault(version, []).append(word)
    return {version: frozenset(names) for version, names in kinds.items()}


SERVED_KINDS = _parsed()
#: Groups that belong to Kubernetes, also those that are gone: no custom resource has a version there.
GROUPS = frozenset(version.rpartition("/")[0] for version in SERVED_KINDS) | {
    "auditregistration.k8s.io",
    "extensions",
    "settings.k8s.io",
}
#: Where a kind is served; the newest stable version where there are several.
VERSION_OF_KIND = {
    kind: version
    for stable in (False, True)
    for version, kinds in SERVED_KINDS.items()
    if ("alpha" not in version and "beta" not in version) is stable
    for kind in kinds
} | dict.fromkeys(SERVED_KINDS["v1"], "v1")
#: Kinds without a successor: since which version, and what to do instead.
_REMOVED = (
    ("PodSecurityPolicy", "1.25", "label namespaces for Pod Security admission (pod-security.kubernetes.io/enforce)"),
    ("PodPreset", "1.20", "use an admission webhook or a MutatingAdmissionPolicy"),
    ("PodSchedulingContext", "1.32", "drivers publish ResourceSlices instead"),
    ("ResourceClass", "1.31", "write a DeviceClass in resource.k8s.io/v1"),
    ("ResourceClaimParameters", "1.31", "write the parameters into the claim"),
    ("ResourceClassParameters", "1.31", "write the parameters into a DeviceClass"),
)
REMOVED_KINDS = {kind: f"{kind} was removed in Kubernetes {since}: {advice}" for kind, since, advice in _REMOVED}
