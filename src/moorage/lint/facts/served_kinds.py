"""List the kinds that Kubernetes serves, release by release, and the removed ones.

Versions that are off by default count as served. Kubernetes: api/discovery of each release, the deprecated API
migration guide.
"""

from functools import cache

from moorage.model.kinds import EVICTION, KINDS, OLDER_VERSIONS, SCALE, TOKEN_REQUEST, VIRTUAL_KINDS
from moorage.model.kubernetes_version import NEWEST_MINOR, OLDEST_MINOR

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


#: What releases since 1.29 have not all served: version, first and last minor version (empty: from the oldest, to the
#: newest of those), kinds.
_LIFETIMES = """
admissionregistration.k8s.io/v1 30-: ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1 36-: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1alpha1 -31: ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1alpha1 32-: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1beta1 -33: ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
admissionregistration.k8s.io/v1beta1 34-: MutatingAdmissionPolicy MutatingAdmissionPolicyBinding
authentication.k8s.io/v1alpha1 -31: SelfSubjectReview
authentication.k8s.io/v1beta1 -32: SelfSubjectReview
certificates.k8s.io/v1alpha1 34-34: PodCertificateRequest
certificates.k8s.io/v1beta1 33-: ClusterTrustBundle
certificates.k8s.io/v1beta1 35-: PodCertificateRequest
coordination.k8s.io/v1alpha1 31-31: LeaseCandidate
coordination.k8s.io/v1alpha2 32-: LeaseCandidate
coordination.k8s.io/v1beta1 33-: LeaseCandidate
flowcontrol.apiserver.k8s.io/v1beta3 -31: FlowSchema PriorityLevelConfiguration
networking.k8s.io/v1 33-: IPAddress ServiceCIDR
networking.k8s.io/v1alpha1 -30: IPAddress ServiceCIDR
networking.k8s.io/v1beta1 31-: IPAddress ServiceCIDR
resource.k8s.io/v1 34-: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
resource.k8s.io/v1alpha2 -30: PodSchedulingContext ResourceClaim ResourceClaimTemplate ResourceClass
resource.k8s.io/v1alpha2 30-30: ResourceClaimParameters ResourceClassParameters ResourceSlice
resource.k8s.io/v1alpha3 31-31: PodSchedulingContext
resource.k8s.io/v1alpha3 31-33: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
resource.k8s.io/v1alpha3 33-: DeviceTaintRule
resource.k8s.io/v1alpha3 36-: ResourcePoolStatusRequest
resource.k8s.io/v1beta1 32-: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
resource.k8s.io/v1beta2 33-: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice
resource.k8s.io/v1beta2 36-: DeviceTaintRule
scheduling.k8s.io/v1alpha1 35-35: Workload
scheduling.k8s.io/v1alpha2 36-: PodGroup Workload
storage.k8s.io/v1 34-: VolumeAttributesClass
storage.k8s.io/v1alpha1 -34: VolumeAttributesClass
storage.k8s.io/v1beta1 31-: VolumeAttributesClass
storagemigration.k8s.io/v1alpha1 30-34: StorageVersionMigration
storagemigration.k8s.io/v1beta1 35-: StorageVersionMigration
"""


@cache
def served_kinds(release: int | None = None) -> dict[str, frozenset[str]]:
    """Return the kinds by version that a minor version of Kubernetes serves; None is the newest."""
    if release is None or release == NEWEST_MINOR:
        return SERVED_KINDS
    kinds = {version: set(names) for version, names in SERVED_KINDS.items()}
    for line in _LIFETIMES.split("\n")[1:-1]:
        lifetime, _, names = line.partition(": ")
        version, _, years = lifetime.partition(" ")
        first, _, last = years.partition("-")
        if int(first or OLDEST_MINOR) <= release <= int(last or NEWEST_MINOR):
            kinds.setdefault(version, set()).update(names.split())
        else:
            kinds.setdefault(version, set()).difference_update(names.split())
    return {version: frozenset(names) for version, names in kinds.items() if names}


@cache
def _versions_of_kinds(release: int | None) -> dict[str, str]:
    """Return where each kind is served: in the newest stable version where there are several, else the newest."""
    served = served_kinds(release)
    newest_last = sorted(served, key=lambda version: (_maturity(version), version))
    return {kind: version for version in newest_last for kind in served[version]} | dict.fromkeys(served["v1"], "v1")


def _maturity(version: str) -> int:
    return 0 if "alpha" in version else 1 if "beta" in version else 2


def version_of_kind(kind: str, release: int | None = None) -> str:
    """Return the apiVersion in which a minor version of Kubernetes serves a kind; empty if it does not."""
    return _versions_of_kinds(release).get(kind, "")


def first_release(version: str, kind: str) -> int | None:
    """Return the first minor version that serves a kind in a version; None if none does."""
    releases = range(OLDEST_MINOR, NEWEST_MINOR + 1)
    return next((release for release in releases if kind in served_kinds(release).get(version, ())), None)


def kinds_of_release(release: int | None = None) -> list[str]:
    """Return the names of all kinds."""
    return list(_versions_of_kinds(release))


SERVED_KINDS = _served()
#: Groups that belong to Kubernetes, also those that are gone: no custom resource has a version there.
GROUPS = frozenset(version.rpartition("/")[0] for version in SERVED_KINDS) | {
    "auditregistration.k8s.io",
    "extensions",
    "settings.k8s.io",
}
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
