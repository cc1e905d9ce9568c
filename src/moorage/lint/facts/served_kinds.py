"""List what Kubernetes 1.36 serves by itself: every kind of every version, and what became of kinds that are gone.

Versions that are off by default are among them. Kubernetes: api/discovery, the deprecated API migration guide.
"""

from moorage.model.kinds import EVICTION, KINDS, OLDER_VERSIONS, SCALE, TOKEN_REQUEST, VIRTUAL_KINDS

#: What Kubernetes serves and Moorage does not. List and Status are documents of every server.
_NOT_HERE = """
v1: List Status
admissionregistration.k8s.io/v1alpha1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1beta1: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
certificates.k8s.io/v1alpha1: ClusterTrustBundle
certificates.k8s.io/v1beta1: ClusterTrustBundle PodCertificateRequest
coordination.k8s.io/v1alpha2: LeaseCandidate
coordination.k8s.io/v1beta1: LeaseCandidate
internal.apiserver.k8s.io/v1alpha1: StorageVersion
networking.k8s.io/v1beta1: IPAddress ServiceCIDR
resource.k8s.io/v1alpha3: ResourcePoolStatusRequest
scheduling.k8s.io/v1alpha2: PodGroup Workload
storage.k8s.io/v1beta1: VolumeAttributesClass
storagemigration.k8s.io/v1beta1: StorageVersionMigration
"""


def _served() -> dict[str, frozenset[str]]:
    """Return the kinds by version, versions in their order."""
    requests = (*VIRTUAL_KINDS, EVICTION, SCALE, TOKEN_REQUEST)
    pairs = [*KINDS, *OLDER_VERSIONS, *((kind.api_version, kind.name) for kind in requests)]
    for line in _NOT_HERE.split("\n")[1:-1]:
        version, _, names = line.partition(": ")
        pairs += [(version, name) for name in names.split()]
    kinds: dict[str, set[str]] = {}
    for version, name in sorted(pairs):
        kinds.setdefault(version, set()).add(name)
    return {version: frozenset(names) for version, names in kinds.items()}


SERVED_KINDS = _served()
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
