"""List the kinds that Kubernetes 1.36 serves, the removed ones, and those that definitions of the input add.

Objects whose definition has not come yet are held, bounded in number and size; those that do not fit are skipped like
objects without a definition. Versions that are off by default count as served. Kubernetes: api/discovery, the
deprecated API migration guide.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from moorage.admit.kinds.api_server.custom_objects import CustomRules
from moorage.admit.raw import Raw
from moorage.custom.structural import SchemaTooDeepError, schema_of_version
from moorage.model.kind_rows.kind import CustomKind, kind_facts
from moorage.model.kinds import EVICTION, KINDS, OLDER_VERSIONS, SCALE, TOKEN_REQUEST, VIRTUAL_KINDS
from moorage.model.text.documents import Document

_MAX_HELD = 10_000
_MAX_HELD_BYTES = 32 * 1024 * 1024


class DefinedKind(NamedTuple):
    """One version of a kind; `warning` is what clients are told if it is deprecated."""

    kind: CustomKind
    rules: CustomRules
    served: bool
    warning: str


class OwnLines(NamedTuple):
    """The lines of a document that outlives its stream."""

    document: Document

    def line(self, number: int) -> str:
        return self.document.line_text(number)


class CustomKinds:
    """Definitions by group and kind, and then by version."""

    def __init__(self) -> None:
        self._defined: dict[tuple[str, str], dict[str, DefinedKind]] = {}
        self._held: list[Document] = []
        self._held_bytes = 0

    def add(self, definition: Raw) -> None:
        """Take a definition that was admitted; a later one of the same kind replaces it."""
        spec = definition["spec"]
        accepted = {"spec": spec}  # as if all its names were
        versions = {}
        for version in spec["versions"]:
            try:
                schema = schema_of_version(version)
            except SchemaTooDeepError:
                continue
            kind = CustomKind(**kind_facts(accepted, version))
            scale = (version.get("subresources") or {}).get("scale") or {}
            rules = CustomRules(schema, kind.namespaced, scale)
            served = bool(version.get("served"))
            versions[version["name"]] = DefinedKind(kind, rules, served, _deprecation(kind, version))
        self._defined[spec["group"], spec["names"]["kind"]] = versions

    def versions_of(self, raw: Raw) -> dict[str, DefinedKind] | None:
        """Return the versions of an object's kind, or None without a definition."""
        group, _, _ = str(raw["apiVersion"]).rpartition("/")
        return self._defined.get((group, str(raw["kind"])))

    def hold(self, document: Document) -> bool:
        """Keep an object until its definition may have come. Returns whether there was room."""
        size = len(msgspec.json.encode(document.raw))
        if len(self._held) >= _MAX_HELD or self._held_bytes + size > _MAX_HELD_BYTES:
            return False
        self._held.append(document)
        self._held_bytes += size
        return True

    def held(self) -> Iterator[Document]:
        """Yield the objects that were kept, and forget them."""
        held, self._held, self._held_bytes = self._held, [], 0
        yield from held


def _deprecation(kind: CustomKind, version: Raw) -> str:
    if not version.get("deprecated"):
        return ""
    return str(version.get("deprecationWarning") or f"{kind.api_version} {kind.name} is deprecated")


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
